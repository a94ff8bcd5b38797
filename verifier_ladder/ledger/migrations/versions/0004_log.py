"""The signed log: places of entries, tiles, checkpoints, keys.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TABLES = (
    """
    CREATE TABLE leaf (
        idx INTEGER NOT NULL,
        entry_id INTEGER NOT NULL,
        PRIMARY KEY (idx),
        UNIQUE (entry_id),
        FOREIGN KEY(entry_id) REFERENCES entry (id)
    )
    """,
    """
    CREATE TABLE tile (
        level INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        hashes BLOB NOT NULL,
        PRIMARY KEY (level, idx)
    )
    """,
    """
    CREATE TABLE checkpoint (
        size INTEGER NOT NULL,
        note TEXT NOT NULL,
        frontier BLOB NOT NULL,
        PRIMARY KEY (size)
    )
    """,
    """
    CREATE TABLE signer (
        id INTEGER NOT NULL,
        origin TEXT NOT NULL,
        "key" TEXT NOT NULL,
        PRIMARY KEY (id),
        UNIQUE ("key")
    )
    """,
    """
    CREATE TABLE pending (
        entry_id INTEGER NOT NULL,
        PRIMARY KEY (entry_id)
    )
    """,
)
_HISTORY = ("leaf", "tile", "checkpoint", "signer")


def upgrade() -> None:
    """Make the tables; every entry so far waits for its place."""
    for statement in _TABLES:
        op.execute(statement)
    for table in _HISTORY:
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_{verb.lower()}_refused BEFORE {verb} ON {table} BEGIN "
                f"SELECT RAISE(ABORT, 'the ledger is append-only: {table} rows are never changed "
                "or deleted'); END"
            )
    op.execute("INSERT INTO pending (entry_id) SELECT id FROM entry")
