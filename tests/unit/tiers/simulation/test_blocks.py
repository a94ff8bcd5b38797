"""Blocks: how sure a mean is whose members depend on their neighbours."""

from statistics import fmean

import numpy as np
import pytest

from verifier_ladder.tiers.simulation.blocks import interval, resampled_means


def drawn(size: int, seed: int) -> list[float]:
    found: list[float] = np.random.default_rng(seed).normal(size=size).tolist()
    return found


def test_what_is_all_alike_is_sure() -> None:
    assert 1 == len(set(resampled_means([[0.1] * 50])[0]))


def test_rows_are_resampled_side_by_side() -> None:
    row = drawn(60, 1)

    means = resampled_means([row, [x + 1 for x in row]])

    assert means[1] - means[0] == pytest.approx(np.ones(2000))


def test_every_value_counts_alike() -> None:
    row = [0.0] * 50
    for place in (0, 25, 49):
        one = [*row[:place], 1.0, *row[place + 1 :]]
        assert resampled_means([one])[0].mean() == pytest.approx(1 / 50, abs=0.003)


def test_neighbours_that_are_alike_make_a_mean_less_sure() -> None:
    alone = drawn(120, 2)
    in_tens = [alone[n // 10] for n in range(120)]

    widths = [
        high - low
        for row in (alone, in_tens)
        for low, high in [interval(fmean(row), resampled_means([row], 10)[0], 120)]
    ]

    assert widths[1] > 2 * widths[0]


@pytest.mark.slow
def test_the_interval_of_independent_values_holds_their_mean() -> None:
    held = 0
    for seed in range(400):
        row = drawn(60, seed)
        low, high = interval(fmean(row), resampled_means([row])[0], 60)
        held += low <= 0 <= high

    assert 0.9 <= held / 400 <= 0.97
