"""The policy that asks every tier."""

import pytest

from verifier_ladder.decision import Action
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.testing.policy import PolicyTestCase
from verifier_ladder.testing.situations import situation


class TestAllTiers(PolicyTestCase):
    @pytest.fixture
    def policy(self) -> AllTiers:
        return AllTiers()


@pytest.mark.parametrize("mean", [float("nan"), -1e9, 1e9])
def test_everything_that_passes_climbs(mean: float) -> None:
    decisions = AllTiers().decide(situation([mean]))

    assert [Action.ESCALATE] == decisions.action.tolist()
    assert [1] == decisions.to.tolist()


def test_where_every_tier_has_answered_it_stops() -> None:
    decisions = AllTiers().decide(situation([1.0], answered=True))

    assert ([Action.STOP], [-1]) == (decisions.action.tolist(), decisions.to.tolist())
    assert "no tier left" in decisions.reasons[int(decisions.reason[0])]


def test_a_spent_budget_defers() -> None:
    decisions = AllTiers().decide(situation([1.0], affordable=(True, False, True)))

    assert [Action.DEFER] == decisions.action.tolist()


def test_the_better_belief_is_asked_first() -> None:
    worse, unknown, better = AllTiers().decide(
        situation([2.0, float("nan"), -2.0], sign=-1.0)
    ).benefit.tolist()  # fmt: skip

    assert worse < unknown < better
