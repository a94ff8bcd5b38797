"""Intervals of shares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verifier_ladder.intervals import exact, weighted_share, wilson


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(0, 40))
def test_intervals_are_those_of_the_literature(passed: int, failed: int) -> None:
    size = passed + failed
    if not size:
        assert (0.0, 1.0) == wilson(0, 0) == exact(0, 0)
        return
    found = stats.binomtest(passed, size)

    assert tuple(found.proportion_ci(method="wilson")) == pytest.approx(wilson(passed, size))
    assert tuple(found.proportion_ci(method="exact")) == pytest.approx(exact(passed, size))


def test_equal_weights_give_the_exact_interval() -> None:
    found = weighted_share([3.0] * 10, [True] * 4 + [False] * 6)

    assert found is not None
    assert (0.4, *exact(4, 10), 10) == pytest.approx(found)


def test_nothing_drawn_is_not_known() -> None:
    assert weighted_share([], []) is None


@given(st.lists(st.tuples(st.floats(0.01, 100), st.booleans()), min_size=1, max_size=30))
def test_the_share_lies_in_its_interval(units: list[tuple[float, bool]]) -> None:
    found = weighted_share([weight for weight, _ in units], [hit for _, hit in units])

    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


def test_unequal_weights_are_covered_as_promised() -> None:
    """Samples that fail are drawn rarely, so plain counts would be far off."""
    random = np.random.default_rng(7)
    bad = random.random(400) < 0.2
    chance = np.where(bad, 0.05, 0.3)
    covered, shares = 0, []
    for _ in range(300):
        drawn = random.random(400) < chance
        found = weighted_share((1.0 / chance[drawn]).tolist(), bad[drawn].tolist())
        assert found is not None
        shares.append(found.value)
        covered += found.low <= bad.mean() <= found.high

    assert np.mean(shares) == pytest.approx(bad.mean(), abs=0.02)
    assert covered >= 0.9 * 300
