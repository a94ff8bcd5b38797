"""Functions of a Rubric of verifiers 0.3 score its rollouts."""
# mypy: ignore-errors
# verifiers is not installed everywhere that types are checked.

import asyncio
import math
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import verifiers.legacy as vf

import verifier_ladder as vl
from verifier_ladder.learners.verifiers import rubric_function


def judge(completions: list[Any], answer: list[str]) -> list[float]:
    """Misbehave as the completion says."""
    text = completions[0]
    if text == "raise":
        raise ValueError(text)
    if text == "crash":
        os._exit(9)
    if text == "hang":
        threading.Event().wait()
    return [math.nan if text == "nan" else float(text == answer[0])]


def rubric(isolation: str = "inline", **options: Any) -> vf.Rubric:
    check = vl.wrap(judge, version="1", columns=["answer"], timeout=0.5, isolation=isolation)
    return vf.Rubric(funcs=[rubric_function(check, **{"on_abstain": -1.0, **options})])


def state(answer: str) -> vf.State:
    prompt = [{"role": "user", "content": "2 + 2 ="}]
    row = {"prompt": prompt, "answer": "4", "example_id": 0, "task": "sums", "info": {}}
    made = vf.State(input=row, prompt=prompt, answer="4", info={}, trajectory=[])
    made["completion"] = [{"role": "assistant", "content": answer}]
    made["timing"] = {"scoring_ms": 0.0, "total_ms": 0.0, "generation_ms": 0.0}
    return made


def scored(of: vf.Rubric, *answers: str) -> list[float]:
    states = [state(answer) for answer in answers]
    asyncio.run(of.score_group(states))
    return [one["reward"] for one in states]


def test_rollouts_get_the_verifiers_own_numbers() -> None:
    assert [1.0, 0.0, 0.0, 1.0] == scored(rubric(), "4", "5", "日本 🧪", "4")


def test_what_is_unknown_gets_the_number_that_was_chosen() -> None:
    """A rubric would make 0 of an exception."""
    assert [1.0, -1.0, -1.0, -1.0, -1.0] == scored(
        rubric(isolation="process"), "4", "raise", "crash", "hang", "nan"
    )


def test_a_group_without_any_reward_is_a_group_like_any_other() -> None:
    assert [-1.0] * 4 == scored(rubric(), *["raise"] * 4)


def test_nobody_chooses_what_unknown_means_but_the_user() -> None:
    with pytest.raises(vl.ConfigError, match="on_abstain"):
        rubric(on_abstain=None)


def test_a_rollout_is_one_group_of_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    scored(rubric(ledger=ledger), "4", "5", "6")

    with vl.open_ledger(ledger) as opened:
        blocks = [opened.read(entry).samples for entry in opened.entries(kind="score")]
    assert 1 == len({group for samples in blocks for group in samples.groups})
