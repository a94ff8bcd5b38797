"""Fields of a task, checked before anything is compared."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.task import seen_by
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Outcome, Verdict


class Fields(BaseModel):
    model_config = ConfigDict(strict=True)
    answer: str | list[str]
    places: dict[str, int] = {}


class Same(SingleVerifier):
    name, version, task_fields = "same", "1", ("answer", "places")

    def examine(self, candidate: Candidate) -> Verdict:
        if read_task(Fields, candidate.task).answer == candidate.content:
            return Verdict.accept(1.0)
        raise CandidateError("it is another", feedback="Say the same.")


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (None, "the task has no answer"),
        ({}, "the task has no answer"),
        ({"answer": None}, "the task has no answer"),
        ({"answer": 4}, "the task's answer"),
        ({"answer": ["a", 4]}, "the task's answer"),
        ({"answer": "a", "places": {"x": "1"}}, r"the task's places\.x makes no sense"),
    ],
)
def test_a_field_that_makes_no_sense_is_named(task: dict[str, Any] | None, words: str) -> None:
    with pytest.raises(TaskError, match=words):
        read_task(Fields, task)


def test_fields_of_others_are_left_alone() -> None:
    candidate = Candidate("text", "a", {"answer": "a", "other": 1})
    task = seen_by("same", Same.task_fields, [candidate])[0].task

    assert read_task(Fields, task).answer == "a"
    assert issubclass(TaskError, ConfigError)


def test_a_task_at_fault_costs_its_candidate_nothing_and_is_kept_for_nobody() -> None:
    (verdict,) = Same().judge([Candidate("text", "a")])

    assert (Outcome.ABSTAIN, "config", {}) == (
        verdict.outcome, verdict.failed_at, dict(verdict.evidence)
    )  # fmt: skip


def test_an_error_of_the_candidate_brings_its_feedback_along() -> None:
    (verdict,) = Same().judge([Candidate("text", "b", {"answer": "a"})])

    assert (Outcome.REJECT, "it is another", "Say the same.") == (
        verdict.outcome, verdict.reason, verdict.feedback
    )  # fmt: skip
