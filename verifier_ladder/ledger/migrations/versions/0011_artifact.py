"""Files beside verdicts are kept in chunks.

Revision ID: 0011
Revises: 0010
"""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_TABLES = (
    """
    CREATE TABLE artifact (
        digest {data} NOT NULL,
        campaign TEXT NOT NULL,
        size {whole} NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (digest)
    )
    """,
    "CREATE INDEX artifact_campaign ON artifact (campaign)",
    """
    CREATE TABLE artifact_chunk (
        digest {data} NOT NULL,
        place {whole} NOT NULL,
        data {data} NOT NULL,
        PRIMARY KEY (digest, place)
    )
    """,
)
_SQLITE = {"data": "BLOB", "whole": "INTEGER"}
_POSTGRESQL = {"data": "BYTEA", "whole": "BIGINT"}


def upgrade() -> None:
    """Make the tables; nothing was kept before."""
    is_file = op.get_bind().dialect.name == "sqlite"
    for table in _TABLES:
        op.execute(table.format(**(_SQLITE if is_file else _POSTGRESQL)))
