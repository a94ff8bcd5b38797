"""Replies in SQL: a small table beside the history, whose rows go away after a day."""

from __future__ import annotations

from verifier_ladder.ledger.replies import KEPT, Reply
from verifier_ladder.ledger.store import Store

_READ = (
    "SELECT request, campaign, run, step, cursor, answer FROM reply WHERE key = ? AND asked_at > ?"
)


class SqlReplies(Store):
    """**Abstract:** the part of the SQL ledger that keeps replies."""

    def reply(self, key: bytes, *, now: float) -> Reply | None:
        """See `Replies.reply`."""
        return next((Reply(*row) for row in self._ask(_READ, key, now - KEPT)), None)

    def begin_reply(self, key: bytes, reply: Reply, *, now: float) -> Reply:
        """See `Replies.begin_reply`."""
        with self._writing(tell=False) as connection:
            connection.exec_driver_sql("DELETE FROM reply WHERE asked_at <= ?", (now - KEPT,))
            connection.exec_driver_sql(
                "INSERT INTO reply (key, request, campaign, run, step, cursor, answer, asked_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (key, *reply, now),
            )
            return Reply(*connection.exec_driver_sql(_READ, (key, now - KEPT)).one())

    def end_reply(self, key: bytes, answer: bytes) -> bytes:
        """See `Replies.end_reply`."""
        with self._writing(tell=False) as connection:
            connection.exec_driver_sql(
                "UPDATE reply SET answer = ? WHERE key = ? AND answer IS NULL", (answer, key)
            )
            kept = connection.exec_driver_sql("SELECT answer FROM reply WHERE key = ?", (key,))
            return kept.scalar() or answer
