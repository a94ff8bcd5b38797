"""Statistics leave out what is unknown, and say what a pass is."""

import pytest

from verifier_ladder.reward import Reward
from verifier_ladder.rollouts.statistics import statistics_of
from verifier_ladder.tier import Tier


def test_an_unknown_reward_is_in_no_mean() -> None:
    made = statistics_of([Reward(1.0), Reward(None, failed_at="engine")], ["a", "a"])

    assert made.mean is not None
    assert 1.0 == made.mean.value
    assert (1.0, [1]) == (made.passes[1].value, list(made.passes))


def test_unknown_rewards_are_counted_by_what_failed() -> None:
    rewards = [Reward(None, failed_at="engine"), Reward(None), Reward(None, failed_at="engine")]

    assert {"engine": 2, "declined": 1} == statistics_of(rewards, ["a"] * 3).unknown


@pytest.mark.parametrize(
    ("values", "threshold"),
    [([0.0, 1.0], 0.5), ([0.2], 0.5), ([-4.7, 0.3], None), ([1.5], None), ([], None)],
)
def test_a_threshold_is_assumed_only_between_0_and_1(
    values: list[float], threshold: float | None
) -> None:
    rewards = [Reward(value) for value in values]

    assert threshold == statistics_of(rewards, ["a"] * len(values)).threshold


def test_without_a_threshold_there_is_no_pass_at_k() -> None:
    assert {} == statistics_of([Reward(-4.7)], ["a"]).passes


def test_a_given_threshold_counts_on_any_scale() -> None:
    made = statistics_of([Reward(-4.7), Reward(-3.0)], ["a", "a"], pass_at=-3.0)

    assert 0.5 == made.passes[1].value
    assert not made.is_assumed


def test_rewards_that_may_change_are_counted() -> None:
    assert 1 == statistics_of([Reward(0.1, pending=True), Reward(0.2)], ["a", "b"]).pending


def test_what_only_a_lower_tier_is_believed_to_say_has_no_interval() -> None:
    believed = [Reward(1.0, tier=Tier.FAST), Reward(0.9, 0.3, Tier.FAST)]
    drawn, reject = Reward(-5.0, tier=Tier.WORLD), Reward(0.0, 0.0, Tier.FAST)
    groups = ["a", "b", "a", "b"]

    made = statistics_of(
        [*believed, drawn, reject], groups, worths=[1.0, 0.9, 0.0, 0.0], pass_at=1
    )
    checked = statistics_of([drawn, reject], ["a", "b"], worths=[0.0, 0.0], pass_at=1)

    assert (2, None, None) == (made.believed, made.passes[1].low, made.passes[1].high)
    assert 0 == checked.believed
    assert checked.passes[1].low is not None


def test_where_nothing_was_drawn_pass_at_k_has_an_interval() -> None:
    rewards = [Reward(1.0, tier=Tier.FAST), Reward(0.0, tier=Tier.SIMULATION)]

    made = statistics_of(rewards, ["a", "b"])

    assert 0 == made.believed
    assert made.passes[1].low is not None


def test_rows_that_wait_for_the_top_give_pass_at_k_no_interval() -> None:
    waiting = [Reward(value, 0.2, Tier.SIMULATION, pending=True) for value in (0.9, 0.1)]

    made = statistics_of(waiting, ["a", "b"])

    assert (2, 0.5) == (made.believed, made.passes[1].value)
    assert made.passes[1].low is None


@pytest.mark.parametrize("earned", [0.0, 0.5, 0.9])
def test_a_rejected_row_never_passes(earned: float) -> None:
    reject = Reward(earned, 0.0, Tier.FAST, reason="7 of 10 tests pass")
    groups = ["a", "a"]

    made = statistics_of([reject, Reward(0.9, 0.0, Tier.FAST)], groups)

    assert 0.5 == made.passes[1].value
