"""Meters: which candidate a worker is at, and what each of them costs."""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any


def cpu_seconds() -> float:
    """Cpu-seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


class Meter:
    """Notes the position in the shared cell and, if asked, what each candidate costs."""

    def __init__(self, cell: Any, spent: Any, seeds: Sequence[int] | None) -> None:
        """Add what each candidate costs to its place in `spent`; None if that is not asked."""
        self.cell, self.seeds, self.spent = cell, seeds, spent
        self._at, self._since = 0, 0.0 if spent is None else cpu_seconds()
        slow = spent is not None or seeds is not None
        self.visit: Callable[[int], None] = self._visit if slow else self._mark

    def _mark(self, position: int) -> None:
        self.cell[0] = position

    def _visit(self, position: int) -> None:
        self.cell[0] = position
        if self.spent is not None:
            self.settle()
            self._at = position
        if self.seeds is not None:
            _seed(self.seeds[position])

    def mute(self) -> None:
        """Note nothing any more that anybody else sees."""
        self.cell, self.spent = [0], None

    def settle(self) -> None:
        """Charge the time since the last mark to the candidate it stood at."""
        if self.spent is not None:
            now = cpu_seconds()
            self.spent[self._at] += now - self._since
            self._since = now


def _seed(seed: int) -> None:
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
