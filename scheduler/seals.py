"""Seals: which samples come in time, by a time that never runs backwards.

A sample is sealed by its entry, and the time of that is the ledger's. It is never earlier than
what the ledger has told before: a settlement that is recorded, and a clock that is set back behind
it, let no copy in. A sample is in time where this machine's clock says so, too; of a time between
what they say, nobody can tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from threading import Lock
from time import time as host_clock
from typing import Any, Final

from verifier_ladder.candidate import Candidate
from verifier_ladder.case import UNKNOWN, Now, late_mark, marked_late, times_in
from verifier_ladder.keys import task_digest
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import SampleReward, Sealing

_MARKS: Final = (None, True, UNKNOWN)
"""How a sample may have been marked: in time, late, and nobody knows."""


class Seals:
    """Marks the samples of one campaign that are late, and says until when others are in time."""

    def __init__(self, ledger: Ledger, fields: Collection[str]) -> None:
        """Look at these task fields, which hold the times until which samples are taken."""
        self._ledger, self._fields = ledger, fields
        self._seen, self._told, self._lock = 0, 0.0, Lock()

    def names(self, candidates: Sequence[Any]) -> bool:
        """Whether one of these candidates has a task with such a time."""
        return any(True for _ in self._times(candidates))

    def mark(
        self, candidates: Sequence[Any], recorded: Sequence[SampleReward | None]
    ) -> list[Any]:
        """Candidates with their tasks marked that are late, or of which nobody can tell.

        Args:
            candidates: The candidates.
            recorded: What was recorded of each sample before, if it was. Such a one is what it
                was then, so that it keeps its reward.
        """
        made = marked_late(candidates, self._fields, self._now())
        for place, row in enumerate(recorded):
            if row is not None:
                made[place] = self._as_recorded(candidates[place], row.task_key)
        return made

    def sealing(self, candidates: Sequence[Any]) -> Sealing | None:
        """Until when an entry with these candidates is in time; None where it always is."""
        before = min(self._times(candidates), default=None)
        return None if before is None else Sealing(self._latest(), before)

    def _now(self) -> Now:
        clocks = self._ledger.clock(), host_clock()
        return Now(min(clocks), max(self._latest(), *clocks))

    def _latest(self) -> float:
        """The latest time that the ledger has told of."""
        with self._lock:
            self._seen, told = self._ledger.latest(self._seen)
            self._told = max(self._told, told)
            return self._told

    def _times(self, candidates: Sequence[Any]) -> Iterator[float]:
        """The times in those tasks that are not marked."""
        given = candidates if self._fields else ()
        tasks = {id(one.task): one.task for one in given if isinstance(one, Candidate)}
        for task in tasks.values():
            for field, at in times_in(task, self._fields):
                if task and not task.get(late_mark(field)):
                    yield at

    def _as_recorded(self, candidate: Any, key: bytes) -> Any:
        """A candidate with its task as it was recorded; as it is if it was another one."""
        task: Mapping[str, Any] = getattr(candidate, "task", None) or {}
        names = [late_mark(field) for field, _ in times_in(task, self._fields)]
        for marks in product(_MARKS, repeat=len(names)):
            made = {name: mark for name, mark in zip(names, marks, strict=True) if mark}
            if task_digest({**task, **made}) == key:
                return replace(candidate, task={**task, **made}) if made else candidate
        return candidate
