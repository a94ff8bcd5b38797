"""Accounts keep back what the fast tier will take.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Keep back nothing, until a campaign scores."""
    whole = "INTEGER" if op.get_bind().dialect.name == "sqlite" else "BIGINT"
    op.execute(f"ALTER TABLE account ADD COLUMN kept {whole} DEFAULT 0 NOT NULL")
