"""The climb: from standings to decisions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.decision import Action
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.keys import content_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.beliefs import OffsetBelief
from verifier_ladder.scheduler.climb import Climb, Step
from verifier_ladder.scheduler.draws import uniform
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

ABSTAINS = Verdict.abstain("not my kind")
FAILED = Verdict.abstain("killed", failed_at="engine")


def made(name: str, tier: str = "fast", **attributes: Any) -> Verifier:
    return FunctionVerifier(
        len, name=name, version="1", tier=tier, cost=Cost(2.0), **attributes
    )  # fmt: skip


LADDER = Ladder(
    "gated", [made("gate", role="gate"), made("cheap"), made("relax", "simulation"),
              made("dear", "world")],
    policy=Thresholds(thresholds={"world": 5.0}, audit=0.25),
)  # fmt: skip


def standing(problem: Verdict | None = None, **verdicts: Verdict | float) -> Standing:
    candidate = Candidate("text", "CCO")
    result = Standing(candidate, content_key("text", "C"), "C", problem)
    for name, verdict in verdicts.items():
        result.learn(
            name, Verdict.accept(verdict) if isinstance(verdict, float) else verdict
        )  # fmt: skip
    return result


def stepped(
    *standings: Standing, ladder: Ladder = LADDER, paid: Sequence[bool] = (True,) * 3,
    positions: Sequence[int] | None = None,
) -> Step:  # fmt: skip
    climb = Climb(ladder, OffsetBelief.for_ladder(ladder), b"secret")
    return climb.step(
        standings, run="run", step=7, positions=positions or range(len(standings)),
        affordable=np.array(paid),
    )  # fmt: skip


def actions(step: Step) -> dict[int, tuple[Action, int]]:
    """Action and tier of each sample, by its place."""
    return {
        sample: (Action(action), tier)
        for columns in step.decisions
        for sample, action, tier in zip(columns.sample, columns.action, columns.tier, strict=True)
    }


def test_what_passes_climbs_to_the_next_tier() -> None:
    step = stepped(standing(gate=Verdict.accept(), cheap=1.0))

    assert {0: (Action.ESCALATE, 1)} == actions(step)
    assert [(0, 1)] == [(index, column) for index, column, _ in step.escalate]


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (standing(gate=Verdict.reject("no")), "it was rejected"),
        (standing(problem=Verdict.reject("no molecule")), "it was rejected"),
        (standing(gate=Verdict.accept(), cheap=Verdict.reject("weak")), "it was rejected"),
        (standing(gate=Verdict.accept(), cheap=1.0, relax=1.0, dear=6.0), "the top"),
        (standing(gate=Verdict.accept(), cheap=1.0, dear=FAILED), "the top"),
        (standing(gate=ABSTAINS), "could not judge"),
        (standing(gate=FAILED, cheap=1.0), "could not judge"),
        (standing(problem=FAILED), "could not judge"),
    ],
    ids=["gate", "form", "primary", "top", "failed top", "unsure gate", "failed gate", "crash"],
)
def test_what_is_over_stops_with_its_reason(last: Standing, why: str) -> None:
    step = stepped(last)

    assert {0: (Action.STOP, -1)} == actions(step)
    (columns,) = step.decisions
    assert why in columns.reasons[columns.reason[0]]
    assert [1.0] == list(columns.propensity)
    assert not step.escalate


@pytest.mark.parametrize("verdict", [ABSTAINS, FAILED, Verdict.accept()], ids=lambda v: v.reason)
def test_a_primary_without_a_score_is_passed_by(verdict: Verdict) -> None:
    assert {0: (Action.ESCALATE, 1)} == actions(
        stepped(standing(gate=Verdict.accept(), cheap=verdict))
    )


def test_every_sample_gets_one_decision_and_one_reward_in_order() -> None:
    passed = standing(gate=Verdict.accept(), cheap=1.0)
    rejected = standing(gate=Verdict.reject("no"))

    step = stepped(passed, rejected, passed, rejected)

    assert {0, 1, 2, 3} == set(actions(step))
    assert 4 == sum(len(columns.sample) for columns in step.decisions)
    assert [1.0, 0.0, 1.0, 0.0] == [reward.value for reward in step.rewards]


def test_an_empty_batch_gets_no_decisions() -> None:
    assert Step([], [], []) == stepped()


def test_a_spent_budget_defers_and_keeps_the_place_in_the_queue() -> None:
    step = stepped(standing(gate=Verdict.accept(), cheap=1.0), paid=(True, False, True))

    assert {0: (Action.DEFER, 1)} == actions(step)
    assert 1 == len(step.escalate)


def test_audits_are_drawn_per_sample() -> None:
    weak = standing(gate=Verdict.accept(), cheap=1.0, relax=1.0)

    step = stepped(*[weak] * 400)

    (columns,) = step.decisions
    draws = uniform(b"secret", "run", 7, range(400), 0)
    assert draws.tolist() == columns.draw
    assert [Action.ESCALATE if d < 0.25 else Action.STOP for d in draws] == list(columns.action)
    assert [0.25 if d < 0.25 else 0.75 for d in draws] == list(columns.propensity)


def test_numbers_of_a_decision_are_those_of_its_belief() -> None:
    step = stepped(standing(gate=Verdict.accept(), cheap=Verdict.accept(6.5, uncertainty=0.5)))

    (columns,) = step.decisions
    assert ([6.5], [0.5], [7.0]) == (
        list(columns.mean), list(columns.deviation), list(columns.benefit)
    )  # fmt: skip


def test_a_policy_without_draws_records_none() -> None:
    ladder = Ladder("plain", [made("cheap"), made("dear", "world")])

    (columns,) = stepped(standing(cheap=1.0), ladder=ladder, paid=(True, True)).decisions

    assert columns.draw is None


def test_the_model_learns_when_the_top_has_answered() -> None:
    model = OffsetBelief.for_ladder(LADDER)
    climb = Climb(LADDER, model, b"secret")

    climb.learn(standing(gate=Verdict.accept(), cheap=1.0))
    climb.learn(standing(gate=Verdict.accept(), cheap=1.0, dear=FAILED))
    assert 0 == sum(count for count, _, _ in model.snapshot()["residuals"])

    climb.learn(standing(gate=Verdict.accept(), cheap=1.0, dear=3.0))
    assert [1, 2.0, 4.0] == model.snapshot()["residuals"][0]
