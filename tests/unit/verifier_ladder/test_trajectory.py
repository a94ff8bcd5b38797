"""Turns are read out of what models and tools write, whatever that is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder import Terminate, ToolCall, Turn
from verifier_ladder.scheduler.candidates import turns_digest
from verifier_ladder.trajectory import (
    DEEP,
    NAMELESS,
    from_calls,
    from_mcp,
    from_messages,
    from_react,
    from_text,
)


def call(name: Any, arguments: Any, id_: str = "") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(content: Any = None, *calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def answer(content: Any, id_: str = "", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": id_, **more}


# -- chat messages -------------------------------------------------------------------------------


def test_each_call_is_a_turn_with_the_answer_that_names_it() -> None:
    chat = [
        {"role": "user", "content": "How warm is it?"},
        said("Both.", call("warm", '{"in": "Turku"}', "a"), call("warm", '{"in": "Bern"}', "b")),
        answer("21", "b"), answer("17", "a"),
        said("17 and 21 degrees."),
    ]  # fmt: skip

    assert (
        Turn(ToolCall("warm", {"in": "Turku"}, "a"), "17", thought="Both."),
        Turn(ToolCall("warm", {"in": "Bern"}, "b"), "21", parallel=True),
        Turn("17 and 21 degrees."),
    ) == from_messages(chat)


def test_answers_without_an_id_go_to_the_calls_in_order() -> None:
    chat = [said(None, call("a", {}), call("b", {})), answer("1"), answer("2"), answer("more")]

    assert ["1", "2\nmore"] == [turn.observation for turn in from_messages(chat)]


@pytest.mark.parametrize(
    ("more", "failed"),
    [({"is_error": True}, True), ({"status": "error"}, True), ({"status": "success"}, False),
     ({"is_error": "yes"}, None), ({}, None)],
)  # fmt: skip
def test_a_tools_message_may_say_that_the_call_failed(
    more: dict[str, Any], failed: object
) -> None:
    (turn,) = from_messages([said(None, call("a", {}, "1")), answer("no", "1", **more)])

    assert failed is turn.failed


def test_what_a_model_reasons_is_its_thought() -> None:
    (turn,) = from_messages([said("Look.", call("a", {}), reasoning_content="Where is it?")])

    assert "Where is it?\nLook." == turn.thought


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}), ("", {}), (None, {}),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1', '{"a": 1'), ("[1]", "[1]"), ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ('{"a": NaN}', '{"a": NaN}'), ('{"ä": 1}', '{"ä": 1}'),
        ('{"a": 9007199254740993}', '{"a": 9007199254740993}'),
        ("[" * 100_000, "[" * 100_000),
        ('{"a":' * 100 + "1" + "}" * 100, '{"a":' * 100 + "1" + "}" * 100),
    ],
)  # fmt: skip
def test_arguments_that_no_key_could_hold_stay_as_they_were_written(
    written: Any, kept: Any
) -> None:
    (turn,) = from_messages([said(None, call("a", written))])

    assert turn.action == ToolCall("a", kept)
    assert turns_digest((turn,))


def test_a_call_without_a_name_is_kept_as_one() -> None:
    broken: Any = ["search", 3, {"function": {"arguments": "{}"}}, {"name": ""}]

    turns = from_messages([said(None, *broken)])

    assert [NAMELESS] * 4 == [getattr(turn.action, "name", None) for turn in turns]


def test_arguments_that_came_as_an_endless_object_are_cut() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}

    assert ToolCall("a", DEEP) == from_calls({"name": "a", "arguments": deep})[0].action


# -- ReAct ---------------------------------------------------------------------------------------


def test_text_of_react_is_turns() -> None:
    text = """I should look it up.
Thought: first the population
Action: search
Action Input: {"query": "Bern"}
Observation: 137000
Thought 2: that is all
**Final Answer:** 137000
"""
    assert (
        Turn(ToolCall("search", {"query": "Bern"}), "137000",
             thought="I should look it up.\nfirst the population"),
        Turn(Terminate("137000"), thought="that is all"),
    ) == from_react(text)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Action 1: Search[Bern]", ToolCall("Search", "Bern")),
        ("Action: Finish[137000]", Terminate("137000")),
        ('Action: {"action": "search", "action_input": {"q": 1}}', ToolCall("search", {"q": 1})),
        ('Action:\n```json\n{"name": "s", "arguments": {}}\n```', ToolCall("s")),
        ('Action: {"action": "Final Answer", "action_input": "42"}', Terminate("42")),
        ("Action: look around", ToolCall("look around")),
        ("Action:", ToolCall(NAMELESS)),
        ("Action: a\nAction Input: no object", ToolCall("a", "no object")),
        ('Action: a\nAction Input: ```\n{"b": 1}\n```', ToolCall("a", {"b": 1})),
    ],
)
def test_an_action_is_written_in_many_ways(text: str, action: Any) -> None:
    assert [action] == [turn.action for turn in from_react(text)]


def test_text_without_an_action_has_no_turns() -> None:
    assert () == from_react("Thought: nothing to do\nObservation: it is quiet")


# -- Model Context Protocol ----------------------------------------------------------------------


def rpc(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **fields}


def asked(id_: Any, name: str = "add") -> dict[str, Any]:
    return rpc(id=id_, method="tools/call", params={"name": name, "arguments": {"a": 1}})


def test_calls_of_mcp_are_turns_with_their_results() -> None:
    told = [
        rpc(id=0, method="initialize", params={}), rpc(id=0, result={"capabilities": {}}),
        asked(1), asked("1", "other"),
        rpc(id="1", result={"content": [{"type": "text", "text": "no"}], "isError": True}),
        rpc(id=1, result={"structuredContent": {"sum": 3}}),
    ]  # fmt: skip

    assert (
        Turn(ToolCall("add", {"a": 1}, "1"), '{"sum": 3}', failed=False),
        Turn(ToolCall("other", {"a": 1}, "1"), "no", failed=True, parallel=True),
    ) == from_mcp(told)


def test_a_call_after_the_result_of_the_one_before_is_not_parallel() -> None:
    told = [asked(1), asked(2), rpc(id=2, result={"content": []}), asked(3)]

    assert [False, True, False] == [turn.parallel for turn in from_mcp(told)]


def test_a_refused_call_has_failed_and_a_second_result_changes_nothing() -> None:
    told = [asked(1), rpc(id=1, error={"code": -32602, "message": "unknown tool"}),
            rpc(id=1, result={"content": []})]  # fmt: skip

    (turn,) = from_mcp([told, "noise", 3])

    assert ("unknown tool", True) == (turn.observation, turn.failed)


# -- whichever form ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (json.dumps([said(None, call("a", {}))]), ["a"]),
        ("\n".join(map(json.dumps, [asked(1, "a"), asked(2, "b")])), ["a", "b"]),
        ('```json\n[{"name": "a", "arguments": {}}]\n```', ["a"]),
        ('{"name": "a", "parameters": {}}', []),  # Not a pair of names that is in use.
        ('<tool_call>{"name": "a", "arguments": {}}</tool_call> <tool_call>{', ["a", NAMELESS]),
        ("Action: a", ["a"]),
        ("It is 4.", []), ("[1, 2]", []), ("", []),
    ],
)  # fmt: skip
def test_text_is_read_in_whichever_form_it_is(text: str, names: list[str]) -> None:
    assert names == [getattr(turn.action, "name", None) for turn in from_text(text)]


# -- hostile text --------------------------------------------------------------------------------

PIECES = st.sampled_from([
    "Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "Finish[", "]", "\n",
    "<tool_call>", "</tool_call>", "```json\n", "```", "{", "}", "[", '"name"', '"arguments"', ":",
    '"function"', '"role"', '"jsonrpc"', '"tool_calls"', '"id"', ",", "null", "1e999", "NaN",
    "9" * 30, "\ud800", "\x00", "\u202e", "ä", "\\u0000", '"assistant"', '"tools/call"', " ",
])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "role", "content", "tool_calls", "function", "name", "arguments", "id", "jsonrpc",
                "method", "params", "result", "error", "isError", "text", "tool_call_id", "action",
                "action_input", "status", "is_error", "reasoning", "ä",
            ]),
            inner | st.sampled_from(["assistant", "tool", "tools/call", "2.0"]), max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip


def assert_turns(turns: tuple[Turn, ...]) -> None:
    """They travel, and a key can hold them."""
    again = tuple(Turn.from_json(json.loads(json.dumps(turn.as_json()))) for turn in turns)

    assert turns == again
    assert turns_digest(turns) == turns_digest(again)


@settings(max_examples=550)
@given(st.lists(PIECES | st.text(max_size=6), max_size=30).map("".join))
def test_whatever_text_is_written_there_are_turns_and_no_error(text: str) -> None:
    assert_turns(from_text(text))
    assert_turns(from_react(text))


@settings(max_examples=550)
@given(st.lists(VALUES, max_size=4))
def test_whatever_json_is_written_there_are_turns_and_no_error(values: list[Any]) -> None:
    objects = [value for value in values if isinstance(value, dict)]

    assert_turns(from_messages(objects))
    assert_turns(from_mcp(values))
    assert_turns(from_calls(values))
    assert_turns(from_text(json.dumps(values)))


@pytest.mark.parametrize(
    "text",
    ["Action:" * 50_000, "Action: a[" * 50_000, "<tool_call>" * 50_000, "\n" * 300_000,
     "`" * 300_000, " " * 300_000, "[" * 300_000, '{"role":' * 50_000, "{}\n" * 100_000,
     "*#" * 150_000],
    ids=lambda text: repr(text[:10]),
)  # fmt: skip
def test_long_text_is_read_as_well(text: str) -> None:
    assert_turns(from_text(text)[:10])


@pytest.mark.parametrize(
    ("text", "turns"),
    [("```!" + " " * 900_000 + "b", 0), ("Action: ```!" + " " * 900_000 + "b", 1),
     ("Action: a\n" + "Observation: b\n" * 60_000, 1),
     (json.dumps([{"role": "assistant"}] * 20_000
                 + [{"role": "tool", "tool_call_id": "x", "content": "b"}] * 15_000), 20_000),
     (json.dumps([{"jsonrpc": "2.0", "id": n, "method": "tools/call"} for n in range(16_000)]),
      16_000)],
    ids=["fence", "fenced action", "observations", "answers", "calls"],
)  # fmt: skip
def test_what_a_text_repeats_takes_no_longer_than_it_is_long(text: str, turns: int) -> None:
    assert turns == len(from_text(text))


def test_a_fence_is_not_part_of_what_it_holds() -> None:
    call = '{"name": "add", "arguments": {"a": 1}}'
    expected = [ToolCall("add", {"a": 1})]

    for text in (f"```json\n{call}\n```", f"```{call}```", f"``` {call}", f"```\n\n{call}\n"):
        assert expected == [turn.action for turn in from_text(text)]
        assert expected == [turn.action for turn in from_react(f"Action: {text}")]


def test_a_call_in_tags_hides_no_action_beside_it() -> None:
    tagged = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
    for text in (f"{tagged}\nAction: refund[7]", f"Action: refund[7]\n{tagged}"):
        names = [turn.action.name for turn in from_text(text) if isinstance(turn.action, ToolCall)]
        assert ["look", "refund"] == names
    assert 1 == len(from_text(f"Thought: look.\nAction: {tagged}\nObservation: a lamp"))
    assert Terminate("4") == from_text(f"{tagged}\nFinal Answer: 4")[-1].action
