"""Rows: a record of a rollout file, read as a candidate's content, task and group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from verifier_ladder.badrow import BadRow
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import canonical_json
from verifier_ladder.learners.messages import groups_of
from verifier_ladder.rollouts.columns import Columns
from verifier_ladder.rollouts.records import RolloutFile, words

MESSAGES = "completion_messages"
"""The task field that keeps a chat completion as it was, for reward functions that read it."""
_LONGEST_GROUP = 200


class Row(NamedTuple):
    """One line that can be scored."""

    line: int
    content: str | bytes
    task: Mapping[str, Any] | None
    group: str
    prompt: Any = None
    """What it answers; None if that is not kept."""
    messages: list[Any] | None = None
    """The chat that the content is from; None if the completion was none."""


class RowError(ValueError):
    """The row can't be read; its message says why."""


def rows(file: RolloutFile, columns: Columns) -> Iterator[Row | BadRow]:
    """Read every row of a file; a bad one is told by its line and what is wrong with it."""
    for record in file.records(once=columns.names):
        if isinstance(record, BadRow):
            yield record
        else:
            yield row_of(record.line, record.values, columns)


def row_of(line: int, values: Mapping[str, Any], columns: Columns) -> Row | BadRow:
    """Read one record.

    Example:
        >>> row_of(3, {"completion": "4", "id": 7}, Columns("completion", group="id"))[:4]
        (3, '4', None, '7')
        >>> row_of(4, {"id": 7}, Columns("completion"))
        BadRow(line=4, reason="has no column 'completion'")
    """
    try:
        content, messages = _content(values, columns.content)
        task = _task(values, columns, messages)
        prompt = None if columns.prompt is None else values.get(columns.prompt)
        group = _group_of(line, values, columns, prompt, task)
    except RowError as error:
        return BadRow(line, str(error))
    return Row(line, content, task, group, prompt, messages)


def _group_of(
    line: int, values: Mapping[str, Any], columns: Columns, prompt: Any,
    task: Mapping[str, Any] | None,
) -> str:  # fmt: skip
    if columns.group is not None:
        return _group(values, columns.group)
    if prompt is None:
        return f"line {line}"  # Every row stands alone; its line is as good a name as any.
    (name,) = groups_of([prompt], [task])
    return name


def _value(values: Mapping[str, Any], column: str) -> Any:
    if column not in values:
        raise RowError(f"has no column {column!r}")
    return values[column]


def _content(values: Mapping[str, Any], column: str) -> tuple[str | bytes, list[Any] | None]:
    value = _value(values, column)
    if isinstance(value, (str, bytes)):
        return value, None
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise RowError(f"column {column!r} holds {words(value)}, not text or chat messages")
    for message in reversed(value):
        if not isinstance(message, dict) or "role" not in message:
            raise RowError(f"column {column!r} holds a list that is not of chat messages")
        text = _spoken(message.get("content")) if message["role"] == "assistant" else None
        if text is not None:
            return text, value
    if any(isinstance(message, dict) and message.get("tool_calls") for message in value):
        return "", value  # All that the model did was to call tools.
    raise RowError(f"column {column!r} holds no text of an assistant")


def _spoken(content: Any) -> str | None:
    """The text of one message: plain, or in parts of which only the text counts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [
        part["text"]
        for part in content
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    return "".join(texts) if texts else None


def _task(
    values: Mapping[str, Any], columns: Columns, messages: list[Any] | None
) -> Mapping[str, Any] | None:
    task = {name: _value(values, column) for name, column in columns.fields.items()}
    if columns.task is not None:
        whole = _value(values, columns.task)
        task = dict(whole) if isinstance(whole, Mapping) else {columns.single: whole}
    if messages is not None:
        task[MESSAGES] = messages
    if not task:
        return None
    try:
        canonical_json(task)
    except (ConfigError, TypeError, ValueError, RecursionError) as error:
        raise RowError(f"its task can't be kept: {error}") from None
    return task


def _group(values: Mapping[str, Any], column: str) -> str:
    value = _value(values, column)
    if value is None:
        raise RowError(f"column {column!r}, which names the group, is null")
    if isinstance(value, (dict, list)):
        value = repr(value)
    text = str(value)
    if 0 < len(text) <= _LONGEST_GROUP and text.isprintable():
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
