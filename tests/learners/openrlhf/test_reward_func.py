"""OpenRLHF's own executor generates, loads our file by its path, and asks it for a reward."""
# mypy: ignore-errors
# OpenRLHF is not installed everywhere that types are checked.

import asyncio
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

import verifier_ladder as vl
from verifier_ladder.learners.openrlhf import reward_func
from verifier_ladder.runs import read_run

PROMPT = "2 + 2 ="
FILE = """
    import os, threading
    import verifier_ladder as vl
    from verifier_ladder.learners import openrlhf

    def judge(completions, label):
        text = completions[0]
        if text == "raise":
            raise ValueError(text)
        if text == "crash":
            os._exit(9)
        if text == "hang":
            threading.Event().wait()
        wanted = label[0]["answer"] if isinstance(label[0], dict) else label[0]
        return [float("nan") if text == "nan" else float(text == wanted)]

    check = vl.wrap(judge, version="1", columns=["label"], timeout=0.5)
    reward_func = openrlhf.reward_func(
        check, on_abstain=-1.0, ledger="LEDGER", deadline=60, campaign="c", run="r"
    )
"""


class Characters:
    """A tokenizer with one token for each character."""

    def __call__(self, text: str, **_: Any) -> dict[str, torch.Tensor]:
        return {"input_ids": torch.tensor([list(map(ord, text))])}

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        assert not skip_special_tokens
        return "".join(map(chr, ids))


class Engine:
    """Answers every prompt alike, as vLLM would with an end token."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    async def generate(self, *_: Any, **__: Any) -> Any:
        text = f"{self.answer}<|im_end|>"
        said = SimpleNamespace(
            token_ids=list(map(ord, text)), text=text, finish_reason="stop", logprobs=None
        )
        return SimpleNamespace(outputs=[said])


Execute = Callable[..., dict[str, Any]]


@pytest.fixture
def execute(agent: ModuleType, tmp_path: Path) -> Execute:
    """Generate and score one answer."""
    file = tmp_path / "reward.py"
    file.write_text(dedent(FILE).replace("LEDGER", str(tmp_path / "ledger.db")))
    executor = agent.SingleTurnAgentExecutor(str(file))

    def run(answer: str, label: Any = "4") -> dict[str, Any]:
        sampling = SimpleNamespace(max_tokens=32, logprobs=None)
        call = executor.execute(PROMPT, label, sampling, 128, Characters(), Engine(answer))
        return asyncio.run(call)

    return run


@pytest.mark.parametrize(("answer", "reward"), [("4", 1.0), ("5", 0.0), ("日本 🧪", 0.0)])
def test_an_answer_gets_the_verifiers_own_number(
    execute: Execute, answer: str, reward: float
) -> None:
    told = execute(answer)

    assert reward == told["reward"].item() == told["scores"].item()
    assert 0.0 == told["extra_logs"]["unknown"].item()


@pytest.mark.parametrize("answer", ["raise", "crash", "hang", "nan"])
def test_what_is_unknown_gets_the_number_that_was_chosen(execute: Execute, answer: str) -> None:
    told = execute(answer)

    assert -1.0 == told["reward"].item()
    assert 1.0 == told["extra_logs"]["unknown"].item()


def test_labels_say_what_evaluates(execute: Execute, tmp_path: Path) -> None:
    """OpenRLHF's evaluation asks the same function, and hands on nothing else of a row."""
    for split in ("train", "test", "train"):
        assert 1.0 == execute("4", {"answer": "4", "split": split})["reward"].item()

    with vl.open_ledger(tmp_path / "ledger.db") as ledger:
        told = [
            len(read_run(ledger, "r", campaign="c", evaluation=evaluation).samples)
            for evaluation in (False, True)
        ]
    assert [2, 1] == told


def test_what_it_returns_becomes_what_the_trainer_stacks(execute: Execute) -> None:
    """`SamplesGenerator` makes a tensor of each value."""
    told = execute("4")

    assert (1,) == torch.tensor([told["reward"]]).shape
    known = {"unknown", "pending", "process", "gaming_alarms", "unanswered_alarms"}
    assert known == set(told["extra_logs"])


def test_many_queries_at_once_come_in_order_with_every_part() -> None:
    @vl.verifier(name="short", version="1", role="gate", isolation="inline")
    def short(candidate: vl.Candidate) -> bool:
        return len(candidate.content) < 4

    @vl.verifier(name="length", version="1", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    function = reward_func(vl.Ladder("brief", [short, length]), on_abstain=-1.0)
    told = function(["pa", "pabc</s>", "pabcdef"], ["p"] * 3, [None] * 3)

    assert [1.0, 3.0, 0.0] == told["rewards"].tolist()
    assert [1.0, 1.0, 0.0] == told["extra_logs"]["short"].tolist()
    assert told["extra_logs"]["length"].isnan().tolist() == [False, False, True]


def test_a_query_without_its_prompt_is_unknown() -> None:
    """Verifying prompt and answer together would be a reward for something else."""
    check = vl.wrap(lambda completions: [1.0], name="yes", isolation="inline")  # noqa: ARG005
    told = reward_func(check, on_abstain=-1.0)(["pa", "qa"], ["p", "p"], [None, None])

    assert [1.0, -1.0] == told["rewards"].tolist()


def test_nobody_chooses_what_unknown_means_but_the_user() -> None:
    check = vl.wrap(lambda completions: [1.0], name="yes")  # noqa: ARG005
    with pytest.raises(vl.ConfigError, match="on_abstain"):
        reward_func(check, on_abstain=None)


def test_lists_of_different_lengths_are_named() -> None:
    check = vl.wrap(lambda completions: [1.0], name="yes", isolation="inline")  # noqa: ARG005
    with pytest.raises(vl.ConfigError, match="labels has 1 values for 2"):
        reward_func(check, on_abstain=0.0)(["a", "b"], ["", ""], ["4"])
