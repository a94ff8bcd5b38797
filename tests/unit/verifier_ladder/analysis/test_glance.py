"""The first page of a campaign says what its summary says."""

from dataclasses import replace
from random import Random

import scored
from histories import ESTIMATE, GATE, MEASURED, UNIT, XTB, History, Item, cost, ladder_spec
from indexed import catch_up

from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.analysis.glance import Glance, glance
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, Charged
from verifier_ladder.notebook.cards import campaign_card
from verifier_ladder.reward import Reward
from verifier_ladder.status import read_waiting
from verifier_ladder.summary import Summary, summarise
from verifier_ladder.summary.terminal import news
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

WATER = Item("O", "O", {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(-6.0), 1.0)})


def both(history: History, index: CandidateIndex) -> tuple[Glance, Summary]:
    catch_up(index, history.ledger)
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


def test_the_winner_is_the_same_though_many_are_believed_to_be_better(
    index: CandidateIndex,
) -> None:
    history = History(open_ledger(None))
    history.score([scored.item(f"C{n:02}", -8.0) for n in range(12)])
    history.score([scored.item("O", -3.0, -3.5), scored.item("CO", -4.0, -3.5)])
    told, summary = both(history, index)

    assert told.winner is not None
    assert summary.winner is not None
    assert (told.winner.label, told.winner.truth) == ("CO", -3.5)
    assert (summary.winner.content, summary.winner.known) == ("CO", -3.5)
    assert news(summary) == [f"Best measured: CO, −3.50 {UNIT}."]
    assert "measured" not in {c.content for c in summary.best}
    assert "by the world tier: <code><bdi>CO</bdi></code>" in campaign_card(history.ledger, "try")


def test_where_scores_hold_inside_a_group_only_nobody_has_won(index: CandidateIndex) -> None:
    ladder = ladder_spec([GATE, ESTIMATE, MEASURED])
    ladder["verifiers"][-1]["scope"] = "group"
    history = History(open_ledger(None), "try", ladder)
    history.score([scored.item("O", -3.0, -3.5)])
    history.score([scored.item(f"C{n}", float(n), float(-n)) for n in range(12)])
    told, summary = both(history, index)

    assert (told.winner, told.hopeful, summary.winner) == (None, None, None)
    assert (summary.best, summary.agreement, summary.suspicious) == ((), (), ())


def test_means_are_the_same_to_the_last_digit(index: CandidateIndex) -> None:
    history, draw = History(open_ledger(None)), Random(1)  # noqa: S311 - the same each time
    for _ in range(20):
        items = [replace(WATER, reward=Reward(draw.gauss(0.0, 1.0))) for _ in range(20)]
        history.score(items)
    told, summary = both(history, index)

    assert told.summary.rewards.mean == summary.rewards.mean == summary.curve[-1].mean
