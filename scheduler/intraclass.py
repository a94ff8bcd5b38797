"""Intraclass correlation: what an audit tells beyond those of its group before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

_PRIOR = 20.0
"""How many residuals, and how many differences, stand for the correlation before there are real
ones; they say none."""
_MOST = 0.95
"""The largest correlation: another audit of a group is never taken for worth nothing."""
_KEPT = 256
"""Groups kept in mind, the latest first seen: answers of one group come about the same time."""


@dataclass(slots=True)
class Intraclass:
    """Takes out of each residual what those of its group before it have told.

    Samples of one prompt often share their error. Then their residuals correlate, and eight of
    them say little more than one. Given the n before it with sum S, a residual of an evenly
    correlated group has the mean b·S, b = ρ/(1 + (n − 1)ρ), and the variance 1 − n·ρ·b times its
    own. What is left, divided by its deviation, is independent of what was told before: with
    ρ = 0 it is the residual itself, and with ρ near 1 a group counts as little more than one.

    ρ is learnt from differences within groups, against the residuals' variance around their own
    mean. A shift of all residuals leaves both alone, so it is not taken for a shared error.

    Source: Donner & Koval, *Biometrics* 36 (1980), for the intraclass correlation.

    Example:
        >>> told = Intraclass()
        >>> apart = [told.add(str(n // 4), 1.0 - n // 4 % 2 * 2.0) for n in range(200)]
        >>> [round(new, 1) for new in apart[-4:]]
        [-1.0, -0.3, -0.2, -0.1]
    """

    within: float = _PRIOR
    """Sum of squared differences within groups, each scaled to the variance within."""
    differences: float = _PRIOR
    count: int = 0
    mean: float = 0.0
    around: float = _PRIOR
    """Sum of squared differences from the mean of all."""
    groups: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Count and sum of the residuals of each group."""

    def add(self, group: str, z: float) -> float:
        """Take one more residual; gives what is new in it, on the same scale.

        Args:
            group: Its group; "" for none.
            z: The residual.
        """
        if not group:
            return z
        count, total = self.groups.pop(group, (0, 0.0))
        new = self._new(z, count, total)
        self.count += 1
        off = z - self.mean
        self.mean += off / self.count
        self.around += off * (z - self.mean)
        if count:
            self.within += (z - total / count) ** 2 / (1.0 + 1.0 / count)
            self.differences += 1.0
        self.groups[group] = count + 1, total + z
        if len(self.groups) > _KEPT:
            del self.groups[next(iter(self.groups))]
        return new

    def _new(self, z: float, count: int, total: float) -> float:
        if not count:
            return z
        variance = self.around / (_PRIOR + self.count)
        shared = min(_MOST, max(0.0, 1.0 - self.within / self.differences / variance))
        share = shared / (1.0 + (count - 1) * shared)
        return (z - share * total) / sqrt(1.0 - count * shared * share)

    def snapshot(self) -> dict[str, Any]:
        """What was learnt, as JSON."""
        return asdict(self)

    @classmethod
    def restore(cls, stored: Mapping[str, Any]) -> Intraclass:
        """Go back to a snapshot."""
        groups = {group: (int(n), float(total)) for group, (n, total) in stored["groups"].items()}
        numbers = {name: stored[name] for name in ("count", "mean", "around") if name in stored}
        return cls(stored["within"], stored["differences"], groups=groups, **numbers)
