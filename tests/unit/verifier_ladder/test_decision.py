"""Decisions and what they rest on."""

import numpy as np
import pytest

from verifier_ladder.decision import Action, EscalationPolicy, Situation
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
