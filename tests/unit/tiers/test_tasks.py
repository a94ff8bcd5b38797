"""Fields of a task, checked before anything is compared."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.summary import summarise
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


def test_a_task_at_fault_costs_its_candidate_nothing_and_is_not_asked_about_again() -> None:
    (verdict,) = Same().judge([Candidate("text", "a")])

    assert (Outcome.ABSTAIN, "the task has no answer", True) == (
        verdict.outcome, verdict.reason, verdict.is_answer
    )  # fmt: skip


def test_a_task_at_fault_is_counted_once_and_judged_when_it_is_mended() -> None:
    class Counted(Same):
        isolation = "inline"
        asked = 0

        def examine(self, candidate: Candidate) -> Verdict:
            Counted.asked += 1
            return super().examine(candidate)

    ledger, task = vl.open_ledger(":memory:"), {"places": {"x": 1}}
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [Counted()]), ledger=ledger) as campaign:
        (first,) = campaign.score([Candidate("text", "a", task)])
        campaign.score([Candidate("text", "a", task)])
        (mended,) = campaign.score([Candidate("text", "a", {**task, "answer": "a"})])

    (counted,) = summarise(ledger, "c").abstentions
    assert (None, None, 1.0, 2) == (first.value, first.failed_at, mended.value, Counted.asked)
    assert ("the task has no answer", 1) == (counted.text, counted.count)


def test_an_error_of_the_candidate_brings_its_feedback_along() -> None:
    (verdict,) = Same().judge([Candidate("text", "b", {"answer": "a"})])

    assert (Outcome.REJECT, "it is another", "Say the same.") == (
        verdict.outcome, verdict.reason, verdict.feedback
    )  # fmt: skip
