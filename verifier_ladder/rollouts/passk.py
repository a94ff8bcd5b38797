"""Pass@k and the mean reward, each with an interval that respects groups.

The estimator is the unbiased one of Chen et al. 2021, "Evaluating Large Language Models Trained
on Code", section 2.1. Intervals come from a bootstrap over groups, because the samples of one
group share a prompt and are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.95
_SEED = 2107_03374
_MOST_RESAMPLES, _FEWEST_RESAMPLES, _MOST_DRAWS = 2000, 200, 20_000_000
_BLOCK = 1_000_000
"""Draws held in memory at once."""


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float | None
    """Lower end of the 95 % interval; None for fewer than two groups."""
    high: float | None
    groups: int
    """How many groups it rests on."""


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Probability that at least one of k samples passes, estimated without bias.

    Args:
        samples: How many samples of the group have a verdict.
        passed: How many of them pass.
        k: How many tries there are.

    Raises:
        ConfigError: If the numbers contradict each other, or there are fewer samples than tries.

    Example:
        >>> pass_at_k(4, 1, 2)
        0.5
    """
    if not (1 <= k <= samples and 0 <= passed <= samples):
        raise ConfigError(
            f"pass@{k} of {passed} in {samples} samples: k must lie between 1 and the number of "
            "samples, and no more can pass than there are"
        )
    failed = samples - passed
    if failed < k:
        return 1.0
    return 1.0 - prod((failed - i) / (samples - i) for i in range(k))


def pass_rates(groups: Mapping[str, Sequence[bool]]) -> dict[int, Estimate]:
    """Pass@k for k = 1, 2, 4, 8, … up to the largest group.

    Args:
        groups: Whether each sample with a known reward passes, by group. Samples without a
            verdict are left out: they are unknown, not failed.

    Returns:
        One estimate for each k, over the groups that have at least k samples.

    Example:
        >>> pass_rates({"a": [True, False], "b": [True, True]})[1].value
        0.75
    """
    import numpy as np

    counts = [(len(known), sum(known)) for known in groups.values() if known]
    largest = max((n for n, _ in counts), default=0)
    made: dict[int, Estimate] = {}
    k = 1
    while k <= largest:
        rates = np.array([pass_at_k(n, c, k) for n, c in counts if n >= k])
        made[k] = _estimate(rates, np.ones_like(rates))
        k *= 2
    return made


def mean_reward(groups: Mapping[str, Sequence[float]]) -> Estimate | None:
    """Mean of all rewards, with an interval over groups; None if there are none.

    Example:
        >>> mean_reward({"a": [0.0, 1.0], "b": [1.0]}).value
        0.6666666666666666
    """
    import numpy as np

    known = [values for values in groups.values() if values]
    if not known:
        return None
    sums = np.array([sum(values) for values in known], dtype=float)
    return _estimate(sums, np.array([len(values) for values in known], dtype=float))


def ratio(totals: Sequence[float], counts: Sequence[float]) -> Estimate:
    """Ratio of two sums over groups, with its bootstrap interval.

    Example:
        >>> ratio([1.0, 3.0], [2.0, 2.0]).value
        1.0
    """
    import numpy as np

    return _estimate(np.array(totals, dtype=float), np.array(counts, dtype=float))


def _estimate(totals: NDArray[np.float64], counts: NDArray[np.float64]) -> Estimate:
    """Ratio of two sums over groups, with its bootstrap interval."""
    import numpy as np

    value, size = float(totals.sum() / counts.sum()), len(totals)
    if size < 2:  # noqa: PLR2004 - one group says nothing about the spread between groups
        return Estimate(value, None, None, size)
    random = np.random.default_rng(_SEED)
    resamples = max(_FEWEST_RESAMPLES, min(_MOST_RESAMPLES, _MOST_DRAWS // size))
    means: list[NDArray[np.float64]] = []
    while (left := resamples - sum(map(len, means))) > 0:
        drawn = random.integers(0, size, (min(left, max(1, _BLOCK // size)), size))
        means.append(totals[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Estimate(value, float(low), float(high), size)
