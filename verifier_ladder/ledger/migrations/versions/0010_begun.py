"""Checks of the queue tell when a worker has begun on them.

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take whatever is leased to have begun when it was claimed."""
    number = "REAL" if op.get_bind().dialect.name == "sqlite" else "DOUBLE PRECISION"
    op.execute(f"ALTER TABLE check_queue ADD COLUMN begun_at {number} DEFAULT 0 NOT NULL")
    op.execute("UPDATE check_queue SET begun_at = claimed_at")
