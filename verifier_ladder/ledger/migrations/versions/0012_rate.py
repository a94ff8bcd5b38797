"""Rates: how many checks may begin in a time, on all hosts together.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; nobody has taken anything."""
    is_file = op.get_bind().dialect.name == "sqlite"
    number, rest = ("REAL", " WITHOUT ROWID") if is_file else ("DOUBLE PRECISION", "")
    op.execute(
        f"CREATE TABLE rate ( name TEXT NOT NULL, full_at {number} NOT NULL, PRIMARY KEY (name) )"
        f"{rest}"
    )
