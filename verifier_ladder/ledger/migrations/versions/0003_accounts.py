"""Accounts of several resources and of all tiers together; tiers can be paused.

Revision ID: 0003
Revises: 0001
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0001"
branch_labels = None
depends_on = None

_RESOURCES = ("gpu_seconds", "money", "person_minutes")
_ACCOUNT = """
    CREATE TABLE account (
        campaign TEXT NOT NULL,
        tier INTEGER NOT NULL,
        resource INTEGER NOT NULL,
        cap INTEGER,
        excess INTEGER DEFAULT 0 NOT NULL,
        settled INTEGER DEFAULT 0 NOT NULL,
        reserved INTEGER DEFAULT 0 NOT NULL,
        failed INTEGER DEFAULT 0 NOT NULL,
        checks INTEGER DEFAULT 0 NOT NULL,
        PRIMARY KEY (campaign, tier, resource),
        CONSTRAINT no_debts CHECK (settled >= 0 AND reserved >= 0 AND failed >= 0),
        CONSTRAINT within_cap CHECK (cap IS NULL OR settled + failed + reserved <= cap + excess)
    )
     WITHOUT ROWID
"""
_PAUSE = """
    CREATE TABLE pause (
        campaign TEXT NOT NULL,
        tier INTEGER NOT NULL,
        PRIMARY KEY (campaign, tier)
    )
     WITHOUT ROWID
"""


def upgrade() -> None:
    """Give every account its resource, which was cpu time, and every check the others."""
    op.execute("ALTER TABLE account RENAME TO account_before")
    op.execute(_ACCOUNT)
    op.execute(
        "INSERT INTO account SELECT campaign, tier, 0, cap, excess, settled, reserved, failed, "
        "checks FROM account_before"
    )
    op.execute("DROP TABLE account_before")
    op.execute(_PAUSE)
    for column in ("reserve", "reserved"):
        op.execute(f"ALTER TABLE check_queue RENAME COLUMN {column} TO {column}_cpu_seconds")
    for resource in _RESOURCES:
        op.execute(
            f"ALTER TABLE check_queue ADD COLUMN reserve_{resource} REAL DEFAULT 0 NOT NULL"
        )
    for resource in _RESOURCES:
        name = f"reserved_{resource}"
        op.execute(
            f"ALTER TABLE check_queue ADD COLUMN {name} INTEGER DEFAULT 0 NOT NULL "
            f"CHECK ({name} >= 0 AND ({name} = 0 OR state IN (1, 2)))"
        )
