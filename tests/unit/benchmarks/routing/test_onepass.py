import numpy as np
import pytest
from routing.baselines import FixedTier
from routing.onepass import agreement, calls, one_pass, setting_for
from routing.table import Table
from routing.tworule import Knapsack


def test_every_row_is_scored_once_in_whole_groups(small: Table) -> None:
    every = list(calls(small, 0))

    rows = np.concatenate([rollouts.rows for rollouts in every])
    assert sorted(rows.tolist()) == list(range(72))
    for rollouts in every:
        assert {6} == set(np.bincount(rollouts.group).tolist())


def test_other_seeds_have_another_order(small: Table) -> None:
    first, second = (next(calls(small, seed)).rows for seed in (0, 1))

    assert not np.array_equal(first, second)


def test_rewards_stand_in_the_order_of_the_rows(small: Table) -> None:
    scored = one_pass(small, FixedTier(small, 1), 3)

    assert np.array_equal(small.scores[:, 1], scored.rewards)


def test_the_truth_agrees_with_itself(small: Table) -> None:
    found = agreement(small, FixedTier(small, 2), 0)

    assert 1.0 == pytest.approx(found.correlation)
    assert 1.0 == pytest.approx(found.cosine)
    assert 1.0 == found.cost


def test_noisier_tiers_agree_less(small: Table) -> None:
    noisy, better = (agreement(small, FixedTier(small, column), 0) for column in (0, 1))

    assert noisy.correlation < better.correlation < 1.0


def test_the_setting_found_costs_no_more_than_asked(small: Table) -> None:
    def build(value: float) -> Knapsack:
        return Knapsack(small, 1 / value)

    setting = setting_for(small, build, 0.3, 0)

    assert agreement(small, build(setting), 0).cost <= 0.3
    assert agreement(small, build(setting * 1.01), 0).cost > 0.25
