"""Trials: a reward function is called as learners call it, and what it pays wrongly is counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import ConfigError, SandboxError
from verifier_ladder.testing.answerkey import AnswerKey
from verifier_ladder.testing.trial import Calling, Group, Trial, Tried, page, try_reward
from verifier_ladder.tiers.fast.mathematics import Mathematics
from verifier_ladder.verdict import Outcome

pytestmark = pytest.mark.usefixtures("forked_workers")

SUBSTRING = """
import asyncio, os, subprocess, sys

def substring(completions, answer, **kwargs):
    return [float(str(a) in text) for text, a in zip(completions, answer)]

def by_verl(data_source, solution_str, ground_truth, extra_info=None):
    assert extra_info["answer"] == ground_truth
    return {"score": float(str(ground_truth) in solution_str), "extra": "more"}

async def awaited(text, gold):
    return str(gold) in text

def chat(completions, answer):
    return [float(str(a) in said[-1]["content"]) for said, a in zip(completions, answer)]

def fragile(completions, answer):
    if "either" in completions[0]:
        raise RuntimeError("two answers")
    if "approximately" in completions[0]:
        os._exit(3)
    return [0.0]

def text(completions, answer):
    return ["good"]

def nan(completions, answer):
    return [float("nan")]

def nothing(completions, answer):
    return [None]

def unread(completions, answer):
    if "x" in completions[0]:
        raise ValueError("no number")
    return [1.0]

def is_long(completion, test):
    return float(len(completion) > 1 << 20)

def exit_status(completion, test):
    program = completion.rpartition("```python")[2].partition("```")[0] + chr(10) + test
    try:
        done = subprocess.run([sys.executable, "-ISc", program], timeout=5, capture_output=True)
    except subprocess.TimeoutExpired:
        return 0.0
    return float(done.returncode == 0)
"""


@pytest.fixture
def function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """A function of a file as a user has it."""
    (tmp_path / "rewards_on_trial.py").write_text(SUBSTRING)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "rewards_on_trial", raising=False)
    import importlib

    module = importlib.import_module("rewards_on_trial")
    return lambda name: getattr(module, name)


def test_a_substring_pays_cheats_and_loses_other_spellings(function: Callable[[str], Any]) -> None:
    trial = try_reward(function("substring"), "mathematics", most=40, seconds=120)

    assert any("41 or 42" in each.content for each in trial.paid(Group.CHEAT))
    assert trial.lost
    assert not trial.unknown
    assert not trial.is_clean
    assert 40 == len(trial.of(Group.RIGHT)) == len(trial.of(Group.WRONG))
    assert set(Group) == {each.group for each in trial.tried[:3]}  # They take turns.


@pytest.mark.parametrize(
    ("name", "options"),
    [("by_verl", {}), ("awaited", {}), ("chat", {"messages": True})],
)
def test_a_function_is_called_in_the_way_it_takes(
    function: Callable[[str], Any], name: str, options: dict[str, Any]
) -> None:
    reference = try_reward(function("substring"), "numeric", most=20, seconds=120)

    trial = try_reward(function(name), "numeric", most=20, seconds=120, **options)

    assert [each.value for each in reference.tried] == [each.value for each in trial.tried]


def test_what_raises_has_no_reward_and_what_crashes_costs_no_other(
    function: Callable[[str], Any],
) -> None:
    trial = try_reward(function("fragile"), "mathematics", most=8, seconds=240)

    crashed = [each for each in trial.unknown if "exit code 3" in each.reason]
    raised = [each for each in trial.unknown if each not in crashed]
    assert crashed
    assert all("approximately" in each.content for each in crashed)
    assert raised
    assert all("either" in each.content for each in raised)
    assert len(trial.tried) > len(trial.unknown)


def test_an_error_about_what_was_written_is_no_reward_either(
    function: Callable[[str], Any],
) -> None:
    trial = try_reward(function("unread"), "mathematics", most=8, seconds=240)

    assert {"it raised ValueError: no number"} == {each.reason for each in trial.unknown}
    assert all("x" not in each.content for each in trial.tried if each.value is not None)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("text", "it returned 'good', which is no number"),
        ("nan", "it returned nan, which is no reward"),
        ("nothing", "it returned None"),
    ],
)
def test_a_return_that_is_no_number_is_no_reward(
    function: Callable[[str], Any], name: str, told: str
) -> None:
    trial = try_reward(function(name), "numeric", most=2, seconds=120)

    assert len(trial.tried) == len(trial.unknown)
    assert told == trial.unknown[0].reason


def test_a_key_with_large_numbers_in_its_tasks_can_be_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = AnswerKey.named("json-schema")
    large = whole.cases[0].model_copy(update={"task": {"schema": {"maximum": 2**60}}})
    part = replace(whole, cases=(large, *whole.cases[:4]), lines=())
    monkeypatch.setattr(AnswerKey, "named", lambda _: part)

    trial = try_reward(lambda completions: [1.0] * len(completions), "json", seconds=120)

    assert trial.tried
    assert all({"maximum": 2**60} != each.task["schema"] for each in trial.tried)


def test_a_right_verifier_is_clean() -> None:
    trial = try_reward(Mathematics(), "mathematics", most=30, seconds=240)

    assert trial.is_clean, str(trial)


EXITS = {"import os\nos._exit(0)", "raise SystemExit"}
"""Programs that end with exit status 0 before anything is tested."""


def test_a_function_about_code_is_called_inside_the_sandbox(
    function: Callable[[str], Any],
    require: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a part of the key: every program takes a worker process with it."""
    whole = AnswerKey.named("code-functions")
    usual = [case for case in whole.cases if str(case.content) not in EXITS]
    exits = [case for case in whole.cases if str(case.content) in EXITS]
    part = replace(whole, cases=(*exits, *usual[:: len(usual) // 60]))
    monkeypatch.setattr(AnswerKey, "named", lambda _: part)

    try:
        trial = try_reward(function("exit_status"), "code", most=4, seconds=300)
    except SandboxError as error:
        require("a sandbox with files", False, str(error))  # noqa: FBT003
        return

    paid = {each.content for each in trial.paid(Group.CHEAT)}
    assert EXITS <= paid


def test_a_long_answer_reaches_a_function_inside_the_sandbox(
    function: Callable[[str], Any],
    require: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = AnswerKey.named("code-functions")
    case = next(each for each in whole.cases if each.hostile and each.outcome is Outcome.REJECT)
    long = case.model_copy(update={"candidate": "#" * (3 << 19)})
    monkeypatch.setattr(AnswerKey, "named", lambda _: replace(whole, cases=(long,)))

    try:
        trial = try_reward(function("is_long"), "code", seconds=300)
    except SandboxError as error:
        require("a sandbox with files", False, str(error))  # noqa: FBT003
        return

    assert [1.0] == [each.value for each in trial.tried]


def test_a_case_about_settings_of_the_built_in_verifier_is_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = AnswerKey.named("exact-match")
    own = whole.cases[0].model_copy(
        update={"candidate": "Ulan  Bator", "settings": {"normalise": ["space"]}}
    )
    part = replace(whole, cases=(own, *whole.cases[:4]), lines=())
    monkeypatch.setattr(AnswerKey, "named", lambda _: part)

    trial = try_reward(
        lambda completions, answer: [
            float(a == c) for a, c in zip(answer, completions, strict=True)
        ],
        "exact-match",
    )

    assert 4 == len(trial.tried)


def called_wrongly(completions: list[str], gold: list[str]) -> list[float]:
    return [float(text == said) for text, said in zip(completions, gold, strict=True)]


def live(completions: list[str], trainer_state: object) -> list[float]:
    return [float(trainer_state is None) for _ in completions]


def takes_nothing() -> float:
    return 1.0


@pytest.mark.parametrize(
    ("function", "offered", "columns", "told"),
    [
        (called_wrongly, ["schema"], {}, "needs gold; tasks of this kind have schema"),
        (live, ["answer"], {}, "only a trainer has"),
        (called_wrongly, ["answer"], {"gold": "key"}, "have no key"),
        (takes_nothing, ["answer"], {}, "takes none"),
        (3, ["answer"], {}, "3 can't be tried as a reward function; name a function"),
    ],
)
def test_an_argument_that_nothing_is_known_for_is_named(
    function: Callable[..., Any], offered: list[str], columns: dict[str, str], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        Calling.of(function, offered, columns)


def test_a_column_says_what_names_do_not() -> None:
    calling = Calling.of(called_wrongly, ["schema"], {"gold": "schema"})

    assert {"completions": ["4"], "gold": ["{}"]} == calling.arguments("4", {"schema": "{}"})


@pytest.mark.slow  # Each has workers of its own.
@pytest.mark.parametrize(
    "kind",
    ["mathematics", "json", "citations", "numeric", "choice", "exact-match", "f1",
     "table-schema", "instruction-constraints"],
)  # fmt: skip
def test_each_kind_has_cheats_wrong_answers_and_right_ones_for_any_function(kind: str) -> None:
    trial = try_reward(lambda completions: [1.0] * len(completions), kind, most=20, seconds=300)

    assert not trial.unreached
    for group, fewest in ((Group.CHEAT, 5), (Group.WRONG, 20), (Group.RIGHT, 20)):
        assert fewest <= len(trial.paid(group) if group is not Group.RIGHT else trial.of(group))
    assert not trial.lost
    assert not trial.unknown


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="mathematics"):
        try_reward(called_wrongly, "poetry")


def test_a_page_escapes_what_models_wrote() -> None:
    script = Tried(Group.CHEAT, "<script>alert(1)</script>\x1b[31m", {"answer": "1"}, "a", 1.0, "")

    made = page(Trial("<b>mine</b>", "mathematics", 0.5, 1.0, (script,), unreached=3))

    assert "3 more were not reached in this time." in made
    assert "<script" not in made
    assert "<b>mine" not in made
    assert "\x1b" not in made
    assert "&lt;script&gt;" in made


def test_a_page_keeps_the_lines_of_a_program() -> None:
    program = Tried(Group.CHEAT, "def f():\n    return 1", {"answer": "1"}, "a", 1.0, "")
    long = Tried(Group.CHEAT, "x\n" * 500, {"answer": "1"}, "b", 1.0, "")

    made = page(Trial("mine", "code", 0.5, 1.0, (program, long)))

    assert "def f():\n    return 1</bdi>" in made
    assert "x\nx…</bdi>" in made
    assert made.count("\nx") < 30
