"""A verifier sees what it declares that it reads, and pays once for what it sees."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.candidate import Turn
from verifier_ladder.learners.trl import reward_function

pytestmark = pytest.mark.usefixtures("forked_workers")

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


def by_item(candidate: vl.Candidate) -> bool:
    return bool((candidate.task or {})["answer"])


def by_get(candidate: vl.Candidate) -> bool:
    return bool((candidate.task or {}).get("answer", "4") == candidate.content)


def by_in(candidate: vl.Candidate) -> bool:
    return candidate.task is not None and "answer" in candidate.task


async def by_waiting(candidate: vl.Candidate) -> bool:
    return by_get(candidate)


class Careless(vl.Verifier):
    """A class that reads what it does not declare."""

    name, version, task_fields = "careless", "1", ("note",)

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[bool]:
        """Read it."""
        return [by_get(candidate) for candidate in candidates]


READS = [by_item, by_get, by_in, by_waiting, Careless]


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("task", [{"answer": "4"}, {"note": 1}, None])
@ISOLATIONS
def test_reading_a_field_that_is_not_declared_is_an_error_at_the_first_call(
    isolation: Any, reads: Any, task: Any
) -> None:
    """Never None: a verdict about one answer would be used again for another."""
    if reads is Careless:
        check: vl.Verifier = Careless()
        check.isolation = isolation
    else:
        check = vl.verifier(name="careless", isolation=isolation, version="1")(reads)
    told = r"careless reads the task field 'answer'.*task_fields=\['answer'\]"

    with pytest.raises(vl.ConfigError, match=told):
        rewards([check], *[vl.Candidate("text", content, task) for content in "45"])


def test_a_batch_function_and_a_learners_function_are_told_too() -> None:
    def many(candidates: Sequence[vl.Candidate]) -> list[bool]:
        return [by_get(candidate) for candidate in candidates]

    check = vl.verifier(name="many", batch=True, isolation="inline", version="1")(many)
    with pytest.raises(vl.ConfigError, match="many reads the task field 'answer'"):
        rewards([check], asked("4", answer="4"), asked("5", answer="4"))

    learner = reward_function(vl.verifier(name="one", isolation="inline", version="1")(by_get))
    with pytest.raises(vl.ConfigError, match="one reads the task field 'answer'"):
        learner(prompts=["p"], completions=["4"], answer=["4"])
    learner.close()


def test_a_declared_field_that_a_task_lacks_is_simply_not_there() -> None:
    check = vl.verifier(name="v", isolation="inline", version="1", task_fields=["answer"])(by_get)
    candidates = [asked("4"), asked("4", answer="5"), asked("4", answer="4")]

    assert [1.0, 0.0, 1.0] == [reward.value for reward in rewards([check], *candidates)]


def test_a_program_gets_all_fields_unless_it_declares_some(tmp_path: Path) -> None:
    """Nobody sees what it reads, so that all of them are part of the key."""
    program = tmp_path / "judge.py"
    program.write_text(
        "import json, sys\nfor line in sys.stdin:\n    seen = json.loads(line)\n"
        "    is_right = seen['content'] == (seen['task'] or {}).get('answer')\n"
        "    print(json.dumps(is_right), flush=True)\n"
    )
    command = [sys.executable, str(program)]
    check = vl.CommandVerifier(name="program", version="1", command=command)

    found = rewards([check], asked("4", answer="4"), asked("4", answer="5"))

    assert [1.0, 0.0] == [reward.value for reward in found]
    assert vl.EndpointVerifier(name="e", version="1", url="http://localhost:1").task_fields is None


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
