"""A candidate's history, told from its entries."""

from dataclasses import replace

import pytest
from histories import ESTIMATE, GATE, UNIT, XTB, History, Item, cost
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.decision import Action
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.measurement import Bound
from verifier_ladder.report.timeline import fill, timeline
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict


@pytest.fixture
def history() -> History:
    return History(open_ledger(None))


ESTIMATED = cost(Verdict.accept(-5.0, uncertainty=1.5, unit=UNIT), 2.0)
ETHANOL = Item(
    "CCO", "CCO", {GATE: Verdict.accept(), ESTIMATE: ESTIMATED},
    Reward(0.5, 0.1, Tier.FAST), -4.9, 1.4, Action.ESCALATE, Tier.SIMULATION, 1,
)  # fmt: skip


def told(history: History, item: Item) -> list[str]:
    return [event.text for event in timeline(history.ledger, "try", item.content)]


def test_it_tells_submission_verdicts_decision_and_reward(history: History) -> None:
    history.score([ETHANOL])

    assert told(history, ETHANOL) == [
        "submitted in step 0 of run one",
        "gate passed",
        "estimate says −5.0 ± 1.5 kcal/mol in 2 s",
        "ask the simulation tier: believed −4.9 ± 1.4, good enough for the simulation tier (−4)",
        "reward 0.50 ± 0.10",
    ]


def test_revisions_of_many_samples_are_told_once(history: History) -> None:
    history.score([ETHANOL, ETHANOL])
    verdict = Verdict.accept(-4.0, unit=UNIT)
    history.check(ETHANOL, XTB, verdict)
    revised = replace(ETHANOL, reward=Reward(0.4), action=Action.STOP, to=None, reason=0)
    history.revise(0, 0, revised)
    history.revise(0, 1, revised)

    text = told(history, ETHANOL)

    assert text[0] == "submitted 2 times in step 0 of run one"
    assert text[-3:] == ["xtb says −4.00 kcal/mol", "stop: it was rejected", "reward 0.40"]


def test_a_failure_names_its_boundary(history: History) -> None:
    history.score([ETHANOL])
    history.check(ETHANOL, XTB, Verdict.abstain("SCF diverged", failed_at="tool"))

    assert told(history, ETHANOL)[-1] == "xtb failed at tool: SCF diverged"


def test_an_accept_without_a_score_tells_the_bound_that_it_rests_on(history: History) -> None:
    history.score([ETHANOL])
    evidence = {"bound": Bound("<", -3.0).as_json()}
    history.check(ETHANOL, XTB, Verdict.accept(unit=UNIT, evidence=evidence))

    assert told(history, ETHANOL)[-1] == "xtb says < -3 kcal/mol"


def test_an_unknown_reward_is_not_told_as_zero(history: History) -> None:
    history.score([replace(ETHANOL, reward=Reward(None))])

    assert told(history, ETHANOL)[-1] == "no reward yet: nothing is known"


def test_what_it_waits_for_is_told_last(history: History) -> None:
    history.score([ETHANOL])
    history.ledger.set_caps("try", {(int(Tier.SIMULATION), Resource.CPU_SECONDS): 1.0})
    history.enqueue(ETHANOL, XTB, CheckState.QUEUED)

    assert (
        told(history, ETHANOL)[-1]
        == "parked: what the budget has left does not pay for the simulation tier"
    )


def test_another_campaign_is_not_told_of(history: History) -> None:
    History(history.ledger, "other").score([ETHANOL])

    assert told(history, ETHANOL) == []


@pytest.mark.parametrize(
    "template", ["{mean:>999999999}", "{mean.__class__}", "{mean!r}", "{", "{mean:"]
)
def test_formats_that_are_more_than_a_number_stay_as_they_are(template: str) -> None:
    assert fill(template, {"mean": 1.0}) == template


@given(st.text(max_size=80), st.floats() | st.none() | st.text(max_size=5))
def test_no_template_makes_it_fail(template: str, value: object) -> None:
    assert len(fill(template, {"mean": value})) < 2000
