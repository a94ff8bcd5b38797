"""The future of a batch, which can be left with what it has so far."""

from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.job import BatchFuture, ExpectJob


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
