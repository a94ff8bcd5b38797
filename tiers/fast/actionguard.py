"""The guard of actions: the rules of a task's tools, applied before a call is executed.

`tool-calls` says afterwards what was wrong. A guard stands between a model and its tools while the
episode runs, so that what can't be undone is not done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, NamedTuple

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import ToolCall, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.toolcalls import CallRules, ComparedCall, compared, faults_of
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.toolcalls import MadeCall, has_failed

Ask = Callable[[ToolCall], bool]
"""Asks a person whether a call may be executed, and waits for the answer."""
_LOG = logging.getLogger("verifier_ladder")
_SHOWN = 5
_UNKNOWN = "Error: a person must allow this call, and nobody could be asked. It was not executed."
_REFUSED = "Error: a person has not allowed this call. It was not executed."


class Permission(NamedTuple):
    """Whether a call may be executed; false in a condition if not."""

    allowed: bool
    observation: str = ""
    """What the model sees instead of a result where it may not."""
    asked: bool = False
    """Whether a person was asked."""
    turn: int = -1
    """Place of the call in the guard's turns, which `saw` knows it by."""

    def __bool__(self) -> bool:
        """Whether it may."""
        return self.allowed


class ActionGuard:
    """Says of each call of a trajectory whether it may be executed, before it is.

    The rules are those of `tool-calls`, in the same fields of a task: a call must name a tool of
    the task with valid arguments, keep within the budget, be none that is forbidden, and what
    can't be undone must come after its condition was *seen* to hold. A call inside another counts
    as there.

    **Guarantees.** Of the calls that are executed, it allows none that `tool-calls` would blame.
    What it denies counts for nothing later, for it never happened. Where a person must allow a
    call and can't be asked, it is denied. One guard is for one trajectory; calls of several
    threads wait for each other.

    **Limits.** It knows the calls that it is shown: an environment must execute what it has shown
    and nothing else, and tell what became of it.

    Example:
        >>> task = {"tools": [{"name": "confirm"}, {"name": "refund"}],
        ...         "irreversible": [{"tool": "refund", "after": "confirm"}]}
        >>> guard = ActionGuard(task)
        >>> tools = {"confirm": lambda call: "yes", "refund": lambda call: "paid"}
        >>> said = [guard.run(ToolCall(n), tools[n]) for n in ("refund", "confirm", "refund")]
        >>> said[0]
        'Error: call refund only after confirm has been seen to succeed. It was not executed.'
        >>> said[1:]
        ['yes', 'paid']
    """

    @checked(most_calls=1)
    def __init__(
        self,
        task: Mapping[str, Any],
        *,
        asks: Sequence[str] = (),
        ask: Ask | None = None,
        most_calls: int = 1000,
    ) -> None:
        """Read the rules.

        Args:
            task: The task's fields, as `tool-calls` reads them.
            asks: Tools of which each call must be allowed by a person, too.
            ask: How that person is asked.
            most_calls: Calls after which all are denied.

        Raises:
            ConfigError: If the rules make no sense, or `asks` names a tool that the task lacks.
        """
        fields = {n: task[n] for n in CallRules.model_fields if task.get(n) is not None}
        try:
            self._rules = read_task(CallRules, fields)
        except TaskError as error:
            raise ConfigError(f"{error}") from None
        self._validators = {tool.name: tool.validator for tool in self._rules.tools}
        self._own = {tool.name: tool.own_parameters for tool in self._rules.tools}
        if unknown := [name for name in asks if name not in self._validators]:
            raise ConfigError(f"asks: no tool of the task is called {printable(unknown[0], 60)!r}")
        self._asks, self._ask, self._most = frozenset(asks), ask, most_calls
        self._lock = RLock()
        self._calls: list[ComparedCall] = []
        self._turns: list[Turn] = []
        self._open: set[int] = set()
        self._message = 0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """What was shown to the guard so far, and what became of it, as a candidate has it.

        A call that was denied has failed, with the denial as its observation and `denied` in its
        metadata.
        """
        with self._lock:
            return tuple(self._turns)

    @checked()
    def allow(self, call: ToolCall, *, parallel: bool = False) -> Permission:
        """Say whether a call may be executed.

        Args:
            call: The call. If it is allowed, execute it and tell `saw` what became of it.
            parallel: Whether the model made it in one message with the call before, whose result
                it has not seen.

        Returns:
            The permission; where it is none, its observation is what the model is to see.
        """
        with self._lock:
            self._message += not parallel
            found = self._compared(call)
            permission = self._permission(call, found)._replace(turn=len(self._turns))
            turn = Turn(call, parallel=parallel)
            if permission:
                self._calls += found
                self._open.add(permission.turn)
            else:
                seen = permission.observation
                turn = replace(turn, observation=seen, metadata={"denied": True}, failed=True)
            self._turns.append(turn)
            return permission

    @checked()
    def saw(self, permission: Permission, observation: str, *, failed: bool | None = None) -> None:
        """Tell what became of a call that was allowed.

        Args:
            permission: What `allow` returned for it.
            observation: What the tool answered.
            failed: Whether it said that the call failed; read from the observation if left out, as
                `tool-calls` does.

        Raises:
            ConfigError: If it was not allowed here, or was told of before.
        """
        with self._lock:
            if permission.turn not in self._open:
                raise ConfigError("saw: give a permission of this guard that nothing was told of")
            self._open.remove(permission.turn)
            turn = replace(self._turns[permission.turn], observation=observation, failed=failed)
            self._turns[permission.turn] = turn
            told = has_failed(turn)
            self._calls = [
                call._replace(failed=told, succeeded=told is False)
                if call.turn == permission.turn and not call.is_inner else call
                for call in self._calls
            ]  # fmt: skip

    @checked()
    def run(
        self, call: ToolCall, execute: Callable[[ToolCall], str], *, parallel: bool = False
    ) -> str:
        """Execute a call if it is allowed, and return what the model is to see.

        Args:
            call: The call.
            execute: Executes it and returns the observation. What it raises is raised, and the
                call counts as one that failed. It may run other calls by this guard.
            parallel: As for `allow`.

        Raises:
            ConfigError: If `execute` returns no text; the call counts as one that failed.
        """
        with self._lock:
            permission = self.allow(call, parallel=parallel)
            if not permission:
                return permission.observation
            try:
                observation = _text(execute(call))
            except BaseException as error:
                self.saw(permission, f"Error: {printable(error, 500)}", failed=True)
                raise
            self.saw(permission, observation)
            return observation

    # ---- Rules

    def _compared(self, call: ToolCall) -> list[ComparedCall]:
        """The call, and those inside of it, compared with their tools."""
        made = MadeCall(len(self._turns), call)
        found = compared([made], self._validators, self._own, is_seen=True)
        return [each._replace(moment=self._message) for each in found]

    def _permission(self, call: ToolCall, calls: Sequence[ComparedCall]) -> Permission:
        place = len(self._turns)
        together = [*self._calls, *calls]
        told = [
            fault.words for fault in faults_of(self._rules, together, len(self._calls))
            if fault.turn == place
        ]  # fmt: skip
        if len(together) > self._most:
            told.append(f"only {self._most} calls may be made")
        if told:
            why = "; ".join(dict.fromkeys(told[:_SHOWN]))
            return Permission(allowed=False, observation=f"Error: {why}. It was not executed.")
        if any(each.name in self._asks for each in calls):
            return self._asked(call)
        return Permission(allowed=True)

    def _asked(self, call: ToolCall) -> Permission:
        if self._ask is None:
            return Permission(allowed=False, observation=_UNKNOWN)
        try:
            is_allowed = self._ask(call) is True
        except Exception:  # noqa: BLE001 - it may be anybody's code, and nobody has said yes
            _LOG.exception("a guard could not ask whether %s may be called", call.name)
            return Permission(allowed=False, observation=_UNKNOWN, asked=True)
        return Permission(is_allowed, "" if is_allowed else _REFUSED, asked=True)


def _text(observation: object) -> str:
    """What a tool has answered.

    Raises:
        ConfigError: If it is no text.
    """
    if isinstance(observation, str):
        return observation
    what = type(observation).__name__
    raise ConfigError(f"execute must return text, not {what}: what the model is to see")
