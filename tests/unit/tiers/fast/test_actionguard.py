"""A guard that says which calls may be executed, before they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import forbiddencalls
import pytest
from forbiddencalls import FORBIDDEN, HONEST, answered
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.candidate import ToolCall
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.fast.actionguard import Permission
from verifier_ladder.tiers.fast.toolcalls import ToolCalls

ORDER = {"type": "object", "required": ["order"], "properties": {"order": {"type": "string"}}}
TASK: dict[str, Any] = {
    "tools": [
        {"name": "search"}, {"name": "confirm", "parameters": ORDER}, {"name": "drop"},
        {"name": "refund", "parameters": ORDER, "most": 2}, {"name": "batch"},
    ],
    "max_calls": 6,
    "irreversible": [{"tool": "refund", "after": "confirm", "same": ["order"]}],
    "forbidden": [["drop"], ["refund", "search"]],
}  # fmt: skip
A7, B1 = {"order": "A7"}, {"order": "B1"}


class Executing:
    """Remembers what is executed."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def __call__(self, call: ToolCall) -> str:
        self.calls.append(call)
        return "done"


def told(guard: vl.ActionGuard, *calls: tuple[Any, ...]) -> list[bool]:
    """Whether each call may be executed; the third of each is what becomes of it."""
    said = []
    for name, arguments, *observation in calls:
        said.append(bool(permission := guard.allow(ToolCall(name, arguments))))
        if permission:
            guard.saw(permission, *(observation or ["done"]))
    return said


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([("confirm", A7), ("refund", A7)], [True, True]),
        ([("refund", A7)], [False]),
        ([("confirm", A7), ("refund", B1)], [True, False]),
        ([("confirm", A7, "Error: nobody answers"), ("refund", A7)], [True, False]),
        ([("confirm", A7, '{"error": "busy"}'), ("confirm", A7), ("refund", A7)], [True] * 3),
        ([("drop", {})], [False]),
        ([("confirm", A7), ("refund", A7), ("search", {})], [True, True, False]),
        ([("refund", A7), ("search", {})], [False, True]),  # It never happened.
        ([("confirm", A7), ("refund", A7), ("refund", A7), ("refund", A7)], [True] * 3 + [False]),
        ([("nothing", {})], [False]),
        ([("refund", {"order": 7})], [False]),
        ([("confirm", {}), ("confirm", A7)], [False, True]),
        ([("search", {})] * 7, [True] * 6 + [False]),
        ([("batch", {"calls": [{"name": "refund", "arguments": A7}]})], [False]),
        ([("batch", {"text": '{"tool": "drop"}'})], [False]),
    ],
)  # fmt: skip
def test_what_may_be_executed(calls: Sequence[tuple[Any, ...]], expected: list[bool]) -> None:
    assert expected == told(vl.ActionGuard(TASK), *calls)


def test_a_denial_is_what_the_model_sees() -> None:
    guard = vl.ActionGuard(TASK)
    execute = Executing()

    seen = guard.run(ToolCall("refund", A7), execute)

    assert [] == execute.calls
    assert seen.startswith("Error: call refund only after confirm with the same order")
    (turn,) = guard.turns
    assert (seen, True, {"denied": True}) == (turn.observation, turn.failed, turn.metadata)


def test_a_call_that_was_made_before_the_result_was_seen_has_no_condition() -> None:
    guard = vl.ActionGuard(TASK)

    confirmed = guard.allow(ToolCall("confirm", A7))
    assert confirmed
    assert not guard.allow(ToolCall("refund", A7), parallel=True)
    assert not guard.allow(ToolCall("refund", A7))  # Nobody has told what became of the first.
    guard.saw(confirmed, "yes")
    assert guard.allow(ToolCall("refund", A7))


def test_results_of_calls_in_one_message_are_told_in_any_order() -> None:
    guard = vl.ActionGuard(TASK)
    first = guard.allow(ToolCall("confirm", A7))
    second = guard.allow(ToolCall("confirm", B1), parallel=True)

    guard.saw(second, "yes")
    guard.saw(first, "Error: no")

    assert [False, True] == [bool(guard.allow(ToolCall("refund", each))) for each in (A7, B1)]
    assert ["Error: no", "yes"] == [turn.observation for turn in guard.turns[:2]]


def test_what_became_of_a_call_is_told_once_and_of_none_that_was_denied() -> None:
    guard = vl.ActionGuard(TASK)
    allowed, denied = guard.allow(ToolCall("search")), guard.allow(ToolCall("drop"))

    guard.saw(allowed, "done")
    for permission in (
        allowed,
        denied,
        Permission(allowed=True),
        Permission(allowed=True, turn=7),
    ):
        with pytest.raises(ConfigError, match="a permission of this guard"):
            guard.saw(permission, "done")


def test_a_call_beside_one_that_was_denied_has_seen_what_came_before_them() -> None:
    guard = vl.ActionGuard(TASK)

    assert [True, False] == told(guard, ("confirm", A7), ("drop", {}))
    assert guard.allow(ToolCall("refund", A7), parallel=True)


def test_a_tool_may_run_others_by_the_same_guard() -> None:
    guard = vl.ActionGuard({**TASK, "tools": [*TASK["tools"], {"name": "all"}]})

    def confirming(_: ToolCall) -> str:
        return guard.run(ToolCall("confirm", A7), lambda _: "Error: the customer says no") + "!"

    guard.run(ToolCall("all"), confirming)

    assert ["Error: the customer says no!", "Error: the customer says no"] == [
        turn.observation for turn in guard.turns
    ]
    assert not guard.allow(ToolCall("refund", A7))


def test_a_tool_that_returns_no_text_has_failed() -> None:
    guard = vl.ActionGuard(TASK)
    answers: Any = lambda _: {"error": "busy"}  # noqa: E731

    with pytest.raises(ConfigError, match="must return text, not dict"):
        guard.run(ToolCall("confirm", A7), answers)
    guard.run(ToolCall("search"), Executing())

    assert guard.turns[0].failed
    assert not guard.allow(ToolCall("refund", A7))


def circle() -> dict[str, Any]:
    made: dict[str, Any] = {"order": "A7"}
    made["more"] = made
    return made


def deep() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(20_000):
        made = {"a": made}
    return made


@pytest.mark.parametrize(
    "arguments",
    [{"order": 10**5000}, circle(), deep(), {"order": None}],
    ids=["long number", "circle", "deep", "null"],
)
def test_arguments_that_make_no_sense_are_denied(arguments: Any) -> None:
    guard = vl.ActionGuard(TASK)

    assert not guard.allow(ToolCall("confirm", arguments))


def test_an_argument_that_was_left_out_equals_none() -> None:
    rule = {"tool": "refund", "after": "confirm", "same": ["order"]}
    task = {"tools": [{"name": "confirm"}, {"name": "refund"}], "irreversible": [rule]}
    guard = vl.ActionGuard(task)

    assert [True, False] == told(guard, ("confirm", {}), ("refund", {"order": None}))


def test_a_tool_that_raises_has_failed_and_its_error_is_the_environments() -> None:
    guard = vl.ActionGuard(TASK)

    def broken(_: ToolCall) -> str:
        raise TimeoutError("the shop is away")

    with pytest.raises(TimeoutError):
        guard.run(ToolCall("confirm", A7), broken)

    assert guard.turns[0].failed
    assert not guard.allow(ToolCall("refund", A7))


@pytest.mark.parametrize(("before", "forbidden"), FORBIDDEN)
def test_none_of_thirty_forbidden_calls_is_executed(
    before: list[tuple[str, Any]], forbidden: tuple[str, Any]
) -> None:
    guard = vl.ActionGuard(forbiddencalls.TASK)
    for name, given_arguments in before:
        guard.run(ToolCall(name, given_arguments), answered)
    execute = Executing()

    seen = guard.run(ToolCall(*forbidden), execute)

    assert [] == execute.calls
    assert seen.endswith("It was not executed.")


def test_all_honest_calls_are_executed() -> None:
    guard = vl.ActionGuard(forbiddencalls.TASK)

    seen = [
        guard.run(ToolCall(name, given_arguments), answered) for name, given_arguments in HONEST
    ]

    assert ["done"] * len(HONEST) == seen


# ---- People


def test_a_person_is_asked_after_the_rules() -> None:
    asked: list[ToolCall] = []

    def ask(call: ToolCall) -> bool:
        asked.append(call)
        return call.arguments == A7

    guard = vl.ActionGuard(TASK, asks=["refund"], ask=ask)

    assert [False] == told(guard, ("refund", A7))
    assert [] == asked
    assert [True, True, True] == told(guard, ("confirm", A7), ("refund", A7), ("confirm", B1))
    assert Permission(
        allowed=False, asked=True, turn=4,
        observation="Error: a person has not allowed this call. It was not executed.",
    ) == guard.allow(ToolCall("refund", B1))  # fmt: skip
    assert [A7, B1] == [call.arguments for call in asked]


def raising(_: ToolCall) -> bool:
    raise ConnectionError("nobody is there")


@pytest.mark.parametrize("ask", [None, raising, lambda _: "yes", lambda _: 1])
def test_what_nobody_has_allowed_is_denied(ask: Any) -> None:
    guard = vl.ActionGuard(TASK, asks=["search", "batch"], ask=ask)

    assert not guard.allow(ToolCall("search"))
    assert guard.allow(ToolCall("confirm", A7))


def test_a_call_inside_another_is_asked_about_too() -> None:
    guard = vl.ActionGuard(TASK, asks=["search"])

    assert not guard.allow(ToolCall("batch", {"calls": [{"name": "search"}]}))


# ---- Rules that make no sense


@pytest.mark.parametrize(
    ("task", "options", "words"),
    [
        ({}, {}, "tools"),
        ({"tools": [{"name": "a"}], "forbidden": [["b"]]}, {}, "no tool is called 'b'"),
        (TASK, {"asks": ["pay"]}, "no tool of the task is called 'pay'"),
        (TASK, {"most_calls": 0}, "most_calls"),
        ("tools", {}, "task"),
    ],
)
def test_rules_that_make_no_sense_are_refused(task: Any, options: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        vl.ActionGuard(task, **options)


def test_an_endless_trajectory_is_denied_in_the_end() -> None:
    guard = vl.ActionGuard({"tools": [{"name": "wait"}]}, most_calls=3)

    assert [True] * 3 + [False] == told(guard, *[("wait", {})] * 4)


# ---- Whatever is called

arguments = st.sampled_from([A7, B1, {}, {"order": 7}, {"calls": [{"name": "drop"}]}, "no JSON"])
names = st.sampled_from(["search", "confirm", "refund", "drop", "batch", "nothing"])
observations = st.sampled_from(["done", "Error: no", '{"error": "busy"}', ""])
calls = st.tuples(names, arguments, observations, st.booleans())


@given(st.lists(calls, max_size=12))
def test_nothing_is_executed_that_tool_calls_blames(
    made: list[tuple[str, Any, str, bool]],
) -> None:
    guard = vl.ActionGuard(TASK)
    for name, given_arguments, observation, parallel in made:
        if permission := guard.allow(ToolCall(name, given_arguments), parallel=parallel):
            guard.saw(permission, observation)

    turns = tuple(turn for turn in guard.turns if not turn.metadata)
    verdict = ToolCalls().judge([vl.Candidate("text", "", {**TASK, "least_calls": 0}, turns)])[0]

    assert [] == [turn.feedback for turn in verdict.turns if turn.score != 1.0]


@given(st.lists(calls, max_size=12))
def test_nothing_is_denied_that_tool_calls_lets_pass(
    made: list[tuple[str, Any, str, bool]],
) -> None:
    guard = vl.ActionGuard(TASK)
    for name, given_arguments, observation, parallel in made:
        call = ToolCall(name, given_arguments)
        before = tuple(turn for turn in guard.turns if not turn.metadata)
        if permission := guard.allow(call, parallel=parallel):
            guard.saw(permission, observation)
            continue
        tried = (*before, vl.Turn(call, parallel=parallel))
        task = {**TASK, "least_calls": 0}
        verdict = ToolCalls().judge([vl.Candidate("text", "", task, tried)])[0]
        assert 0.0 == verdict.turns[-1].score
