"""Making and upgrading the tables of a ledger in PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, create_engine
from sqlalchemy.exc import ProgrammingError

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger.creation import MIGRATIONS, check_known, stamped
from verifier_ladder.ledger.faults import explained
from verifier_ladder.ledger.postgresql import extras
from verifier_ladder.ledger.postgresqldatabase import shown
from verifier_ladder.ledger.schema import REVISION, VERSION_TABLE, metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

OLDEST = 16
"""The oldest major version of the server."""
_DUPLICATE = "42P07"
_MAJOR = 10_000
"""The server tells its version as a number, of which this is one major step."""


def prepare(
    url: URL, migrations: Path = MIGRATIONS, revision: str = REVISION, *, make: bool = True
) -> bool:
    """Give a database the tables of this version: make them, or upgrade older ones.

    All happens in one transaction, while other programs that open the same ledger wait.

    Args:
        url: The database.
        migrations: The Alembic folder.
        revision: The schema that this program reads.
        make: Whether to make the tables where there are none.

    Returns:
        Whether older ones were upgraded.

    Raises:
        ConfigError: If there are none, and none may be made.
        LedgerError: If the server is too old, the database is another program's, or a newer
            program made the ledger.
    """
    engine = create_engine(url)
    try:
        with explained(shown(url)), engine.connect() as connection, connection.begin():
            _check_version(connection, shown(url))
            if _revision(connection) == revision:
                return False
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('ledger'), 0)")
            found = _revision(connection)  # Another process may have been faster.
            if found is None and not make:
                raise ConfigError(
                    f"{shown(url)} holds no ledger yet; the first campaign that is opened there "
                    "makes one"
                )
            if found is None:
                _create(connection, shown(url), revision)
            elif found != revision:
                _upgrade(connection, shown(url), found, migrations, revision)
            return found not in {None, revision}
    finally:
        engine.dispose()


def _check_version(connection: Connection, name: str) -> None:
    number = int(connection.exec_driver_sql("SHOW server_version_num").scalar_one())
    if number < OLDEST * _MAJOR:
        raise LedgerError(
            f"ledger {name}: the server is PostgreSQL {number // _MAJOR}; {OLDEST} or newer is "
            "needed"
        )


def _revision(connection: Connection) -> str | None:
    """The schema of the tables; None if there are none yet."""
    found = connection.exec_driver_sql(f"SELECT to_regclass('{VERSION_TABLE}') IS NULL")
    if found.scalar_one():
        return None
    return stamped(connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").all())


def _create(connection: Connection, name: str, revision: str) -> None:
    try:
        metadata.create_all(connection, checkfirst=False)
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) == _DUPLICATE:
            raise LedgerError(
                f"ledger {name}: the database holds tables of another program; give the ledger "
                "a database of its own (createdb NAME), or a schema: "
                "?options=-csearch_path%3DNAME"
            ) from error
        raise
    for statement in extras(revision):
        connection.exec_driver_sql(statement)


def _upgrade(
    connection: Connection, name: str, found: str, migrations: Path, revision: str
) -> None:
    from alembic import command
    from alembic.config import Config

    check_known(name, found, migrations, revision)
    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
