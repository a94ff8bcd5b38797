"""Keys: the same work has the same key, and different work never has."""

import json
from collections import deque
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import (
    NO_TASK,
    canonical_json,
    check_key,
    check_keys,
    content_key,
    content_keys,
    digest,
    raw_key,
    raw_keys,
    seed,
    task_digest,
)

NAMES = st.text(st.characters(max_codepoint=127), max_size=8)
INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
LEAVES = st.none() | st.booleans() | INTEGERS | st.text(st.characters(exclude_categories=["Cs"]))


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
        max_leaves=12,
    )


def as_written(value: Any) -> Any:
    """The value with floats as objects of their shortest text, which is how keys hold them."""
    if isinstance(value, float):
        return {"«float»": repr(value)}
    if isinstance(value, dict):
        return {name: as_written(item) for name, item in value.items()}
    return [as_written(item) for item in value] if isinstance(value, list) else value


# ---- Canonical JSON


@given(trees(LEAVES))
def test_inside_the_profile_canonical_json_is_rfc_8785(value: Any) -> None:
    assert rfc8785.dumps(value) == canonical_json(value)


@given(trees(LEAVES | st.floats(allow_nan=False, allow_infinity=False)))
def test_floats_are_written_as_their_shortest_text(value: Any) -> None:
    assert rfc8785.dumps(as_written(value)) == canonical_json(value)


@given(st.dictionaries(NAMES, INTEGERS, max_size=6))
def test_the_order_of_names_does_not_matter(value: dict[str, int]) -> None:
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_comes_back_from_its_text(value: float) -> None:
    assert value == float(json.loads(canonical_json(value))["«float»"])


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        2**53,
        -(2**53),
        {"é": 1},
        {1: "number as a name"},
        {None: 1},
        {1, 2},
        Ellipsis,
        [{"deep": [float("nan")]}],
        1 + 2j,
        range(3),
        deque([1]),
    ],
    ids=repr,
)
def test_what_leaves_the_profile_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"part of a key|too large for a key"):
        canonical_json(value)


def test_a_value_that_nests_too_deeply_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(ConfigError, match="nests"):
        canonical_json(value)


def test_tuples_count_as_lists() -> None:
    assert canonical_json([1, [2]]) == canonical_json((1, (2,)))


def test_true_and_one_are_different() -> None:
    one, true = [1], [True]

    assert canonical_json(one) != canonical_json(true)


def test_positive_and_negative_zero_are_different() -> None:
    assert canonical_json(0.0) != canonical_json(-0.0)


def as_text(value: Any) -> Any:
    """The value with each leaf as the text that Python shows for it."""
    if isinstance(value, dict):
        return {name: as_text(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return value if isinstance(value, str) else str(value)


@given(trees(LEAVES | st.floats(allow_nan=False, allow_infinity=False) | st.binary()))
def test_a_value_is_not_the_text_that_is_shown_for_it(value: Any) -> None:
    """Whoever writes a task could otherwise be given the verdict of another."""
    text = as_text(value)

    assert (text == value) == (canonical_json(text) == canonical_json(value))


@pytest.mark.parametrize("value", [0.5, 1.0, b"", "\ud800"], ids=repr)
def test_nothing_else_is_written_as_a_value_that_json_lacks(value: Any) -> None:
    imitation = json.loads(canonical_json(value))
    (name,) = imitation

    assert canonical_json({name.strip("«»"): imitation[name]}) != canonical_json(value)
    with pytest.raises(ConfigError, match="use ASCII"):
        canonical_json(imitation)


@given(st.binary(), st.binary())
def test_bytes_are_told_apart(one: bytes, other: bytes) -> None:
    assert (one == other) == (canonical_json(one) == canonical_json(other))


@given(st.text(st.characters(), max_size=6), st.text(st.characters(), max_size=6))
def test_text_with_lone_surrogates_is_told_apart(one: str, other: str) -> None:
    assert (one == other) == (digest([one]) == digest([other]))


def test_a_surrogate_pair_is_not_the_character_it_would_encode() -> None:
    assert digest("\ud83d\ude00") != digest("\U0001f600")
    assert raw_key("text", "\ud83d\ude00") != raw_key("text", "\U0001f600")


# ---- Raw, content and check keys


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_kind_and_content_can_not_run_into_each_other(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert (one == other) == (raw_key(*one) == raw_key(*other))
    assert (one == other) == (content_key(*one) == content_key(*other))


def test_a_zero_byte_does_not_move_the_boundary() -> None:
    assert raw_key("a\0b", "c") != raw_key("a", "b\0c")


def test_a_raw_key_is_never_a_content_key() -> None:
    assert raw_key("molecule", "CCO") != content_key("molecule", "CCO")


def test_text_is_not_its_utf_8_bytes() -> None:
    assert raw_key("text", "é") != raw_key("text", "é".encode())
    assert content_key("text", "é") != content_key("text", "é".encode())


KEYS = st.binary(min_size=32, max_size=32)
PARTS = st.tuples(KEYS, KEYS, KEYS, KEYS, st.integers(0, 2**32 - 1))


@given(PARTS, PARTS)
def test_each_part_of_a_check_makes_another_key(
    one: tuple[bytes, bytes, bytes, bytes, int], other: tuple[bytes, bytes, bytes, bytes, int]
) -> None:
    assert (one == other) == (check_key(*one) == check_key(*other))


def test_the_parts_of_a_check_have_their_own_places() -> None:
    one, two = bytes(31) + b"\1", bytes(31) + b"\2"

    keys = {
        check_key(one, two),
        check_key(two, one),
        check_key(one, one, two),
        check_key(one, one, NO_TASK, two),
        check_key(one, one),
        check_key(one, one, replicate=1),
    }

    assert 6 == len(keys)


@given(KEYS)
def test_a_seed_fits_every_library(key: bytes) -> None:
    assert 0 <= seed(key) < 2**63


@given(NAMES, st.lists(st.binary(max_size=4) | st.text(max_size=4)))
def test_many_keys_are_the_keys_of_each(kind: str, contents: list[str | bytes]) -> None:
    keys = content_keys(kind, contents)
    assert keys == [content_key(kind, content) for content in contents]
    assert raw_keys(kind, contents) == [raw_key(kind, content) for content in contents]
    assert check_keys(NO_TASK, keys) == [check_key(NO_TASK, key) for key in keys]


@given(st.lists(st.tuples(KEYS, KEYS, KEYS)), st.integers(0, 2**32 - 1))
def test_many_checks_with_tasks_have_the_keys_of_each(
    named: list[tuple[bytes, bytes, bytes]], replicate: int
) -> None:
    contents, tasks, turns = ([row[i] for row in named] for i in range(3))

    keys = check_keys(NO_TASK, contents, replicate, tasks=tasks, turns=turns)

    assert keys == [check_key(NO_TASK, *row, replicate) for row in named]


class Word(str):
    """Text of another class, which may be written otherwise."""

    __slots__ = ()


TASKS = st.dictionaries(NAMES, trees(LEAVES | st.floats(-1, 1) | st.builds(Word)), max_size=4)


@given(st.lists(TASKS, max_size=4))
def test_the_digest_of_a_task_is_that_of_its_fields(tasks: list[dict[str, Any]]) -> None:
    assert [digest(task) if task else NO_TASK for task in tasks] == list(map(task_digest, tasks))


def test_tasks_that_python_takes_for_equal_are_told_apart() -> None:
    tasks: list[dict[str, Any]] = [{"a": 1}, {"a": True}, {"a": 1.0}, {"a": "1"}, {"a": None}]

    assert 5 == len(set(map(task_digest, tasks)))


def test_a_task_that_no_key_can_hold_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ConfigError, match="too large"):
            task_digest({"a": 2**53})


def test_a_long_task_is_digested_all_the_same() -> None:
    long = {"tests": "x" * 10**6}

    assert digest(long) == task_digest(long)
