r"""Trajectories: turns read out of what models and tools write to each other.

- `from_messages`: chat messages with tool calls, as OpenAI's interface has them
- `from_react`: text with `Thought:`, `Action:`, `Observation:` and `Final Answer:`
- `from_mcp`: JSON-RPC messages of the Model Context Protocol: `tools/call` and its results
- `from_calls`: calls as JSON, alone, in a list, or between `<tool_call>` and `</tool_call>`
- `from_text`: text in whichever of these forms it is

Whatever a model wrote gives turns and never an error: what is no call of a tool stays text, and
arguments that are no JSON object, or that no key could hold, stay as they were written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from verifier_ladder.candidate import Action, Terminate, ToolCall, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import canonical_json
from verifier_ladder.media import described

NAMELESS: Final = "(no name)"
"""The tool of a call that names none."""
DEEP: Final = "(nested too deeply)"
"""Arguments that nest deeper than any reader has to follow."""
_DEEPEST: Final = 64
_ERROR_STATUS: Final = "error"
_RPC: Final = "jsonrpc"

# No text makes these take more than linear time: what repeats is bounded, or ends at a character
# that it can't contain.
_MARK = re.compile(
    r"^[ \t]{0,8}[*#]{0,4}[ \t]{0,2}"
    r"(thought|action input|action|observation|final answer)[ \t]{0,2}\d{0,4}[*]{0,2}[ \t]{0,2}:"
    r"[*]{0,2}",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKETED = re.compile(r"([A-Za-z_][\w.\-]{0,127})[ \t]{0,4}\[(.*)\]", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCE = re.compile(r"```[\w-]{0,16}")
_FINISH = frozenset({"finish", "final answer", "final_answer"})
_FIELDS = (("name", "arguments"), ("action", "action_input"), ("tool", "parameters"))
"""What objects that stand for a call name the tool and its arguments by."""


# ---- Chat messages


def from_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Read chat messages: each call of a tool is a turn, and so is each text without a call.

    What a message says beside its calls is the thought of the first of them. An answer of a tool
    goes to the call that it names by `tool_call_id`, or else to the first that has none. What
    others say goes to the turn before it, and is left out where there is none.

    Args:
        messages: Messages; one without a role is the model's.

    Raises:
        ConfigError: If arguments are objects of a program whose content can't be told.

    Example:
        >>> call = {"id": "1", "function": {"name": "add", "arguments": '{"a": 2, "b": 2}'}}
        >>> chat = [{"role": "assistant", "content": "Add.", "tool_calls": [call]},
        ...         {"role": "tool", "tool_call_id": "1", "content": "4"}]
        >>> from_messages(chat)[0].action.arguments, from_messages(chat)[0].observation
        ({'a': 2, 'b': 2}, '4')
    """
    chat = _Chat()
    for message in messages:
        if message.get("role", "assistant") == "assistant":
            chat.speak(_spoken(message))
        else:
            chat.hear(message)
    return chat.turns()


class _Chat:
    """Turns whose observations come bit by bit.

    They are found by id and joined once, so that long chats take no more than linear time.
    """

    def __init__(self) -> None:
        self._turns: list[Turn] = []
        self._heard: list[list[str]] = []
        self._failed: dict[int, bool] = {}
        self._by_id: dict[str, int] = {}
        self._next = 0
        """No turn before it, of the newest message of the model, is without an observation."""

    def speak(self, turns: Iterable[Turn]) -> None:
        """Take the turns of a message of the model."""
        self._next = len(self._turns)
        for turn in turns:
            if isinstance(turn.action, ToolCall):
                self._by_id[turn.action.id] = len(self._turns)
            self._turns.append(turn)
            self._heard.append([])

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take a message of somebody else."""
        if not self._turns:
            return
        place = self._answered(message.get("tool_call_id"))
        if said := content_of(message):
            self._heard[place].append(said)
        if (failed := _has_failed(message)) is not None:
            self._failed[place] = failed

    def turns(self) -> tuple[Turn, ...]:
        """All of them, with what was heard."""
        return tuple(
            replace(
                turn, observation="\n".join(heard), failed=self._failed.get(place, turn.failed)
            )
            for place, (turn, heard) in enumerate(zip(self._turns, self._heard, strict=True))
        )

    def _answered(self, id_: Any) -> int:
        """The place of the turn that a message answers."""
        if id_ and str(id_) in self._by_id:
            return self._by_id[str(id_)]
        while self._next < len(self._turns) and self._heard[self._next]:
            self._next += 1
        return min(self._next, len(self._turns) - 1)


def content_of(message: Mapping[str, Any]) -> str:
    """The text of one message, whose content may be a list of blocks, some of them images.

    Example:
        >>> content_of({"content": [{"type": "text", "text": "4"}]})
        '4'
    """
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(_blocks(content))


def _blocks(blocks: Any) -> Iterator[str]:
    for block in blocks if isinstance(blocks, (list, tuple)) else ():
        if isinstance(block, Mapping) and "text" in block:
            yield str(block["text"] or "")


def _spoken(message: Mapping[str, Any]) -> Iterator[Turn]:
    said, calls = content_of(message), message.get("tool_calls")
    thought = _text(message.get("reasoning_content") or message.get("reasoning"))
    if not calls:
        yield Turn(said, thought=thought)
        return
    first, *more = from_calls(list(calls) if isinstance(calls, (list, tuple)) else [calls])
    yield replace(first, thought="\n".join(filter(None, (thought, said))))
    yield from more


def _has_failed(message: Mapping[str, Any]) -> bool | None:
    """What a tool's message says of itself, where the library that made it has a place for it."""
    if isinstance(message.get("is_error"), bool):
        return bool(message["is_error"])
    status = message.get("status")
    return status == _ERROR_STATUS if isinstance(status, str) else None


# ---- Calls


def from_calls(calls: Any) -> tuple[Turn, ...]:
    """Read calls without their results, as a model writes them into its answer, all at once.

    Args:
        calls: An object that stands for a call, or a list of them.

    Example:
        >>> [turn.action.name for turn in from_calls([{"name": "add", "arguments": {"a": 1}}])]
        ['add']
    """
    listed = calls if isinstance(calls, list) else [calls]
    return tuple(Turn(_call(call), parallel=n > 0) for n, call in enumerate(listed))


def _is_call(value: Any) -> bool:
    return isinstance(value, Mapping) and (
        "function" in value or any(name in value and more in value for name, more in _FIELDS)
    )


def calls_by_tool(value: Any, tools: Collection[str]) -> Iterator[dict[str, Any]]:
    """Calls of an object whose every name is a tool's, and stands for its arguments.

    So write browser-use and the Berkeley Function Calling Leaderboard. Without the tools' names
    it could be any object.

    Example:
        >>> [*calls_by_tool({"add": {"a": 1}}, ["add"]), *calls_by_tool({"sum": {}}, ["add"])]
        [{'name': 'add', 'arguments': {'a': 1}}]
    """
    if isinstance(value, Mapping) and all(
        name in tools and isinstance(given, Mapping) for name, given in value.items()
    ):
        yield from ({"name": name, "arguments": given} for name, given in value.items())


def _call(call: Any) -> ToolCall:
    """A call in any of the usual forms; one that names no tool keeps all that it says."""
    function = call.get("function") if isinstance(call, Mapping) else None
    told = function if isinstance(function, Mapping) else call
    for name, more in _FIELDS if isinstance(told, Mapping) else ():
        if isinstance(told.get(name), str) and told[name]:
            id_ = call.get("id")
            return ToolCall(told[name], arguments_of(told.get(more)), _text(id_))
    return ToolCall(NAMELESS, _written(call) or {})


def arguments_of(given: Any) -> Mapping[str, Any] | str:
    """Arguments by name, or as text where they are no JSON object that a key could hold.

    Names that occur twice, NaN and numbers beyond 2⁵³ stay as they were written: read, they would
    be something else for each program.

    Example:
        >>> arguments_of('{"a": 1}'), arguments_of('{"a": 1, "a": 2}'), arguments_of(None)
        ({'a': 1}, '{"a": 1, "a": 2}', {})
    """
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        read = _json(given)
        return read if isinstance(read, dict) and _is_keyable(read) else given
    if _is_deep(given):
        return DEEP
    plain = described(given)
    return plain if isinstance(plain, dict) and _is_keyable(plain) else _written(plain)


def _is_keyable(value: Any) -> bool:
    try:
        canonical_json(value)
    except ConfigError:
        return False
    return True


class _TwiceError(ValueError):
    """A name occurs twice in an object."""


def _json(text: str) -> Any:
    """The value of JSON text; the text itself if it is none, or others would read it otherwise."""
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return text
    return text if _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    """Whether lists and objects nest beyond bounds; without recursion, which has bounds too."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [child for each in level for child in _children(each)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _TwiceError
    return made


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    return DEEP if _is_deep(value) else json.dumps(described(value))


def _unfenced(text: str) -> str:
    """A text without the fence that it begins with, and the one that it ends with."""
    fence = _FENCE.match(text)
    return text[fence.end() :].removesuffix("```").strip() if fence else text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


# ---- ReAct


class _Part(NamedTuple):
    """What stands behind one mark of ReAct."""

    mark: str
    text: str


def from_react(text: str) -> tuple[Turn, ...]:
    r"""Read text of the ReAct form: thoughts, actions and observations, each behind its mark.

    An action is a tool's name with `Action Input:` behind it, `name[argument]`, or an object in
    JSON. `Final Answer:` and `Finish[…]` are the declaration that the model is done.

    Args:
        text: The whole text. What stands before the first mark is thought.

    Returns:
        The turns; none if there is no action.

    Example:
        >>> text = "Thought: add.\nAction: add\nAction Input: {\"a\": 2}\nObservation: 4\n"
        >>> [(turn.thought, turn.action.arguments, turn.observation) for turn in from_react(text)]
        [('add.', {'a': 2}, '4')]
        >>> from_react("Final Answer: 4")[0].action.answer
        '4'
    """
    turns: list[Turn] = []
    thoughts: list[str] = []
    seen: list[str] = []
    for mark, said in _parts(text):
        if mark == "thought":
            thoughts.append(said)
        elif mark == "action input" and turns:
            turns[-1] = _with_input(turns[-1], said)
        elif mark == "observation":
            seen += [said] if turns and said else []
        else:
            turns[-1:] = [replace(turn, observation="\n".join(seen)) for turn in turns[-1:]]
            action = Terminate(said) if mark == "final answer" else _react_action(said)
            turns.append(Turn(action, thought="\n".join(filter(None, thoughts))))
            thoughts, seen = [], []
    turns[-1:] = [replace(turn, observation="\n".join(seen)) for turn in turns[-1:]]
    return tuple(turns)


def _parts(text: str) -> Iterator[_Part]:
    mark, start = "thought", 0
    for found in _MARK.finditer(text):
        yield _Part(mark, text[start : found.start()].strip())
        mark, start = found[1].lower(), found.end()
    yield _Part(mark, text[start:].strip())


def _react_action(said: str) -> Action:
    value = _json(_unfenced(said))
    if _is_call(value):
        call = _call(value)
        return Terminate(_answer(call)) if call.name.lower() in _FINISH else call
    bracketed = _BRACKETED.fullmatch(said)
    name, argument = (bracketed[1], bracketed[2]) if bracketed else (said, "")
    if name.lower() in _FINISH:
        return Terminate(argument)
    return ToolCall(name or NAMELESS, arguments_of(argument))


def _answer(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else _written(dict(call.arguments))


def _with_input(turn: Turn, said: str) -> Turn:
    """A turn with the arguments of its call, which stand behind a mark of their own."""
    said = _unfenced(said)
    if isinstance(turn.action, Terminate):
        return replace(turn, action=Terminate(turn.action.answer or said))
    if isinstance(turn.action, ToolCall):
        return replace(turn, action=replace(turn.action, arguments=arguments_of(said)))
    return turn


# ---- Model Context Protocol


def from_mcp(messages: Iterable[Any]) -> tuple[Turn, ...]:
    """Read JSON-RPC messages of the Model Context Protocol.

    Each request `tools/call` is a turn. Its result, found by `id`, is the observation: the text
    of its content, or its structured content. A result says whether the call has failed.

    Args:
        messages: Messages in order; what is none, or about something else, is left out.

    Example:
        >>> asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        ...          "params": {"name": "add", "arguments": {"a": 2}}}
        >>> told = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"text": "4"}]}}
        >>> [(turn.action.name, turn.observation, turn.failed) for turn in from_mcp([asked, told])]
        [('add', '4', False)]
    """
    turns: list[Turn] = []
    open_: dict[str, int] = {}
    """Where calls stand that have no result yet, by their id as JSON: 1 is not "1"."""
    answered = -1
    """The last call that has a result."""
    for message in _flat(messages):
        id_ = json.dumps(message.get("id"), default=str)
        if message.get("method") == "tools/call":
            call = replace(_call(message.get("params")), id=_text(message.get("id")))
            turns.append(Turn(call, parallel=len(turns) - 1 > answered))
            open_[id_] = len(turns) - 1
        elif id_ in open_ and ("result" in message or "error" in message):
            place = open_.pop(id_)
            said, failed = _result(message)
            turns[place] = replace(turns[place], observation=said, failed=failed)
            answered = max(answered, place)
    return tuple(turns)


def _flat(messages: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Messages one by one; a batch is a list of them."""
    for message in messages:
        if isinstance(message, Mapping):
            yield message
        elif isinstance(message, (list, tuple)):
            yield from (each for each in message if isinstance(each, Mapping))


def _result(message: Mapping[str, Any]) -> tuple[str, bool]:
    """The text of a result, and whether it tells of a failure."""
    if "error" in message:
        error = message["error"]
        told = error.get("message") if isinstance(error, Mapping) else error
        return _text(told), True
    result = message["result"]
    if not isinstance(result, Mapping):
        return _written(result), False
    said = "\n".join(_blocks(result.get("content")))
    if not said and "structuredContent" in result:
        said = _written(result["structuredContent"])
    return said, result.get("isError") is True


# ---- Whichever form


def from_text(text: str, tools: Collection[str] = ()) -> tuple[Turn, ...]:
    r"""Read text in whichever form it is: JSON of messages, calls or MCP, tagged calls, or ReAct.

    Where there are both tagged calls and ReAct, both are read: nothing hides in the other form.

    Args:
        text: JSON, JSON lines, or text with marks.
        tools: Names of tools that may stand for calls by themselves, as in `{"add": {"a": 1}}`.

    Returns:
        The turns; none if it is in no such form.

    Example:
        >>> from_text('Now: <tool_call>{"name": "add", "arguments": {}}</tool_call>')[0].text
        '{"name": "add", "arguments": {}}'
        >>> from_text("It is 4.")
        ()
    """
    values = [*_with_names(_values(_unfenced(text.strip())), tools)]
    if any(_RPC in each for each in _flat(values)):
        return from_mcp(values)
    if values and all(map(_has_role, values)):
        return from_messages(values)
    if values and all(map(_is_call, values)):
        return from_calls(values)
    if tagged := _TAGGED.findall(text):
        calls = from_calls([*_with_names((_json(each.strip()) for each in tagged), tools)])
        return calls + tuple(turn for turn in from_react(_TAGGED.sub("", text)) if _acts(turn))
    return from_react(text)


def _with_names(values: Iterable[Any], tools: Collection[str]) -> Iterator[Any]:
    """Values, of which those that calls stand in by the names of tools are these calls."""
    for value in values:
        yield from [*calls_by_tool(value, tools)] or [value]


def _acts(turn: Turn) -> bool:
    """Whether something is left of an action whose call may have stood between tags."""
    return turn.action != ToolCall(NAMELESS)


def _has_role(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value


def _values(text: str) -> list[Any]:
    """The objects of JSON text, of a list or of one a line; [] if it is none of these."""
    if not text.startswith(("{", "[")):
        return []
    value = _json(text)
    if isinstance(value, str) and "\n" in text:
        value = [_json(line) for line in text.splitlines() if line.strip()]
    if not isinstance(value, list):
        value = [value]
    return value if all(isinstance(each, (Mapping, list)) for each in value) else []
