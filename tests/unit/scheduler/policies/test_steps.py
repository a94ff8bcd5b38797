"""Which tiers can be asked, and which of them brings most."""

from math import inf, nan

import numpy as np
import pytest

from verifier_ladder.scheduler.policies.steps import (
    CLOSED,
    benefits,
    best_column,
    free_first,
    known_spread,
    next_column,
    open_tiers,
    pick,
)
from verifier_ladder.testing.situations import situation


@pytest.mark.parametrize(
    ("answered", "column"),
    [
        ((0, 0, 0), 0),
        ((1, 0, 0), 1),
        ((1, 1, 0), 2),
        ((1, 1, 1), -1),
        ((0, 1, 0), 2),  # Tiers below the highest one that answered are not gone back to.
        ((0, 0, 1), -1),
    ],
)
def test_the_lowest_open_tier_above_the_highest_answer_comes_next(
    answered: tuple[int, ...], column: int
) -> None:
    assert [column] == next_column(situation([0.0], answered=answered)).tolist()


def test_tiers_above_the_highest_answer_are_open() -> None:
    rows = situation([0.0, 0.0], answered=[(0, 0, 0), (0, 1, 0)])

    assert [[True, True, True], [False, False, True]] == open_tiers(rows).tolist()


def test_each_row_is_read_in_its_own_column() -> None:
    table = np.arange(6).reshape(3, 2)

    assert [0, 3, 5] == pick(table, np.array([0, 1, -1])).tolist()


def test_a_benefit_is_what_is_explained_over_what_it_costs() -> None:
    rows = situation([0.0], cost=(1.0, 2.0, 4.0), explained=0.5)

    assert [[CLOSED, 0.75, 0.75]] == benefits(rows, np.array([3.0])).tolist()


@pytest.mark.parametrize("cost", [0.0, inf, nan, 1e-300])
@pytest.mark.parametrize("gain", [0.0, inf, nan, 1e300])
def test_a_benefit_is_always_a_number(cost: float, gain: float) -> None:
    assert np.isfinite(benefits(situation([0.0], cost=cost), np.array([gain]))).all()


def test_a_free_tier_beats_all_above_it_but_not_one_that_is_closed() -> None:
    rows = situation([0.0], cost=(0.0, 0.0, 1.0))

    assert [[CLOSED, inf, 5.0]] == free_first(rows, np.array([[CLOSED, 0.1, 5.0]]), 1.0).tolist()


@pytest.mark.parametrize(
    ("benefit", "is_paid", "expected"),
    [(5.0, 1, 1), (1.0, 1, 1), (0.9, 1, 2), (5.0, 0, 2)],
)
def test_a_tier_below_a_free_one_goes_first_if_it_is_worth_its_cost_and_can_be_paid(
    benefit: float, is_paid: int, expected: int
) -> None:
    rows = situation([0.0], cost=(0.0, 1.0, 0.0), affordable=(1, is_paid, 1))
    found = free_first(rows, np.array([[CLOSED, benefit, 0.1]]), 1.0)

    assert [expected] == best_column(rows, found, 1.0).tolist()


@pytest.mark.parametrize(
    ("affordable", "column"),
    [((1, 1, 1), 1), ((1, 0, 1), 2), ((1, 0, 0), 1), ((1, 1, 0), 1)],
)
def test_the_best_tier_that_can_be_paid_is_chosen_before_one_that_can_not(
    affordable: tuple[int, ...], column: int
) -> None:
    rows = situation([0.0], affordable=affordable)

    assert [column] == best_column(rows, np.array([[CLOSED, 3.0, 2.0]]), 1.0).tolist()


def test_a_tier_that_can_be_paid_but_is_not_worth_it_does_not_count() -> None:
    rows = situation([0.0], affordable=(True, False, True))

    assert [1] == best_column(rows, np.array([[CLOSED, 3.0, 0.9]]), 1.0).tolist()


@pytest.mark.parametrize("spread", [nan, inf, 0.0])
def test_a_spread_that_is_no_unit_is_not_known(spread: float) -> None:
    assert np.isnan(known_spread(situation([0.0], spread=spread)))
    assert known_spread(situation([0.0], spread=2.0)) == 2.0
