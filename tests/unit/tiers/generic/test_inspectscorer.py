"""Scorers of Inspect without the library; `tests/learners/inspect` has the library."""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.generic import inspectscorer
from verifier_ladder.tiers.generic.inspectscorer import InspectScorerVerifier


def verdict(value: Any, reason: str | None = None, **options: Any) -> vl.Verdict:
    made = InspectScorerVerifier(lambda: None, name="s", version="1", **options)
    return made._verdict(SimpleNamespace(value=value, reason=reason, explanation="so it is"))


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", None)
    with pytest.raises(vl.ConfigError, match="pip install inspect-ai"):
        InspectScorerVerifier(lambda: None, name="s", version="1").setup()


def test_columns_are_part_of_what_it_reads_and_targets_are_hidden() -> None:
    made = InspectScorerVerifier(lambda: None, name="s", version="1", columns=["unit", "target"])

    assert made.task_fields == (
        "prompt", "target", "answer", "choices", "metadata", "completion_messages", "unit",
    )  # fmt: skip
    assert (made.hidden, made.network) == (("target", "answer"), False)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1), ("I", 0), ("P", 0.5), (" c ", 1), ("yes", 1), ("False", 0), ("0.25", 0.25),
        (True, 1), (2, 2), (-0.5, -0.5), ([1, "P"], 0.75), ({"a": 1, "b": "I"}, 0.5),
    ],
)  # fmt: skip
def test_a_value_is_what_its_words_and_numbers_mean(value: Any, score: float) -> None:
    said = verdict(value)

    assert (said.outcome, said.score) == ("accept", score)
    assert said.evidence == {"explanation": "so it is"}


@pytest.mark.parametrize(
    "value",
    ["N", "good", "", "nan", float("nan"), float("inf"), None, [], {}, {"a": 1, "b": "N"}, [[1]],
     object()],
    ids=lambda value: "an object" if type(value) is object else repr(value),
)  # fmt: skip
def test_a_value_that_says_nothing_is_unknown(value: Any) -> None:
    said = verdict(value)

    assert (said.outcome, said.failed_at) == ("abstain", "verifier")
    assert "no score" in said.reason


def test_who_names_a_score_gets_that_one() -> None:
    value = {"the style": 1, "sum": 0.25, "open": None}

    assert verdict(value, main="sum").score == 0.25
    assert dict(verdict(value, main="the_style").scores) == {"the_style": 1.0, "sum": 0.25}
    assert verdict(value, main="open").outcome == "abstain"
    assert verdict(value, main="other").outcome == "abstain"


@pytest.mark.parametrize("task", [
    None, {"prompt": "?"}, {"target": None}, {"target": None, "answer": None}, {"target": []},
    {"answer": ["4", None]},
], ids=repr)  # fmt: skip
def test_without_a_target_it_is_unknown(task: dict[str, Any] | None) -> None:
    made = InspectScorerVerifier(lambda: None, name="s", version="1")
    said = asyncio.run(made.verify_one(vl.Candidate("text", "None", task)))

    assert (said.outcome, said.failed_at) == ("abstain", None)
    assert "no target" in said.reason


@pytest.mark.parametrize(
    ("task", "target"),
    [
        ({"target": "4"}, "4"), ({"target": None, "answer": 4}, "4"), ({"target": ""}, ""),
        ({"target": ["4", 5]}, ["4", "5"]), ({"target": 0, "answer": "1"}, "0"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_target_is_what_the_task_says(task: dict[str, Any], target: object) -> None:
    assert inspectscorer._target_of(task) == target


def test_silence_is_worth_what_is_said_and_a_failed_grader_nothing() -> None:
    assert verdict("N", "refusal", no_answer=-1.0).score == -1.0
    failed = verdict("I", "grader_failed", no_answer=0.0)
    assert (failed.outcome, failed.failed_at) == ("abstain", "tool")
    assert InspectScorerVerifier(lambda: None, name="s", version="1")._verdict(None).score is None
