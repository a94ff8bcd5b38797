"""The threshold policy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from verifier_ladder.decision import Action, Situation
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.tier import Tier

TIERS = (Tier.FAST, Tier.SIMULATION, Tier.WORLD)
NAN = float("nan")


def situation(
    mean: Any, *, answered: Any = (True, False, False), affordable: Any = (True, True, True),
    rejected: Any = False, draw: Any = None, sign: float = 1.0,
) -> Situation:  # fmt: skip
    """One row per mean; what is given once holds for every row."""
    means = np.array(mean, dtype=float)
    size = len(means)
    answers = np.broadcast_to(np.array(answered, dtype=bool), (size, 3))
    return Situation(
        tiers=TIERS, reached=np.where(answers, np.arange(3), -1).max(axis=1, initial=-1),
        mean=means, deviation=np.full(size, 0.5),
        rejected=np.broadcast_to(np.array(rejected, dtype=bool), (size,)), answered=answers,
        cost=np.ones((size, 3)),
        affordable=np.broadcast_to(np.array(affordable, dtype=bool), (size, 3)),
        weight=np.ones(size), group=np.zeros(size, dtype=np.int64), sign=sign,
        draw=None if draw is None else np.broadcast_to(np.array(draw, dtype=float), (size,)),
    )  # fmt: skip


def decided(policy: Thresholds, **rows: Any) -> tuple[Action, int, str, float]:
    """Action, column, reason and propensity of a single sample."""
    decisions = policy.decide(situation(**{**rows, "mean": [rows["mean"]]}))
    reason = decisions.reasons[int(decisions.reason[0])]
    return (
        Action(int(decisions.action[0])), int(decisions.to[0]), reason,
        float(decisions.propensity[0]),
    )  # fmt: skip


LIMIT = Thresholds(thresholds={"simulation": 1.0})
AUDITED = Thresholds(audit=0.25, thresholds={"simulation": 1.0})


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
    found, to, reason, propensity = decided(LIMIT, mean=mean, sign=sign)

    assert (action, 1, 1.0) == (found, to, propensity)
    assert why in reason


@pytest.mark.parametrize("mean", [-9.0, NAN])
def test_a_tier_without_a_threshold_is_climbed_to(mean: float) -> None:
    action, to, reason, _ = decided(LIMIT, mean=mean, answered=(True, True, False))

    assert (Action.ESCALATE, 2) == (action, to)
    assert "no threshold" in reason


def test_a_spent_budget_defers() -> None:
    action, to, reason, _ = decided(LIMIT, mean=2.0, affordable=(True, False, True))

    assert (Action.DEFER, 1) == (action, to)
    assert "budget" in reason


@pytest.mark.parametrize(
    ("draw", "action", "propensity"),
    [(0.0, Action.ESCALATE, 0.25), (0.2499, Action.ESCALATE, 0.25), (0.25, Action.STOP, 0.75)],
)
def test_a_weak_sample_is_audited_by_its_draw(
    draw: float, action: Action, propensity: float
) -> None:
    assert (action, propensity) == decided(AUDITED, mean=0.0, draw=draw)[::3]


def test_an_audit_that_can_not_be_paid_is_deferred() -> None:
    action, _, _, propensity = decided(
        AUDITED, mean=0.0, draw=0.1, affordable=(True, False, True)
    )  # fmt: skip

    assert (Action.DEFER, 0.25) == (action, propensity)


def test_what_is_good_enough_needs_no_audit() -> None:
    assert 1.0 == decided(AUDITED, mean=2.0, draw=0.1)[3]


@pytest.mark.parametrize("audit", [0.01, 0.25, 0.9])
def test_the_audit_probability_is_honoured_on_average(audit: float) -> None:
    policy = Thresholds(audit=audit, thresholds={"simulation": 1.0})
    draws = np.random.default_rng(0).random(50_000)

    decisions = policy.decide(situation(np.zeros(50_000), draw=draws))

    share = (decisions.action == Action.ESCALATE).mean()
    assert share == pytest.approx(audit, abs=4 * (audit * (1 - audit) / 50_000) ** 0.5)


def test_an_audit_of_everything_climbs_everything() -> None:
    policy = Thresholds(audit=1.0, thresholds={"simulation": 1.0})

    decisions = policy.decide(situation([0.0, NAN, 5.0], draw=[0.0, 0.5, 1 - 2**-53]))

    assert [Action.ESCALATE] * 3 == decisions.action.tolist()
    assert [1.0] * 3 == decisions.propensity.tolist()


def test_only_audits_need_draws() -> None:
    assert AUDITED.draws
    assert not LIMIT.draws


def test_the_best_are_first_in_the_queue() -> None:
    means = [1.0, 3.0, 2.0, NAN]

    up = LIMIT.decide(situation(means)).benefit
    down = LIMIT.decide(situation(means, sign=-1.0)).benefit

    assert [1.5, 3.5, 2.5, 0.0] == up.tolist()
    assert [-0.5, -2.5, -1.5, 0.0] == down.tolist()


def test_an_empty_batch_is_decided() -> None:
    decisions = AUDITED.decide(situation([], draw=[]))

    assert 0 == len(decisions.action) == len(decisions.propensity) == len(decisions.to)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    size = draw(st.integers(0, 12))

    def flags(*shape: int) -> Any:
        return draw(arrays(bool, shape))

    numbers = arrays(float, size, elements=st.floats(-10, 10) | st.just(NAN))
    return situation(
        draw(numbers), answered=flags(size, 3), affordable=flags(size, 3), rejected=flags(size),
        draw=draw(arrays(float, size, elements=st.floats(0, 1, exclude_max=True))),
        sign=draw(st.sampled_from([1.0, -1.0])),
    )  # fmt: skip


POLICIES = st.builds(
    Thresholds,
    audit=st.floats(0, 1),
    thresholds=st.dictionaries(
        st.sampled_from([tier.label for tier in TIERS]), st.floats(-10, 10), max_size=3
    ),
)


@given(POLICIES, situations())
def test_nothing_that_is_over_climbs_and_every_decision_is_possible(
    policy: Thresholds, rows: Situation
) -> None:
    decisions = policy.decide(rows)

    over = rows.rejected | (rows.reached == 2)
    assert (decisions.action[over] == Action.STOP).all()
    climbs = decisions.action != Action.STOP
    assert (decisions.to[climbs] > rows.reached[climbs]).all()
    assert (decisions.propensity > 0).all()
    assert (decisions.propensity <= 1).all()
    assert np.isfinite(decisions.benefit).all()
    paid = rows.affordable[np.arange(len(rows)), decisions.to]
    assert paid[decisions.action == Action.ESCALATE].all()
    assert not paid[decisions.action == Action.DEFER].any()
    assert ((decisions.reason >= 0) & (decisions.reason < len(decisions.reasons))).all()


@given(POLICIES, situations())
def test_a_batch_is_decided_as_its_samples_alone(policy: Thresholds, rows: Situation) -> None:
    together = policy.decide(rows)

    for row in range(len(rows)):
        one = slice(row, row + 1)
        assert rows.draw is not None
        alone = policy.decide(
            situation(
                rows.mean[one],
                answered=rows.answered[one],
                affordable=rows.affordable[one],
                rejected=rows.rejected[one],
                draw=rows.draw[one],
                sign=rows.sign,
            )
        )
        assert together.action[row] == alone.action[0]
        assert together.propensity[row] == alone.propensity[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"audit": -0.1}, {"audit": 1.5}, {"audit": NAN}, {"audit": "5 %"},
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

    again = Thresholds(audit=spec["audit"], thresholds=spec["thresholds"])

    assert spec == again.as_json()
