"""A reward that becomes None comes with a word, once for each cause."""

import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.learners import areal, openrlhf, verl
from verifier_ladder.learners.trl import reward_function
from verifier_ladder.tiers.single import SingleVerifier

ANSWERS: dict[str, tuple[Callable[[int], Any], str]] = {
    "infinity": (lambda n: [math.inf] * n, "inf"),
    "nan": (lambda n: [math.nan] * n, "nan"),
    "text": (lambda n: ["0.5"] * n, "not str: '0.5'"),
    "an object": (lambda n: [{"score": 1}] * n, "not dict: {'score': 1}"),
    "too many": (lambda n: [0.5] * (n + 2), "returned"),
    "too few": (lambda n: [0.5] * (n - 1), "returned"),
    "a bare number": (lambda n: 0.5, "returned"),  # noqa: ARG005
    "nothing": (lambda n: None, "returned"),  # noqa: ARG005
    "an error": (lambda n: [1.0 / (n - n)], "ZeroDivisionError"),
}


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


@pytest.mark.parametrize("batch", [True, False], ids=["batch", "one by one"])
@pytest.mark.parametrize("kind", ANSWERS)
def test_what_is_no_reward_is_told_with_what_it_was(
    kind: str,
    batch: bool,  # noqa: FBT001
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer, said = ANSWERS[kind]

    def odd(completions: list[str]) -> Any:
        return answer(len(completions))

    function = reward_function(vl.wrap(odd, version="1", batch=batch, isolation="inline"))
    for _ in range(3):
        assert [None] * 4 == function(completions=["a", "b", "c", "d"])

    assert ["4 of 4 completions of odd have no reward"] == [
        line[:40] for line in told(caplog) if "(4 so far)" in line
    ]
    assert any("first completion 1 of the call" in line and said in line for line in told(caplog))
    assert len(told(caplog)) <= 2
    function.close()


def test_each_cause_is_told_once_whatever_the_completion(caplog: pytest.LogCaptureFixture) -> None:
    def picky(completions: list[str]) -> list[float]:
        return [float(c) for c in completions]

    function = reward_function(vl.wrap(picky, version="1", isolation="inline"))
    for call in range(9):
        function(completions=[f"word {call}", "1.5"])

    assert 1 == len(told(caplog))
    assert "could not convert string to float" in told(caplog)[0]
    function.close()


def test_a_considered_abstention_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    def declines(completions: list[str]) -> list[None]:
        return [None for _ in completions]

    function = reward_function(vl.wrap(declines, version="1", isolation="inline"))
    function(completions=["a", "b"])

    assert [] == told(caplog)
    function.close()


def test_adapters_that_put_a_number_there_tell_it_too(caplog: pytest.LogCaptureFixture) -> None:
    def odd(completions: list[str]) -> list[Any]:
        return [math.inf for _ in completions]

    check = vl.wrap(odd, version="1", isolation="inline")
    verl.compute_score(check, on_abstain=0.0, asynchronous=False)("maths", "4", "4", {})
    areal.reward_fn(check, on_abstain=0.0)("2 + 2 =", "4", [], [])

    assert 2 == len([line for line in told(caplog) if "must be finite, not inf" in line])


def test_queries_without_their_prompts_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """OpenRLHF asks for one at a time, and a tokenizer that changes one prompt changes all."""
    check = vl.wrap(lambda completions: [1.0], name="yes", isolation="inline")  # noqa: ARG005
    function = openrlhf.reward_func(check, on_abstain=0.0, evaluation=False)
    for call in range(9):
        function([f"{call} = 4"], [f"What is {call}"], [None])

    assert 1 == len(told(caplog))
    assert "the query does not hold its prompt" in told(caplog)[0]


# ---- Time limits


def waiting(completions: list[str], until: list[str]) -> list[float]:
    """Wait for a file that never comes; a call is over when its time is."""
    threading.Event().wait()
    return [float(Path(until[0]).exists()) for _ in completions]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_call_for_many_has_the_whole_deadline(
    asynchronous: bool,  # noqa: FBT001
) -> None:
    """And a call for one has a share, so that hangs are found out in time."""

    def together(completions: list[str]) -> list[float]:
        return [1.0 for _ in completions]

    async def awaited(completions: list[str]) -> list[float]:
        return together(completions)

    inner = awaited if asynchronous else together
    for deadline in (12.0, 300.0):
        for batch, limit in ((True, deadline), (False, min(60.0, deadline / 6))):
            check = vl.wrap(inner, version="1", batch=batch)
            function = reward_function(check, deadline=deadline)
            (verifier,) = function._backend.attachment.ladder.verifiers
            assert limit == verifier.timeout
    own = reward_function(vl.wrap(inner, version="1", batch=True, timeout=3), deadline=300)
    assert 3 == own._backend.attachment.ladder.verifiers[0].timeout


class AtOnce(vl.Verifier):
    """Answers about a list when all of it is known."""

    name, version = "at once", "1"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
        return [1.0 for _ in candidates]


class OneByOne(AtOnce):
    """Yields each answer when it is known."""

    def verify(self, candidates: Sequence[vl.Candidate]) -> Iterator[float]:  # type: ignore[override]
        yield from (1.0 for _ in candidates)


class Single(SingleVerifier):
    """Examines one after the other."""

    name, version = "single", "1"


class Patient(AtOnce):
    """Says for itself how long it may take."""

    timeout = 3.0


@pytest.mark.parametrize(
    ("verifier", "limit"),
    [
        (AtOnce(), 300.0), (OneByOne(), 50.0), (Patient(), 3.0), (Single(), 50.0),
        (vl.EndpointVerifier(name="e", version="1", url="http://127.0.0.1:1"), 300.0),
        (vl.CommandVerifier(name="c", version="1", command=["true"], per_batch=True), 300.0),
        (vl.CommandVerifier(name="c", version="1", command=["true"]), 50.0),
    ],
    ids=["list", "yields", "own", "single", "endpoint", "command for many", "command"],
)  # fmt: skip
def test_a_class_that_answers_about_a_list_has_the_whole_deadline(
    verifier: vl.Verifier, limit: float
) -> None:
    function = reward_function(verifier, deadline=300)
    (asked,) = function._backend.attachment.ladder.verifiers

    assert limit == asked.timeout


def test_a_call_that_is_unknown_for_its_limit_names_the_setting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    check = vl.wrap(waiting, version="1", columns=["until"], timeout=0.3)
    function = reward_function(check, deadline=300)
    for _ in range(2):
        assert [None] * 2 == function(completions=["a", "b"], until=["never"] * 2)

    (line,) = [line for line in told(caplog) if "time limit" in line]
    assert "2 of 2 completions of waiting" in line
    assert "timeout=" in line
    function.close()


def test_a_call_that_is_unknown_at_its_deadline_names_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    check = vl.wrap(waiting, version="1", columns=["until"], timeout=500.0)
    function = reward_function(check, deadline=1)
    assert [None] * 2 == function(completions=["a", "b"], until=["never"] * 2)

    (line,) = [line for line in told(caplog) if "time limit" in line]
    assert "raise deadline=" in line
    function.close()
