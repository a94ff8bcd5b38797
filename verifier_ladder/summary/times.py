"""Times: how long the answers of a tier were waited for, and how long it was at work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from verifier_ladder.ledger.records import Block

_DIGITS = 3
"""Digits that are kept of a latency, so that millions of checks take little memory."""


class Latency(NamedTuple):
    """How long answers took, in seconds from the question to the record."""

    median: float
    high: float
    """95 % took no longer."""
    checks: int
    """How many checks this is known of."""


class Times:
    """The times of one tier's checks; memory grows with what differs in three digits.

    Example:
        >>> times = Times()
        >>> for end in (11.0, 12.0, 20.0):
        ...     times.worked(end - 1.5, end)
        ...     times.waited(1.5)
        >>> times.wall, times.latency
        (4.0, Latency(median=1.5, high=1.5, checks=3))
    """

    def __init__(self) -> None:
        """Start without checks."""
        self._seconds: Counter[float] = Counter()
        self._spells: list[tuple[float, float]] = []
        """When any check was at work: spells that don't touch, in order."""

    def waited(self, seconds: float, checks: int = 1) -> None:
        """Hear that answers took so long, from the question to the record."""
        self._seconds[float(f"{seconds:.{_DIGITS}g}")] += checks

    def worked(self, begun: float, ended: float) -> None:
        """Hear that a check was at work; those that end later are told of later, more or less."""
        later = []
        while self._spells and self._spells[-1][1] >= begun:
            first, last = self._spells.pop()
            if first > ended:
                later.append((first, last))
            else:
                begun, ended = min(begun, first), max(ended, last)
        self._spells += [(begun, ended), *reversed(later)]

    @property
    def spells(self) -> Sequence[tuple[float, float]]:
        """When any check was at work: spells that don't touch, in order."""
        return self._spells

    @property
    def seconds(self) -> Mapping[float, int]:
        """How many checks had each latency."""
        return self._seconds

    @property
    def wall(self) -> float | None:
        """Seconds during which any of its checks was at work; None if that is not known."""
        return sum(last - first for first, last in self._spells) if self._spells else None

    @property
    def latency(self) -> Latency | None:
        """Median and 95 % of the latencies; None if none is known."""
        checks = self._seconds.total()
        if not checks:
            return None
        return Latency(self._quantile(0.5), self._quantile(0.95), checks)

    def _quantile(self, share: float) -> float:
        """The shortest time within which so large a share has answered."""
        left = ceil(share * self._seconds.total())
        for seconds in sorted(self._seconds):
            left -= self._seconds[seconds]
            if left <= 0:
                return seconds
        return max(self._seconds)


def charges(block: Block) -> list[float | None]:
    """Cpu-seconds that each verdict of an entry was charged; None where nothing was recorded.

    It is what the accounts hold, however much more was measured.
    """
    count = len(block.verdicts)
    measured = [row.verdict.cost.seconds if row.verdict.cost else None for row in block.verdicts]
    return list(told(block.facts, "charged", count)) or measured


def told(facts: Mapping[str, Any], name: str, count: int) -> Sequence[Any]:
    """A column of an entry's facts, beside its verdicts; empty if it was not recorded."""
    column = facts.get(name)
    return column if isinstance(column, list) and len(column) == count else ()
