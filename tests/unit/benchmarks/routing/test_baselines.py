import numpy as np
import pytest
from routing.backend import Rollouts
from routing.baselines import FixedTier, RandomCorrected, RandomDrop, SmallerGroups
from routing.funnels import Funnel, Halving
from routing.table import Table
from routing.tworule import Knapsack, TwoRule


def everything(table: Table) -> Rollouts:
    return Rollouts(np.arange(len(table)), table.group)


def test_the_top_tier_for_all_is_the_truth(small: Table) -> None:
    backend = FixedTier(small, 2)

    assert np.array_equal(small.value, backend.score(everything(small)).rewards)
    assert backend.bill.total == len(small)


def test_smaller_groups_verify_four_of_each(small: Table) -> None:
    backend = SmallerGroups(small, 1 / 3, 0)

    rewards = backend.score(everything(small)).rewards

    counts = np.bincount(small.group, np.isfinite(rewards))
    assert {0.0, 4.0} == set(counts.tolist())
    assert 24 == backend.bill.count(2)


def test_dropped_samples_have_no_reward(small: Table) -> None:
    backend = RandomDrop(small, 0.5, 0)

    rewards = backend.score(everything(small)).rewards

    known = np.isfinite(rewards)
    assert backend.bill.count(2) == known.sum()
    assert np.array_equal(small.value[known], rewards[known])


def test_corrected_rewards_are_right_on_average(small: Table) -> None:
    backend = RandomCorrected(small, 0.3, 0)

    rewards = np.array([backend.score(everything(small)).rewards for _ in range(400)])

    noise = rewards.std(axis=0) / 20
    z = (rewards.mean(axis=0) - small.value) / noise
    assert (z**2).mean() == pytest.approx(1.0, abs=0.5)


def test_a_funnel_keeps_its_quota(small: Table) -> None:
    backend = Funnel.tuned(small, 0, quota=0.25)

    for _ in range(4):
        backend.score(everything(small))

    assert backend.bill.count(2) <= 0.25 * 4 * len(small)
    assert backend.bill.count(2) > 0


def test_a_funnel_keeps_its_budget_on_the_half_it_was_tuned_on(small: Table) -> None:
    free = Funnel.tuned(small, 0)
    tight = Funnel.tuned(small, 0, budget=0.2)
    for backend in (free, tight):
        backend.score(everything(small))

    assert tight.bill.total < free.bill.total


def test_a_funnel_rewards_what_reached_the_top_with_the_truth(small: Table) -> None:
    backend = Funnel.tuned(small, 0, quota=0.25)

    rewards = backend.score(everything(small)).rewards

    asked = backend.bill.rows[backend.bill.columns == 2]
    assert np.array_equal(small.value[asked], rewards[asked])


def test_halving_passes_half_of_each_group_on(small: Table) -> None:
    backend = Halving(small, 0.5)

    backend.score(everything(small))

    assert [72, 36, 24] == [backend.bill.count(column) for column in range(3)]


def test_two_rules_verify_where_it_is_cheap(small: Table) -> None:
    nobody, everybody = TwoRule(small, 1e-9), TwoRule(small, 1e9)
    for backend in (nobody, everybody):
        rewards = backend.score(everything(small)).rewards

    assert 0 == nobody.bill.count(2)
    assert np.array_equal(small.value, rewards)


def test_hindsight_buys_all_where_it_is_free_and_less_at_a_price(small: Table) -> None:
    free, dear = Knapsack(small, 0.0), Knapsack(small, 1e9)
    rewards = [backend.score(everything(small)).rewards for backend in (free, dear)]

    assert np.allclose(small.value, rewards[0])
    assert 0.0 == dear.bill.total


def test_hindsight_is_never_worse_than_one_tier_for_all(small: Table) -> None:
    tier = FixedTier(small, 1)
    tier.score(everything(small))
    best = Knapsack(small, 1.0)
    rewards = best.score(everything(small)).rewards

    slope, offset = np.polyfit(small.scores[:, 1], small.value, 1)
    error = (offset + slope * small.scores[:, 1] - small.value) ** 2
    members = small.group
    spread = np.array([small.value[members == g].var() for g in range(12)])[members]
    ours = ((rewards - small.value) ** 2 / spread).sum() + best.bill.total
    assert ours <= (error / spread).sum() + tier.bill.total + 1e-9
