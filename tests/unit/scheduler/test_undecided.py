"""Where the next process looks for groups that were recorded and not decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.undecided import PARTIAL, Undecided
from verifier_ladder.testing.records import CAMPAIGN, score_block


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:") as made:
        yield made


def here(ledger: Ledger) -> Undecided:
    """What a process knows that has opened the campaign."""
    made = Undecided(CAMPAIGN, ledger)
    made.steps()
    return made


def record(ledger: Ledger, process: Undecided, step: int) -> object:
    """Record a call with groups; stands for it."""
    call = object()
    process.begin(call)
    block = score_block(["a"], step=step)
    ledger.append(replace(block, facts={PARTIAL: [[0, 1, 1]], **process.facts()}))
    return call


def test_a_call_that_did_not_end_is_found_after_many_that_did(ledger: Ledger) -> None:
    process = here(ledger)
    process.end(record(ledger, process, 0))
    record(ledger, process, 1)
    for step in range(2, 100):
        process.end(record(ledger, process, step))

    assert Undecided(CAMPAIGN, ledger).steps() == [("run", step) for step in range(1, 100)]


def test_of_calls_that_have_ended_only_the_last_is_looked_at(ledger: Ledger) -> None:
    process = here(ledger)
    for step in range(100):
        process.end(record(ledger, process, step))
    for _ in range(100):
        ledger.append(score_block(["a"], campaign="another"))

    assert Undecided(CAMPAIGN, ledger).steps() == [("run", 99)]


def test_a_late_answer_tells_what_is_undecided_too(ledger: Ledger) -> None:
    process = here(ledger)
    process.end(record(ledger, process, 0))
    open_ = record(ledger, process, 1)
    for _ in range(100):
        revision = score_block(["a"], kind="revision", revision=1)
        ledger.append(replace(revision, facts=process.facts()))

    assert Undecided(CAMPAIGN, ledger).steps() == [("run", 1)]
    process.end(open_)
    process.end(record(ledger, process, 2))
    assert Undecided(CAMPAIGN, ledger).steps() == [("run", 2)]


def test_a_ledger_that_tells_nothing_is_read_from_the_start(ledger: Ledger) -> None:
    for step in range(100):
        ledger.append(replace(score_block(["a"], step=step), facts={PARTIAL: [[0, 1, 1]]}))

    assert Undecided(CAMPAIGN, ledger).steps() == [("run", step) for step in range(100)]


def test_where_groups_are_not_decided_later_nothing_is_told(ledger: Ledger) -> None:
    assert Undecided(CAMPAIGN, ledger).facts() == {}
