"""Replies: how a call that carries a key was answered, so that the same call gets it again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

KEPT = 86_400.0
"""Seconds for which a reply is kept, from when it was asked for."""


class Reply(NamedTuple):
    """A call under a key: where its samples stand, and what was answered."""

    request: bytes
    """Digest of what was asked: under one key nothing else may be."""
    campaign: str
    run: str
    step: int
    """Step of its samples; no other call is given it."""
    cursor: int
    """Newest entry before it."""
    answer: bytes | None = None
    """Which revision of each reward was answered; None as long as there is no answer."""


class Replies(ABC):
    """**Abstract:** the part of a ledger that keeps replies.

    They are no history, and nobody signs for them: a reply says which of the recorded rewards
    were answered, never what they are, and it goes away after a day. So a client that did not
    hear its answer may ask again that long, whichever server it asks and however often that was
    started anew in between.
    """

    @abstractmethod
    def reply(self, key: bytes, *, now: float) -> Reply | None:
        """The reply under a key; None if there is none any more."""

    @abstractmethod
    def begin_reply(self, key: bytes, reply: Reply, *, now: float) -> Reply:
        """Keep a reply that has no answer yet, before anything is done for it.

        Returns:
            What is kept under the key now: of two who begin at one time, the first one's.
        """

    @abstractmethod
    def end_reply(self, key: bytes, answer: bytes) -> bytes:
        """Keep which revisions were answered, for as long as the reply is.

        Returns:
            What is kept: if two did the same work, what the first of them found.
        """
