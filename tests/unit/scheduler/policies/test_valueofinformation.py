"""The policy that compares what is learnt with what it costs."""

from math import inf, isfinite, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies import ValueOfInformation
from verifier_ladder.scheduler.policies.index import improvement
from verifier_ladder.testing.policy import PolicyTestCase
from verifier_ladder.testing.situations import situation, situations

LEARN = ValueOfInformation()
ALIKE = [1.0, 1.0]  # Two candidates of one group, believed to be the same.


class TestLearning(PolicyTestCase):
    @pytest.fixture
    def policy(self) -> ValueOfInformation:
        return ValueOfInformation()


class TestBoth(PolicyTestCase):
    @pytest.fixture
    def policy(self) -> ValueOfInformation:
        return ValueOfInformation(beta=1.0, floor=0.05)


def decided(policy: ValueOfInformation = LEARN, mean: Any = ALIKE, **rows: Any) -> Decisions:
    return policy.decide(situation(mean, **rows))


def first(decisions: Decisions) -> tuple[Action, int, Any]:
    """Action, column and chance of verification of the first row."""
    return (
        Action(int(decisions.action[0])), int(decisions.to[0]),
        pytest.approx(float(decisions.verify[0]), abs=1e-6),
    )  # fmt: skip


def worth(policy: ValueOfInformation, rows: Situation, row: int) -> float:
    """What full knowledge of a row is worth, by the formula, one number at a time."""
    mean, deviation = float(rows.mean[row]), float(rows.deviation[row])
    mates = [i for i in range(len(rows)) if rows.group[i] == rows.group[row]]
    means = [float(rows.mean[i]) for i in mates]
    middle = sum(means) / len(means)
    variance = sum(float(rows.deviation[i]) ** 2 for i in mates) / len(mates)
    if len(mates) > 1:
        variance += sum((m - middle) ** 2 for m in means) / (len(mates) - 1)
    elif isfinite(rows.spread):
        variance = max(variance, rows.spread**2)
    scale = sqrt(variance)
    if isfinite(rows.spread):
        scale = max(scale, policy.floor * rows.spread)
    gap = rows.sign * (rows.best - mean) if isfinite(rows.best) else 0.0
    hope = max(-gap, 0.0)
    if deviation > 0:
        hope = deviation * float(improvement(gap / deviation))
    hope = hope / rows.spread if isfinite(rows.spread) else float(improvement(0.0))
    share = deviation / scale if scale else 0.0
    return float(rows.weight[row]) ** 2 * share**2 + (policy.beta * hope) ** 2


@given(st.builds(ValueOfInformation, beta=st.sampled_from([0.0, 0.5, 1.0])), situations())
def test_the_benefit_is_that_of_the_formula(policy: ValueOfInformation, rows: Situation) -> None:
    decisions = policy.decide(rows)

    for row in np.flatnonzero(decisions.to >= 0).tolist():
        column = int(decisions.to[row])
        cost = float(rows.cost[row, column])
        if cost < 1e-9:
            continue
        benefit = worth(policy, rows, row) * float(rows.explained[row, column]) / cost
        assert float(decisions.benefit[row]) == pytest.approx(benefit, rel=1e-3, abs=1e-6)


@given(situations())
def test_a_chance_of_verification_is_the_best_for_its_cost(rows: Situation) -> None:
    """It minimises the added variance, worth / p, plus the expected cost, cost · p."""
    decisions = LEARN.decide(rows)

    for row in np.flatnonzero((decisions.action == Action.STOP) & (decisions.to >= 0)).tolist():
        gain, cost = worth(LEARN, rows, row), float(rows.cost[row, -1])
        chance = float(decisions.verify[row])
        if 0.0 < chance < 1.0:
            paid = gain / chance + cost * chance
            for other in (0.9 * chance, min(1.1 * chance, 1.0)):
                assert paid <= (gain / other + cost * other) * (1 + 1e-9)


@given(situations(), st.sampled_from([0.0, 0.5, 3.0]))
def test_where_costs_differ_nearly_all_is_verified_or_left_to_the_audits(
    rows: Situation, unevenness: float
) -> None:
    alike = LEARN.decide(rows)
    rows.unevenness = unevenness
    decisions = LEARN.decide(rows)

    assert alike.action.tolist() == decisions.action.tolist()
    np.testing.assert_allclose(
        decisions.verify, alike.verify ** (1.0 + 2.0 * unevenness), atol=1e-12
    )


def test_a_given_steepness_holds_whatever_checks_cost() -> None:
    rows = situation([0.0], cost=(1.0, 4.0, 4.0), answered=(True, True, False), spread=1.0)
    rows.unevenness = 7.0

    decisions = ValueOfInformation(steepness=1.0).decide(rows)

    assert 0.25 == pytest.approx(float(decisions.verify[0]))


def test_the_tier_that_brings_most_per_cost_is_asked() -> None:
    jump = decided(explained=(0, 0.1, 1.0), cost=(1.0, 0.4, 0.5))
    climb = decided(explained=(0, 0.9, 1.0), cost=(1.0, 0.1, 0.5))

    assert (Action.ESCALATE, 2, 0.0) == first(jump)
    assert (Action.ESCALATE, 1, 0.0) == first(climb)


def test_what_is_not_worth_its_cost_is_verified_now_and_then() -> None:
    assert (Action.STOP, 2, 0.5) == first(decided(cost=(1.0, 9.0, 4.0)))


def test_nothing_is_learnt_of_a_candidate_that_is_certain() -> None:
    assert (Action.STOP, 2, 0.0) == first(decided(deviation=0.0))


def test_a_certain_candidate_in_an_uncertain_group_is_left_alone() -> None:
    decisions = decided(deviation=[0.1, 10.0], cost=(1.0, 0.5, 0.5))

    assert [Action.STOP, Action.ESCALATE] == decisions.action.tolist()


@pytest.mark.parametrize("unknown", [{"mean": [nan, nan]}, {"deviation": nan}, {"deviation": inf}])
def test_what_nothing_is_known_of_counts_as_wholly_uncertain(unknown: dict[str, Any]) -> None:
    assert (Action.STOP, 2, 0.5) == first(decided(**unknown, cost=(1.0, 9.0, 4.0)))
    assert (Action.ESCALATE, 1, 0.0) == first(decided(**unknown, cost=(1.0, 0.1, 4.0)))


def test_free_tiers_are_climbed_to_one_by_one() -> None:
    decisions = decided(cost=0.0, deviation=0.0)

    assert (Action.ESCALATE, 1, 0.0) == first(decisions)
    assert "costs nothing" in decisions.reasons[int(decisions.reason[0])]


def test_among_free_tiers_the_uncertain_are_first_in_the_queue() -> None:
    benefit = decided(cost=0.0, deviation=[1.0, 2.0]).benefit

    assert benefit[0] < benefit[1]


@pytest.mark.parametrize("cost", [inf, nan])
def test_a_tier_whose_cost_is_endless_or_unknown_is_not_asked(cost: float) -> None:
    assert (Action.STOP, 2, 0.0) == first(decided(cost=cost))


def test_a_spent_budget_defers_the_climb() -> None:
    decisions = decided(cost=(1.0, 0.1, 9.0), affordable=(True, False, True))

    assert (Action.DEFER, 1, 0.0) == first(decisions)
    assert "budget" in decisions.reasons[int(decisions.reason[0])]


def test_another_tier_that_is_worth_it_is_asked_when_the_best_can_not_be_paid() -> None:
    decisions = decided(cost=(1.0, 0.1, 0.5), affordable=(True, False, True))

    assert (Action.ESCALATE, 2, 0.0) == first(decisions)


def test_a_top_tier_that_can_not_be_paid_is_left_to_the_draw() -> None:
    assert (Action.STOP, 2, 1.0) == first(
        decided(cost=(1.0, 9.0, 0.5), affordable=(True, True, False))
    )


def test_a_sample_the_learner_hardly_reacts_to_is_left_alone() -> None:
    decisions = decided(weight=[0.1, 2.0])

    assert [Action.STOP, Action.ESCALATE] == decisions.action.tolist()
    assert 0.1 == pytest.approx(float(decisions.verify[0]))


def test_a_group_without_spread_is_not_worth_its_cost() -> None:
    decisions = decided(deviation=0.01, spread=1.0, cost=(1.0, 9.0, 1.0))

    assert (Action.STOP, 2, 0.1) == first(decisions)  # A tenth of the least deviation, 0.1.


def test_for_a_group_of_one_the_targets_spread_is_the_yardstick() -> None:
    sure = decided(mean=[1.0], deviation=0.25, spread=1.0, cost=(1.0, 9.0, 1.0))
    unsure = decided(mean=[1.0], deviation=4.0, spread=1.0, cost=(1.0, 9.0, 4.0))

    assert (Action.STOP, 2, 0.25) == first(sure)
    assert (Action.STOP, 2, 0.5) == first(unsure)


@given(situations(), st.sampled_from([1e-3, 8.0, 1e4]))
def test_decisions_do_not_depend_on_the_targets_unit(rows: Situation, unit: float) -> None:
    both = ValueOfInformation(beta=1.0)
    before = both.decide(rows)
    for name in ("mean", "deviation", "spread", "best"):
        setattr(rows, name, getattr(rows, name) * unit)

    after = both.decide(rows)

    np.testing.assert_allclose(before.verify, after.verify, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(before.benefit, after.benefit, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("sign", "better"), [(1.0, 1), (-1.0, 0)])
def test_discovery_prefers_what_may_improve_on_the_best(sign: float, better: int) -> None:
    rows = situation([0.0, 1.0], sign=sign, spread=1.0, best=0.5)

    assert better == int(ValueOfInformation(beta=1.0).decide(rows).benefit.argmax())
    assert 1 == len(set(LEARN.decide(rows).benefit.tolist()))


def test_a_tier_that_explains_nothing_is_not_asked_for_the_sake_of_discovery() -> None:
    decisions = decided(
        ValueOfInformation(beta=1.0), explained=0.0, cost=(1.0, 1e-9, 1.0), best=-9.0, spread=1.0
    )

    assert (Action.ESCALATE, 2, 0.0) == first(decisions)


@pytest.mark.parametrize(
    "settings", [{"beta": -1.0}, {"beta": nan}, {"beta": "pure"}, {"floor": inf}], ids=repr
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="value_of_information"):
        ValueOfInformation(**settings)
