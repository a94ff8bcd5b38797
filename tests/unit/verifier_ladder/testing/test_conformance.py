"""Rules beyond those that `VerifierTestCase` has its own tests for."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.answerkey import AnswerKey, Case
from verifier_ladder.testing.conformance import RULES, Conformance, State
from verifier_ladder.verdict import Verdict

TEXTS = [Candidate("text", content) for content in ("a", "bb")]


def made(function: Callable[..., Any], **options: Any) -> FunctionVerifier:
    return FunctionVerifier(function, name=function.__name__, version="1", **options)


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1) as one:
        yield one


def calling(candidate: Candidate) -> bool:
    del candidate
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    except OSError:
        return True  # It hides that it has tried.
    return True


def terse(candidate: Candidate) -> Verdict:
    return Verdict.accept(1.0) if candidate.content == "a" else Verdict.reject("no")


def telling(candidate: Candidate) -> Verdict:
    if candidate.content == "a":
        return Verdict.accept(1.0)
    return Verdict.reject("no", feedback="Write a.")


def states(trial: Conformance) -> dict[str, State]:
    rules = {name: rule.__name__ for name, (rule, _) in RULES.items()}
    return {rules[result.name]: result.state for result in trial.results()}


def test_a_verifier_that_reaches_for_a_network_is_caught_even_if_it_hides_it(
    pool: WorkerPool,
) -> None:
    trial = Conformance(made(calling), TEXTS, pool)

    told = trial.stays_offline()

    assert "socket.getaddrinfo '127.0.0.1'" in told
    assert "declare network=True" in told


def test_a_verifier_that_declares_a_network_is_let_be(pool: WorkerPool) -> None:
    trial = Conformance(made(calling, network=True), TEXTS, pool)

    assert State.SKIP is trial.tried("offline", Conformance.stays_offline).state


def test_rejects_without_feedback_and_missing_tags_are_advice(pool: WorkerPool) -> None:
    found = states(Conformance(made(terse), TEXTS, pool))

    assert {State.ADVICE} == {found.pop("teaches"), found.pop("is_described")}
    assert State.SKIP is found.pop("agrees")
    assert {State.OK} == set(found.values())


def test_a_verifier_that_says_all_gets_no_advice(pool: WorkerPool) -> None:
    told = made(telling, capabilities=["reasoning"], domain="letters")

    assert State.ADVICE not in states(Conformance(told, TEXTS, pool)).values()


@pytest.mark.parametrize(("outcome", "state"), [("reject", State.OK), ("accept", State.FAIL)])
def test_a_key_knows_right_from_wrong(pool: WorkerPool, outcome: str, state: State) -> None:
    row = {"candidate": "c", "outcome": outcome, "why": "w", "source": "s"}
    key = AnswerKey("letters", (Case.model_validate(row),))

    found = states(Conformance(made(telling), TEXTS, pool, key))

    assert state is found["agrees"]


def test_a_cost_above_what_is_used_is_caught_too(pool: WorkerPool) -> None:
    trial = Conformance(made(telling, cost=Cost(seconds=5.0)), TEXTS, pool)

    assert "declared 10 cpu-seconds" in trial.costs_what_it_declares()
