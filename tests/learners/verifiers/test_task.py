"""Rewards as tasks of verifiers 0.4 score their traces."""
# mypy: ignore-errors
# verifiers is not installed everywhere that types are checked.

import asyncio
import math
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.errors import TaskError

import verifier_ladder as vl
from verifier_ladder.learners.verifiers import reward
from verifier_ladder.runs import read_run
from verifier_ladder.scheduler.late import step_advantages
from verifier_ladder.tiers.simulation.processreward import ProcessReward
from verifier_ladder.tiers.simulation.stepservice import StepService


class Sum(vf.TaskData):
    """A task's data with a column of its own."""

    answer: str = "4"
    split: str | None = None


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


def task(made: Any, **more: Any) -> vf.Task:
    """A task of the user's, with one reward."""

    class Sums(vf.Task[Sum, vf.State]):
        correct = made

    return Sums(Sum(prompt="2 + 2 =", idx=0, **more))


def correct(isolation: str = "inline", **options: Any) -> Any:
    check = vl.wrap(judge, version="1", columns=["answer"], timeout=0.5, isolation=isolation)
    return reward(check, name="correct", **options)


def traced(of: vf.Task, *messages: Any) -> vf.Trace:
    """What an agent left behind that answered with these messages."""
    record = vf.TraceTask(type="Sums", data=of.data, key=of.key, hash=of.hash)
    trace = vf.Trace(task=record, agent=vf.AgentInfo(config=AgentConfig()))
    said = [vf.UserMessage(content="2 + 2 ="), *messages]
    trace.nodes = [
        vf.MessageNode(parent=i - 1 if i else None, message=message)
        for i, message in enumerate(said)
    ]
    return trace


def assistant(text: str) -> Any:
    return vf.AssistantMessage(content=text)


def scored(of: vf.Task, *answers: str) -> list[vf.Trace]:
    """Score traces at once, as the library's environments do."""
    traces = [traced(of, assistant(answer)) for answer in answers]

    async def score() -> None:
        await asyncio.gather(*(of.score(trace) for trace in traces))

    asyncio.run(score())
    return traces


def test_traces_get_the_verifiers_own_numbers() -> None:
    traces = scored(task(correct()), "4", "5", "日本 🧪", "4")

    assert [1.0, 0.0, 0.0, 1.0] == [trace.reward for trace in traces]


def test_weights_are_the_librarys() -> None:
    (trace,) = scored(task(correct(weight=0.25)), "4")

    assert 0.25 == trace.reward
    assert 1.0 == trace.rewards["correct"].score


@pytest.mark.parametrize("answer", ["raise", "crash", "hang", "nan"])
def test_what_is_unknown_is_an_error_of_the_trace_and_no_reward(answer: str) -> None:
    of = task(correct(isolation="process"))
    trace = traced(of, assistant(answer))

    with pytest.raises(TaskError, match="correct: nothing is known"):
        asyncio.run(of.score(trace))
    assert trace.rewards["correct"] is None
    assert 1.0 == trace.metrics["correct/unknown"]


def test_a_number_stands_for_the_unknown_where_it_is_asked_for() -> None:
    traces = scored(task(correct(on_abstain=-1.0)), "4", "raise")

    assert [1.0, -1.0] == [trace.reward for trace in traces]
    assert [0.0, 1.0] == [trace.metrics["correct/unknown"] for trace in traces]


def test_a_tasks_traces_are_one_group_and_one_call(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    of = task(correct(ledger=ledger))
    scored(of, "4", "5", "6")

    with vl.open_ledger(ledger) as opened:
        (samples,) = (opened.read(entry).samples for entry in opened.entries(kind="score"))
    assert [of.key] * 3 == list(samples.groups)


def test_tasks_say_what_evaluates_and_that_nobody_says_it_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = correct(ledger=tmp_path / "l.db", campaign="c", run="r")
    for split in ("test", "train", None, None):
        scored(task(made, split=split), "4")
    made.close()

    assert 1 == sum(line.startswith("nobody says") for line in caplog.messages)
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        told = [
            len(read_run(ledger, "r", campaign="c", evaluation=evaluation).samples)
            for evaluation in (False, True)
        ]
    assert [3, 1] == told


def test_tool_calls_are_turns() -> None:
    @vl.verifier(name="turns", version="1", isolation="inline", reads_turns=True)
    def turns(candidate: vl.Candidate) -> float:
        assert "4" == candidate.content
        return 10.0 * len(candidate.turns) + len(candidate.turns[0].observation)

    of = task(reward(turns))
    call = vf.AssistantMessage(content="let me see")
    trace = traced(of, call, vf.ToolMessage(content="abc", tool_call_id="1"), assistant("4"))
    asyncio.run(of.score(trace))

    assert 23.0 == trace.reward


def test_an_agent_that_said_nothing_is_judged_on_nothing() -> None:
    of = task(correct())
    trace = traced(of)
    asyncio.run(of.score(trace))

    assert 0.0 == trace.reward


def test_a_missing_field_is_named() -> None:
    check = vl.wrap(lambda completions, target: [1.0], name="t", columns=["target"])  # noqa: ARG005

    with pytest.raises(TaskError, match="'target'"):
        scored(task(reward(check)), "4")


def test_traces_that_end_at_different_times_are_compared(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    of = task(correct(ledger=ledger, campaign="c", run="r", group_size=2))
    for text in ("4", "5", "4"):
        scored(of, text)

    with vl.open_ledger(ledger) as opened:
        steps = [step_advantages(opened, "c", "r", step) for step in range(2)]
    told = [[row.advantage for row in step] for step in steps]
    assert [[1.0, -1.0], [None]] == told


class Lengths(StepService):
    """A step model: a step of n characters has 1/n."""

    name, version = "lengths", "1"

    def score_steps(self, prompts: Any, outputs: Any) -> list[list[float]]:
        assert len(prompts) == len(outputs)
        return [[1 / len(step) for step in steps] for steps in outputs]


def test_scores_of_steps_are_metrics() -> None:
    of = task(reward(ProcessReward(service=Lengths(), combine="mean"), name="correct"))
    (trace,) = scored(of, "1+1\n2+22")

    assert pytest.approx((1 / 3 + 1 / 4) / 2) == trace.reward
    assert pytest.approx([1 / 3, 1 / 4]) == [
        trace.metrics[f"correct/turn_{place}"] for place in range(2)
    ]
