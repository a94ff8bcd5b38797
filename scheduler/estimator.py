"""Estimators: how far a reward moves when a random draw has brought the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, get_args

import numpy as np

from verifier_ladder.arrays import ArrayLike, Flags, Floats
from verifier_ladder.errors import ConfigError
from verifier_ladder.reward import Estimation

_SAMPLES_PER_WEIGHT = 2.0
"""Samples of an update for each unit of the largest automatic weight; ADR 11 has the trials."""
_CLIPPED_AT, _CLIPPED_SAMPLES = 4.0, 128.0
"""The largest clipped weight for that many samples; it grows with their square root."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """Says with what factor W a drawn truth y corrects a reward: r = R(μ) + Z·W·(R(y) − R(μ)).

    Z is 1 where the draw fell and the top tier answered, which happens with the propensity p.
    The factor depends on nothing but p and the size of the update. It must be fixed, and stored,
    when the draw is taken: a factor that is chosen later can follow the answer.

    - `"unbiased"`: W = 1/p. The mean of the reward is R(y) whatever the belief says; its variance
      grows as 1/p.
    - `"auto"`: W = 1/(p + (1 − p)/K), so never more than K. It minimises the mean squared error
      of the average of K samples whose beliefs err alike: their error stays in the average, and
      their noise is divided by K. K is half the number of samples of an update, and at least 1.
    - `"clipped"`: W = min(1/p, limit), 4 for 128 samples an update, 8 for 512 and more.
    - `"plugin"`: W = 1, so the reward is R(y) or R(μ). It is biased wherever the belief is, and a
      bias does not average out over a run.

    Sources: Horvitz & Thompson, *J. Am. Stat. Assoc.* 47 (1952), for 1/p; Zrnic & Candès, *Active
    statistical inference* (arXiv 2403.03208), for the correction of a prediction; ADR 11 for K.

    Example:
        >>> Estimator().factors([1.0, 0.1, 0.01], samples=128).round(1).tolist()
        [1.0, 8.8, 39.3]
        >>> Estimator("unbiased").factors([1.0, 0.1, 0.01], samples=128).round(1).tolist()
        [1.0, 10.0, 100.0]
    """

    mode: Estimation = "auto"
    limit: float | None = None
    """The largest factor of the modes `auto` and `clipped`; follows the update if left out."""

    def __post_init__(self) -> None:
        """Refuse what is no mode or no limit.

        Raises:
            ConfigError: If the mode is unknown, or the limit below 1 or of no use to the mode.
        """
        if self.mode not in get_args(Estimation):
            known = ", ".join(get_args(Estimation))
            raise ConfigError(f"reward estimator {self.mode!r} is unknown; choose one of {known}")
        if self.limit is None:
            return
        if self.mode not in ("auto", "clipped"):
            raise ConfigError(f'mode {self.mode!r} has no limit: leave it out, or say "clipped"')
        if not (isfinite(self.limit) and self.limit >= 1.0):
            raise ConfigError(
                f"the limit of a reward's factor must be at least 1, not {self.limit}"
            )

    def factors(self, propensities: ArrayLike, samples: int) -> Floats:
        """The factor W of each sample.

        Args:
            propensities: Probability that the truth is asked and, under a deadline, that it
                comes in time. Any shape.
            samples: How many samples the learner's update has.

        Returns:
            One factor for each propensity, at least 1. It is 0 where the propensity is 0, not
            known or no probability: such a reward is never corrected.
        """
        p = np.asarray(propensities, dtype=np.float64)
        drawn = (p > 0.0) & (p <= 1.0)
        safe = np.where(drawn, p, 1.0)
        if self.mode == "plugin":
            weights = np.ones_like(safe)
        elif self.mode == "auto":
            weights = 1.0 / (safe + (1.0 - safe) / self._limit(samples))
        elif self.mode == "clipped":
            weights = 1.0 / np.maximum(safe, 1.0 / self._limit(samples))
        else:
            # A propensity below the smallest normal number has no finite inverse.
            weights = 1.0 / np.maximum(safe, np.finfo(np.float64).tiny)
        return np.where(drawn, weights, 0.0)

    def _limit(self, samples: int) -> float:
        if self.limit is not None:
            return self.limit
        if self.mode == "auto":
            return max(1.0, samples / _SAMPLES_PER_WEIGHT)
        return _CLIPPED_AT * min(2.0, max(1.0, sqrt(samples / _CLIPPED_SAMPLES)))

    def as_json(self) -> Mapping[str, Any]:
        """Mode and limit, for the ledger."""
        return {"mode": self.mode, "limit": self.limit}


def corrected(estimate: float | None, truth: float | None, factor: float) -> float | None:
    """The reward of a sample that was drawn, once the top tier has answered.

    Scalar arithmetic in a fixed order, so that it replays bit for bit from the three numbers that
    the ledger holds. A factor of 1 gives the truth itself.

    Args:
        estimate: R(μ), the reward by belief when the draw was taken; None if nothing was known.
        truth: R(y), the reward by what the top tier said; None if it failed.
        factor: W, as fixed when the draw was taken.

    Returns:
        The reward on the learner's scale; None if neither number is known. Without an estimate
        it is the truth: then there is nothing to correct. With a factor of 0, or without a
        truth, it is the estimate.

    Example:
        >>> corrected(0.5, 0.75, 4.0)
        1.5
    """
    if estimate is None or not isfinite(estimate):
        return truth if truth is not None and isfinite(truth) else None
    if factor == 0.0 or truth is None or not isfinite(truth):
        return estimate
    if factor == 1.0:
        return truth
    reward = estimate + factor * (truth - estimate)
    return reward if isfinite(reward) else truth


def is_biased(propensities: ArrayLike, factors: ArrayLike) -> Flags:
    """Whether the mean of a corrected reward misses the truth where the belief does.

    A draw keeps the share p·W of the belief's error out of the reward. The rest, 1 − p·W, stays.

    Example:
        >>> is_biased([0.1, 0.1, 0.0], [10.0, 8.8, 0.0]).tolist()
        [False, True, True]
    """
    share = np.asarray(propensities, dtype=np.float64) * np.asarray(factors, dtype=np.float64)
    return ~np.isclose(share, 1.0, rtol=0.0, atol=1e-9)
