"""Indices of Gaussian boxes, against roots found numerically."""

from math import erfc, exp, inf, nan, pi, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.scheduler.policies.index import (
    direct_index,
    improvement,
    tier_indices,
    two_stage_index,
)

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
COSTS = st.floats(-5.0, 0.8).map(lambda power: 10.0**power)
SHARES = st.floats(0.0, 1.0)


def gain(x: float) -> float:
    """E[(Z - x)+] in closed form."""
    return exp(-x * x / 2) / sqrt(2 * pi) - x * erfc(x / sqrt(2)) / 2


def two_stage_gain(x: float, share: float, second: float) -> float:
    """E[(EI(M, x) - second)+], by quadrature over the look where it is worth going on."""
    seen, left = sqrt(share), sqrt(1 - share)
    least = x - left * root(gain, second / left)
    low = max(least / seen, -12.0)
    if low >= 12.0:
        return 0.0
    z = low + (12.0 - low) * (NODES + 1) / 2
    hope = np.array([left * gain((x - seen * each) / left) for each in z.tolist()]) - second
    density = np.exp(-z * z / 2) / sqrt(2 * pi)
    return float(WEIGHTS @ (np.maximum(hope, 0.0) * density)) * (12.0 - low) / 2


def root(falling: object, level: float) -> float:
    """Where a falling function passes the level, by bisection."""
    assert callable(falling)
    low, high = -level - 30.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > level else (low, middle)
    return (low + high) / 2


@given(st.floats(-40, 40))
def test_the_improvement_is_that_of_the_closed_form(x: float) -> None:
    assert float(improvement(x)) == pytest.approx(gain(x), abs=1e-5)


@given(st.floats(-11.0, 3.0).map(lambda power: 10.0**power))
def test_the_direct_index_solves_its_equation(cost: float) -> None:
    assert float(direct_index(cost)) == pytest.approx(root(gain, cost), abs=1e-4, rel=1e-5)


@settings(max_examples=30)  # A root of an integral each.
@given(st.floats(0.001, 0.999), COSTS, COSTS)
def test_the_two_stage_index_solves_its_equation(
    share: float, first: float, second: float
) -> None:
    found = float(two_stage_index(share, first, second))

    exact = root(lambda x: two_stage_gain(x, share, second), first)
    assert found == pytest.approx(exact, abs=0.02)


@given(COSTS, COSTS)
def test_a_look_that_shows_nothing_is_only_a_cost(first: float, second: float) -> None:
    assert float(two_stage_index(0.0, first, second)) == pytest.approx(
        float(direct_index(first + second)), abs=0.03
    )


@given(COSTS, COSTS)
def test_a_look_that_shows_all_leaves_the_second_cost(first: float, second: float) -> None:
    assert float(two_stage_index(1.0, first, second)) == pytest.approx(
        float(direct_index(first)) - second, abs=1e-3
    )


@given(SHARES, COSTS, COSTS, st.floats(0.0, 2.0))
def test_an_index_falls_with_its_costs(
    share: float, first: float, second: float, more: float
) -> None:
    base = two_stage_index(share, first, second)

    assert two_stage_index(share, first + more, second) <= base + 1e-9
    assert two_stage_index(share, first, second + more) <= base + 5e-3
    assert direct_index(first + more) <= direct_index(first)


@given(SHARES, SHARES, COSTS, COSTS)
def test_an_index_rises_with_what_the_look_explains(
    one: float, other: float, first: float, second: float
) -> None:
    less, more = sorted([one, other])

    worse = two_stage_index(less, first, second)

    assert worse <= two_stage_index(more, first, second) + 0.03


@given(st.lists(SHARES, max_size=3), st.integers(0, 5), st.randoms())
def test_all_tiers_at_once_are_as_good_as_one_by_one(
    shares: list[float], size: int, chance: Random
) -> None:
    tiers = len(shares) + 1
    cost = np.array([[10 ** chance.uniform(-5, 1) for _ in range(size)] for _ in range(tiers)])
    explained = np.repeat(shares, size).reshape(tiers - 1, size)

    found = tier_indices(explained, cost)

    np.testing.assert_allclose(found[-1], direct_index(cost[-1]), rtol=1e-12, atol=1e-12)
    for share, first, index in zip(shares, cost, found, strict=False):
        expected = two_stage_index(share, first, cost[-1])
        np.testing.assert_allclose(index, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cost", [0.0, inf, nan, 1e300, 1e-300])
def test_an_index_is_always_a_number(cost: float) -> None:
    assert np.isfinite(direct_index(cost))
    for share in (0.0, 0.5, 1.0, nan):
        assert np.isfinite(two_stage_index(share, cost, 0.1))
        assert np.isfinite(two_stage_index(share, 0.1, cost))
        assert np.isfinite(two_stage_index(share, cost, cost))
