"""The reward function is called here as TRL 1.16 calls it, without TRL."""

import asyncio
import inspect
import math
import os
import pickle
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.learners.trl import RewardFunction, reward_function
from verifier_ladder.ledger.records import Block


def accuracy(completions: list[str], answer: list[str]) -> list[float]:
    """Judge numbers; words that are none of them raise, and nan stays nan."""
    return [
        math.nan if c == "nan" else float(float(c) == float(a))
        for c, a in zip(completions, answer, strict=True)
    ]


def dies(completions: list[str], **_: Any) -> list[float]:
    if completions[0] == "crash":
        os._exit(3)
    if completions[0] == "hang":
        threading.Event().wait()
    return [float(len(completions[0]))]


class Trainer:
    """Calls reward functions with the arguments of `GRPOTrainer._calculate_rewards`."""

    def __init__(self) -> None:
        self.state = SimpleNamespace(global_step=0)
        self.extra: dict[str, list[Any]] = defaultdict(list)
        self.metrics: dict[str, list[float]] = defaultdict(list)

    def __call__(
        self,
        function: RewardFunction,
        completions: list[Any],
        prompts: list[Any] | None = None,
        **columns: Any,
    ) -> Any:
        return function(
            prompts=prompts or ["2 + 2 ="] * len(completions),
            completions=completions,
            completion_ids=[[1, 2, 3]] * len(completions),
            **columns,
            trainer_state=self.state,
            log_extra=lambda column, values: self.extra[column].extend(values),
            log_metric=lambda name, value: self.metrics[name].append(value),
        )


Make = Callable[..., RewardFunction]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make reward functions that are closed after the test."""
    made: list[RewardFunction] = []

    def build(verifier: Any = None, **options: Any) -> RewardFunction:
        if verifier is None:
            verifier = vl.wrap(accuracy, columns=["answer"], isolation="inline")
        made.append(reward_function(verifier, **options))
        return made[-1]

    yield build
    for function in made:
        function.close()


def blocks(function: RewardFunction) -> list[Block]:
    ledger = function.campaign.ledger
    return [ledger.read(entry) for entry in ledger.entries(kind="score")]


# ---- What TRL gets


def test_it_returns_the_functions_own_numbers_in_order(make: Make) -> None:
    assert [1.0, 0.0, 1.0] == Trainer()(make(), ["4", "5", "4.0"], answer=["4"] * 3)


def test_it_goes_by_the_functions_name(make: Make) -> None:
    assert "accuracy" == make().__name__
    assert "acc" == make(name="acc").__name__


def test_what_raises_or_is_not_a_number_is_none(make: Make) -> None:
    assert [1.0, None, None] == Trainer()(make(), ["4", "four", "nan"], answer=["4"] * 3)


def test_a_number_stands_for_none_where_it_is_asked_for(make: Make) -> None:
    assert [-1.0, 1.0] == Trainer()(make(on_abstain=-1.0), ["four", "4"], answer=["4"] * 2)


def test_a_crash_and_a_hang_cost_only_their_own_completions(make: Make) -> None:
    function = make(vl.wrap(dies, timeout=0.5), deadline=60)

    assert [2.0, None, 1.0, None, 4.0] == Trainer()(function, ["ab", "crash", "a", "hang", "abcd"])


def test_a_hang_is_none_when_the_deadline_comes_first(make: Make) -> None:
    """The worker would still wait: its own time limit is longer than the deadline."""
    function = make(vl.wrap(dies, timeout=500.0), deadline=2)

    assert [None] == Trainer()(function, ["hang"])


def test_a_call_without_completions_returns_nothing(make: Make) -> None:
    assert [] == Trainer()(make(), [], answer=[])


def test_chat_messages_are_scored_like_their_text(make: Make) -> None:
    function = make(vl.wrap(chat_accuracy, columns=["answer"], isolation="inline"))
    prompt = [{"role": "user", "content": "2 + 2 ="}]
    completion = [{"role": "assistant", "content": "4"}]

    assert [1.0] == Trainer()(function, [completion], prompts=[prompt], answer=["4"])


def chat_accuracy(completions: list[list[dict[str, str]]], answer: list[str]) -> list[float]:
    return [float(c[0]["content"] == a) for c, a in zip(completions, answer, strict=True)]


def test_a_verifier_of_ones_own_gets_the_text_of_chat_messages(make: Make) -> None:
    @vl.verifier(kind="molecule", isolation="inline")
    def carbons(candidate: vl.Candidate) -> float:
        return float(str(candidate.content).count("C"))

    completion = [{"role": "assistant", "content": "CCO"}]

    assert [2.0] == Trainer()(make(carbons), [completion])


def test_columns_that_no_verifier_reads_are_ignored(make: Make) -> None:
    """They may be images or environments, which could not be part of a key."""
    rewards = Trainer()(make(), ["4"], answer=["4"], image=[object()], environments=[object()])

    assert [1.0] == rewards


def test_it_works_without_a_trainer_state(make: Make) -> None:
    """The form of the asynchronous trainers."""
    function = make()
    arguments: dict[str, Any] = {"prompts": ["p"], "completion_ids": [[1]], "answer": ["4"]}

    assert [1.0] == function(completions=["4"], **arguments)
    assert [0.0] == function(completions=["5"], **arguments)


def test_the_async_form_is_a_coroutine_function_for_trl(make: Make) -> None:
    function = make(asynchronous=True)

    assert inspect.iscoroutinefunction(function.__call__)
    assert [1.0] == asyncio.run(Trainer()(function, ["4"], answer=["4"]))


def test_threads_may_call_it_at_once(make: Make) -> None:
    function = make()
    answers: list[Any] = [None] * 8

    def call(i: int) -> None:
        answers[i] = Trainer()(function, [f"{i}", "x"], answer=["4", "4"])

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [[float(i == 4), None] for i in range(8)] == answers


# ---- What TRL's logs get


def test_the_share_of_unknown_rewards_is_a_metric(make: Make) -> None:
    trainer = Trainer()
    trainer(make(), ["4", "four"], answer=["4"] * 2)

    assert [0.5] == trainer.metrics["accuracy/unknown"]
    assert (
        [0.0] == trainer.metrics["accuracy/pending"] == trainer.metrics["accuracy/gaming_alarms"]
    )


def test_the_reason_is_a_column_of_the_table(make: Make) -> None:
    trainer = Trainer()
    trainer(make(), ["4", "four"], answer=["4"] * 2)

    known, unknown = trainer.extra["accuracy/reason"]
    assert "" == known
    assert "ValueError" in unknown


def test_the_parts_of_a_ladder_are_metrics_and_columns(make: Make) -> None:
    @vl.verifier(role="gate", isolation="inline")
    def short(candidate: vl.Candidate) -> bool:
        return len(candidate.content) < 4

    @vl.verifier(isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    trainer = Trainer()
    rewards = trainer(make(vl.Ladder("brief", [short, length])), ["a", "abc", "abcdef"])

    assert [1.0, 3.0, 0.0] == rewards
    assert [2.0] == trainer.metrics["brief/length"]
    assert [1.0, 3.0, None] == trainer.extra["brief/length"]


# ---- What the ledger gets


def test_samples_know_their_step_and_group(make: Make) -> None:
    function, trainer = make(), Trainer()
    trainer.state.global_step = 5
    trainer(function, ["4", "5", "4"], prompts=["p", "p", "q"], answer=["4"] * 3)

    (block,) = blocks(function)
    assert block.samples is not None
    assert 5 == block.samples.step
    assert ["step 5"] * 3 == list(block.samples.learner_versions or ())
    first, second, third = block.samples.groups or ()
    assert first == second != third


def test_rows_of_one_prompt_with_other_answers_are_groups_of_their_own(make: Make) -> None:
    """As TRL compares them: it takes so many completions of a row."""
    function = make()
    Trainer()(function, ["4", "5", "4", "4"], prompts=["p"] * 4, answer=["4", "4", "5", "5"])

    told = function.campaign.advantages(function.campaign.run.name, 0, since=0)
    assert [1.0, -1.0, 0.0, 0.0] == [row.advantage for row in told]


def test_what_a_rollout_gives_of_each_completion_parts_no_group(make: Make) -> None:
    """TRL hands what a `rollout_func` gives to reward functions among the dataset's columns."""

    class Rolling(Trainer):
        rollout_func = print
        train_dataset = SimpleNamespace(column_names=["prompt", "answer"])

        def log(self, name: str, value: float) -> None:
            self.metrics[name].append(value)

    def kept(completions: list[str], answer: list[str], steps: list[int]) -> list[float]:
        return [float(len(c) - n) for c, n in zip(completions, steps, strict=True) if answer]

    check = vl.wrap(kept, version="1", columns=["answer", "steps"], isolation="inline")
    function, trainer = make(check), Rolling()
    function(
        prompts=["p"] * 2, completions=["4", "44"], answer=["4"] * 2, steps=[1, 2],
        trainer_state=trainer.state, log_metric=trainer.log,
    )  # fmt: skip

    (block,) = blocks(function)
    assert block.samples is not None
    assert 1 == len(set(block.samples.groups or ()))


@pytest.mark.parametrize(("option", "variable", "kept"), [
    (None, "", 1), (False, "", 0), (None, "false", 0), (True, "false", 1),
])  # fmt: skip
def test_prompts_are_kept_unless_somebody_says_no(
    make: Make, monkeypatch: pytest.MonkeyPatch, *, option: bool | None, variable: str, kept: int
) -> None:
    monkeypatch.setenv("VLADDER_TRANSCRIPTS", variable)
    function = make(transcripts=option)
    Trainer()(function, ["4", "5"], prompts=["my secret"] * 2, answer=["4"] * 2)

    entries = function.campaign.ledger.entries
    assert kept == len(list(entries(kind="transcript")))
    assert kept == sum(b"my secret" in entry.body for entry in entries())


def test_two_calls_in_one_step_are_different_samples(make: Make) -> None:
    """Evaluation, and several generations in one step, come at the same global step."""
    function, trainer = make(), Trainer()
    trainer(function, ["4", "5"], answer=["4"] * 2)
    trainer(function, ["6", "7"], answer=["4"] * 2)

    positions = [list(b.samples.positions) for b in blocks(function) if b.samples]
    assert [[0, 1], [2, 3]] == positions


def test_processes_of_one_training_have_places_of_their_own(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = make()
    monkeypatch.setenv("RANK", "1")
    Trainer()(function, ["4"], answer=["4"])

    (block,) = blocks(function)
    assert block.samples is not None
    assert block.samples.positions[0] > 1_000_000


def test_the_same_completion_is_verified_once(make: Make) -> None:
    calls: list[list[str]] = []

    def counted(completions: list[str]) -> list[float]:
        calls.append(completions)
        return [1.0] * len(completions)

    function, trainer = make(vl.wrap(counted, isolation="inline")), Trainer()
    trainer(function, ["a", "b", "a"])
    trainer(function, ["b"])

    assert [["a"], ["b"]] == calls


def test_a_resumed_run_records_new_samples(make: Make, tmp_path: Path) -> None:
    """A training that goes on from a checkpoint repeats steps with other completions."""
    options = {"ledger": tmp_path / "ledger.db", "run": "mine"}
    first = make(**options)
    Trainer()(first, ["4", "5"], answer=["4"] * 2)
    first.close()
    again = make(**options)

    assert [0.0, 1.0] == Trainer()(again, ["6", "4"], answer=["4"] * 2)
    assert [[0, 1], [2, 3]] == [list(b.samples.positions) for b in blocks(again) if b.samples]


def test_a_pickled_copy_answers_from_the_same_ledger(make: Make, tmp_path: Path) -> None:
    function = make(ledger=tmp_path / "ledger.db")
    trainer = Trainer()
    trainer(function, ["4"], answer=["4"])
    function.close()
    copy = pickle.loads(pickle.dumps(function))  # noqa: S301  # Our own.

    assert "accuracy" == copy.__name__
    assert [1.0] == trainer(copy, ["4"], answer=["4"])
    assert [1, 0] == [len(block.verdicts) for block in blocks(copy)]
    copy.close()


def test_an_open_campaign_stays_open_and_in_use(make: Make) -> None:
    check = vl.wrap(accuracy, columns=["answer"], isolation="inline")
    ladder = vl.Ladder("shared", [check])
    with vl.Campaign.open("mine", ladder=ladder) as campaign:
        function = make(ladder, campaign=campaign)
        Trainer()(function, ["4"], answer=["4"])
        function.close()

        assert [1.0] == [
            r.value for r in campaign.score([vl.Candidate("text", "4", {"answer": "4"})])
        ]
        assert [0.0] == Trainer()(function, ["5"], answer=["4"])


# ---- What can't be


def test_a_missing_column_is_named(make: Make) -> None:
    with pytest.raises(vl.ConfigError, match=r"'answer'.*it gives.*target"):
        Trainer()(make(), ["4"], target=["4"])


def test_a_column_of_another_length_is_named(make: Make) -> None:
    with pytest.raises(vl.ConfigError, match="answer has 1 values for 2 completions"):
        Trainer()(make(), ["4", "5"], answer=["4"])


def test_prompts_of_another_length_are_named(make: Make) -> None:
    with pytest.raises(vl.ConfigError, match="prompts has 1 values for 2 completions"):
        Trainer()(make(), ["4", "5"], prompts=["p"], answer=["4"] * 2)


def test_a_column_that_is_no_list_is_named(make: Make) -> None:
    with pytest.raises(vl.ConfigError, match="answer must be a list"):
        Trainer()(make(), ["4"], answer="4")


def test_a_value_that_can_not_be_a_key_is_named_with_its_column(make: Make) -> None:
    with pytest.raises(vl.ConfigError, match=r"column 'answer'.*object"):
        Trainer()(make(), ["4"], answer=[object()])


def test_a_completion_of_another_form_is_refused(make: Make) -> None:
    with pytest.raises(vl.ConfigError, match="completion must be text"):
        Trainer()(make(), [4], answer=["4"])


def test_a_plain_function_is_told_how_to_be_wrapped() -> None:
    with pytest.raises(vl.ConfigError, match=r"vl\.wrap"):
        reward_function(accuracy)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_only_a_finite_number_may_stand_for_none(value: float) -> None:
    with pytest.raises(vl.ConfigError, match="on_abstain"):
        reward_function(vl.wrap(accuracy, columns=["answer"]), on_abstain=value)


def test_an_open_campaign_brings_its_own_ledger() -> None:
    ladder = vl.Ladder("own", [vl.wrap(accuracy, columns=["answer"], isolation="inline")])
    with (
        vl.Campaign.open("mine", ladder=ladder) as campaign,
        pytest.raises(vl.ConfigError, match="ledger"),
    ):
        reward_function(ladder, campaign=campaign, ledger="other.db")
