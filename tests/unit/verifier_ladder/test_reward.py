"""The rule that maps target units to the learner's scale."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.reward import (
    LONGEST_FEEDBACK,
    Reward,
    RewardRule,
    Scorer,
    learnt,
    tier_score,
)
from verifier_ladder.verdict import TurnVerdict, Verdict, mean_of

NUMBERS = st.floats(-1e150, 1e150)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_without_a_range_the_value_passes_bit_for_bit(value: float) -> None:
    assert value.hex() == RewardRule().scale(value).hex()


@given(NUMBERS)
def test_a_target_that_is_minimised_is_negated(value: float) -> None:
    assert -value == RewardRule().scale(value, sign=-1.0)


@pytest.mark.parametrize(
    ("value", "reward"), [(0.0, 0.0), (-10.0, 1.0), (-5.0, 0.5), (3.0, 0.0), (-99.0, 1.0)]
)
def test_low_maps_to_0_and_high_to_1(value: float, reward: float) -> None:
    assert reward == RewardRule(low=0.0, high=-10.0).scale(value)


def test_without_clipping_a_value_may_leave_the_range() -> None:
    assert 2.0 == RewardRule(low=0.0, high=1.0, clip=False).scale(2.0)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_clipped_reward_stays_inside_0_and_1(low: float, high: float, value: float) -> None:
    assume(low != high)

    assert 0.0 <= RewardRule(low=low, high=high).scale(value) <= 1.0


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_better_value_never_earns_less(
    low: float, high: float, one: float, other: float
) -> None:
    assume(low < high)
    rule = RewardRule(low=low, high=high)

    assert rule.scale(min(one, other)) <= rule.scale(max(one, other))


def test_a_spread_is_never_negative() -> None:
    assert 0.2 == RewardRule(low=0.0, high=-10.0).spread(2.0)
    assert 2.0 == RewardRule().spread(2.0)


@pytest.mark.parametrize(
    "rule",
    [
        {"low": 1.0},
        {"high": 1.0},
        {"low": 1.0, "high": 1.0},
        {"low": float("nan"), "high": 1.0},
        {"low": 0.0, "high": float("inf")},
        {"low": "0", "high": "1"},
        {"low": -1e308, "high": 1e308},
        {"reject": float("nan")},
        {"reject": "0"},
        {"reject": None},
    ],
    ids=repr,
)
def test_a_rule_that_can_not_be_applied_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="reward"):
        RewardRule(**rule)


def test_a_rule_survives_its_json() -> None:
    rule = RewardRule(low=1.0, high=-3.0, clip=False, reject=-1.0)

    assert rule == RewardRule(**rule.as_json())


def test_an_unknown_reward_is_none() -> None:
    assert Reward(None).value is None


# ---- What a score is made of


@pytest.mark.parametrize(
    "weights",
    [{"outcome": -1.0}, {"a": float("nan")}, {"a": 1e9}, {"a": True}, {"a": "1"}, {"a": 0}, [1.0]],
)
def test_weights_are_numbers_of_which_one_counts(weights: Any) -> None:
    with pytest.raises(ConfigError, match="weight"):
        RewardRule(weights=weights)


def test_weights_of_nothing_are_left_out_of_what_is_recorded() -> None:
    assert {"style": 2.0} == RewardRule(weights={"outcome": 0, "style": 2}).as_json()["weights"]
    assert "weights" not in RewardRule().as_json()


def test_the_process_is_the_mean_of_the_turns_that_have_a_number() -> None:
    said = Verdict.accept(0.0, turns=(TurnVerdict(0, 1.0), TurnVerdict(1), TurnVerdict(2, 0.0)))

    assert 0.5 == RewardRule(weights={"process": 1}).score_of(said)
    assert ["style"] == RewardRule(weights={"process": 1, "style": 1}).lacking(said)


def test_a_mean_of_large_numbers_is_no_larger_than_they_are() -> None:
    assert 1.5e308 == mean_of([1.5e308, 1.5e308], [1e6, 1e6])
    assert 0.1 == mean_of([0.1], [3.0])


def test_the_score_of_a_tier_waits_for_all_that_score() -> None:
    scorers = (Scorer("a"), Scorer("b", 3.0))
    a = Verdict.accept(0.0, uncertainty=0.4)

    assert (None, None) == tier_score(RewardRule(), scorers, {"a": a})
    assert (None, None) == tier_score(RewardRule(), scorers, {"a": a, "b": Verdict.abstain("?")})
    score, deviation = tier_score(RewardRule(), scorers, {"a": a, "b": a})
    assert 0.0 == score
    assert deviation == pytest.approx((0.1**2 + 0.3**2) ** 0.5)


def test_what_reaches_a_learner_is_printable_and_bounded() -> None:
    told = learnt([("a", Verdict.reject("no", feedback="\x1b[31mred\x07" + "x" * 100_000))])

    assert told["feedback"].startswith("redxx")
    assert LONGEST_FEEDBACK == len(told["feedback"])
