"""Signatures: what an existing reward function asks for, read before it is ever called."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from verifier_ladder.errors import ConfigError
from verifier_ladder.syntaxtree import node_of

LISTS = {"prompts": "prompt", "completion_ids": "completion_ids"}
"""Arguments that a learner gives beside completions and columns, and the task field of each."""
MESSAGES = "completion_messages"
"""Task field of a completion that is a list of chat messages."""
LIVE = ("trainer_state", "log_extra", "log_metric", "environments")
"""Arguments that exist only inside a running trainer, so a worker process can't have them."""


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside a `functools.partial`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine; true of objects with an async `__call__` too."""
    inner = plain(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 - its kind is asked, not whether it is there
    )


def name_of(function: Callable[..., Any]) -> str:
    """Its name, or that of its class.

    Raises:
        ConfigError: If it has none that tells it from others.

    Example:
        >>> name_of(functools.partial(len))
        'len'
    """
    inner = plain(function)
    name = getattr(inner, "__name__", type(inner).__name__)
    if name == "<lambda>":
        raise ConfigError(
            'a lambda has no name to file its verdicts under; give one with name="…"'
        )
    return str(name)


@dataclass(frozen=True, slots=True)
class RewardSignature:
    """What a reward function of the form `f(completions, **columns)` is called with."""

    columns: tuple[str, ...]
    """Dataset columns that it reads."""
    lists: tuple[str, ...]
    """Which of `LISTS` it takes."""
    takes_completions: bool
    overlooked: frozenset[str] = frozenset()
    """What it reads if it is given, by default or out of `**kwargs`, and is no column here."""

    @classmethod
    def read(
        cls, function: Callable[..., Any], columns: Sequence[str] | str, name: str,
        resources: Sequence[str] = (),
    ) -> RewardSignature:  # fmt: skip
        """Compare the function's parameters with the columns that were named.

        Args:
            function: The reward function.
            columns: Dataset columns that it reads.
            name: What to call it in messages.
            resources: Arguments that it is given beside them.

        Raises:
            ConfigError: If it could not be called with these columns.
        """
        named = (columns,) if isinstance(columns, str) else tuple(columns)
        _no_live(name, [c for c in named if c in LIVE])
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            return cls(named, (), takes_completions=True)
        open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if not open_ended:
            _all_taken(
                name, [c for c in (*named, *resources) if c not in parameters], list(parameters)
            )
        required = [
            p.name for p in parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]  # fmt: skip
        _no_live(name, [p for p in required if p in LIVE])
        _all_given(
            name, [p for p in required if p not in (*named, *LISTS, *resources, "completions")]
        )
        given = {*named, *LISTS, *LIVE, *resources, "completions"}
        return cls(
            named,
            tuple(argument for argument in LISTS if argument in parameters),
            takes_completions=open_ended or "completions" in parameters,
            overlooked=_optional(function, parameters) - given,
        )

    @property
    def task_fields(self) -> tuple[str, ...]:
        """The task fields that the function's answer may depend on."""
        fields = [LISTS[argument] for argument in self.lists]
        chat = [MESSAGES] if self.takes_completions else []
        return (*self.columns, *fields, *chat)


def _optional(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]
) -> frozenset[str]:
    """What it takes if it is there: parameters with a default, and names read from `**kwargs`."""
    named = {p.name for p in parameters.values() if p.default is not p.empty}
    for parameter in parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= _read_out_of(parameter.name, function)
    return frozenset(named)


def _read_out_of(keywords: str, function: Callable[..., Any]) -> set[str]:
    """The names in `kw["name"]`, `kw.get("name")` and `kw.pop("name")`, as the source has them."""
    inner = inspect.unwrap(plain(function))
    code = inner if inspect.isroutine(inner) else type(inner).__call__
    code = getattr(code, "__func__", code)
    node = node_of(code) if isinstance(code, FunctionType) else None
    found: set[str] = set()
    for part in ast.walk(node) if node else ():
        match part:
            case ast.Subscript(ast.Name(of), ast.Constant(str(name))) if of == keywords:
                found.add(name)
            case ast.Call(
                ast.Attribute(ast.Name(of), "get" | "pop"), [ast.Constant(str(name)), *_]
            ) if of == keywords:
                found.add(name)
    return found


def _no_live(name: str, found: Sequence[str]) -> None:
    if found:
        raise ConfigError(
            f"{name} asks for {', '.join(found)}, which only the trainer has; a verdict is kept "
            "and used again, so it may depend on the completion and the dataset's columns only"
        )


def _all_taken(name: str, strangers: Sequence[str], parameters: Sequence[str]) -> None:
    if strangers:
        raise ConfigError(
            f"{name} has no parameter {', '.join(strangers)}; it takes {', '.join(parameters)}. "
            "Correct `columns`, or let it take **kwargs"
        )


def _all_given(name: str, missing: Sequence[str]) -> None:
    if missing:
        listed = ", ".join(f'"{column}"' for column in missing)
        raise ConfigError(
            f"{name} needs {', '.join(missing)}; if these are dataset columns, wrap it with "
            f"columns=[{listed}]"
        )
