"""The policy that asks every tier."""

from typing import Any

import numpy as np
import pytest

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.tier import Tier


def decided(
    answered: Any, *, mean: float = float("nan"), rejected: bool = False, paid: bool = True,
    size: int = 1,
) -> Decisions:  # fmt: skip
    answers = np.broadcast_to(np.array(answered, dtype=bool), (size, 2))
    return AllTiers().decide(
        Situation(
            tiers=(Tier.FAST, Tier.WORLD),
            reached=np.where(answers, np.arange(2), -1).max(axis=1, initial=-1),
            mean=np.full(size, mean),
            deviation=np.full(size, np.nan),
            rejected=np.full(size, rejected),
            answered=answers,
            cost=np.ones((size, 2)),
            affordable=np.full((size, 2), paid),
            weight=np.ones(size),
            group=np.zeros(size, dtype=np.int64),
            sign=-1.0,
        )
    )


@pytest.mark.parametrize("mean", [float("nan"), -1e9, 1e9])
def test_everything_that_passes_climbs(mean: float) -> None:
    decisions = decided((True, False), mean=mean)

    assert [Action.ESCALATE] == decisions.action.tolist()
    assert [1] == decisions.to.tolist()
    assert [1.0] == decisions.propensity.tolist()


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ({"answered": (True, False), "rejected": True}, "rejected"),
        ({"answered": (True, True)}, "the top"),
    ],
)
def test_what_is_over_stops(case: dict[str, Any], why: str) -> None:
    decisions = decided(**case)

    assert [Action.STOP] == decisions.action.tolist()
    assert why in decisions.reasons[int(decisions.reason[0])]


def test_a_spent_budget_defers() -> None:
    assert [Action.DEFER] == decided((True, False), paid=False).action.tolist()


def test_the_better_belief_is_asked_first() -> None:
    worse, better, unknown = (
        float(decided((True, False), mean=mean).benefit[0]) for mean in (2.0, -2.0, float("nan"))
    )

    assert worse < unknown < better


def test_an_empty_batch_is_decided() -> None:
    assert 0 == len(decided((True, False), size=0).action)
