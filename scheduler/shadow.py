"""Shadows: every batch scored once more under another ladder, behind the learner's back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread
from typing import TYPE_CHECKING

from verifier_ladder.containment import ContainedLog, ends_program, text_of
from verifier_ladder.ledger.records import Block
from verifier_ladder.memory import BACKLOG, share, weigh

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.scheduler.scorer import Batch

_LOG = ContainedLog("verifier_ladder")
FAILURE = "shadow"
"""Kind of the entries that tell why a batch was not scored."""
_SUFFIX = "~shadow"
_MOST = 100_000
"""Samples that may wait for the shadow; it is no reason to run out of memory."""


def shadow_name(campaign: str) -> str:
    """The campaign under which a campaign's shadow is recorded; no user can choose it.

    Example:
        >>> shadow_name("solvation-01")
        'solvation-01~shadow'
    """
    return f"{campaign}{_SUFFIX}"


def is_shadow(campaign: str) -> bool:
    """Whether a campaign is the shadow of another."""
    return campaign.endswith(_SUFFIX)


class Shadow:
    """Scores what a campaign has scored, in a thread of its own.

    It never raises, and keeps aside while a learner waits: it begins no batch meanwhile. What
    goes wrong is noted for the report.
    """

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        score: Callable[[Batch], object],
        end: Callable[[], object],
    ) -> None:
        """Start nothing yet: the thread starts with the first batch.

        Args:
            name: The campaign under which the shadow is recorded.
            ledger: Its ledger.
            score: Scores one batch under the other ladder.
            end: Closes that campaign.
        """
        self._name, self._ledger, self._score, self._end = name, ledger, score, end
        self._changed = Condition()
        self._backlog: deque[tuple[Batch, int]] = deque()
        """Batches, and how many bytes each was when it came."""
        self._waiting = 0
        """Samples that are not scored yet, those at work too."""
        self._bytes = 0
        """What these hold."""
        self._callers = 0
        self._is_closing = False
        self._thread: Thread | None = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Begin nothing while a learner waits."""
        with self._changed:
            self._callers += 1
        try:
            yield
        finally:
            with self._changed:
                self._callers -= 1
                self._changed.notify_all()

    def follow(self, batch: Batch) -> None:
        """Score a batch some time later; one too many is noted and passed over."""
        with self._changed:
            # One object that comes many times is held once.
            distinct = {id(each): each for each in batch.candidates}.values()
            size, room = sum(map(weigh, distinct)), share(BACKLOG)
            fits = self._waiting + len(batch.positions) <= _MOST and self._bytes + size <= room
            why = f"the shadow is {self._waiting:,} samples behind" if size <= room else (
                f"they take {size:,} bytes, and what waits for the shadow may take {room:,}; "
                "raise VLADDER_CACHE_MEMORY"
            )  # fmt: skip
            if fits:
                self._waiting += len(batch.positions)
                self._bytes += size
                self._backlog.append((batch, size))
                self._changed.notify_all()
            if self._thread is None:
                self._thread = Thread(target=self._run, name="vl-shadow", daemon=True)
                self._thread.start()
        if not fits:
            self._tell(batch, why)

    def drain(self, timeout: float | None) -> bool:
        """Wait until nothing is left to score; False if the time ran out before."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout)

    def close(self) -> None:
        """Score what is left, and end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._end()

    # -- the shadow's thread -------------------------------------------------------------------

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            batch, size = taken
            try:
                self._score(batch)
            except BaseException as error:  # noqa: BLE001 - a shadow is never the learner's trouble
                self._tell(batch, text_of(error))
            with self._changed:
                self._waiting -= len(batch.positions)
                self._bytes -= size
                self._changed.notify_all()
            del batch, taken  # It may be long until the next one.

    def _next(self) -> tuple[Batch, int] | None:
        """The next batch and its bytes, once nobody waits; None when all is over."""
        with self._changed:
            self._changed.wait_for(self._is_its_turn)
            return self._backlog.popleft() if self._backlog else None

    def _is_its_turn(self) -> bool:
        return self._is_closing or (bool(self._backlog) and not self._callers)

    def _tell(self, batch: Batch, why: str) -> None:
        count = len(batch.positions)
        _LOG.warning("%d samples of step %d were not shadowed: %s", count, batch.step, why)
        facts = {"run": batch.run, "step": batch.step, "samples": count, "reason": why}
        try:
            self._ledger.append(Block(FAILURE, self._name, facts=facts))
        except BaseException as error:
            if ends_program(error):
                raise
            _LOG.exception("that they were not shadowed could not be recorded")
