"""Messages: what a learner hands over, plain text or chat messages, read as candidates."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice, repeat
from typing import Any

import orjson

from verifier_ladder.candidate import Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import task_digest
from verifier_ladder.media import described
from verifier_ladder.signature import LISTS, MESSAGES
from verifier_ladder.trajectory import content_of, from_messages

ENDS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<|return|>",
    "<end_of_turn>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "</s>", "<eos>",
)  # fmt: skip
"""Tokens that end an answer, as usual models write them."""
_PROMPT, _TASK = 16, 8
"""Characters of a group's name that are of its prompt, and of its task."""
_NAMED = re.compile(rf"[0-9a-f]{{{_PROMPT}}}-[0-9a-f]{{{_TASK}}}")
_OF_COMPLETION = frozenset({*LISTS.values(), MESSAGES})
"""Task fields that are of a completion, or are the prompt, which has its name already."""


def text_of(completion: Any) -> str:
    """The text that is verified: the completion, or its last message from the assistant.

    Raises:
        ConfigError: If it is neither text nor chat messages.

    Example:
        >>> text_of([{"role": "assistant", "content": "CCO"}])
        'CCO'
    """
    if isinstance(completion, str):
        return completion
    messages = _messages(completion)
    spoken = [m for m in messages if m.get("role", "assistant") == "assistant"]
    return content_of(spoken[-1]) if spoken else ""


def turns_of(completion: Any) -> tuple[Turn, ...]:
    """The turns of a completion in which tools were called, or others spoke.

    Plain text has none, and neither has a single message without a call.

    Example:
        >>> chat = [{"role": "assistant", "content": "2+2"}, {"role": "tool", "content": "4"}]
        >>> [(turn.action, turn.observation) for turn in turns_of(chat)]
        [('2+2', '4')]
    """
    if isinstance(completion, str):
        return ()
    messages = _messages(completion)
    is_text = len(messages) == 1 and not messages[0].get("tool_calls")
    return () if is_text else from_messages(messages)


def messages_of(messages: Any) -> Any:
    """Chat messages as mappings; libraries have classes of their own for them.

    Example:
        >>> messages_of("plain text")
        'plain text'
    """
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        return messages
    return [m.model_dump(exclude_none=True) if hasattr(m, "model_dump") else m for m in messages]


def without_ends(answer: str, ends: Sequence[str]) -> str:
    """An answer without the tokens that end it, for learners that decode them with it.

    Example:
        >>> without_ends("4</s></s>", ["</s>"])
        '4'
    """
    while end := next((e for e in ends if e and answer.endswith(e)), ""):
        answer = answer.removesuffix(end)
    return answer


def group_of(prompt: Any) -> str:
    """A short name for a prompt: completions of one prompt form a group.

    Images, arrays and other objects count by what they hold.

    Raises:
        ConfigError: If it holds something whose content can't be told.
    """
    if isinstance(prompt, str):
        data = prompt.encode("utf-8", "surrogatepass")
    else:
        held = described(prompt)
        try:
            data = orjson.dumps(held, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # Half characters and large numbers, which it does not take.
            data = json.dumps(held, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:_PROMPT]


def groups_of(
    prompts: Sequence[Any],
    tasks: Iterable[Mapping[str, Any] | None] = repeat(None),
    *,
    aside: Container[str] = (),
) -> list[str]:
    """Names of the groups of many completions: the same prompt with another task is another one.

    Where verifiers read nothing beside the prompt, it is the name of the prompt, as `group_of`
    makes it; else that name comes first.

    Args:
        prompts: What each completion answers.
        tasks: What verifiers read beside each.
        aside: Fields of the tasks that differ between completions of one task.

    Example:
        >>> first, second = groups_of(["2 + 2 ="] * 2, [{"answer": "4"}, {"answer": "four"}])
        >>> first == second, prompt_of(first) == prompt_of(second) == group_of("2 + 2 =")
        (False, True)
    """
    names = _names(prompts)
    told: dict[int, str] = {}
    for task in (found := list(islice(tasks, len(names)))):
        if id(task) not in told:
            told[id(task)] = _suffix(task, aside)
    return [name + told[id(task)] for name, task in zip(names, found, strict=True)]


def prompt_of(group: str) -> str:
    """The name of its prompt, for a group that `groups_of` has named; any other name unchanged."""
    return group[:_PROMPT] if _NAMED.fullmatch(group) else group


def _suffix(task: Mapping[str, Any] | None, aside: Container[str]) -> str:
    fields = {
        name: value for name, value in (task or {}).items()
        if name not in _OF_COMPLETION and name not in aside
    }  # fmt: skip
    return f"-{task_digest(fields).hex()[:_TASK]}" if fields else ""


def _names(prompts: Sequence[Any]) -> list[str]:
    """`group_of` of many prompts, each text once: a batch holds every prompt many times."""
    if not {str}.issuperset(map(type, prompts)):
        return list(map(group_of, prompts))
    named = {prompt: group_of(prompt) for prompt in set(prompts)}
    return list(map(named.__getitem__, prompts))


def _messages(completion: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(completion, Sequence) and all(isinstance(m, Mapping) for m in completion):
        return completion
    raise ConfigError(
        f"a completion must be text or a list of chat messages, not {type(completion).__name__}"
    )
