"""Chat messages of one form."""

from typing import Any

import pytest

from verifier_ladder.runs.chat import as_chat, has_tools, is_chat, text_of_prompt

FUNCTION = {"name": "sum", "arguments": {"a": 2}}
CALL: Any = {"role": "assistant", "tool_calls": [{"id": "1", "function": FUNCTION}]}


def test_tools_keep_their_arguments_as_text() -> None:
    (message,) = as_chat([CALL], "assistant")

    assert "" == message["content"]
    assert {"name": "sum", "arguments": '{"a": 2}'} == message["tool_calls"][0]["function"]
    assert has_tools([message])


def test_images_are_left_out() -> None:
    blocks = [{"type": "image", "image": 1}, {"type": "text", "text": "What is it?"}]

    assert "What is it?" == as_chat([{"role": "user", "content": blocks}], "user")[0]["content"]


@pytest.mark.parametrize("value", ["text", b"bytes", None, 3])
def test_other_values_are_no_chat(value: Any) -> None:
    assert not is_chat(value)


def test_a_prompt_is_the_same_in_any_order_of_its_keys() -> None:
    told = [{"role": "user", "content": "x"}]

    assert text_of_prompt(told) == text_of_prompt([{"content": "x", "role": "user"}])
