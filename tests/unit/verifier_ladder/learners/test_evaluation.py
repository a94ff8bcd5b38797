"""Whether a sample is trained on, and what is told where nobody says it."""

import asyncio
import pickle
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.learners import areal, openrlhf, slime, trl, verifiers
from verifier_ladder.learners.evaluation import Evaluation, evaluates


@pytest.mark.parametrize(
    "split",
    [
        "test",
        "Test",
        " validation ",
        "test[:100]",
        "test_hard",
        "validation-matched",
        "dev2",
        "held_out",
        "held-out",
        "heldout",
        "holdout",
        "eval/easy",
    ],
)
def test_a_split_that_begins_like_one_for_evaluation_is_one(split: str) -> None:
    assert evaluates({"extra_info": {"split": split}}) is True


@pytest.mark.parametrize(
    "split", ["train", "train[:100]", "train_test", "testimony", "device", ""]
)
def test_any_other_split_is_trained_on(split: str) -> None:
    assert evaluates({"split": split}) is False


@pytest.mark.parametrize("of_file", [True, False])
def test_a_flag_says_more_than_a_split_wherever_both_are(of_file: bool) -> None:  # noqa: FBT001
    """A file of validation may be part of what its makers called train."""
    assert of_file is evaluates({"split": "train", "extra_info": {"validate": of_file}})


def test_an_object_that_is_the_label_says_it() -> None:
    """OpenRLHF and slime's server know nothing else of a row."""
    assert evaluates({"label": {"answer": "4", "split": "test"}}) is True


def test_what_the_user_says_of_all_needs_no_row(caplog: pytest.LogCaptureFixture) -> None:
    for of_all in (True, False):
        told = Evaluation("exact", of_all=of_all, advice="Do this")
        assert [of_all] * 2 == told.of_each({"split": ["test", "train"]}, 2)
        assert told.of({}) is of_all

    assert [] == caplog.messages


# ---- Learners that do not say it


def yes(completions: list[Any]) -> list[float]:
    return [1.0] * len(completions)


def checked() -> vl.Verifier:
    return vl.wrap(yes, version="1", isolation="inline")


Ask = Callable[[Mapping[str, Any]], object]
"""Asks for a reward as a learner does, with a row that says so much."""


def ask_openrlhf() -> Ask:
    function = openrlhf.reward_func(checked(), on_abstain=0.0)
    return lambda row: function(["2 + 2 = 4"], ["2 + 2 ="], [{"answer": "4", **row}])


def ask_areal() -> Ask:
    """It sends a copy with every call."""
    function = areal.reward_fn(checked())
    return lambda row: pickle.loads(pickle.dumps(function))("2 + 2 =", "4", [1], [2], **row)  # noqa: S301


def ask_slime(**arguments: Any) -> Ask:
    function, told = slime.custom_rm(checked(), on_abstain=0.0), SimpleNamespace(**arguments)
    sample = {"prompt": "2 + 2 =", "response": "4", "label": "4"}
    return lambda row: asyncio.run(function(told, SimpleNamespace(**sample, metadata=row)))


def ask_rubric() -> Ask:
    function = verifiers.rubric_function(checked(), on_abstain=0.0)
    return lambda row: asyncio.run(function(prompt="2 + 2 =", completion="4", info=row))


def ask_trl() -> Ask:
    """As a trainer does that does not show whether it trains."""
    function: Any = trl.reward_function(checked())
    state = SimpleNamespace(global_step=0)
    return lambda row: function(
        ["2 + 2 ="], ["4"], trainer_state=state, **{name: [row[name]] for name in row}
    )


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.messages if line.startswith("nobody says")]


@pytest.mark.parametrize("make", [ask_openrlhf, ask_areal, ask_slime, ask_rubric, ask_trl])
def test_that_nobody_says_what_evaluates_is_told_once_with_what_says_it(
    make: Callable[[], Ask], caplog: pytest.LogCaptureFixture
) -> None:
    ask = make()
    for row in ({"split": "test"}, {"split": "train"}):
        ask(row)
    assert [] == warnings(caplog)

    for _ in range(2):
        ask({})
    (line,) = warnings(caplog)
    assert all(word in line for word in ("yes", "split", "evaluation=False"))


@pytest.mark.parametrize(("interval", "said"), [(None, 0), (5, 1)])
def test_slime_that_never_evaluates_needs_to_say_nothing(
    interval: int | None, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    ask_slime(eval_interval=interval)({})

    assert said == len(warnings(caplog))


def test_a_trainer_of_trl_that_has_no_evaluation_needs_to_say_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its asynchronous one tells neither its state nor its metrics."""
    assert [1.0] == trl.reward_function(checked())(["2 + 2 ="], ["4"])

    assert [] == warnings(caplog)
