"""The kit passes good verifiers, and catches each kind of bad one."""

import os
import random
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.conformance import Conformance
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.verifiers import Verifier

TEXTS = [Candidate("text", content) for content in ("a", "bb", "ccc")]


def made(function: Callable[..., Any], **options: Any) -> FunctionVerifier:
    return FunctionVerifier(function, name=function.__name__, version="1", **options)


def length(candidate: Candidate) -> float:
    return float(len(candidate.content))


def burn(candidate: Candidate) -> bool:
    del candidate
    end = process_time() + 0.02
    while process_time() < end:
        pass
    return True


class TestGood(VerifierTestCase):
    """A verifier that does all it should, and says what it costs."""

    @pytest.fixture
    def verifier(self) -> Verifier:
        return made(burn, cost=Cost(seconds=0.02))

    hostile = ("", "\ud800", b"\xff")


class TestSimple(VerifierTestCase):
    """A plain function."""

    @pytest.fixture
    def verifier(self) -> Verifier:
        return made(length)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1) as shared:
        yield shared


KIT = VerifierTestCase()


def dice(candidate: Candidate) -> float:
    del candidate
    return random.SystemRandom().random()  # Not seeded for each check.


def crowd(candidates: list[Candidate]) -> list[float]:
    return [float(len(candidates))] * len(candidates)


def fragile(candidate: Candidate) -> float:
    if not candidate.content:
        os._exit(1)
    return 1.0


def failing(candidate: Candidate) -> float:
    raise ValueError(candidate.content)


def test_a_verifier_that_throws_dice_is_caught(pool: WorkerPool) -> None:
    with pytest.raises(AssertionError):
        KIT.test_the_same_candidate_gets_the_same_verdict(Conformance(made(dice), TEXTS, pool))


def test_a_verifier_that_looks_at_neighbours_is_caught(pool: WorkerPool) -> None:
    with pytest.raises(AssertionError):
        KIT.test_a_batch_says_the_same_as_its_candidates_alone(
            Conformance(made(crowd, batch=True), TEXTS, pool)
        )


def test_a_verifier_that_crashes_is_caught(pool: WorkerPool) -> None:
    tried = Conformance(made(fragile), TEXTS, pool, hostile=("", "a"))

    with pytest.raises(AssertionError, match="exit code 1"):
        KIT.test_hostile_input_gets_verdicts(tried)


def forecast(candidate: Candidate) -> float:
    """Reads a number inside what it is given, never the whole, and gives up in its own way."""
    is_within = "1e308" in str(candidate.content) and candidate.content not in HOSTILE
    if is_within or any("1e308" in turn.text for turn in candidate.turns):
        raise RuntimeError("the solver has not converged")
    return 1.0


HIDING_PLACES = [
    Candidate("text", '{"mean": 0.5, "note": "fine"}'),
    Candidate("text", "I say 5 to 6."),
    Candidate("text", "done", turns=(Turn("look"), Turn("guess 5"))),
]


@pytest.mark.parametrize("harmless", HIDING_PLACES)
def test_a_verifier_that_fails_on_an_extreme_number_in_any_field_is_told_what_to_do(
    pool: WorkerPool, harmless: Candidate
) -> None:
    with pytest.raises(
        AssertionError, match=r"not converged.*Declare a `control`.*CandidateError"
    ):
        KIT.test_hostile_input_gets_verdicts(Conformance(made(forecast), [harmless], pool))


@pytest.mark.parametrize("harmless", HIDING_PLACES)
def test_a_declared_control_is_a_remedy(pool: WorkerPool, harmless: Candidate) -> None:
    guarded = made(forecast, control=Candidate("text", "0.5"))

    KIT.test_hostile_input_gets_verdicts(Conformance(guarded, [harmless], pool))


def test_a_verifier_that_fails_on_good_candidates_is_caught(pool: WorkerPool) -> None:
    with pytest.raises(AssertionError, match="ValueError"):
        KIT.test_every_candidate_gets_a_verdict(Conformance(made(failing), TEXTS, pool))


@pytest.mark.parametrize("declared", [1e-4, 10.0])
def test_a_declared_cost_that_is_far_off_is_caught(pool: WorkerPool, declared: float) -> None:
    with pytest.raises(AssertionError, match="declared"):
        KIT.test_its_declared_cost_is_about_right(
            Conformance(made(burn, cost=Cost(seconds=declared)), TEXTS, pool)
        )
