"""Counters, kept as entries are written: how checks ended, and what samples earn.

Revision ID: 0013
Revises: 0012
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from alembic import op

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.counting import Counted
from verifier_ladder.ledger.encoding import DAMAGE, decode

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_PAGE = 64
_TABLES = (
    """
    CREATE TABLE verdict_count (
        campaign TEXT NOT NULL,
        tier {whole} NOT NULL,
        verifier TEXT NOT NULL,
        version TEXT NOT NULL,
        outcome TEXT NOT NULL,
        boundary TEXT NOT NULL,
        checks {whole} NOT NULL,
        PRIMARY KEY (campaign, tier, verifier, version, outcome, boundary)
    )
    """,
    """
    CREATE TABLE step_count (
        campaign TEXT NOT NULL,
        run TEXT NOT NULL,
        step {whole} NOT NULL,
        samples {whole} NOT NULL,
        revised {whole} NOT NULL,
        known {whole} NOT NULL,
        waiting {whole} NOT NULL,
        whole {whole} NOT NULL,
        part {whole} NOT NULL,
        unsummed {whole} NOT NULL,
        checks {whole} NOT NULL,
        reused {whole} NOT NULL,
        PRIMARY KEY (campaign, step, run)
    )
    """,
)


def upgrade() -> None:
    """Make the tables, and count all entries that there are."""
    connection = op.get_bind()
    is_file = connection.dialect.name == "sqlite"
    for table in _TABLES:
        made = table.format(whole="INTEGER" if is_file else "BIGINT")
        op.execute(f"{made} WITHOUT ROWID" if is_file else made)
    op.execute("CREATE INDEX entry_alarm ON entry (campaign, kind, id) WHERE kind = 'alarm'")
    _count(connection, "?" if is_file else "%s")


def _count(connection: Any, mark: str) -> None:
    """Count entries page by page; one that can't be read adds nothing, and `verify` names it."""
    page, after = f"SELECT id, body FROM entry WHERE id > {mark} ORDER BY id LIMIT {_PAGE}", 0
    while rows := connection.exec_driver_sql(page, (after,)).all():
        counted = Counted()
        for _, body in rows:
            with suppress(LedgerError, *DAMAGE):
                counted.add(decode(body))
        counted.write(connection, mark)
        after = rows[-1][0]
