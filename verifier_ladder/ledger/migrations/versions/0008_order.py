"""The log is in the order of ids: no list of what waits; sources of verifiers are logged too.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

import time

from alembic import op

from verifier_ladder.ledger.encoding import encode, leaf
from verifier_ladder.ledger.records import Block

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the list, which must hold nothing older than what is logged; log the sources."""
    bind = op.get_bind()
    late = bind.exec_driver_sql(
        "SELECT count(*) FROM pending "
        "WHERE entry_id < (SELECT coalesce(max(entry_id), 0) FROM leaf) "
        "AND entry_id NOT IN (SELECT entry_id FROM leaf)"
    ).scalar_one()
    if late:
        raise ValueError(
            f"{late} entries wait for the signed log before others that are in it; open and close "
            "the ledger once with the program that wrote it"
        )
    op.execute("DROP TABLE pending")
    is_file = bind.dialect.name == "sqlite"
    if not is_file:
        from verifier_ladder.ledger.postgresql import SETTLED

        bind.exec_driver_sql(SETTLED)
    number = (
        "(SELECT coalesce(max(id), 0) + 1 FROM entry)" if is_file else "nextval('entry_id_seq')"
    )
    marks = "?, ?, ?, ?, ?" if is_file else "%s, %s, %s, %s, %s"
    rows = bind.exec_driver_sql(
        "SELECT name, version, digest FROM verifier_source ORDER BY id"
    ).all()
    for name, version, digest in rows:
        now = time.time()
        facts = {"name": name, "version": version, "digest": digest}
        body = encode(Block("source", "source/", facts=facts), now)
        bind.exec_driver_sql(
            "INSERT INTO entry (id, kind, campaign, recorded_at, leaf, body) "
            f"VALUES ({number}, {marks})",
            ("source", "source/", now, leaf(body), body),
        )
