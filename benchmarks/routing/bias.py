"""Bias: whether rewards are right on average, arm by arm."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from routing.backend import Backend
from routing.onepass import calls
from routing.table import Floats, Indices, Table

_LEAST = 3
"""Rewards of an arm from which nothing can be said."""


@dataclass(slots=True)
class Bias:
    """Mean errors of the rewards of every arm, in standard deviations of the truth."""

    shift: float
    """Mean over the arms of the mean error, with its sign: what a learner sees everywhere."""
    size: float
    """Root mean square over the arms of the mean error."""
    noise: float
    """What chance alone would make of it, were there no bias."""
    probability: float
    """Of a size as large or larger by chance alone: the z-test over all arms."""


def bias(table: Table, backend: Backend, seed: int, *, passes: int) -> Bias:
    """Score a table several times under a uniform policy, and compare each arm's mean with truth.

    An arm is the table's own where it names one, otherwise a group.

    Args:
        table: The table.
        backend: Where rewards come from; it is closed at the end.
        seed: Order of the groups.
        passes: How often every row is scored.
    """
    arm = table.group if table.manifest.arm is None else table.arm
    errors: list[Floats] = []
    arms: list[Indices] = []
    try:
        for number in range(passes):
            for rollouts in calls(table, seed + 1000 * number):
                rewards = backend.score(rollouts).rewards
                errors.append(rewards - table.value[rollouts.rows])
                arms.append(arm[rollouts.rows])
    finally:
        backend.close()
    return judged(np.concatenate(errors) / table.value.std(), np.concatenate(arms))


def judged(errors: Floats, arm: Indices) -> Bias:
    """Test whether the mean error of every arm is zero; unknown rewards are left out.

    The sum of z² over the arms is compared with the χ² distribution through the normal
    approximation of its cube root (Wilson and Hilferty 1931).
    """
    known = np.isfinite(errors)
    errors, arm = errors[known], arm[known]
    count = np.bincount(arm)
    used = count > _LEAST
    mean = np.bincount(arm, errors)[used] / count[used]
    square = np.bincount(arm, errors**2)[used] / count[used]
    # Not n − 1: the square of Student's t with n − 1 degrees has the mean (n − 1)/(n − 3).
    variance = np.maximum(square - mean**2, 1e-12) / (count[used] - _LEAST)
    total, degrees = float((mean**2 / variance).sum()), int(used.sum())
    step = 2 / (9 * degrees)
    z = ((total / degrees) ** (1 / 3) - (1 - step)) / sqrt(step)
    return Bias(
        float(mean.mean()), float(np.sqrt((mean**2).mean())), float(np.sqrt(variance.mean())),
        1 - NormalDist().cdf(z),
    )  # fmt: skip
