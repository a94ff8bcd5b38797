"""Offsets: whether beliefs that had no deviation are right in the mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

from verifier_ladder.candidate import SampleId

_ENOUGH, _FAR = 12, 5.0
"""Audits from which a mean error is judged after each, and the deviations that are too many."""
_ROUNDING = 1e-9


@dataclass(slots=True)
class Offset:
    """Errors of one verifier's beliefs, where nothing was known of their deviation.

    There is no z to chart then, but if the errors' mean is five of its own deviations from zero,
    the beliefs are off. Each audit speaks for 1/p samples. A truth that is pass or fail is taken
    to vary at least as beliefs that are right would have it: a few passes in a row show no spread.
    Simulated, with up to 100 audits of beliefs that are right in the mean: an alarm in 1 of 1,000
    campaigns with normal errors, in none of 20,000 with pass or fail, and in 20 of 1,000 where
    errors are as skewed as an exponential distribution.
    """

    audits: int = 0
    weight: float = 0.0
    """Sum of the weights."""
    error: float = 0.0
    """Weighted sum of the errors: positive where candidates are worse than believed."""
    squares: float = 0.0
    crosses: float = 0.0
    powers: float = 0.0
    """Sums of w², w²·e and w²·e²."""
    even: float = 0.0
    """Sum of w²·μ(1 − μ)."""
    is_binary: bool = True
    """Whether all that was found was 0 or 1, and believed to be between."""
    first: SampleId | None = None
    is_told: bool = False
    """Whether it has raised its alarm: it does so once."""

    def add(self, sample: SampleId, estimate: float, truth: float, weight: float) -> None:
        """Take one more audit, on the learner's scale."""
        error, square = estimate - truth, weight * weight
        self.first = self.first or sample
        self.audits += 1
        self.weight += weight
        self.error += weight * error
        self.squares += square
        self.crosses += square * error
        self.powers += square * error * error
        self.even += square * estimate * (1.0 - estimate)
        self.is_binary &= truth in {0.0, 1.0} and 0.0 <= estimate <= 1.0

    @property
    def mean(self) -> float:
        """Mean error."""
        return self.error / self.weight

    @property
    def is_far(self) -> bool:
        """Whether enough audits find a mean error that is too far from zero to be chance."""
        if self.audits < _ENOUGH:
            return False
        mean = self.mean
        spread = self.powers - 2.0 * mean * self.crosses + mean * mean * self.squares
        spread *= self.audits / (self.audits - 1.0)
        if self.is_binary:
            spread = max(spread, self.even)
        limit = _FAR * sqrt(max(0.0, spread)) / self.weight
        return abs(mean) > limit + _ROUNDING * sqrt(self.powers)

    def as_json(self) -> dict[str, Any]:
        """All it has seen."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Offset:
        """Read it back."""
        first = stored["first"]
        return cls(**{**stored, "first": None if first is None else SampleId(*first)})
