"""The first page of a campaign says what its summary says."""

from dataclasses import replace
from pathlib import Path

import pytest
from histories import ESTIMATE, GATE, MEASURED, XTB, History, Item, cost, ladder_spec

from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.analysis.glance import Glance, glance
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, Charged
from verifier_ladder.reward import Reward
from verifier_ladder.status import read_waiting
from verifier_ladder.summary import Summary, summarise
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

WATER = Item("O", "O", {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(-6.0), 1.0)})


@pytest.fixture
def index(tmp_path: Path) -> CandidateIndex:
    return CandidateIndex(tmp_path / "try.index")


def both(history: History, index: CandidateIndex) -> tuple[Glance, Summary]:
    while index.catch_up(history.ledger):
        pass
    (row,) = history.ledger.campaigns("try")
    waiting = read_waiting(history.ledger, "try", at=0.0)
    return glance(history.ledger, index, row, waiting), summarise(history.ledger, "try")


def test_rewards_that_may_still_come_are_not_known_and_not_given_up(
    index: CandidateIndex,
) -> None:
    history = History(open_ledger(None))
    history.score([replace(WATER, reward=Reward(None, pending=True)), WATER])
    told, summary = both(history, index)

    assert told.summary.rewards.unknown == summary.rewards.unknown == 2
    assert told.totals.counts.unrewarded == (1, 1)


def test_a_check_of_a_group_is_one_check(index: CandidateIndex) -> None:
    ladder = ladder_spec([GATE, ESTIMATE, XTB])
    ladder["verifiers"][-1]["scope"] = "group"
    history = History(open_ledger(None), "try", ladder)
    history.score([WATER])
    rows = [
        history._row(replace(WATER, task=t * 32), XTB, Verdict.accept(1.0)) for t in (b"a", b"b")
    ]
    charges = {Charged(int(Tier.SIMULATION), XTB, "1"): (Cost(2.0), 1)}
    history.ledger.append(Block("score", "try", verdicts=rows), charges=charges)
    told, summary = both(history, index)

    assert [tier.checks for tier in told.summary.tiers] == [2, 1]
    assert [tier.checks for tier in summary.tiers] == [2, 1]


def test_who_has_no_canonical_form_has_failed_on_the_lowest_tier(index: CandidateIndex) -> None:
    history = History(open_ledger(None), "try", ladder_spec([XTB, MEASURED]))
    history.score([Item("C", Verdict.abstain("killed", failed_at="engine"))])
    told, summary = both(history, index)

    for tiers in (told.summary.tiers, summary.tiers):
        assert [(tier.failed, tier.asked) for tier in tiers] == [(1, 1), (0, 0)]


def test_what_failed_is_told_before_its_reasons_are_listed(index: CandidateIndex) -> None:
    history = History(open_ledger(None))
    history.score([WATER])
    history.check(WATER, XTB, cost(Verdict.abstain("SCF diverged", failed_at="tool"), 3.0))
    (row,) = history.ledger.campaigns("try")

    (early,) = glance(history.ledger, index, row, None).boundaries
    (late,) = both(history, index)[0].boundaries

    assert (early.name, early.attempts, early.text) == ("tool", 1, "")
    assert (late.name, late.attempts, late.text, late.seconds) == ("tool", 1, "SCF diverged", 3.0)
