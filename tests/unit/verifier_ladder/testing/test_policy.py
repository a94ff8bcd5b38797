"""The kit passes good policies, and catches each kind of bad one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from verifier_ladder.decision import Decisions, Situation
from verifier_ladder.scheduler.policies import AllTiers, Thresholds, ValueOfInformation
from verifier_ladder.testing.policy import PolicyTestCase

KIT = PolicyTestCase()
Change = Callable[[Situation, Decisions], Decisions]


class Own(AllTiers):
    """A policy of somebody else, with a setting of its own."""

    name = "own"

    def __init__(self, patience: int = 3) -> None:
        self.patience = patience

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "patience": self.patience}


class TestOwn(PolicyTestCase):
    @pytest.fixture
    def policy(self) -> Own:
        return Own(patience=5)


class Changed(AllTiers):
    """All tiers, with something wrong."""

    def __init__(self, change: Change) -> None:
        self.change = change

    def decide(self, situation: Situation) -> Decisions:
        return self.change(situation, super().decide(situation))


def spoil(**columns: Callable[[Situation, Decisions], Any]) -> Changed:
    return Changed(
        lambda rows, made: replace(made, **{k: v(rows, made) for k, v in columns.items()})
    )


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (spoil(action=lambda _, d: d.action + 3), "none of vl.Action"),
        (spoil(action=lambda _, d: d.action.astype(float)), "action holds float64"),
        (spoil(reason=lambda _, d: d.reason + 9), "reason is none of"),
        (spoil(to=lambda _, d: d.to + 9), "none of the"),
        (spoil(to=lambda _, d: np.zeros_like(d.to)), "one below it"),
        (spoil(action=lambda _, d: np.where(d.to >= 0, 1, 0)), "spent budget"),
        (spoil(verify=lambda _, d: d.verify + 2.0), "a probability"),
        (spoil(verify=lambda _, d: d.verify + 0.5), "only for climbs that stop"),
        (spoil(verify=lambda _, d: d.verify.tolist()), "verify is no array"),
        (spoil(benefit=lambda _, d: d.benefit / 0.0), "divide|invalid|ranked"),
        (spoil(benefit=lambda _, d: d.benefit + np.inf), "ranked"),
        (spoil(limit=lambda _, d: d.benefit[1:]), "limit has shape"),
    ],
)
def test_a_decision_that_can_not_be_carried_out_is_caught(bad: Changed, why: str) -> None:
    with pytest.raises((AssertionError, RuntimeWarning), match=why):
        KIT.test_every_decision_can_be_carried_out(bad)


def test_a_policy_that_throws_dice_is_caught() -> None:
    rng = np.random.default_rng(0)
    bad = spoil(benefit=lambda _, d: rng.random(len(d.benefit)))

    with pytest.raises(AssertionError, match="benefit"):
        KIT.test_the_same_situation_gets_the_same_decisions(bad)


def test_a_policy_that_writes_into_the_situation_is_caught() -> None:
    def write(rows: Situation, made: Decisions) -> Decisions:
        rows.mean[:] = 0.0
        return made

    with pytest.raises(ValueError, match="read-only"):
        KIT.test_the_same_situation_gets_the_same_decisions(Changed(write))


def test_a_policy_that_looks_at_other_groups_is_caught() -> None:
    bad = spoil(action=lambda _, d: np.where(d.to >= 0, 2 - (len(d.to) > 1), 0))

    with pytest.raises(AssertionError):
        KIT.test_a_group_is_decided_as_if_it_were_alone(bad)


def test_a_reason_that_names_a_number_that_is_not_there_is_caught() -> None:
    bad = spoil(reasons=lambda *_: ("because of {why}",) * 3)

    with pytest.raises(KeyError, match="why"):
        KIT.test_reasons_can_be_told(bad)


@pytest.mark.parametrize(
    ("good", "spec"),
    [
        (Thresholds(thresholds={"world": 1.0}), {"name": "thresholds", "version": "2"}),
        (ValueOfInformation(beta=1.0), {"name": "value_of_information", "version": "1"}),
    ],
)
def test_a_policy_that_forgets_its_settings_is_caught(
    good: Any, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    KIT.test_its_json_names_it_and_makes_it_again(good)
    monkeypatch.setattr(good, "as_json", lambda: spec)

    with pytest.raises(AssertionError):
        KIT.test_its_json_names_it_and_makes_it_again(good)


def test_what_is_no_policy_is_caught() -> None:
    with pytest.raises(AssertionError):
        KIT.test_it_keeps_the_contract(object())  # type: ignore[arg-type]
