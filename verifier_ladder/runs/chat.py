"""Chat: prompts and completions as messages of one form, where any of a set is a chat."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verifier_ladder.media import media_of

Message = dict[str, Any]


def is_chat(value: Any) -> bool:
    """Whether a prompt or completion is a list of chat messages.

    Example:
        >>> is_chat("2 + 2 ="), is_chat([{"role": "user", "content": "2 + 2 ="}])
        (False, True)
    """
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def as_chat(value: Any, role: str) -> list[Message]:
    """Messages with text; plain text becomes one message of the role.

    Images are left out, for a ledger does not hold them. A tool's arguments are kept as JSON text.

    Example:
        >>> as_chat("4", "assistant")
        [{'role': 'assistant', 'content': '4'}]
    """
    if not is_chat(value):
        return [{"role": role, "content": str(value)}]
    return [_message(message, role) for message in value if isinstance(message, Mapping)]


def text_of_prompt(prompt: Any) -> str:
    """A prompt as one text, to tell whether two are the same.

    Example:
        >>> text_of_prompt([{"role": "user", "content": "2 + 2 ="}])
        '[{"content": "2 + 2 =", "role": "user"}]'
    """
    if not is_chat(prompt):
        return str(prompt)
    told = json.dumps(as_chat(prompt, "user"), sort_keys=True, ensure_ascii=False)
    # Two images under one question are two tasks.
    seen = media_of(prompt)
    return told if not seen else told + json.dumps(seen, sort_keys=True, ensure_ascii=False)


def has_tools(messages: Iterable[Message]) -> bool:
    """Whether any message calls a tool, or answers such a call."""
    return any("tool_calls" in message or "tool_call_id" in message for message in messages)


def _message(message: Mapping[str, Any], role: str) -> Message:
    made: Message = {
        "role": str(message.get("role", role)), "content": _text(message.get("content"))
    }  # fmt: skip
    if calls := message.get("tool_calls"):
        made["tool_calls"] = [_call(call) for call in calls if isinstance(call, Mapping)]
    for name in ("tool_call_id", "name"):
        if message.get(name):
            made[name] = str(message[name])
    return made


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    if isinstance(content, Sequence):
        return "".join(str(b.get("text") or "") for b in content if isinstance(b, Mapping))
    return str(content)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    told = function if isinstance(function, Mapping) else call
    given = told.get("arguments")
    arguments = given if isinstance(given, str) else json.dumps(given or {}, default=str)
    return {
        "id": str(call.get("id", "")), "type": str(call.get("type", "function")),
        "function": {"name": str(told.get("name", "")), "arguments": arguments},
    }  # fmt: skip
