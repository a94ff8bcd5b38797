"""The policy that looks for the best of each group."""

from math import nan
from typing import Any

import numpy as np
import pytest

from verifier_ladder.decision import Action, Decisions
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies import BestOfN
from verifier_ladder.testing.policy import PolicyTestCase
from verifier_ladder.testing.situations import situation

BEST = BestOfN()
DONE, OPEN = (True, True, True), (True, False, False)


class TestBestOfN(PolicyTestCase):
    @pytest.fixture
    def policy(self) -> BestOfN:
        return BestOfN(error=0.1)


def decided(mean: Any, **rows: Any) -> Decisions:
    return BEST.decide(situation(mean, **rows))


def asked(decisions: Decisions) -> list[int]:
    return np.flatnonzero(decisions.action == Action.ESCALATE).tolist()


def test_the_leader_and_its_strongest_challenger_are_asked() -> None:
    decisions = decided([3.0, 1.0, 2.0], deviation=[1.0, 3.0, 1.0])

    assert [0, 1] == asked(decisions)
    assert [Action.DEFER] == decisions.action[[2]].tolist()


def test_for_a_target_that_is_minimised_the_lowest_leads() -> None:
    assert [1, 2] == asked(decided([3.0, 1.0, 2.0], sign=-1.0))


def test_a_group_is_decided_when_the_bounds_are_apart() -> None:
    apart = decided([5.0, 0.0], deviation=1.0)
    close = decided([3.0, 0.0], deviation=1.0)

    assert [Action.STOP] * 2 == apart.action.tolist()
    assert not apart.verify.any()
    assert [0, 1] == asked(close)


def test_a_larger_error_decides_sooner() -> None:
    rows = situation([3.0, 0.0], deviation=1.0)

    assert [0, 1] == asked(BestOfN(error=0.05).decide(rows))
    assert [] == asked(BestOfN(error=0.5).decide(rows))


def test_each_group_has_its_own_leader() -> None:
    decisions = decided([9.0, 8.5, 0.0, 0.5, 4.0], group=[0, 0, 7, 7, 3])

    assert [0, 1, 2, 3] == asked(decisions)
    assert Action.STOP == decisions.action[4]


def test_the_tier_that_explains_most_per_cost_is_asked() -> None:
    cheap = decided([1.0, 0.0], explained=0.5, cost=(1.0, 0.1, 1.0))
    dear = decided([1.0, 0.0], explained=0.5, cost=(1.0, 0.9, 1.0))

    assert [1, 1] == cheap.to.tolist()
    assert [2, 2] == dear.to.tolist()


def test_a_member_whose_value_is_known_leads_without_being_asked() -> None:
    decisions = decided([2.0, 1.5, 0.0], deviation=[0.0, 1.0, 0.1], answered=[DONE, OPEN, OPEN])

    assert [1] == asked(decisions)
    assert [Action.STOP, Action.ESCALATE, Action.DEFER] == decisions.action.tolist()


def test_a_known_value_that_nobody_can_pass_decides() -> None:
    decisions = decided([9.0, 1.5], deviation=[0.0, 1.0], answered=[DONE, OPEN])

    assert [Action.STOP] * 2 == decisions.action.tolist()


def test_an_uncertain_leader_is_asked_about_because_of_a_known_value() -> None:
    decisions = decided([2.0, 1.5], deviation=[1.0, 0.0], answered=[OPEN, DONE])

    assert [0] == asked(decisions)


def test_what_failed_for_good_challenges_nobody() -> None:
    decisions = decided([5.0, 4.9, 4.0], deviation=[0.1, 9.0, 1.0], answered=[OPEN, DONE, OPEN])

    assert [0, 2] == asked(decisions)


def test_a_group_in_which_nobody_can_be_asked_is_decided() -> None:
    decisions = decided([5.0, 5.5, 0.0], deviation=[9.0, 0.0, 0.1], answered=[DONE, DONE, OPEN])

    assert [Action.STOP] * 3 == decisions.action.tolist()


def test_what_nothing_is_known_of_challenges_first() -> None:
    assert [0, 2] == asked(decided([5.0, 4.9, nan]))
    assert [0, 1] == asked(decided([nan, nan, nan]))


def test_a_spent_budget_defers() -> None:
    decisions = decided([1.0, 0.0], affordable=(True, False, False))

    assert [Action.DEFER] * 2 == decisions.action.tolist()
    assert "budget" in decisions.reasons[int(decisions.reason[0])]


def found_best(rng: np.random.Generator) -> tuple[bool, int]:
    """Whether the best of four is found, and how many had to be asked."""
    mean, deviation = rng.normal(size=4), np.full(4, 0.7)
    truth = mean + deviation * rng.normal(size=4)
    done = np.zeros(4, dtype=bool)
    while True:
        decisions = decided(
            mean, deviation=deviation, answered=np.where(done[:, None], DONE, OPEN)
        )
        rows = asked(decisions)
        if not rows:
            return int(mean.argmax()) == int(truth.argmax()), int(done.sum())
        mean[rows], deviation[rows], done[rows] = truth[rows], 0.0, True


def test_the_best_is_found_as_surely_as_promised_and_not_everything_is_asked() -> None:
    runs = [found_best(np.random.default_rng(seed)) for seed in range(400)]

    assert np.mean([is_best for is_best, _ in runs]) >= 0.95
    assert np.mean([count for _, count in runs]) < 3.5


@pytest.mark.parametrize("error", [0.0, 1.5, nan, "small"])
def test_an_error_that_is_no_probability_is_refused(error: Any) -> None:
    with pytest.raises(ConfigError, match="error"):
        BestOfN(error=error)
