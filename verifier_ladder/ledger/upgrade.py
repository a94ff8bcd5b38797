"""Upgrading an older ledger file with Alembic, loaded only when there is something to upgrade."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.sqlite import make_engine
from verifier_ladder.private import make_private


def known_revisions(migrations: Path) -> set[str]:
    """The schemas that this program knows how to read or upgrade."""
    return {script.revision for script in ScriptDirectory(str(migrations)).walk_revisions()}


def upgrade(path: Path, found: str, migrations: Path, revision: str) -> Path:
    """Copy a ledger file next to itself, then upgrade it.

    Args:
        path: The file.
        found: Its schema.
        migrations: The Alembic folder.
        revision: The schema to reach.

    Returns:
        The path of the copy.

    Raises:
        LedgerError: If the upgrade failed; the ledger is as it was before.
    """
    backup = path.with_name(f"{path.name}.backup-{found}")
    if backup.is_symlink():  # Somebody put it there; what it leads to is not ours to write.
        backup.unlink()
    make_private(backup, path)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    engine = make_engine(path)
    try:
        with engine.connect() as connection, connection.begin():
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    except Exception as error:
        raise LedgerError(
            f"{path} could not be upgraded from schema {found} to {revision}: {error}. "
            f"Nothing was changed; a copy lies in {backup}"
        ) from error
    finally:
        engine.dispose()
    return backup
