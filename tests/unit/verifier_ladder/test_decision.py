"""Decisions and what they rest on."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import verifier_ladder as vl
from verifier_ladder.decision import Action, Decisions, EscalationPolicy, Situation
from verifier_ladder.scheduler.policies import AllTiers, Thresholds
from verifier_ladder.tier import Tier


@pytest.mark.parametrize("policy", [AllTiers(), Thresholds()])
def test_the_built_in_policies_keep_the_contract(policy: object) -> None:
    assert isinstance(policy, EscalationPolicy)


def test_actions_are_spelled_as_in_tables() -> None:
    assert ["stop", "escalate", "defer"] == [action.label for action in Action]


def test_a_situation_counts_its_samples() -> None:
    situation = Situation(
        tiers=(Tier.FAST,), reached=np.zeros(3, dtype=np.int64), mean=np.zeros(3),
        deviation=np.zeros(3), explained=np.ones((3, 1)),
        answered=np.ones((3, 1), dtype=bool), cost=np.ones((3, 1)),
        affordable=np.ones((3, 1), dtype=bool), weight=np.ones(3),
        group=np.zeros(3, dtype=np.int64),
    )  # fmt: skip

    assert 3 == len(situation)


WRONG = {
    "verify NaN": ({"verify": np.nan}, "verify is a probability"),
    "verify 2": ({"verify": 2.0}, "verify is a probability"),
    "an unknown reason": ({"reason": 9}, "none of its 4 reasons"),
    "an unknown action": ({"action": 5}, "none of vl.Action"),
    "half an action": ({"action": 0.5}, "action of its decisions can't hold float64"),
    "an unknown name": ({"reasons": ("{nope}", "x", "y", "z")}, "nope"),
    "no text": ({"reasons": (3, "x", "y", "z")}, "the reason 3 can't be told"),
    "benefit NaN": ({"benefit": np.nan}, "not finite"),
    "no such tier": ({"action": 1, "to": 7}, "none of the 2"),
    "no tier": ({"action": 1, "to": -1}, "none of the 2"),
    "back": ({"action": 1, "to": 0}, "has answered"),
}  # fmt: skip


@vl.verifier(name="cheap-d", kind="text", version="1", isolation="inline")
def cheap(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(name="dear-d", tier="simulation", kind="text", version="1", isolation="inline")
def dear(candidate: vl.Candidate) -> float:
    return float(len(candidate.content)) + 0.5


@pytest.mark.parametrize(("changes", "why"), WRONG.values(), ids=WRONG)
def test_a_decision_that_can_not_be_carried_out_is_refused(
    changes: dict[str, Any], why: str
) -> None:
    class Wrong(AllTiers):
        name = "wrong"

        def decide(self, situation: Situation) -> Decisions:
            whole: dict[str, Any] = {
                name: value if name == "reasons" else np.full(len(situation), value)
                for name, value in changes.items()
            }
            made = super().decide(situation)
            made.reasons = (*made.reasons, "more")[:4]
            return replace(made, **whole)

    ladder = vl.Ladder("wrong", [cheap, dear], policy=Wrong())
    with (
        vl.Campaign.open("wrong", ladder=ladder) as campaign,
        pytest.raises(vl.ConfigError, match=f"policy wrong: .*{why}"),
    ):
        campaign.score(["abc", "de"])
