"""Candidates out and verdicts in, as JSON."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import VerifierError
from verifier_ladder.exchange import (
    candidate_from,
    candidate_message,
    verdict_from,
    verdict_message,
)
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = st.sampled_from(["outcome", "score", "uncertainty", "unit", "turns", "evidence", "cost"])


def test_a_candidate_is_written_whole() -> None:
    candidate = Candidate("code", "x", {"tests": [1]}, (Turn("run", "ok", {"n": 1}),))

    assert {
        "kind": "code",
        "content": "x",
        "task": {"tests": [1]},
        "turns": [{"action": "run", "observation": "ok", "metadata": {"n": 1}}],
    } == candidate_message(candidate)


def test_bytes_travel_in_base64() -> None:
    message = candidate_message(Candidate("image", b"\0\xff"))

    assert "base64" == message["encoding"]
    assert b"\0\xff" == base64.b64decode(message["content"])


@pytest.mark.parametrize("content", ["x", b"\0\xff"])
def test_a_candidate_that_was_written_is_read_back(content: str | bytes) -> None:
    for candidate in (
        Candidate("code", content),
        Candidate("code", content, {"tests": [1]}, (Turn("run", "ok", {"n": 1}), Turn("end"))),
    ):
        assert candidate == candidate_from(json.loads(json.dumps(candidate_message(candidate))))


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict.accept(2.0, uncertainty=0.5, unit="eV", evidence={"n": [1]}),
        Verdict.reject("no", score=0.0, feedback="more", turns=(TurnVerdict(1, 0.5, "x"),)),
        Verdict.abstain("not mine"), Verdict(Outcome.ACCEPT, cost=Cost(money=2.0)),
    ],
)  # fmt: skip
def test_a_verdict_that_was_written_is_read_back(verdict: Verdict) -> None:
    assert verdict == verdict_from(json.loads(json.dumps(verdict_message(verdict))))


def test_an_object_becomes_a_verdict() -> None:
    message = {
        "outcome": "accept", "score": 2, "uncertainty": 0.5, "unit": "eV", "feedback": "more",
        "turns": [{"turn": 0, "score": 1.0}], "evidence": {"n": 1}, "cost": {"money": 2.0},
    }  # fmt: skip

    assert Verdict(
        Outcome.ACCEPT, 2.0, 0.5, "eV", "", "more", None, (TurnVerdict(0, 1.0),), {"n": 1},
        Cost(money=2.0),
    ) == verdict_from(message)  # fmt: skip


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"outcome": "accept", "scored": 1}, "no field 'scored'"),
        ({"outcome": "accept", "scores": 1}, "values by name"),
        ({"outcome": "accept", "scores": {"a b": 1.0}}, "can't name a score"),
        ({"score": 1}, "needs an outcome"),
        ({"outcome": "great"}, "great"),
        ({"outcome": "accept", "score": "high"}, "must be numbers, not str"),
        ({"outcome": "accept", "unit": 5}, "unit of a verdict must be text"),
        ({"outcome": "accept", "evidence": [1]}, "must be an object"),
        ({"outcome": "accept", "turns": [5]}, "can't be read"),
        ({"outcome": "accept", "cost": {"euros": 5}}, "can't be read"),
        ([1.0], "not list"),
        ("1.0", "not str"),
    ],
)
def test_what_is_no_verdict_says_why(message: Any, said: str) -> None:
    with pytest.raises(VerifierError, match=said):
        verdict_from(message)


@given(JSON | st.dictionaries(NAMES, JSON | st.sampled_from(["accept", "reject"])))
def test_any_json_is_a_verdict_or_an_error_of_the_verifier(message: Any) -> None:
    try:
        verdict = verdict_from(json.loads(json.dumps(message)))
    except VerifierError:
        return
    assert isinstance(verdict, Verdict)
