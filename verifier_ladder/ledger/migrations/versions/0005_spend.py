"""Spend is told apart by run and verifier; checks know who asked first and who waits.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

from alembic import op

from verifier_ladder.budget import TOTAL

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_SPEND = """
    CREATE TABLE spend (
        campaign TEXT NOT NULL,
        run TEXT NOT NULL,
        tier {whole} NOT NULL,
        verifier TEXT NOT NULL,
        version TEXT NOT NULL,
        resource {whole} NOT NULL,
        settled {whole} NOT NULL,
        failed {whole} NOT NULL,
        checks {whole} NOT NULL,
        PRIMARY KEY (campaign, run, tier, verifier, version, resource)
    )
"""


def upgrade() -> None:
    """Make the table; for what was spent so far nobody knows who asked."""
    is_file = op.get_bind().dialect.name == "sqlite"
    made = _SPEND.format(whole="INTEGER" if is_file else "BIGINT")
    op.execute(f"{made} WITHOUT ROWID" if is_file else made)
    op.execute("ALTER TABLE check_queue ADD COLUMN run TEXT DEFAULT '' NOT NULL")
    number = "REAL" if is_file else "DOUBLE PRECISION"
    for column in ("wanted_until", "asked_at"):
        op.execute(f"ALTER TABLE check_queue ADD COLUMN {column} {number} DEFAULT 0 NOT NULL")
    op.execute(
        "CREATE INDEX check_wanted ON check_queue (wanted_until) "
        "WHERE state = 0 AND wanted_until > 0"
    )
    op.execute("CREATE INDEX check_dead ON check_queue (id) WHERE state = 4")
    op.execute(
        "INSERT INTO spend SELECT campaign, '', tier, '', '', resource, settled, failed, checks "
        f"FROM account WHERE tier <> {TOTAL} AND settled + failed + checks > 0"
    )
