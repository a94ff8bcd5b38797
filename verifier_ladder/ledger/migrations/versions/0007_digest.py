"""Checks of the queue name their verifier's digest, and when their worker was last heard of.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

from verifier_ladder.ledger.values import dumps, loads

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the digest out of the payload of each check, and put its cache namespace in."""
    connection = op.get_bind()
    is_file = connection.dialect.name == "sqlite"
    data, number = ("BLOB", "REAL") if is_file else ("BYTEA", "DOUBLE PRECISION")
    op.execute(f"ALTER TABLE check_queue ADD COLUMN digest {data} DEFAULT '' NOT NULL")
    op.execute(f"ALTER TABLE check_queue ADD COLUMN seen_at {number} DEFAULT 0 NOT NULL")
    op.execute("UPDATE check_queue SET seen_at = claimed_at")
    rows = connection.exec_driver_sql(
        "SELECT q.id, q.payload, c.ladder FROM check_queue q "
        "LEFT JOIN campaign c ON c.name = q.campaign"
    ).all()
    for row, stored, ladder in rows:
        payload = loads(bytes(stored))
        digest = bytes.fromhex(str(payload.pop("digest", "")))
        if namespace := (loads(bytes(ladder)) if ladder else {}).get("namespace"):
            payload["namespace"] = namespace
        connection.execute(
            text("UPDATE check_queue SET digest = :digest, payload = :payload WHERE id = :id"),
            {"digest": digest, "payload": dumps(payload), "id": row},
        )
