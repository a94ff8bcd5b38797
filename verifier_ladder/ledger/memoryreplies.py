"""Replies in memory."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from verifier_ladder.ledger.replies import KEPT, Replies, Reply


class MemoryReplies(Replies):
    """**Abstract:** the part of the ledger in memory that keeps replies."""

    if TYPE_CHECKING:

        def _held(self, *, tell: bool = False) -> AbstractContextManager[None]: ...

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self._replies: dict[bytes, tuple[Reply, float]] = {}
        """With when each was asked for; the oldest first."""

    def reply(self, key: bytes, *, now: float) -> Reply | None:
        """See `Replies.reply`."""
        with self._held():
            reply, asked_at = self._replies.get(key, (None, 0.0))
            return reply if asked_at > now - KEPT else None

    def begin_reply(self, key: bytes, reply: Reply, *, now: float) -> Reply:
        """See `Replies.begin_reply`."""
        with self._held():
            for old in [k for k, (_, at) in self._replies.items() if at <= now - KEPT]:
                del self._replies[old]
            return self._replies.setdefault(key, (reply, now))[0]

    def end_reply(self, key: bytes, answer: bytes) -> bytes:
        """See `Replies.end_reply`."""
        with self._held():
            if key not in self._replies:
                return answer
            reply, asked_at = self._replies[key]
            if reply.answer is None:
                reply = reply._replace(answer=answer)
                self._replies[key] = reply, asked_at
            return reply.answer or answer
