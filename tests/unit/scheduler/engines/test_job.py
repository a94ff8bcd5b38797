"""The future of a batch, which can be left with what it has so far."""

from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.job import BatchFuture, ExpectJob
from verifier_ladder.testing.records import costing
from verifier_ladder.verdict import Verdict


def test_abandoning_gives_what_was_settled_until_then() -> None:
    future: BatchFuture[str] = BatchFuture()
    future.set_running_or_notify_cancel()
    future.answered[2] = "yes"

    settled = future.abandon()

    future.answered[3] = "too late"
    assert ({2: "yes"}, True) == (settled, future.is_abandoned)


def test_abandoning_a_batch_that_has_not_begun_cancels_it() -> None:
    future: BatchFuture[str] = BatchFuture()

    assert {} == future.abandon()
    assert future.cancelled()


def test_what_a_cost_model_does_is_told_of_the_cost_model() -> None:
    verifier = FunctionVerifier(float, name="dear", version="1")

    assert "expected_cost of verifier dear" == ExpectJob(verifier, []).name


def test_what_is_paid_stands_and_others_are_charged_what_that_leaves_of_what_they_took() -> None:
    future: BatchFuture[str] = BatchFuture()
    future.tell({0: costing(Verdict.accept(1.0), 10.0)})
    paid = future.pay(lambda known: known)

    future.tell({place: costing(Verdict.accept(2.0), 4.0) for place in range(3)})

    assert {0: costing(Verdict.accept(1.0), 10.0)} == paid
    assert paid[0] == future.answered[0]
    assert [Cost(1.0), Cost(1.0)] == [future.answered[place].cost for place in (1, 2)]


def test_nothing_is_paid_once_a_batch_is_being_settled() -> None:
    future: BatchFuture[str] = BatchFuture()
    future.tell({0: costing(Verdict.accept(1.0), 10.0)})

    assert ({}, {}) == (future.settle(), future.pay(lambda known: known))
