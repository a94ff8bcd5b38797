"""Retries."""

from time import monotonic

import pytest

from verifier_ladder import errors
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.engines.retry import ATTEMPTS, retry_at
from verifier_ladder.verdict import Verdict


@pytest.mark.parametrize("boundary", ATTEMPTS)
def test_a_failure_is_tried_again_until_its_attempts_are_used_up(boundary: str) -> None:
    failed = Verdict.abstain("x", failed_at=boundary)

    times = [retry_at(failed, attempt, 100.0) for attempt in range(1, ATTEMPTS[boundary] + 2)]

    pauses = [time - 100.0 for time in times if time is not None]
    assert ATTEMPTS[boundary] - 1 == len(pauses)
    assert [2.0**i for i in range(len(pauses))] == pauses
    assert times[len(pauses) :] == [None, None]


@pytest.mark.parametrize("boundary", ["verifier", "budget", "config", None, "unheard of"])
def test_what_would_only_fail_again_is_not_tried_again(boundary: str | None) -> None:
    assert retry_at(Verdict.abstain("x", failed_at=boundary), 1, 100.0) is None


def test_every_boundary_with_retries_is_one_that_errors_name() -> None:
    known = {
        thing.boundary for thing in vars(errors).values()
        if isinstance(thing, type) and issubclass(thing, errors.LadderError)
    }  # fmt: skip

    assert set(ATTEMPTS) <= known


def test_an_engine_that_is_never_idle_forgets_the_retries_that_are_due() -> None:
    with open_ledger(None) as ledger:
        engine = LocalEngine(ledger, workers=1)
        try:
            now = ledger.clock()
            later = now + 1000.0
            for number in range(50):
                engine._retries += [now - number, later]
                engine._pause(monotonic() + 1.0)
            kept = list(engine._retries)
        finally:
            engine.close()

    assert kept == [later] * 50
