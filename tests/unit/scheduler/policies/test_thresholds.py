"""The threshold policy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.decision import Action, Situation
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.testing.policy import PolicyTestCase
from verifier_ladder.testing.situations import situation, situations
from verifier_ladder.tier import Tier

NAN = float("nan")
LIMIT = Thresholds(thresholds={"simulation": 1.0})
POLICIES = st.builds(
    Thresholds,
    thresholds=st.dictionaries(
        st.sampled_from([tier.label for tier in Tier]), st.floats(-10, 10), max_size=3
    ),
)


class TestThresholds(PolicyTestCase):
    @pytest.fixture
    def policy(self) -> Thresholds:
        return Thresholds(thresholds={"simulation": 1.0, "world": -2.0})


def decided(**rows: Any) -> tuple[Action, int, str]:
    """Action, column and reason of a single sample."""
    decisions = LIMIT.decide(situation(**{**rows, "mean": [rows["mean"]]}))
    reason = decisions.reasons[int(decisions.reason[0])]
    return Action(int(decisions.action[0])), int(decisions.to[0]), reason


@pytest.mark.parametrize(
    ("mean", "sign", "action", "why"),
    [
        (2.0, 1.0, Action.ESCALATE, "good enough for"),
        (1.0, 1.0, Action.ESCALATE, "good enough for"),
        (0.9, 1.0, Action.STOP, "not good enough"),
        (0.9, -1.0, Action.ESCALATE, "good enough for"),
        (1.1, -1.0, Action.STOP, "not good enough"),
        (NAN, 1.0, Action.STOP, "nothing is known"),
    ],
)
def test_a_belief_is_compared_with_the_next_tiers_threshold(
    mean: float, sign: float, action: Action, why: str
) -> None:
    found, to, reason = decided(mean=mean, sign=sign)

    assert (action, 1) == (found, to)
    assert why in reason


@pytest.mark.parametrize("mean", [-9.0, NAN])
def test_a_tier_without_a_threshold_is_climbed_to(mean: float) -> None:
    action, to, reason = decided(mean=mean, answered=(True, True, False))

    assert (Action.ESCALATE, 2) == (action, to)
    assert "no threshold" in reason


def test_a_spent_budget_defers() -> None:
    action, to, reason = decided(mean=2.0, affordable=(True, False, True))

    assert (Action.DEFER, 1) == (action, to)
    assert "budget" in reason


def test_where_every_tier_has_answered_it_stops() -> None:
    action, to, reason = decided(mean=2.0, answered=True)

    assert (Action.STOP, -1) == (action, to)
    assert "no tier left" in reason


def test_the_best_are_first_in_the_queue() -> None:
    means = [1.0, 3.0, 2.0, NAN]

    up = LIMIT.decide(situation(means, 0.5)).benefit
    down = LIMIT.decide(situation(means, 0.5, sign=-1.0)).benefit

    assert [1.5, 3.5, 2.5, 0.0] == up.tolist()
    assert [-0.5, -2.5, -1.5, 0.0] == down.tolist()


@given(POLICIES, situations())
def test_only_a_belief_below_a_threshold_stops_a_climb(
    policy: Thresholds, rows: Situation
) -> None:
    decisions = policy.decide(rows)

    stopped = (decisions.action == Action.STOP) & (decisions.to >= 0)
    limits = np.array([policy.limits.get(tier, np.nan) for tier in rows.tiers])[decisions.to]
    assert (rows.sign * rows.mean[stopped] < rows.sign * limits[stopped]).all()
    assert not decisions.verify.any()


@pytest.mark.parametrize(
    "settings",
    [
        {"thresholds": {"simulatoin": 1.0}}, {"thresholds": {"world": NAN}},
        {"thresholds": {"world": "high"}}, {"thresholds": 3.0},
    ],
    ids=repr,
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Thresholds(**settings)


@given(POLICIES)
def test_a_policy_survives_its_json(policy: Thresholds) -> None:
    spec = policy.as_json()

    assert spec == Thresholds(thresholds=spec["thresholds"]).as_json()
