"""The climb: from standings to decisions."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.keys import content_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.beliefs import create_model
from verifier_ladder.scheduler.climb import Climb, Scene, Step, revised
from verifier_ladder.scheduler.draws import Draw, Lot, uniform
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.policies import AllTiers, Thresholds
from verifier_ladder.scheduler.samples import StepSamples
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
    policy=Thresholds(thresholds={"world": 5.0}), audit=0.25,
)  # fmt: skip


def with_policy(policy: Thresholds) -> Ladder:
    return Ladder("gated", LADDER.verifiers, policy=policy, audit=0.25)


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
    draws: Sequence[Draw | None] | None = None, lots: Sequence[Lot | None] | None = None,
) -> Step:  # fmt: skip
    climb = Climb(Knowledge(ladder, create_model(ladder)), b"secret")
    samples = StepSamples("run", 7, range(len(standings)))
    return climb.step(
        Scene(
            samples, standings, accounts(ladder, paid), len(samples), 128, draws=draws, lots=lots
        )
    )


def accounts(ladder: Ladder, paid: Sequence[bool]) -> list[Account]:
    """Accounts of the tiers that have nothing left."""
    return [
        Account(int(tier), Resource.CPU_SECONDS, 0.0, 0.0, 0.0, 0.0, 0)
        for tier, is_paid in zip(ladder.tiers, paid, strict=False) if not is_paid
    ]  # fmt: skip


def numbers(count: int) -> list[float]:
    """What is drawn for the first samples of the step."""
    return [float(u) for u in uniform(b"secret", StepSamples("run", 7, range(count)))]


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
    assert [(0, 1)] == [(asked.place, asked.column) for asked in step.escalate]


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
    step = stepped(last, paid=(True, True, False))

    assert {0: (Action.STOP, -1)} == actions(step)
    (columns,) = step.decisions
    assert why in columns.reasons[columns.reason[0]]
    assert [float(why == "the top")] == list(columns.propensity)
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
    assert [True] == [asked.is_deferred for asked in step.escalate]


def weak() -> Standing:
    """A candidate that the funnel stops below the world tier."""
    return standing(gate=Verdict.accept(), cheap=1.0, relax=1.0)


def test_what_stops_is_drawn_for_the_top_tier_with_the_audit_share() -> None:
    step = stepped(*[weak() for _ in range(400)])

    (columns,) = step.decisions
    assert numbers(400) == columns.draw
    assert [0.25] * 400 == list(columns.propensity)
    drawn = [number < 0.25 for number in numbers(400)]
    assert [Action.ESCALATE if hit else Action.STOP for hit in drawn] == list(columns.action)
    assert [i for i, hit in enumerate(drawn) if hit] == [asked.place for asked in step.escalate]
    assert {2} == {asked.column for asked in step.escalate}


def test_samples_of_one_candidate_share_one_draw() -> None:
    one, other = weak(), weak()
    step = stepped(*[one] * 5, *[other] * 5)

    (columns,) = step.decisions
    drawn = dict(zip(columns.sample, columns.draw or (), strict=True))
    first = numbers(10)
    assert {drawn[i] for i in range(5)} == {first[0]}
    assert {drawn[i] for i in range(5, 10)} == {first[5]}


def test_nothing_is_drawn_where_the_top_tier_cannot_be_paid() -> None:
    step = stepped(weak(), paid=(True, True, False))

    (columns,) = step.decisions
    assert columns.draw is None
    assert [0.0] == list(columns.propensity)


REJECTED = Verdict.reject("too large")


def test_rejects_of_a_gate_are_audited() -> None:
    step = stepped(*[standing(gate=REJECTED) for _ in range(400)])

    (columns,) = step.decisions
    drawn = [number < 0.25 for number in numbers(400)]
    assert [Action.ESCALATE if hit else Action.STOP for hit in drawn] == list(columns.action)
    assert sum(drawn) == len(step.escalate)
    assert {0.0} == {asked.draw.estimate for asked in step.escalate if asked.draw}


@pytest.mark.parametrize(
    "make",
    [
        lambda: standing(problem=Verdict.reject("no molecule")),
        lambda: standing(gate=Verdict.accept(), cheap=1.0, dear=REJECTED),
    ],
    ids=["form", "top"],
)
def test_rejects_that_nobody_can_overrule_are_not_audited(make: Callable[[], Standing]) -> None:
    assert not stepped(*[make() for _ in range(50)]).escalate


def test_rejects_of_a_definitive_gate_are_not_audited() -> None:
    gate = made("gate", role="gate", definitive=True)
    ladder = Ladder("by definition", [gate, made("dear", "world")], audit=1.0)

    assert not stepped(standing(gate=REJECTED), ladder=ladder, paid=(True, True)).escalate


DRAWN = Draw(propensity=0.25, number=0.1, estimate=1.0, factor=4.0)


def test_a_drawn_sample_is_corrected_by_its_factor() -> None:
    step = stepped(standing(gate=Verdict.accept(), cheap=1.0, dear=3.0), draws=[DRAWN])

    assert [1.0 + 4.0 * (3.0 - 1.0)] == [reward.value for reward in step.rewards]
    (columns,) = step.decisions
    assert ([0.25], [0.1], [4.0]) == (
        list(columns.propensity), list(columns.draw or ()), list(columns.factor or ())
    )  # fmt: skip


def test_a_drawn_sample_that_the_world_rejects_is_corrected_towards_the_reject_value() -> None:
    step = stepped(standing(gate=Verdict.accept(), cheap=1.0, dear=REJECTED), draws=[DRAWN])

    assert [1.0 + 4.0 * (0.0 - 1.0)] == [reward.value for reward in step.rewards]


@pytest.mark.parametrize("answer", [ABSTAINS, FAILED], ids=["abstains", "fails"])
def test_a_drawn_sample_keeps_its_estimate_when_the_top_cannot_say(answer: Verdict) -> None:
    step = stepped(standing(gate=Verdict.accept(), cheap=9.0, dear=answer), draws=[DRAWN])

    assert [1.0] == [reward.value for reward in step.rewards]
    assert not step.escalate


def test_a_drawn_sample_of_which_nothing_was_known_gets_the_truth() -> None:
    unknown = DRAWN._replace(estimate=None)
    step = stepped(standing(gate=Verdict.accept(), dear=3.0), draws=[unknown])

    assert [3.0] == [reward.value for reward in step.rewards]


def test_a_drawn_sample_goes_on_until_the_top_has_answered() -> None:
    step = stepped(standing(gate=REJECTED), weak(), draws=[DRAWN, DRAWN])

    assert [(0, 2, DRAWN), (1, 2, DRAWN)] == [
        (asked.place, asked.column, asked.draw) for asked in step.escalate
    ]
    (told,) = step.decisions
    assert [int(Action.ESCALATE)] * 2 == list(told.action)
    assert told.draw is None  # It is not drawn again.


@pytest.mark.parametrize(
    ("relax", "paid", "lot", "chance", "is_asked"),
    [
        (6.0, True, Lot(0.5, 0.9), 1.0, True),
        (6.0, False, Lot(0.5, 0.9), 0.5, False),
        (6.0, False, Lot(0.5, 0.3), 0.5, True),
        (1.0, True, Lot(0.5, 0.3), 0.25, False),
        (1.0, True, Lot(0.5, 0.2), 0.25, True),
        (1.0, True, Lot(0.125, 0.2), 0.125, False),
    ],
    ids=["worth it", "unpaid", "unpaid and drawn", "settled", "audited", "no more than planned"],
)
def test_a_draw_made_ahead_counts_as_far_as_the_middle_tier_leaves_it(
    *, relax: float, paid: bool, lot: Lot, chance: float, is_asked: bool
) -> None:
    middle = standing(gate=Verdict.accept(), cheap=1.0, relax=relax)
    step = stepped(middle, paid=(True, True, paid), lots=[lot])

    (columns,) = step.decisions
    assert [chance] == list(columns.propensity)
    assert is_asked == bool(step.escalate)


@pytest.mark.parametrize(("number", "chance"), [(0.3, 0.5), (0.7, 1.0)], ids=["fell", "did not"])
def test_draws_of_samples_that_still_climb_are_paid_first(*, number: float, chance: float) -> None:
    worth_it = standing(gate=Verdict.accept(), cheap=1.0, relax=6.0)
    climbing = standing(gate=Verdict.accept(), cheap=1.0)
    ladder = with_policy(Thresholds(thresholds={"simulation": -1e9, "world": 5.0}))
    climb = Climb(Knowledge(ladder, create_model(ladder)), b"secret")
    for_one = Account(int(ladder.tiers[-1]), Resource.CPU_SECONDS, 3.0, 0.0, 0.0, 0.0, 0)
    step = climb.step(
        Scene(
            StepSamples("run", 7, range(2)), [worth_it, climbing], [for_one], 0, 128,
            lots=[Lot(0.5, 0.9), Lot(0.5, number)],
        )
    )  # fmt: skip

    (columns,) = step.decisions
    told = dict(zip(columns.sample, columns.propensity, strict=True))
    assert told[0] == chance


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


def test_weights_of_one_candidate_join_and_reach_the_policy() -> None:
    seen: list[Situation] = []

    class Spy(AllTiers):
        def decide(self, situation: Situation) -> Decisions:
            seen.append(situation)
            return super().decide(situation)

    ladder = Ladder("spied", [made("cheap"), made("dear", "world")], policy=Spy())
    climb = Climb(Knowledge(ladder, create_model(ladder)), b"secret")
    one, other = standing(cheap=1.0), standing(cheap=2.0)
    climb.step(
        Scene(
            StepSamples("run", 0, range(3)), [one, other, one], [], 3, 3,
            weights=[3.0, 1.0, 4.0], groups=["a", "b", "a"],
        )
    )  # fmt: skip

    situation = seen[-1]
    assert [5.0, 1.0] == situation.weight.tolist()
    assert [0, 1] == situation.group.tolist()
    assert [1.0, 2.0] == situation.mean.tolist()


@given(estimate=st.floats(-1e6, 1e6), truth=st.floats(-1e6, 1e6), propensity=st.floats(0.01, 1.0))
def test_the_correction_is_unbiased_over_the_draw(
    estimate: float, truth: float, propensity: float
) -> None:
    draw = Draw(propensity, 0.0, estimate, 1.0 / propensity)
    hit = revised(Reward(truth), draw, is_known=True).value
    assert hit is not None

    mean = propensity * hit + (1 - propensity) * estimate

    assert mean == pytest.approx(truth, abs=1e-6)


def test_replicates_that_have_begun_are_completed_whatever_the_policy_says() -> None:
    judge = made("judge", "simulation", replicates=3)
    ladder = Ladder(
        "l", [made("cheap"), judge, made("dear", "world")],
        policy=Thresholds(thresholds={"simulation": 9.0, "world": 9.0}), audit=0.0,
    )  # fmt: skip
    some, other = standing(cheap=1.0), standing(cheap=1.0)
    some.hear(judge, 0, Verdict.accept(1.0))
    samples = StepSamples("run", 7, range(2))
    scene = Scene(samples, [some, other], accounts(ladder, (True,) * 3), 0, 2, begun=[1, -1])

    step = Climb(Knowledge(ladder, create_model(ladder)), b"secret").step(scene)

    assert [Action.ESCALATE, Action.STOP] == [action for action, _ in actions(step).values()]
    assert [(0, 1)] == [(asked.place, asked.column) for asked in step.escalate]
    (columns,) = step.decisions
    assert "its other replicates are missing" == columns.reasons[columns.reason[0]]
