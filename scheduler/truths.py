"""Truths: what the top tier has said so far, as the yardstick of spread and improvement."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from math import isfinite, nan, sqrt
from typing import Any

_BEST = 10
"""An improvement has to pass the tenth best known value: a search wants several good ones."""
_PRIOR_COUNT = 2.0


class Truths:
    """Running spread of the target over candidates, and the best values known.

    Example:
        >>> truths = Truths(sign=1.0)
        >>> for value in (1.0, 3.0):
        ...     truths.add(value)
        >>> truths.best, round(truths.spread, 2)
        (1.0, 1.41)
    """

    def __init__(self, sign: float, prior: tuple[float, float] | None = None) -> None:
        """Start with what was declared.

        Args:
            sign: 1 if more of the target is better, -1 if less is.
            prior: Mean and deviation of the target, worth two values.
        """
        self._sign = sign
        self._prior = prior
        self._count, self._mean, self._squares = 0.0, 0.0, 0.0
        if prior is not None:
            self._count, self._mean = _PRIOR_COUNT, prior[0]
            self._squares = (_PRIOR_COUNT - 1) * prior[1] ** 2
        self._best: list[float] = []

    def add(self, value: float, *, is_found: bool = True) -> None:
        """Take one answer of the top tier, unless it overflows (Welford's update).

        Args:
            value: What it is worth, in target units.
            is_found: Whether a search has found something with it. A reject is nothing to be
                found, whatever it earns.
        """
        change = value - self._mean
        if not isfinite(change * change):
            return
        self._count += 1.0
        self._mean += change / self._count
        self._squares += change * (value - self._mean)
        if is_found:
            insort(self._best, self._sign * value)
            del self._best[:-_BEST]

    @property
    def spread(self) -> float:
        """Standard deviation of the target; NaN until there are two values or a prior."""
        if self._count < 2:  # noqa: PLR2004 - one value has no spread
            return nan
        return sqrt(self._squares / (self._count - 1))

    @property
    def best(self) -> float:
        """The worst of the best few values, in target units; NaN if none is known."""
        return self._sign * self._best[0] if self._best else nan

    def snapshot(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {
            "count": self._count, "mean": self._mean, "squares": self._squares,
            "best": list(self._best),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self._count, self._mean = float(snapshot["count"]), float(snapshot["mean"])
        self._squares = float(snapshot["squares"])
        self._best = [float(value) for value in snapshot["best"]]
