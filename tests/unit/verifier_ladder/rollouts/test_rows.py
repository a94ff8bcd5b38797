"""A record becomes a row, or says why it can't."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.badrow import BadRow
from verifier_ladder.keys import digest
from verifier_ladder.rollouts.columns import Columns
from verifier_ladder.rollouts.rows import Row, row_of

COLUMNS = Columns("c", task="t", group="g", single="target")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def row(**values: Any) -> Row | BadRow:
    return row_of(1, {"c": "x", "t": "4", "g": 7, **values}, COLUMNS)


def read(**values: Any) -> Row:
    """The row, which must be a good one."""
    found = row(**values)
    assert isinstance(found, Row)
    return found


def reason(found: Row | BadRow) -> str:
    assert isinstance(found, BadRow)
    return found.reason


def test_text_is_content() -> None:
    assert Row(1, "x", {"target": "4"}, "7") == row()


def test_empty_text_is_content() -> None:
    assert "" == read(c="").content


def test_an_object_is_the_task_itself() -> None:
    assert {"answer": 1} == read(t={"answer": 1}).task


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": "4"}],
        [{"role": "assistant", "content": "3"}, {"role": "assistant", "content": "4"}],
        [{"role": "assistant", "content": "4"}, {"role": "tool", "content": "…"}],
        [{"role": "assistant", "content": "4"}, {"role": "assistant", "content": None}],
        [{"role": "assistant", "content": [{"type": "text", "text": "4"}, {"type": "image"}]}],
        {"role": "assistant", "content": "4"},
    ],
)
def test_the_last_text_of_the_assistant_is_content(messages: Any) -> None:
    found = row(c=messages)

    assert isinstance(found, Row)
    assert "4" == found.content
    assert found.task is not None
    assert (
        [messages] if isinstance(messages, dict) else messages == found.task["completion_messages"]
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "holds null, not text"),
        (4, "holds a number, not text"),
        (True, "holds a truth value, not text"),
        (["4"], "not of chat messages"),
        ([], "no text of an assistant"),
        ([{"role": "user", "content": "4"}], "no text of an assistant"),
        ({"text": "4"}, "not of chat messages"),
    ],
)
def test_other_content_is_a_bad_row(value: Any, why: str) -> None:
    assert why in reason(row(c=value))


def test_a_missing_column_is_named() -> None:
    assert "has no column 'g'" == reason(row_of(1, {"c": "x", "t": ""}, COLUMNS))


def test_a_group_that_is_null_is_a_bad_row() -> None:
    assert "is null" in reason(row(g=None))


def test_a_long_prompt_is_a_group_all_the_same() -> None:
    assert read(g="p" * 5000).group != read(g="q" * 5000).group
    assert len(read(g="p" * 5000).group) < 100


def test_a_chat_is_a_group_all_the_same() -> None:
    chat = [{"role": "user", "content": "?"}]

    assert read(g=chat).group == read(g=list(chat)).group


def test_a_prompt_with_another_answer_names_another_group() -> None:
    columns = Columns("c", fields={"answer": "a"}, prompt="q")
    found = [row_of(1, {"c": "x", "q": "2 + 2 =", "a": a}, columns) for a in ("4", "four", "4")]
    first, other, again = (each.group for each in found if isinstance(each, Row))

    assert first == again != other


@pytest.mark.parametrize("task", [{"ß": 1}, {"n": 2**60}, {"x": float("nan")}])
def test_a_task_that_can_t_be_a_key_is_a_bad_row(task: Any) -> None:
    assert "its task can't be kept" in reason(row(t=task))


def test_without_a_group_column_the_line_is_the_group() -> None:
    assert Row(9, "x", None, "line 9") == row_of(9, {"c": "x"}, Columns("c"))


@given(JSON, JSON, JSON)
def test_any_values_give_a_row_that_can_be_filed_or_a_reason(c: Any, t: Any, g: Any) -> None:
    found = row(c=c, t=t, g=g)

    if isinstance(found, Row):
        assert digest(found.task)
        assert found.group
    else:
        assert found.reason
