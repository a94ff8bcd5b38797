"""Opening a ledger: from a path, a URL, or an open ledger."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from verifier_ladder.arguments import checked
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.faults import patiently
from verifier_ladder.text import hide_password

if TYPE_CHECKING:
    from verifier_ladder.ledger.sql import SqlLedger

_SCHEME = re.compile(r"([a-z][a-z0-9+.\-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_IN_MEMORY = {"", ":memory:"}


@checked(where=1)
def open_ledger(
    where: str | Path | Ledger | None = None, *, make: bool = True, wait: bool = False
) -> Ledger:
    """Open a ledger; a new file is made, an older one is upgraded after a copy of it is kept.

    Args:
        where: A path such as `"ledger.db"`, a URL such as `"sqlite:///ledger.db"` or
            `"postgresql://user:password@host/database"`, an open ledger (returned as it is), or
            None or `":memory:"` for one that is gone when the process ends.
        make: Whether a new one may be made where there is none.
        wait: Whether to wait up to a minute for a server that is away, as while it recovers.

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
    if wait:
        return patiently(lambda: open_ledger(where, make=make))
    text = "" if where is None else os.fspath(where)
    if match := _SCHEME.fullmatch(text):
        scheme = match[1].lower()
        if scheme.split("+", maxsplit=1)[0] in {"postgresql", "postgres"}:
            return _open_server(f"postgresql+psycopg://{match[2]}", make=make)
        text = _path_of(scheme, match[2], text)
    if text in _IN_MEMORY:
        from verifier_ladder.ledger.memory import MemoryLedger

        return MemoryLedger()
    path = _place(text)
    if not (make or path.exists()):
        raise ConfigError(f"there is no ledger at {path}; correct the path, or make one there")
    return _open_file(path)


def open_evidence(where: str | Path) -> Ledger:
    """Open a ledger that is only read: no byte of its file changes, and nothing is made beside it.

    An older file is read in an upgraded copy. A database is opened as ever, for nothing that is
    read there changes its history.

    Args:
        where: A path or a URL, as for `open_ledger`.

    Raises:
        ConfigError: If there is no ledger there, or it can't be read.
        LedgerError: If it can't be understood.

    Example:
        >>> open_evidence("no.db")
        Traceback (most recent call last):
        ...
        verifier_ladder.errors.ConfigError: there is no ledger at no.db; correct the path
    """
    text = os.fspath(where)
    if match := _SCHEME.fullmatch(text):
        if match[1].lower().split("+", maxsplit=1)[0] != "sqlite":
            return open_ledger(text, make=False)
        text = _path_of(match[1].lower(), match[2], text)
    if text in _IN_MEMORY:
        return open_ledger(text)
    path = Path(text).expanduser().absolute()
    try:
        is_there, path = path.is_file(), path.resolve()
    except PermissionError:
        is_there = True
    if not is_there:
        raise ConfigError(f"there is no ledger at {where}; correct the path")
    if not os.access(path, os.R_OK):
        raise ConfigError(f"{path} can't be read; ask for permission, or for a copy")
    from verifier_ladder.ledger.evidence import SqliteEvidence
    from verifier_ladder.ledger.sql import SqlLedger

    return SqlLedger(SqliteEvidence(path))


def _path_of(scheme: str, rest: str, url: str) -> str:
    """The path in a URL; empty for a ledger in memory."""
    if scheme == "memory":
        return ""
    if scheme in {"http", "https"}:
        raise ConfigError(
            f"ledger {hide_password(url)}: a ledger on a server is not available in this version; "
            'give a file, such as ledger="ledger.db"'
        )
    kind = scheme.split("+", maxsplit=1)[0]  # The rest names a driver.
    if kind != "sqlite":
        raise ConfigError(
            f"ledger {scheme}://…: unknown kind of ledger; give a path, sqlite:///PATH, or "
            "postgresql://USER@HOST/DATABASE"
        )
    if rest and not rest.startswith("/"):
        raise ConfigError(f"ledger {url}: write three slashes, sqlite:///{rest}")
    return rest[1:]


def _place(text: str) -> Path:
    try:
        path = Path(text).expanduser().absolute()
        path.exists()
    except (OSError, RuntimeError) as error:  # Too long a name, or nobody's home.
        raise ConfigError(f"there can be no ledger at {text}: {error}; correct the path") from None
    return path


def _open_file(path: Path) -> SqlLedger:
    from verifier_ladder.ledger.place import check_place

    path = check_place(path)
    from verifier_ladder.ledger.creation import prepare
    from verifier_ladder.ledger.sql import SqlLedger
    from verifier_ladder.ledger.sqlite import SqliteDatabase

    is_older = prepare(path)
    return _opened(SqlLedger(SqliteDatabase(path)), is_older=is_older)


def _open_server(text: str, *, make: bool) -> SqlLedger:
    from verifier_ladder.ledger.serverurl import server_url

    url = server_url("the ledger's URL", text)
    try:
        from verifier_ladder.ledger.postgresqldatabase import PostgresqlDatabase
    except ImportError as error:
        raise ConfigError(
            f"a ledger in PostgreSQL needs psycopg ({error}): "
            "pip install '.[postgresql]' in a clone"
        ) from None
    from verifier_ladder.ledger.postgresqltables import prepare
    from verifier_ladder.ledger.sql import SqlLedger

    is_older = prepare(url, make=make)
    return _opened(SqlLedger(PostgresqlDatabase(url)), is_older=is_older)


def _opened(ledger: SqlLedger, *, is_older: bool) -> SqlLedger:
    if is_older:
        ledger.note_signed()
    return ledger
