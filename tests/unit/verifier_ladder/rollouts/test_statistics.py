"""Statistics leave out what is unknown, and say what a pass is."""

import pytest

from verifier_ladder.reward import Reward
from verifier_ladder.rollouts.statistics import statistics_of


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
