"""Which tier comes next."""

from typing import Any

import numpy as np
import pytest

from verifier_ladder.decision import Situation
from verifier_ladder.scheduler.policies.steps import next_column, pick
from verifier_ladder.tier import Tier


def next_of(answered: Any, reached: int, *, rejected: bool = False) -> int:
    size = 1
    rows = Situation(
        tiers=(Tier.FAST, Tier.SIMULATION, Tier.WORLD), reached=np.array([reached]),
        mean=np.zeros(size), deviation=np.zeros(size), rejected=np.array([rejected]),
        answered=np.array([answered], dtype=bool), cost=np.ones((size, 3)),
        affordable=np.ones((size, 3), dtype=bool), weight=np.ones(size),
        group=np.zeros(size, dtype=np.int64),
    )  # fmt: skip
    return int(next_column(rows)[0])


@pytest.mark.parametrize(
    ("answered", "reached", "column"),
    [
        ((0, 0, 0), -1, 0),
        ((1, 0, 0), 0, 1),
        ((1, 1, 0), 1, 2),
        ((1, 1, 1), 2, -1),
        ((0, 1, 0), 1, 2),  # Tiers below the highest one that answered are not gone back to.
        ((0, 0, 1), 2, -1),
    ],
)
def test_the_lowest_open_tier_above_the_highest_answer_comes_next(
    answered: tuple[int, ...], reached: int, column: int
) -> None:
    assert column == next_of(answered, reached)


def test_nothing_comes_after_a_reject() -> None:
    assert -1 == next_of((1, 0, 0), 0, rejected=True)


def test_each_row_is_read_in_its_own_column() -> None:
    table = np.arange(6).reshape(3, 2)

    assert [0, 3, 5] == pick(table, np.array([0, 1, -1])).tolist()
