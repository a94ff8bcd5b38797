"""Work: which checks of a batch are paid, and when."""

from __future__ import annotations

import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger.records import Claim
from verifier_ladder.scheduler.engines import work
from verifier_ladder.scheduler.engines.job import BatchAnswer, BatchFuture
from verifier_ladder.testing.records import check_row, costing
from verifier_ladder.verdict import Verdict


def pair(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[list[Claim], BatchFuture[BatchAnswer], work.Work]:
    """Two checks of a batch at work, whose answers are written as soon as they are settled."""
    monkeypatch.setattr(work, "_LONG", 0.0)
    claims = [Claim(check_row(word), 1) for word in "ab"]
    future: BatchFuture[BatchAnswer] = BatchFuture()
    verifier = FunctionVerifier(float, name="f", version="1")
    at_work = work.Work(verifier, claims, future, None, asked_at=0.0)
    return claims, future, at_work


def test_the_last_of_a_batch_is_paid_when_it_is_known_what_the_batch_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claims, future, at_work = pair(monkeypatch)
    future.tell({0: costing(Verdict.accept(1.0), 0.5), 1: costing(Verdict.accept(1.0), 0.5)})

    early, _ = at_work.settled()
    at_work.written(early)
    paid = set(future.paid)
    future.set_result(BatchAnswer([costing(Verdict.accept(1.0), 2.0)] * 2, 0, 2.5))
    late, said = at_work.settled()

    assert ([claims[0]], {0}) == (early, paid)
    assert ([claims[1]], [Cost(2.0)]) == (late, [verdict.cost for verdict in said])


def test_one_that_is_not_paid_stays_though_another_could_not_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claims, future, at_work = pair(monkeypatch)
    future.tell({1: costing(Verdict.accept(1.0), 0.5)})
    at_work.settled()
    future.tell({0: costing(Verdict.accept(1.0), 0.5)})

    again, _ = at_work.settled()

    assert ([claims[1]], {1}) == (again, set(future.paid))
