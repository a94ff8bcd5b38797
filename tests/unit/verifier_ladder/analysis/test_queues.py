"""The work queue as pages tell it: what waits, why, for whom, and who is at work."""

from collections.abc import Iterator
from typing import Any

import pytest
import scored
from histories import MEASURED, XTB, History, Item

from verifier_ladder.analysis.queues import Backlog, QueueState, Wait, read_queue
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import (
    HELD,
    Block,
    CheckRow,
    CheckState,
    Claim,
    Completion,
    Request,
)
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

NOW = 1000.0
A, B, C = (scored.item(name, -5.0) for name in "ABC")


@pytest.fixture
def history() -> Iterator[History]:
    with open_ledger(None) as ledger:
        made = History(ledger)
        made.score([A, B, C])
        yield made


def ask(
    history: History, item: Item, verifier: str = XTB, *, run: str = "one", position: int = 0,
    **fields: Any,
) -> CheckRow:  # fmt: skip
    """Ask for a check, with a sample that waits for it."""
    tier = Tier.SIMULATION if verifier == XTB else Tier.WORLD
    row = CheckRow(
        item.check(verifier), item.content, history.name, verifier, "1", int(tier),
        CheckState.QUEUED, 1.0, Cost(5.0), {"kind": "molecule", "content": item.raw},
    )._replace(**fields)  # fmt: skip
    request = Request(row.check_key, history.name, run, 0, position, item.content, {})
    history.ledger.append(Block("score", history.name), enqueue=[(row, [request])])
    return row


def claim(ledger: Ledger, tier: Tier, owner: str = "here:1") -> list[Claim]:
    return ledger.claim(tiers=[int(tier)], owner=owner, lease=60.0, limit=9, now=NOW)


def seen(history: History) -> QueueState:
    return read_queue(history.ledger, "try", at=NOW)


def test_of_a_queue_that_is_empty_nothing_is_told(history: History) -> None:
    found = seen(history)

    assert (found.backlog, found.workers, found.cases, found.waits) == ((), (), (), ())
    assert not found.is_cut


def test_each_queued_check_has_a_reason(history: History) -> None:
    ask(history, A)
    ask(history, B, not_before=NOW + 60.0)
    ask(history, C, not_before=HELD)
    told = {(each.why, each.checks, each.until) for each in seen(history).backlog}

    assert told == {("ready", 1, None), ("later", 1, NOW + 60.0), ("held", 1, None)}


def test_a_paused_tier_is_why_its_checks_wait(history: History) -> None:
    ask(history, A)
    history.ledger.pause("try", int(Tier.SIMULATION))

    assert [each.why for each in seen(history).backlog] == ["paused"]


def test_what_the_budget_does_not_pay_for_is_parked(history: History) -> None:
    history.ledger.set_caps("try", {(int(Tier.SIMULATION), Resource.CPU_SECONDS): 1.0})
    ask(history, A)
    assert claim(history.ledger, Tier.SIMULATION) == []
    (told,) = seen(history).backlog

    assert told == Backlog("simulation", XTB, "1", "budget", 1, None, "")
    assert seen(history).ready == ()


def test_a_failed_check_says_what_went_wrong_and_a_dead_one_too(history: History) -> None:
    ask(history, A)
    (claimed,) = claim(history.ledger, Tier.SIMULATION)
    failed = Completion(claimed, Verdict.abstain("SCF diverged", failed_at="tool"), A.content)
    history.ledger.fail([failed], retry_at=NOW + 5.0, now=NOW)
    (later,) = seen(history).backlog
    (claimed,) = history.ledger.claim(
        tiers=[int(Tier.SIMULATION)], owner="x", lease=60.0, limit=1, now=NOW + 6.0
    )
    failed = failed._replace(claim=claimed)
    history.ledger.fail([failed], retry_at=None, now=NOW + 7.0)
    (dead,) = seen(history).dead

    assert (later.why, "SCF diverged" in later.note) == ("later", True)
    assert (dead.text, dead.attempts, "SCF diverged" in dead.note) == ("A", 2, True)


def test_workers_are_told_with_what_they_hold_and_until_when(history: History) -> None:
    ask(history, A)
    ask(history, B)
    claim(history.ledger, Tier.SIMULATION, "here:1")
    (worker,) = seen(history).workers

    assert (worker.name, dict(worker.checks), worker.first_end) == ("here:1", {XTB: 2}, NOW + 60.0)


def test_who_waits_for_whom_names_the_run_the_verifier_and_who_pays(history: History) -> None:
    other = History(history.ledger, "payer", history.ladder)
    ask(other, A)
    ask(history, A, position=0)
    ask(history, A, position=1)
    ask(history, B, run="two", position=2)

    assert seen(history).waits == (
        Wait("one", "simulation", XTB, "1", "queued", "payer", 2, 1),
        Wait("two", "simulation", XTB, "1", "queued", "try", 1, 1),
    )


def test_an_open_case_says_what_is_asked_until_when_and_when_it_settles(
    history: History,
) -> None:
    ask(history, A, MEASURED)
    claims = claim(history.ledger, Tier.WORLD)
    history.ledger.wait(claims, deadline=NOW + 100.0, now=NOW, ask_at=NOW + 50.0)
    (case,) = seen(history).cases

    assert (case.text, case.candidate) == ("A", A.content.hex())
    assert case.question == "What does measured say of it?"
    assert (case.deadline, case.settles_at) == (NOW + 100.0, NOW + 50.0)


def test_it_says_so_where_there_is_more_than_was_looked_at(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.analysis.queues.MOST_CHECKS", 2)
    for item in (A, B, C):
        ask(history, item)

    assert seen(history).is_cut
    assert seen(history).waiting.counts[int(Tier.SIMULATION)][CheckState.QUEUED] == 3
