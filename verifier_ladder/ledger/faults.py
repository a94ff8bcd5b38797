"""Faults of the database, told as errors that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from verifier_ladder.errors import LedgerError

_ADVICE = {
    "database or disk is full": (
        "the disk is full; nothing of this call was written. Free some space and try again"
    ),
    "is locked": (
        "another process has kept the ledger busy for too long; nothing of this call was "
        "written. Try again, and look for a process that hangs with it open"
    ),
    "readonly database": (
        "the file can't be written; ask for write permission on the file and its folder, "
        "or copy it elsewhere"
    ),
    "unable to open": (
        "the file can't be opened; check the path and the permissions of the file and its folder"
    ),
    "not a database": (
        "it is not an SQLite file, or it is damaged; give another path, or restore a backup"
    ),
    "malformed": (
        "the file is damaged; restore a backup, or save what can be read with "
        "`sqlite3 FILE .recover`"
    ),
    "disk I/O error": (
        "the disk failed while reading or writing; nothing of this call was written. "
        "Check the disk"
    ),
    "append-only": "history is never changed; append a correction instead",
}


def explain(error: BaseException, where: str) -> LedgerError:
    """Turn an error of the database into one that says what to do."""
    cause = getattr(error, "orig", None) or error
    text = str(cause)
    for sign, advice in _ADVICE.items():
        if sign in text:
            return LedgerError(f"ledger {where}: {advice} ({text})")
    return LedgerError(f"ledger {where}: {text}")


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Raise the database's errors as `LedgerError`."""
    try:
        yield
    except (DBAPIError, sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
        raise explain(error, where) from error
    except SQLAlchemyError as error:
        raise LedgerError(f"ledger {where}: {error}") from error
