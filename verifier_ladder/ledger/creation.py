"""Making and upgrading the tables of a ledger file."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import create_mock_engine
from sqlalchemy.dialects import sqlite

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.faults import explained
from verifier_ladder.ledger.rollback import check_no_journal
from verifier_ladder.ledger.schema import (
    APPLICATION_ID,
    REVISION,
    VERSION_TABLE,
    guards,
    metadata,
)
from verifier_ladder.ledger.signer import key_place
from verifier_ladder.ledger.sqlite import BUSY, make_engine
from verifier_ladder.private import make_private

MIGRATIONS = Path(__file__).parent / "migrations"
_REVISION = re.compile(r"[0-9]{4}")


def prepare(path: Path, migrations: Path = MIGRATIONS, revision: str = REVISION) -> bool:
    """Give a ledger file the tables of this version: make them, or upgrade older ones.

    Args:
        path: The file; it need not exist.
        migrations: The Alembic folder.
        revision: The schema that this program reads.

    Returns:
        Whether it was upgraded.

    Raises:
        LedgerError: If the file is no ledger, a newer program made it, a ledger with a signed
            history was emptied, or a rollback journal lies beside it.
    """
    with explained(str(path)):
        check_no_journal(path)
        found = schema_of(path)
        if found is None:
            check_unsigned(path)
            _create(path, revision)
        elif found != revision:
            _upgrade(path, found, migrations, revision)
    return found not in {None, revision}


def check_unsigned(path: Path) -> None:
    """Refuse an empty file whose key has signed a history: it is no new ledger.

    Raises:
        LedgerError: If it has.
    """
    place = key_place(f"sqlite:///{path}")
    noted = place.signed.read()
    if noted is not None and noted.last.size:
        state = "is empty" if path.exists() else "is gone"
        raise LedgerError(
            f"{path} {state}, and its key has signed {noted.last.size:,} entries of "
            f"{noted.origin}: restore a backup with `vladder ledger restore`. If the ledger was "
            f"removed on purpose, remove {place.path} and {place.signed.name} too"
        )


def schema_of(path: Path) -> str | None:
    """The schema of a file; None if it has no tables yet.

    Raises:
        LedgerError: If it is damaged, or the database of another program.
    """
    if not path.exists() or path.stat().st_size == 0:
        return None
    with explained(str(path)), closing(sqlite3.connect(path, timeout=BUSY)) as connection:
        return schema_in(connection, path)


def schema_in(connection: sqlite3.Connection, path: Path) -> str | None:
    """The schema that a connection sees; None if there are no tables.

    Raises:
        LedgerError: If it is the database of another program, or was rebuilt by one.
    """
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()
    if encoding != "UTF-8":
        raise LedgerError(
            f"{path} keeps text as {encoding}, and a ledger keeps it as UTF-8: another program "
            "has rebuilt it. Restore a backup"
        )
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    if VERSION_TABLE in tables:
        return stamped(connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall())
    if tables:
        raise LedgerError(
            f"{path} is the SQLite database of another program; give the ledger its own file"
        )
    return None


def _create(path: Path, revision: str) -> None:
    """Make all tables in one transaction; Alembic is not needed for that, only its stamp."""
    make_private(path)
    engine = make_engine(path)
    try:
        with closing(engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            if _exists(cursor):  # Another process was faster.
                return
            for statement in (*_tables(), *guards(), *_stamp(revision)):
                cursor.execute(statement)
            connection.commit()
    finally:
        engine.dispose()


def _exists(cursor: Any) -> bool:
    cursor.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (VERSION_TABLE,))
    return cursor.fetchone() is not None


@cache
def _tables() -> Sequence[str]:
    """SQL of all tables and indexes: to write it takes longer than to run it."""
    made: list[str] = []
    dialect = sqlite.dialect()
    writer = create_mock_engine(
        "sqlite://", lambda ddl, *_: made.append(str(ddl.compile(dialect=dialect)))
    )
    metadata.create_all(writer, checkfirst=False)
    return tuple(made)


def _stamp(revision: str) -> Sequence[str]:
    return (
        f"PRAGMA application_id = {APPLICATION_ID}",
        (
            f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
            f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
        ),
        f"INSERT INTO {VERSION_TABLE} (version_num) VALUES ('{revision}')",
    )


def stamped(rows: Iterable[Sequence[Any]]) -> str:
    """The schema that the table of the version names; no known one if that isn't a single row."""
    return ", ".join(str(row[0]) for row in rows)


def check_known(name: str, found: str, migrations: Path, revision: str) -> None:
    """Refuse a ledger of a schema that this program does not know.

    Raises:
        LedgerError: If a newer program made it, or none at all.
    """
    from verifier_ladder.ledger.upgrade import known_revisions

    if found in known_revisions(migrations):
        return
    if _REVISION.fullmatch(found) and found > revision:
        raise LedgerError(
            f"ledger {name} was written by a newer verifier-ladder (schema {found}, this one "
            f"reads {revision}): upgrade the program: `pip install .` in a newer clone"
        )
    raise LedgerError(
        f"ledger {name}: its table {VERSION_TABLE} names the schema {found!r}, and no version has "
        "one of that name; the table was edited or damaged. Nothing was changed: restore a backup"
    )


def _upgrade(path: Path, found: str, migrations: Path, revision: str) -> None:
    """Bring an older file up to date, after copying it."""
    from verifier_ladder.ledger.upgrade import upgrade

    check_known(str(path), found, migrations, revision)
    upgrade(path, found, migrations, revision)
