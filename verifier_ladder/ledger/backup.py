"""Backups: a ledger file copied whole while it is in use, and put back."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger.creation import schema_in
from verifier_ladder.ledger.faults import explained
from verifier_ladder.ledger.rollback import check_no_journal
from verifier_ladder.ledger.sqlite import BUSY
from verifier_ladder.private import make_private, replacing, unwritable

_BESIDE = ("-wal", "-shm", "-journal")
"""Endings of files that SQLite would bring into a ledger which it finds beside them."""


def backup(ledger: str | Path, copy: str | Path) -> Path:
    """Copy a ledger into a new file, as it was at one moment; others may write meanwhile.

    The signing key is not copied: a backup lies where more people can read.

    Args:
        ledger: The ledger's file.
        copy: The new file; it must not exist yet.

    Raises:
        ConfigError: If there is no ledger, or the copy exists, or can't be written there.
        LedgerError: If the ledger is damaged, a rollback journal lies beside it, or the disk is
            full.
    """
    source, target = _existing(ledger), Path(copy)
    if target.exists():
        raise ConfigError(f"{target} exists already; name a new file for the backup")
    try:
        with explained(str(target)), replacing(target) as part:
            _copy(source, part)
    except OSError as error:
        raise unwritable(target, error) from error
    return target


def restore(copy: str | Path, ledger: str | Path) -> Path | None:
    """Put a backup in a ledger's place; what stood there is kept beside it.

    No process may have the ledger open. Entries that were written after the backup are not in it,
    so checkpoints that were saved after the backup don't fit any more: `verify` will say so.

    Args:
        copy: The backup.
        ledger: Where the ledger shall lie.

    Returns:
        Where the ledger that stood there lies now, if there was one.

    Raises:
        ConfigError: If there is no backup, or the ledger is in use.
        LedgerError: If the backup is damaged, a rollback journal lies beside it or beside what
            stands in the ledger's place, or the disk is full.
    """
    source, target = _existing(copy), Path(ledger)
    check_whole(source)
    try:
        aside = _move_aside(target) if target.exists() else None
        for ending in _BESIDE:
            Path(f"{target}{ending}").unlink(missing_ok=True)
        make_private(target, aside)
        shutil.copyfile(source, target)
    except OSError as error:
        raise unwritable(target, error) from error
    return aside


def check_whole(path: Path) -> None:
    """Have SQLite look at every page of a file.

    Raises:
        LedgerError: If one is damaged.
    """
    with explained(str(path)), _reading(path) as connection:
        (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if told != "ok":
        raise LedgerError(f"{path} is damaged ({told}); take another backup")


def _existing(path: str | Path) -> Path:
    found = Path(path)
    if found.is_file() and found.stat().st_size:
        with explained(str(found)), _reading(found) as connection:
            if schema_in(connection, found) is not None:
                return found
    raise ConfigError(f"there is no ledger at {found}")


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect as one who may write where that can be, for then it does not matter who comes."""
    check_no_journal(path)
    may_write = os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)
    if may_write:
        with closing(sqlite3.connect(path, timeout=BUSY)) as connection:
            yield connection
    else:
        from verifier_ladder.ledger.evidence import reading

        with reading(path) as connection:
            yield connection


def _copy(source: Path, target: Path) -> None:
    with _reading(source) as here, closing(sqlite3.connect(target)) as there:
        here.backup(there)


def _move_aside(ledger: Path) -> Path:
    """Give a ledger another name, unless somebody has it open."""
    check_no_journal(ledger)
    with closing(sqlite3.connect(ledger, timeout=0.1)) as connection:
        try:
            # Only who is alone may leave the mode with a log beside the file.
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            raise ConfigError(f"{ledger} is in use ({error}); end what uses it first") from None
    number = 1
    while (aside := ledger.with_name(f"{ledger.name}.before-restore-{number}")).exists():
        number += 1
    ledger.rename(aside)
    return aside
