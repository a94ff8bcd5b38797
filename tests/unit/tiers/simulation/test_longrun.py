"""Long-run errors: how sure a mean is whose members depend on their neighbours."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from verifier_ladder.tiers.simulation.longrun import reach


def drawn(size: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=size)


def linked(by: float, size: int, seed: int) -> Any:
    """Values of which each holds a share of the one before."""
    found = drawn(size + 100, seed)
    for n in range(1, len(found)):
        found[n] += by * found[n - 1]
    return found[100:]


def summed(count: int, size: int, seed: int) -> Any:
    """Sums of neighbours that overlap."""
    return np.convolve(drawn(size + count - 1, seed), np.ones(count), "valid")


def missed(rows: Sequence[Any], overlap: int = 1) -> float:
    """How often the mean lies surely above 0, its expectation."""
    return fmean(float(row.mean()) > reach(row, overlap) for row in rows)


def test_what_is_all_alike_is_sure() -> None:
    assert reach([0.1] * 50) < 1e-15


def test_a_shift_changes_nothing_and_a_scale_itself() -> None:
    row = drawn(60, 1)

    assert reach(row + 5) == pytest.approx(reach(row))
    assert reach(3 * row) == pytest.approx(3 * reach(row))


@pytest.mark.parametrize("size", [20, 60, 160])
def test_independent_values_lie_beyond_it_as_rarely_as_promised(size: int) -> None:
    assert 0.014 < missed([drawn(size, seed) for seed in range(2000)]) < 0.036


@pytest.mark.parametrize("size", [20, 60, 160])
def test_values_that_hold_half_of_the_one_before_lie_beyond_it_as_rarely(size: int) -> None:
    assert missed([linked(0.5, size, seed) for seed in range(1000)]) < 0.042


@pytest.mark.parametrize(("size", "count"), [(20, 12), (60, 30), (160, 80)])
def test_values_that_overlap_lie_beyond_it_as_rarely(size: int, count: int) -> None:
    rows = [summed(count, size, seed) for seed in range(1000)]

    assert missed(rows, count) < 0.047
    assert missed(rows) > 0.06


def test_one_value_can_be_told_nothing_from() -> None:
    assert reach([1.0, 3.0], overlap=9) > 10
