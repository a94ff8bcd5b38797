"""A verifier sees what it declares that it reads, and pays once for what it sees."""

from collections.abc import Sequence
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.candidate import Turn

ISOLATIONS = pytest.mark.parametrize("isolation", ["inline", "process"])


def rewards(verifiers: Sequence[vl.Verifier], *candidates: vl.Candidate) -> list[vl.Reward]:
    ladder = vl.Ladder("reads", verifiers)
    with vl.Campaign.open("reads", ladder=ladder, workers=1) as campaign:
        return campaign.score(candidates)


def asked(content: str, **task: Any) -> vl.Candidate:
    return vl.Candidate("text", content, task)


@ISOLATIONS
def test_one_check_answers_samples_whose_tasks_differ_in_what_is_not_read(isolation: Any) -> None:
    @vl.verifier(isolation=isolation)
    def length(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    found = rewards([length], asked("abc", prompt="a"), asked("abc", prompt="b"), asked("d"))

    assert [3.0, 3.0, 1.0] == [reward.value for reward in found]


@ISOLATIONS
def test_samples_whose_tasks_differ_in_what_is_read_are_told_apart(isolation: Any) -> None:
    @vl.verifier(isolation=isolation, task_fields=["answer"])
    def exact(candidate: vl.Candidate) -> bool:
        return bool(candidate.content == (candidate.task or {})["answer"])

    found = rewards([exact], asked("4", answer="4", note=1), asked("4", answer="5", note=1))

    assert [1.0, 0.0] == [reward.value for reward in found]


@ISOLATIONS
def test_a_field_that_is_not_declared_can_not_be_read(isolation: Any) -> None:
    """Else a verdict about one answer would be used again for another."""

    @vl.verifier(isolation=isolation)
    def careless(candidate: vl.Candidate) -> bool:
        return bool(candidate.content == (candidate.task or {})["answer"])

    found = rewards([careless], asked("4", answer="4"), asked("4", answer="5"))

    assert [None, None] == [reward.value for reward in found]
    assert all("task_fields" in reward.reason for reward in found)


def test_a_trajectory_is_seen_by_those_who_read_it() -> None:
    @vl.verifier(isolation="inline", reads_turns=True)
    def steps(candidate: vl.Candidate) -> float:
        return float(sum((turn.metadata or {}).get("tokens", 1) for turn in candidate.turns))

    @vl.verifier(isolation="inline", role="gate")
    def blind(candidate: vl.Candidate) -> bool:
        return not candidate.turns

    plain = vl.Candidate("text", "4", turns=(Turn("2+2", "4"),))
    counted = vl.Candidate("text", "4", turns=(Turn("2+2", "4", {"tokens": 7}),))

    assert [1.0, 7.0] == [r.value for r in rewards([steps, blind], plain, counted)]
