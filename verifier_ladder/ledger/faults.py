"""Faults of the database, told as errors that say what to do."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from verifier_ladder.errors import LedgerAwayError, LedgerError

T = TypeVar("T")
_LOG = logging.getLogger("verifier_ladder")
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
        "the disk failed while reading or writing, or a quota is used up; nothing of this call "
        "was written. Check the disk"
    ),
    "append-only": "history is never changed; append a correction instead",
    # PostgreSQL, before a connection stands: then there is no code yet.
    "password authentication failed": (
        "the server refuses the user or the password; give them in the URL, in PGPASSWORD or "
        "in ~/.pgpass"
    ),
    "no password supplied": (
        "the server wants a password; give it in the URL, in PGPASSWORD or in ~/.pgpass"
    ),
    "does not exist": "make it (createdb NAME, createuser NAME), or correct the URL",
    "too many clients": "the server has no connection left; raise its max_connections",
}
_AWAY = (
    "the server can't be reached; nothing of this call was written. Look whether it runs and the "
    "URL is right, and try again"
)
_STATES = {
    "08": _AWAY,
    "57P": _AWAY,
    "53100": "the server's disk is full; nothing of this call was written. Free some space there",
    "53300": "the server has no connection left; raise its max_connections",
    "42501": (
        "the user may not do this; the ledger's owner can give the right with GRANT SELECT, "
        "INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO …"
    ),
    "25006": "this server only reads, as a replica does; connect to the primary",
    "55P03": (
        "another transaction has kept the ledger busy for too long; nothing of this call was "
        "written. Try again, and look for a process that hangs with it open"
    ),
    "40P01": "two calls waited for each other; nothing of this one was written. Try again",
    "25P03": "this process hung in the midst of a call; nothing of it was written. Try again",
}
"""Advice by the beginning of PostgreSQL's code of an error (SQLSTATE)."""
PATIENCE = 60.0
"""Seconds for which a ledger that is away is waited for."""
_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
_PASSING = ("08", "57P", "53100", "40P01", "25P03", "55P03")
"""Those of faults that pass: the call may be made again as it was."""
_PASSING_SIGNS = ("database or disk is full", "is locked")


def explain(error: BaseException, where: str) -> LedgerError:
    """Turn an error of the database into one that says what to do."""
    cause = getattr(error, "orig", None) or error
    text = str(cause).strip()
    state = getattr(cause, "sqlstate", None) or ""
    for start, advice in _STATES.items():
        if state.startswith(start):
            kind = LedgerAwayError if state.startswith(_PASSING) else LedgerError
            return kind(f"ledger {where}: {advice} ({text})")
    for sign, advice in _ADVICE.items():
        if sign in text:
            kind = LedgerAwayError if sign in _PASSING_SIGNS else LedgerError
            return kind(f"ledger {where}: {advice} ({text})")
    if isinstance(error, OperationalError) and not isinstance(cause, sqlite3.Error):
        return LedgerAwayError(f"ledger {where}: {_AWAY} ({text})")
    return LedgerError(f"ledger {where}: {text}")


def patiently(call: Callable[[], T]) -> T:
    """Make a call that may be made twice, and again while the ledger is away.

    A server that restarts or recovers is back within seconds; a process that is just opening its
    ledger must not end because of that.

    Raises:
        LedgerAwayError: If the ledger is still away after a minute.
    """
    until, pause = monotonic() + PATIENCE, _PAUSE
    while True:
        try:
            return call()
        except LedgerAwayError as error:
            left = until - monotonic()
            if left <= 0:
                raise
            if pause == _PAUSE:
                _LOG.warning("%s. It is waited for, for up to %.0f seconds", error, left)
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Raise the database's errors as `LedgerError`."""
    try:
        yield
    except (DBAPIError, sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
        raise explain(error, where) from error
    except SQLAlchemyError as error:
        raise LedgerError(f"ledger {where}: {error}") from error
