"""The relay: rings for hosts when checks are queued that others are to run."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from time import monotonic
from typing import Protocol

from verifier_ladder.ledger import Ledger
from verifier_ladder.scheduler.engines.bell import queue_of
from verifier_ladder.verifiers import Verifier

_PER_RING = 100
"""Checks that one message stands for."""
_MOST = 256
"""Messages of one queue that are under way at most."""
_AGAIN = 10.0
"""Seconds after which a message is taken to be lost or heard. It is kept for longer, but a broker
may have been emptied, and one message too many does no harm."""
_PAUSE = 0.25
_PENANCE = 10.0
"""Seconds between two tries of a broker that is down."""


class Rings(Protocol):
    """**Protocol:** what sends messages: the bell."""

    def ring(self, queue: str, times: int = 1) -> bool:
        """Send messages to a queue; whether they were taken."""
        ...


class Relay:
    """Keeps about one message under way for every hundred checks that could be claimed.

    What it remembers is lost with it: it then rings once more, which does no harm.
    """

    def __init__(self, ledger: Ledger, bell: Rings) -> None:
        """Serve one ledger."""
        self._ledger, self._bell = ledger, bell
        self._rung: dict[str, deque[float]] = {}
        self._next = 0.0

    def look(self, verifiers: Iterable[Verifier]) -> None:
        """Ring where more checks of these verifiers wait than were rung for."""
        now = monotonic()
        if now < self._next:
            return
        self._next = now + _PAUSE
        queued = self._ledger.queued(now=self._ledger.clock())
        waiting = Counter({(group.digest, group.gpu): group.checks for group in queued})
        counts = Counter[str]()
        for verifier in verifiers:
            for gpu in (False, True):
                counts[queue_of(verifier, gpu=gpu)] += waiting[verifier.digest, gpu]
        for queue, count in counts.items():
            if not self._ring(queue, count, now):
                self._next = now + _PENANCE

    def _ring(self, queue: str, count: int, now: float) -> bool:
        rung, wanted = self._rung.setdefault(queue, deque()), min(-(-count // _PER_RING), _MOST)
        while rung and (len(rung) > wanted or rung[0] < now - _AGAIN):
            rung.popleft()  # It was heard, or is lost.
        missing = wanted - len(rung)
        if missing == 0:
            return True
        is_taken = self._bell.ring(queue, missing)
        rung.extend([now] * missing if is_taken else ())
        return is_taken
