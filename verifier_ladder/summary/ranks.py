"""Ranks: how far two rewards put the samples of a group in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean
from typing import Final, NamedTuple

FEWEST: Final = 8
"""Scores from which on anything is said of how far two tiers put them in the same order."""
Order = tuple[float, float]
"""One sample's reward on either side."""


class Orders(NamedTuple):
    """Two orders of many groups, compared."""

    groups: int
    """Groups of two samples or more."""
    correlation: float | None
    """Mean of Spearman's rank correlation; None if no group has three samples and a spread."""
    swapped: float | None
    """Share of the pairs that both sides put in an order, whose order is the other way round."""


def compare_orders(groups: Iterable[Sequence[Order]]) -> Orders:
    """Compare two orders, group by group.

    Spearman's correlation is that of the ranks, equal rewards sharing the mean of theirs. Each
    group counts once. Pairs count one by one, and pairs that are equal on a side count for
    nothing.

    Example:
        >>> compare_orders([[(1.0, 10.0), (2.0, 20.0)], [(1.0, 4.0), (2.0, 3.0)]]).swapped
        0.5
    """
    found = [group for group in groups if len(group) > 1]
    correlations = [
        c for group in found if (c := rank_correlation(*zip(*group, strict=True))) is not None
    ]  # fmt: skip
    counted = [_pairs(group) for group in found]
    ordered, swapped = (sum(column) for column in zip((0, 0), *counted, strict=True))
    return Orders(
        len(found), fmean(correlations) if correlations else None,
        swapped / ordered if ordered else None,
    )  # fmt: skip


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's: that of the ranks, for which no number is too large, and no unit matters.

    Example:
        >>> round(rank_correlation([1.0, 2.0, 1e300], [2.0, 4.0, 5.0]), 9)
        1.0
    """
    return correlation(ranks(xs), ranks(ys))


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's r; None for fewer than three pairs or no spread.

    Example:
        >>> round(correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), 6)
        1.0
    """
    size = len(xs)
    if size < 3:  # noqa: PLR2004 - two points always lie on a line
        return None
    mean_x, mean_y = sum(xs) / size, sum(ys) / size
    spread_x = sum((x - mean_x) ** 2 for x in xs)
    spread_y = sum((y - mean_y) ** 2 for y in ys)
    if not spread_x or not spread_y:
        return None
    product = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return max(-1.0, min(1.0, product / (sqrt(spread_x) * sqrt(spread_y))))


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; equal values share the mean of theirs.

    Example:
        >>> ranks([10.0, 30.0, 10.0])
        [1.5, 3.0, 1.5]
    """
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values), 1):
        places.setdefault(value, []).append(place)
    means = {value: fmean(shared) for value, shared in places.items()}
    return [means[value] for value in values]


def _pairs(group: Sequence[Order]) -> tuple[int, int]:
    """How many pairs both sides put in an order, and how many of them the other way round."""
    import numpy as np

    ours, theirs = np.array(group, dtype=float).T
    ordered = swapped = 0
    for row in range(len(group) - 1):
        same = np.sign(ours[row] - ours[row + 1 :]) * np.sign(theirs[row] - theirs[row + 1 :])
        ordered += int(np.count_nonzero(same))
        swapped += int(np.count_nonzero(same < 0.0))
    return ordered, swapped
