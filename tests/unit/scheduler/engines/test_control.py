"""What a control tells, and what it does not."""

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.blame import Answers
from verifier_ladder.scheduler.engines.control import Controls
from verifier_ladder.scheduler.engines.job import Job, VerifyJob
from verifier_ladder.scheduler.engines.watch import Failure
from verifier_ladder.verdict import Verdict

VERIFIER = FunctionVerifier(float, name="any", version="1", control=Candidate("text", "fine"))
FAILED = Failure("crash", "crashed", 0)
PASSED: Answers[Verdict] = Answers([Verdict.accept(1.0)], 0.5)


def stopped_by(cause: str) -> Answers[Verdict]:
    return Answers([], 0.0, failure=Failure(cause, "was stopped", seconds=0.5))


def saying(boundary: str, cause: str) -> Answers[Verdict]:
    verdict = Verdict.abstain("no", failed_at=boundary, evidence={"cause": cause})
    return Answers([verdict], 0.5)


def controls(*said: Answers[Verdict]) -> Controls[Verdict]:
    """Controls of a job whose attempts at its control come to what is given, one after another."""
    coming = iter(said)

    def attempt(control: Job[Verdict], fresh: bool) -> Answers[Verdict]:  # noqa: FBT001
        del control, fresh
        return next(coming)

    job = VerifyJob(
        VERIFIER, [Candidate("text", "bad")], lane=None, priority=0.0, limit=None, seeds=None
    )
    return Controls(job, lambda: None, attempt)


@pytest.mark.parametrize(
    "said",
    [*map(stopped_by, ["budget", "abandoned", "start", "starved"]), saying("tool", "host")],
    ids=["budget", "nobody waits", "no worker", "no core", "a full disk"],
)
def test_a_control_that_is_stopped_is_not_known_and_is_tried_again(
    said: Answers[Verdict],
) -> None:
    tried = controls(said, PASSED)

    first, second = tried.compare(FAILED), tried.compare(FAILED)

    assert (None, 0.5) == (first.passes, first.seconds)
    assert first.stopped is not None
    assert (True, None) == (second.passes, second.stopped)


@pytest.mark.parametrize("said", [stopped_by("crash"), saying("verifier", "error")], ids=str)
def test_a_control_that_fails_by_itself_has_not_passed(said: Answers[Verdict]) -> None:
    found = controls(said).compare(FAILED)

    assert (False, None) == (found.passes, found.stopped)
