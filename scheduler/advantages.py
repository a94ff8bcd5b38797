"""Advantages: rewards compared with their group, in units of the group's spread."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from verifier_ladder.arrays import Floats, Indices
from verifier_ladder.errors import ConfigError

_SHARE = 0.05
"""The floor of a group's spread, as a share of the spread of all samples together."""


def advantages(
    rewards: Sequence[float | None] | Floats,
    groups: Sequence[Hashable],
    *,
    estimates: Sequence[float | None] | Floats | None = None,
    deviations: Sequence[float | None] | Floats | None = None,
    floor: float | None = None,
) -> Floats:
    """Group-relative advantages: (r − mean of the group's r) / max(sd of the group, floor).

    The group's variance is Var(estimates) + mean(deviations²): that of the truth, as believed
    before any draw. Corrected rewards vary more, by the noise of the draws, and dividing by their
    own spread would shrink most what was verified.

    Args:
        rewards: Rewards on the learner's scale; None or NaN where nothing is known. Shape (n,).
        groups: The group of each sample. Shape (n,).
        estimates: The rewards as believed before the draw; the rewards if left out. Shape (n,).
        deviations: One standard deviation of each estimate, 0 where the truth was known; zeros
            if left out. Shape (n,).
        floor: The least spread to divide by, on the learner's scale; 5 % of the spread of all
            samples of the call if left out.

    Returns:
        One advantage for each sample. What is unknown stays unknown, as NaN, and has no part in
        its group's mean: mask it, as in `np.where(np.isnan(a), 0, a)`. The only known sample of
        a group has no advantage either, for there is nothing to compare it with. A group whose
        rewards are all equal has advantages of 0. Shape (n,).

    Raises:
        ConfigError: If the arguments differ in length, or the floor is no positive number.

    Example:
        >>> advantages([1.0, 0.0, None, 3.0], ["a", "a", "a", "b"]).tolist()
        [1.0, -1.0, nan, nan]
    """
    values = _floats(rewards, len(groups), "rewards")
    means = values if estimates is None else _floats(estimates, len(groups), "estimates")
    if deviations is None:
        spread = np.zeros(len(values))
    else:
        spread = _floats(deviations, len(groups), "deviations")
    if floor is not None and not (np.isfinite(floor) and floor > 0.0):
        raise ConfigError(f"the floor of a group's spread must be positive, not {floor}")
    numbers = _numbers(groups)
    centred = values - _mean(values, numbers)[numbers]
    centred[_members(values, numbers)[numbers] <= 1] = np.nan
    least = _SHARE * _spread(means, spread, np.zeros_like(numbers)) if floor is None else floor
    scale = np.maximum(_spread(means, spread, numbers), least)[numbers]
    # No spread at all: whatever is left of the difference is rounding.
    return np.divide(centred, scale, out=np.where(np.isnan(centred), np.nan, 0.0), where=scale > 0)


def changes(
    before: Sequence[float | None] | Floats,
    after: Sequence[float | None] | Floats,
    groups: Sequence[Hashable],
    *,
    estimates: Sequence[float | None] | Floats | None = None,
    deviations: Sequence[float | None] | Floats | None = None,
    floor: float | None = None,
) -> Floats:
    """How the advantages of whole groups change when some of their rewards are revised.

    One late answer moves its group's mean, and so the advantage of every member. A learner that
    has used the earlier advantages adds these to catch up, weighted by how far its own policy has
    moved since, or drops those that are too old.

    Args:
        before: Rewards that the learner has used. Shape (n,).
        after: Rewards now. Shape (n,).
        groups: The group of each sample; all members of a revised group must be there.
        estimates: As for `advantages`; if left out, both sides are divided by the spread of
            `after`, so that only what is new makes a change.
        deviations: As for `advantages`.
        floor: As for `advantages`.

    Returns:
        ΔA = new − old; NaN where there is no advantage still. A sample that had none before was
        masked, so its change is its whole advantage. Shape (n,).

    Raises:
        ConfigError: As for `advantages`.

    Example:
        >>> changes([0.0, 0.0], [1.0, 0.0], ["a", "a"]).tolist()
        [1.0, -1.0]
    """
    means = after if estimates is None else estimates
    old, new = (
        advantages(side, groups, estimates=means, deviations=deviations, floor=floor)
        for side in (before, after)
    )
    return new - np.where(np.isnan(old), 0.0, old)


def _floats(numbers: Sequence[float | None] | Floats, size: int, name: str) -> Floats:
    values = np.array(numbers, dtype=np.float64)
    if values.shape != (size,):
        raise ConfigError(
            f"{name} has shape {values.shape}, and there are {size} groups: give one for each"
        )
    values[~np.isfinite(values)] = np.nan
    return values


def _numbers(groups: Sequence[Hashable]) -> Indices:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(g, len(known)) for g in groups], dtype=np.int64)


def _mean(values: Floats, numbers: Indices) -> Floats:
    """Mean of each group's known values; 0 for a group without any."""
    known, count = ~np.isnan(values), _members(values, numbers)
    total = np.bincount(numbers[known], values[known], minlength=len(count))
    return total / np.maximum(count, 1)


def _members(values: Floats, numbers: Indices) -> Indices:
    """How many known values each group has."""
    size = int(numbers.max(initial=-1)) + 1
    return np.bincount(numbers[~np.isnan(values)], minlength=size)


def _spread(means: Floats, deviations: Floats, numbers: Indices) -> Floats:
    """Standard deviation of each group's truth, as believed."""
    between = _mean((means - _mean(means, numbers)[numbers]) ** 2, numbers)
    return np.sqrt(between + _mean(deviations**2, numbers))
