"""The first schema.

Revision ID: 0001
"""

from __future__ import annotations

from alembic import op

from verifier_ladder.ledger.schema import guards, metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables and their guards."""
    metadata.create_all(op.get_bind(), checkfirst=False)
    for statement in guards():
        op.execute(statement)
