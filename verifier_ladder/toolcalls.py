"""Tool calls of a trajectory: which were made, which failed, and which were recovered from."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from verifier_ladder.candidate import ToolCall, Turn
from verifier_ladder.text import printable
from verifier_ladder.trajectory import arguments_of, calls_by_tool, from_text

EVIDENCE: Final = "tool_calls"
"""Under this name a verifier's evidence holds a `ToolCount` as JSON, which report cards add up."""
_FAILURE = re.compile(r"\s{0,9}(?:error|exception|traceback)(?![\w-])", re.IGNORECASE)
_LONGEST = 10_000
"""Characters of an observation that may be an object that tells of an error."""
_NAMED_BY = (
    "name", "tool", "tool_name", "toolName", "function", "action", "recipient_name", "method",
)  # fmt: skip
_GIVEN_BY = frozenset({
    "arguments", "args", "parameters", "params", "input", "inputs", "action_input", "tool_input",
    "kwargs",
})  # fmt: skip
_DEEPEST = 64


class MadeCall(NamedTuple):
    """A call that was made, and what became of it."""

    turn: int
    """Place of its turn in the trajectory, from 0."""
    call: ToolCall
    failed: bool | None = None
    """None where nothing was observed."""
    parallel: bool = False
    """Whether it was made before the result of the call before was seen."""


class ToolCount(NamedTuple):
    """How many tools a trajectory called, of how many that it might, and what became of them.

    Example:
        >>> turns = [Turn(ToolCall("add"), "Error: no numbers"), Turn(ToolCall("add"), "4")]
        >>> ToolCount.of(calls_of(turns), budget=5)
        ToolCount(calls=2, budget=5, failed=1, recovered=1, unanswered=0)
    """

    calls: int
    budget: int | None = None
    """How many the task allowed; None if it sets no limit."""
    failed: int = 0
    recovered: int = 0
    """Failed calls after which a call of the same tool succeeded."""
    unanswered: int = 0
    """Calls after which nothing was observed, so that nobody knows whether they failed."""

    @classmethod
    def of(cls, made: Sequence[MadeCall], budget: int | None = None) -> ToolCount:
        """Count the calls of one trajectory."""
        last = {one.call.name: place for place, one in enumerate(made) if one.failed is False}
        failed = [place for place, one in enumerate(made) if one.failed]
        recovered = sum(place < last.get(made[place].call.name, -1) for place in failed)
        unanswered = sum(one.failed is None for one in made)
        return cls(len(made), budget, len(failed), recovered, unanswered)

    @classmethod
    def from_json(cls, stored: Any) -> ToolCount | None:
        """Read what stands in evidence; None if it is something else of that name.

        Example:
            >>> ToolCount.from_json({"calls": 2}).calls, ToolCount.from_json("many")
            (2, None)
        """
        if not isinstance(stored, Mapping) or not stored.keys() <= set(cls._fields):
            return None
        counts = [n for name, n in stored.items() if not (name == "budget" and n is None)]
        is_sound = all(type(n) is int and n >= 0 for n in counts) and "calls" in stored
        return cls(**stored) if is_sound else None


def calls_of(turns: Sequence[Turn], tools: Collection[str] = ()) -> list[MadeCall]:
    """The calls of a trajectory, in order; those that stand in a turn's text among them.

    A call has failed if its turn says so, or else if its observation begins with *error*,
    *exception* or *traceback*, or is a JSON object whose `error` is not empty.

    Args:
        turns: All of it.
        tools: Names that may stand for calls by themselves; see `trajectory.from_text`.

    Example:
        >>> text = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'
        >>> [(made.call.name, made.failed) for made in calls_of([Turn(text, '{"error": "busy"}')])]
        [('add', True)]
    """
    return [made for place, turn in enumerate(turns) for made in _made(place, turn, tools)]


def _made(place: int, turn: Turn, tools: Collection[str]) -> Iterator[MadeCall]:
    failed = has_failed(turn)
    if isinstance(turn.action, ToolCall):
        yield MadeCall(place, turn.action, failed, turn.parallel)
        return
    inner = from_text(turn.action, tools) if isinstance(turn.action, str) else ()
    calls = [each.action for each in inner if isinstance(each.action, ToolCall)]
    for number, call in enumerate(calls):
        yield MadeCall(place, call, failed, turn.parallel or number > 0)


def has_failed(turn: Turn) -> bool | None:
    """Whether the call of a turn failed; None where nothing was observed."""
    if turn.failed is not None or not turn.observation:
        return turn.failed
    return bool(_FAILURE.match(turn.observation)) or _has_error(turn.observation)


def _has_error(observation: str) -> bool:
    text = observation.strip() if len(observation) <= _LONGEST else ""
    if not text.startswith("{"):
        return False
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, Mapping) and bool(told.get("error"))


def inner_calls(
    arguments: Mapping[str, Any], tools: Collection[str], parameters: Collection[str] = ()
) -> Iterator[ToolCall]:
    """Calls that stand in the arguments of another, as tools take them that call others.

    An object that names one of the tools, as a call does, is one, and so is one whose names are
    all tools with objects for arguments; JSON text is read. The arguments themselves are one only
    if they hold another call's arguments too, for many a tool takes a name.

    Args:
        arguments: Of the outer call.
        tools: Names that count; capitals and what stands before a point don't matter.
        parameters: Names of arguments that the outer call's tool is known to take itself.

    Example:
        >>> steps = {"steps": [{"tool": "shop.refund", "args": {"order": "A1"}}]}
        >>> [(call.name, call.arguments) for call in inner_calls(steps, ["refund"])]
        [('refund', {'order': 'A1'})]
    """
    known = {_folded(name): name for name in tools}
    level: list[Any] = [arguments]
    for depth in range(_DEEPEST):
        level = [_opened(each) for each in level]
        for each in level:
            if not isinstance(each, Mapping):
                continue
            if depth or not _GIVEN_BY.isdisjoint(each):
                yield from _named(each, known)
            if depth or each.keys().isdisjoint(parameters):
                yield from _keyed(each, known)
        level = [inner for each in level for inner in _parts(each)]


def _folded(name: str) -> str:
    return printable(name).casefold()


def _opened(value: Any) -> Any:
    """What JSON text holds; anything else as it is."""
    while isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value


def _named(told: Mapping[str, Any], known: Mapping[str, str]) -> Iterator[ToolCall]:
    """The calls that an object stands for."""
    for name in filter(None, (told.get(key) for key in _NAMED_BY)):
        tool = _known(name, known)
        if tool is not None:
            given = next((told[key] for key in _GIVEN_BY if key in told), dict(told))
            yield ToolCall(tool, arguments_of(given))


def _keyed(told: Mapping[str, Any], known: Mapping[str, str]) -> Iterator[ToolCall]:
    """The calls of an object whose names are tools."""
    if len(told) > len(known):
        return
    tools = {_known(name, known) or name: given for name, given in told.items()}
    for call in calls_by_tool(tools, known.values()):
        yield ToolCall(call["name"], arguments_of(call["arguments"]))


def _known(name: Any, known: Mapping[str, str]) -> str | None:
    """The tool that a name stands for."""
    folded = _folded(name) if isinstance(name, str) else ""
    return known.get(folded) or known.get(folded.rpartition(".")[2])
