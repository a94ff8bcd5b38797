"""What a learner hands over is read as candidates."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder import ConfigError, ToolCall, Turn
from verifier_ladder.learners.messages import group_of, groups_of, prompt_of, text_of, turns_of

CALL = {"role": "assistant", "content": "look", "tool_calls": [{"name": "search"}]}
SEEN = {"role": "tool", "content": "found"}
SAID = {"role": "assistant", "content": "CCO"}


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("CCO", "CCO"),
        ([SAID], "CCO"),
        ([CALL, SEEN, SAID], "CCO"),  # the last word counts
        ([{"role": "assistant", "content": [{"type": "text", "text": "CCO"}]}], "CCO"),
        ([{"role": "assistant", "content": None}], ""),  # a tool call without text
        ([{"content": "CCO"}], "CCO"),
        ([], ""),
    ],
)
def test_the_text_is_the_last_thing_the_assistant_said(completion: Any, text: str) -> None:
    assert text == text_of(completion)


@pytest.mark.parametrize("completion", [3, None, ["CCO"]])
def test_a_completion_of_another_form_is_refused(completion: Any) -> None:
    with pytest.raises(ConfigError, match="chat messages"):
        text_of(completion)


def test_tool_calls_are_turns_with_their_observations() -> None:
    turns = turns_of([CALL, SEEN, SAID])

    assert [Turn(ToolCall("search"), "found", thought="look"), Turn("CCO", "")] == list(turns)


def test_a_single_message_has_no_turns() -> None:
    assert () == turns_of([SAID]) == turns_of("CCO")
    assert (Turn(ToolCall("search"), thought="look"),) == turns_of([CALL])


def test_observations_before_any_action_are_left_out() -> None:
    assert (Turn("CCO"),) == turns_of([SEEN, SAID])


prompts = st.one_of(
    st.text(), st.lists(st.fixed_dictionaries({"role": st.text(), "content": st.text()}))
)


@given(prompts, prompts)
def test_only_equal_prompts_share_a_group(first: Any, second: Any) -> None:
    assert (first == second) == (group_of(first) == group_of(second))


def test_a_prompt_with_lone_surrogates_has_a_group() -> None:
    assert group_of("\ud800") != group_of("\ud801")


@given(st.lists(prompts))
def test_many_prompts_have_the_groups_of_each(many: list[Any]) -> None:
    assert list(map(group_of, many)) == groups_of(many)


def test_a_prompt_with_other_tasks_is_other_groups() -> None:
    tasks = [{"answer": "4"}, {"answer": "5"}, {"answer": "4"}, None]
    first, second, third, alone = groups_of(["p"] * 4, tasks)

    assert first == third != second
    assert alone == group_of("p") == prompt_of(first) == prompt_of(second)


def test_what_is_of_a_completion_parts_no_group() -> None:
    tasks = [{"answer": "4", "completion_ids": [i], "log": i, "prompt": "p"} for i in range(3)]
    tasks.append({"answer": "4"})

    assert 1 == len(set(groups_of(["p"] * 4, tasks, aside={"log"})))
