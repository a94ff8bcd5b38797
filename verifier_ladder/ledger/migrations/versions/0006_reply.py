"""What was answered to calls that carry a key is kept for a day.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_REPLY = """
    CREATE TABLE reply (
        key {data} NOT NULL,
        request {data} NOT NULL,
        campaign TEXT NOT NULL,
        run TEXT NOT NULL,
        step {whole} NOT NULL,
        cursor {whole} NOT NULL,
        asked_at {number} NOT NULL,
        answer {data},
        PRIMARY KEY (key)
    )
"""
_SQLITE = {"data": "BLOB", "whole": "INTEGER", "number": "REAL"}
_POSTGRESQL = {"data": "BYTEA", "whole": "BIGINT", "number": "DOUBLE PRECISION"}


def upgrade() -> None:
    """Make the table; nothing was kept before."""
    is_file = op.get_bind().dialect.name == "sqlite"
    op.execute(_REPLY.format(**(_SQLITE if is_file else _POSTGRESQL)))
    op.execute("CREATE INDEX reply_asked_at ON reply (asked_at)")
