"""Situations for tests of policies: made by hand, or drawn by hypothesis."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from math import inf, nan
from typing import Any

import numpy as np
from hypothesis import strategies as st

from verifier_ladder.arrays import ArrayLike, NDArray
from verifier_ladder.decision import Situation
from verifier_ladder.tier import Tier

_SHARED = ("tiers", "sign", "spread", "unevenness", "best")
_ODD = (nan, inf, -inf, 0.0, 1e300, 1e-300)


def situation(
    mean: ArrayLike,
    deviation: ArrayLike = 1.0,
    *,
    tiers: tuple[Tier, ...] = (Tier.FAST, Tier.SIMULATION, Tier.WORLD),
    answered: ArrayLike = (True, False, False),
    explained: ArrayLike = 0.5,
    cost: ArrayLike = 1.0,
    affordable: ArrayLike = True,
    weight: ArrayLike = 1.0,
    group: ArrayLike = 0,
    sign: float = 1.0,
    spread: float = nan,
    best: float = nan,
) -> Situation:
    """Make a situation; what is given once holds for every row or tier.

    The top tier explains everything and a tier that has answered nothing, whatever is given.

    Example:
        >>> rows = situation([0.0, 1.0], cost=[0.1, 1.0, 10.0])
        >>> len(rows), rows.explained.tolist()
        (2, [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]])
    """
    means = np.array(mean, dtype=float)
    shape = (len(means), len(tiers))
    answers = _full(answered, shape, bool)
    shares = _full(explained, shape, float)
    shares[:, -1] = 1.0
    shares[answers] = 0.0
    return Situation(
        tiers=tiers, reached=np.where(answers, np.arange(shape[1]), -1).max(axis=1),
        mean=means, deviation=_full(deviation, shape[:1], float), explained=shares,
        answered=answers, cost=_full(cost, shape, float),
        affordable=_full(affordable, shape, bool), weight=_full(weight, shape[:1], float),
        group=_full(group, shape[:1], np.int64), sign=sign, spread=spread, best=best,
    )  # fmt: skip


def _full(values: ArrayLike, shape: tuple[int, ...], kind: type) -> NDArray[Any]:
    return np.array(np.broadcast_to(np.asarray(values, dtype=kind), shape))


def subset(
    rows: Situation, chosen: NDArray[np.integer] | NDArray[np.bool_] | list[int]
) -> Situation:
    """Some rows of a situation, by mask or by number.

    Example:
        >>> subset(situation([1.0, 2.0, 3.0]), [2, 0]).mean.tolist()
        [3.0, 1.0]
    """
    columns = {
        field.name: getattr(rows, field.name)[chosen]
        for field in fields(rows)
        if field.name not in _SHARED
    }
    return replace(rows, **columns)


@cache  # Making a strategy takes longer than drawing from it.
def _some(low: float, high: float, *, is_odd: bool) -> st.SearchStrategy[list[float]]:
    """**Strategy:** a few numbers of the range; odd ones as well, if asked for."""
    number = st.floats(low, high).map(lambda value: round(value, 6))
    if is_odd:
        number |= st.sampled_from([value for value in _ODD if not value < low])
    return st.lists(number, min_size=1, max_size=4)


_TIERS = st.sets(st.sampled_from(Tier), min_size=1).map(lambda tiers: tuple(sorted(tiers)))
_SEEDS = st.integers(0, 2**32 - 1)
_SHARES = st.sampled_from([0.0, 0.3, 0.7, 1.0])
_SIGNS = st.sampled_from([1.0, -1.0])


@st.composite
def situations(draw: st.DrawFn, *, is_odd: bool = False, max_size: int = 12) -> Situation:
    """**Strategy:** situations as a campaign may meet them.

    Every column holds a few different numbers in random order, so that equal rows, groups of one
    and tiers of equal cost all occur.

    Args:
        draw: Given by hypothesis.
        is_odd: Whether beliefs and costs may be unknown, infinite, huge or tiny as well.
        max_size: Largest number of rows.
    """
    tiers, rng = draw(_TIERS), np.random.default_rng(draw(_SEEDS))
    shape = (draw(st.integers(0, max_size)), len(tiers))

    def numbers(shape: tuple[int, ...], low: float, high: float) -> NDArray[np.float64]:
        return rng.choice(draw(_some(low, high, is_odd=is_odd)), shape)

    return situation(
        numbers(shape[:1], -1e3, 1e3), numbers(shape[:1], 0.0, 1e3), tiers=tiers,
        answered=rng.random(shape) < draw(_SHARES), explained=rng.random(shape),
        cost=numbers(shape, 0.0, 1e3), affordable=rng.random(shape) < draw(_SHARES),
        weight=rng.choice([0.0, 0.5, 1.0, 30.0], shape[:1]), group=rng.integers(0, 4, shape[:1]),
        sign=draw(_SIGNS), spread=_spread(rng, is_odd=is_odd),
        best=float(rng.choice([nan, 1e3 * rng.normal()])),
    )  # fmt: skip


def _spread(rng: np.random.Generator, *, is_odd: bool) -> float:
    usual = [nan, 1e-3, 1.0, 1e3]
    return float(rng.choice([*usual, 0.0, inf] if is_odd else usual))
