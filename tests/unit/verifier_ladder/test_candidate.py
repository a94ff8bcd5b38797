"""Candidates."""

import json
from typing import Any

import numpy as np
import pytest

from verifier_ladder.candidate import (
    Candidate,
    Sample,
    Terminate,
    ToolCall,
    Turn,
    sample_place,
)
from verifier_ladder.errors import ConfigError


@pytest.mark.parametrize("content", [None, 3, ["CCO"], bytearray(b"CCO")])
def test_content_that_no_verifier_could_read_is_refused(content: Any) -> None:
    with pytest.raises(ConfigError, match="text or bytes"):
        Candidate("molecule", content)


@pytest.mark.parametrize("kind", ["", "a\0b", None, 5, np.zeros(2)])
def test_a_kind_must_be_a_name(kind: Any) -> None:
    with pytest.raises(ConfigError, match="must be a name"):
        Candidate(kind, "CCO")


@pytest.mark.parametrize("turns", [0, "", [1], np.zeros(0), np.zeros(2)], ids=repr)
def test_turns_must_be_turns(turns: Any) -> None:
    with pytest.raises(ConfigError, match=r"must be vl\.Turn in a tuple"):
        Candidate("text", "4", turns=turns)


@pytest.mark.parametrize("task", ["4", ["4"], 4])
def test_a_task_must_hold_fields_by_name(task: Any) -> None:
    with pytest.raises(ConfigError, match="fields by name"):
        Candidate("text", "4", task)


@pytest.mark.parametrize("content", ["", b"", "\0", "\ud800", "x" * 100_000])
def test_whatever_a_model_writes_is_a_candidate(content: str | bytes) -> None:
    assert Candidate("text", content).content == content


def test_a_sample_leaves_its_place_to_the_campaign() -> None:
    sample = Sample(Candidate("text", "a"))

    assert ("", -1, -1) == (sample.run, sample.step, sample.position)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (("r", 3, 7), "step 3 of run r, sample 7"),
        (("r", 3), "step 3 of run r"),
        (("r", 3, 3056356105912939), "step 3 of run r"),
        (("r", 3, 3056356105912939, "CCO"), "step 3 of run r, 'CCO'"),
        (("r", 3056356105912939, 0), "run r, asked without a step, sample 0"),
        (("r", 2**52, 2**50, b"C\x1b[31mO"), "run r, asked without a step, 'CO'"),
    ],
)
def test_a_place_holds_no_number_that_nobody_counts(place: tuple[Any, ...], told: str) -> None:
    assert told == sample_place(*place)


# ---- Turns


OLD = (Turn("look", "a door"), Turn("open", "", {"tool": "hand"}), Turn("go"))
NEW = (
    Turn(ToolCall("search", {"q": "x"}, "call-1"), "found", thought="hm", reward=0.5),
    Turn(ToolCall("search", "not JSON"), tokens=(0, 3), compressed=True),
    Turn(Terminate("42"), terminated=True),
    Turn("on and on", truncated=True, metadata={"m": 1}),
)


def test_turns_of_two_texts_keep_their_digest() -> None:
    stored = [["look", "a door"], ["open", "", {"tool": "hand"}], ["go", ""]]

    assert stored == [turn.as_json() for turn in OLD]


@pytest.mark.parametrize("turn", [*OLD, *NEW])
def test_turns_come_back_as_they_went(turn: Turn) -> None:
    as_json = json.loads(json.dumps([turn.as_json(), turn.as_message()]))

    assert turn == Turn.from_json(as_json[0])
    assert turn == Turn.from_message(as_json[1])


def test_an_action_has_words() -> None:
    assert ['{"name": "search", "arguments": {"q": "x"}}', "42", "on and on"] == [
        NEW[0].text, NEW[2].text, NEW[3].text,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "odd",
    [
        {"action": 5}, {"action": "a", "reward": float("nan")}, {"action": "a", "tokens": (3, 1)},
        {"action": "a", "tokens": (0, 1, 2)}, {"action": "a", "tokens": "01"},
        {"action": "a", "thought": 1}, {"action": "a", "terminated": "yes"},
        {"action": "a", "tokens": (-1, 2)}, {"action": "a", "tokens": (0.0, 1.0)},
    ],
)  # fmt: skip
def test_a_turn_of_the_wrong_kind_is_refused(odd: Any) -> None:
    with pytest.raises(ConfigError):
        Turn(**odd)
