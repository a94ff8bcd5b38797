"""Opening a ledger: from a path, a URL, or an open ledger."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.base import Ledger

if TYPE_CHECKING:
    from verifier_ladder.ledger.sql import SqlLedger

_SCHEME = re.compile(r"([a-z][a-z0-9+.\-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_IN_MEMORY = {"", ":memory:"}


def open_ledger(where: str | Path | Ledger | None = None) -> Ledger:
    """Open a ledger; a new file is made, an older one is upgraded after a copy of it is kept.

    Args:
        where: A path such as `"ledger.db"`, a URL such as `"sqlite:///ledger.db"`, an open
            ledger (returned as it is), or None or `":memory:"` for one that is gone when the
            process ends.

    Raises:
        ConfigError: If there can be no ledger there.
        LedgerError: If the file can't be read or written.

    Example:
        >>> with open_ledger(":memory:") as ledger:
        ...     ledger.next_step("trial", "run")
        0
    """
    if isinstance(where, Ledger):
        return where
    text = "" if where is None else os.fspath(where)
    if match := _SCHEME.fullmatch(text):
        text = _path_of(match[1].lower(), match[2], text)
    if text in _IN_MEMORY:
        from verifier_ladder.ledger.memory import MemoryLedger

        return MemoryLedger()
    return _open_file(Path(text).expanduser().absolute())


def _path_of(scheme: str, rest: str, url: str) -> str:
    """The path in a URL; empty for a ledger in memory."""
    if scheme == "memory":
        return ""
    if scheme in {"http", "https"}:
        raise ConfigError(
            f"ledger {url}: a ledger on a server is not available in this version; "
            'give a file, such as ledger="ledger.db"'
        )
    kind = scheme.split("+", maxsplit=1)[0]  # The rest names a driver.
    if kind in {"postgresql", "postgres"}:
        raise ConfigError(
            f"ledger {scheme}://…: PostgreSQL is not available in this version; "
            'give a file, such as ledger="ledger.db"'
        )
    if kind != "sqlite":
        raise ConfigError(
            f"ledger {scheme}://…: unknown kind of ledger; give a path, or sqlite:///PATH"
        )
    if rest and not rest.startswith("/"):
        raise ConfigError(f"ledger {url}: write three slashes, sqlite:///{rest}")
    return rest[1:]


def _open_file(path: Path) -> SqlLedger:
    from verifier_ladder.ledger.place import check_place

    path = check_place(path)
    from verifier_ladder.ledger.creation import prepare
    from verifier_ladder.ledger.sql import SqlLedger

    prepare(path)
    return SqlLedger(path)
