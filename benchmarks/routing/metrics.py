"""Metrics: how close rewards are to the truth, and how sure a mean over runs is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from routing.backend import Scored
from routing.table import Floats, Indices

from verifier_ladder.scheduler.advantages import advantages

_FLOOR = 1e-2
"""Least standard deviation of a group, as a share of that of the whole table."""
_RESAMPLES = 2000


class Interval(NamedTuple):
    """A mean with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Show three digits, and the interval where there is one."""
        if not self.low < self.high:
            return f"{self.mean:.3g}"
        return f"{self.mean:.3g} ({self.low:.3g}–{self.high:.3g})"


def interval(values: Sequence[float]) -> Interval:
    """The mean over runs, and how far it would move with other runs; NaN is left out."""
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) == 0:
        return Interval(np.nan, np.nan, np.nan)
    if np.isinf(known).any():
        return Interval(np.inf, np.inf, np.inf)
    drawn = np.random.default_rng(0).integers(len(known), size=(_RESAMPLES, len(known)))
    low, high = np.quantile(known[drawn].mean(axis=1), (0.025, 0.975))
    return Interval(float(known.mean()), float(low), float(high))


def learnt_from(scored: Scored, group: Indices, floor: float) -> Floats:
    """The advantages that a learner makes of rewards; 0 where nothing is known. Shape (n,).

    A method that says how sure it is gives the spread of the group too: corrections by 1/p
    inflate that of the rewards themselves.
    """
    known = {}
    if np.isfinite(scored.mean).all() and np.isfinite(scored.deviation).all():
        known = {"estimates": scored.mean, "deviations": scored.deviation}
    made = advantages(scored.rewards, group.tolist(), floor=floor, **known)
    return np.nan_to_num(made)


def floor_of(truth: Floats) -> float:
    """The least standard deviation of a group, so that one without spread counts for little."""
    return max(_FLOOR * float(np.std(truth)), 1e-12)


def correlation(left: Floats, right: Floats) -> float:
    """Pearson's correlation; NaN if one of them is constant."""
    a, b = left - left.mean(), right - right.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm > 0 else float("nan")


def cosine(left: Floats, right: Floats, arm: Indices) -> float:
    """Cosine of the two policy gradients of a learner that has one logit per arm.

    At the uniform policy its gradient is the sum of each arm's advantages.
    """
    a, b = np.bincount(arm, left), np.bincount(arm, right)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norm if norm > 0 else float("nan")
