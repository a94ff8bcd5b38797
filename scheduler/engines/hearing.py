"""Hearings: what a lane learns from a worker about one group, while it is at work and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from verifier_ladder.cost import Cost
from verifier_ladder.errors import EngineError
from verifier_ladder.scheduler.engines.blame import Answers
from verifier_ladder.scheduler.engines.job import Job
from verifier_ladder.scheduler.engines.journal import Journal
from verifier_ladder.scheduler.engines.watch import Failure

T = TypeVar("T")


class Hearing(Generic[T]):
    """Reads a worker's journal, and tells a job's future what it finds."""

    def __init__(self, job: Job[T], group: Sequence[int], journal: Journal) -> None:
        """Listen to a worker that is given these positions of a job."""
        self._job, self._group, self._journal = job, group, journal
        self._items: list[Any] = []
        self._whole = 0
        self._took = 0.0

    def look(self, took: float) -> None:
        """Deliver what was there at the last look; what is newer may not be written whole.

        Args:
            took: Cpu-seconds until it came to its last candidate.
        """
        whole, self._whole = self._whole, self._journal.count
        start = len(self._items)
        if whole > start:
            seconds, self._took = max(0.0, took - self._took), took
            said = self._said(start, whole, seconds)
            group = self._group[start:whole]
            self._job.future.tell({group[place]: item for place, item in said.sound.items()})

    def ended(self, rest: list[Any], costs: list[float] | None, seconds: float) -> Answers[T]:
        """What it has said, now that it is done.

        Raises:
            EngineError: If that is not one answer for each, with what they took. Whatever else is
                raised says that it can't be read.
        """
        items = self._items + self._journal.read(len(self._items), self._journal.count) + rest
        asked = len(self._group)
        if len(items) != asked or (costs is not None and len(costs) != asked):
            raise EngineError(f"{len(items)} answers for {asked} candidates")
        Cost(seconds)  # refuses what nobody can have spent
        return self._job.read(items, costs, seconds)

    def failed(self, failure: Failure, took: float) -> Answers[T]:
        """What it had said before it failed; the worker must be dead."""
        said = self._said(0, self._journal.count, took)
        left = max(0.0, failure.seconds - took)
        return said._replace(failure=failure._replace(seconds=left) if said.items else failure)

    def _said(self, start: int, end: int, seconds: float) -> Answers[T]:
        """What it has answered by now; nothing if that is not to be relied on."""
        try:
            self._items += self._journal.read(len(self._items), end)
            if not self._items:
                return Answers([], 0.0)
            costs = self._job.costs(self._journal, start, len(self._items))
            took = seconds if costs is None else sum(costs)
            return self._job.read(self._items[start:], costs, took)
        except Exception:  # noqa: BLE001 - whatever a worker that went mad has written
            return Answers([], 0.0)
