"""The verifier `tool-calls`: whether the tools of a task were called as they may be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate, Terminate, ToolCall, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.keys import alike
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.extraction import LONGEST, text_of
from verifier_ladder.tiers.fast.jsonschema import breaches, compiled, parse, schema_text
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.toolcalls import EVIDENCE, MadeCall, ToolCount, calls_of, inner_calls
from verifier_ladder.trajectory import from_text
from verifier_ladder.verdict import TurnVerdict, Verdict

_ANY_OBJECT = '{"type": "object"}'
_DEEPEST = 64
_MOST_INNER = 10_001
"""Calls inside another that are looked at: more than any setting allows."""
_SHOWN = 5
_NONE: Any = object()
"""No argument, which equals none."""
_NAME = 60
"""Characters of a tool's name that are shown."""
Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Tool(BaseModel):
    """A tool, as OpenAI's interface or the Model Context Protocol describes it."""

    name: Name
    parameters: dict[str, Any] | bool | str | None = None
    most: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_plain(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and isinstance(given.get("function"), Mapping):
            given = given["function"]
        if isinstance(given, Mapping) and "inputSchema" in given:
            given = {**given, "parameters": given["inputSchema"]}
        return given

    @property
    def validator(self) -> Any:
        """What its arguments are compared with."""
        return compiled(_ANY_OBJECT if self.parameters is None else schema_text(self.parameters))

    @property
    def own_parameters(self) -> Collection[str]:
        """Names of arguments that its schema lists."""
        listed = self.parameters.get("properties") if isinstance(self.parameters, dict) else None
        return listed if isinstance(listed, dict) else ()


class _Irreversible(BaseModel):
    """An action that can't be undone, and what must have happened before."""

    model_config = ConfigDict(extra="forbid")
    tool: Name
    after: Name
    same: list[Name] = []
    """Arguments in which both calls must agree."""
    where: dict[str, Any] = {}
    """Arguments that the call of `after` must have."""
    succeeded: bool = True
    """Whether that call must have been seen to succeed."""


class CallRules(BaseModel):
    """The rules of a task's tools."""

    tools: Annotated[list[_Tool], Field(min_length=1, max_length=1000)]
    max_calls: Annotated[int, Field(ge=0)] | None = None
    least_calls: Annotated[int, Field(ge=0, validate_default=True)] = 1
    required: Annotated[list[Name], Field(max_length=1000)] = []
    forbidden: list[Annotated[list[Name], Field(min_length=1, max_length=2)]] = []
    irreversible: list[_Irreversible] = []

    @field_validator("tools")
    @classmethod
    def _differ(cls, tools: list[_Tool]) -> list[_Tool]:
        if len({tool.name for tool in tools}) < len(tools):
            raise ValueError("two tools have one name")
        return tools

    @field_validator("least_calls")
    @classmethod
    def _can_be(cls, least: int, info: ValidationInfo) -> int:
        most = info.data.get("max_calls")
        if most is not None and least > most:
            raise ValueError("max_calls allows fewer; say least_calls=0 where none is needed")
        return least

    @field_validator("required", "forbidden", "irreversible")
    @classmethod
    def _are_known(cls, rules: list[Any], info: ValidationInfo) -> list[Any]:
        known = {tool.name for tool in info.data.get("tools", ())}
        for name in (name for rule in rules for name in _named(rule)):
            if name not in known:
                raise ValueError(f"no tool is called {printable(name, _NAME)!r}")
        return rules


def _named(rule: Any) -> Sequence[str]:
    """The tools that a rule names."""
    if isinstance(rule, _Irreversible):
        return (rule.tool, rule.after)
    return [rule] if isinstance(rule, str) else rule


class ComparedCall(NamedTuple):
    """A call that was compared with its tool."""

    turn: int
    name: str
    values: Mapping[str, Any]
    """Its arguments; none if they can't be read."""
    failed: bool | None
    succeeded: bool
    """Whether it was seen to succeed; of a candidate's own words, whether that may be."""
    moment: int
    """Calls of one moment were made before any of their results was seen."""
    fault: str
    """What is wrong with the call by itself; "" for nothing."""
    is_inner: bool = False
    """Whether it stands in the arguments of another call. Nobody sees what became of it, so it
    breaks rules and meets none."""


class Fault(NamedTuple):
    """What a trajectory does that it may not."""

    turn: int | None
    """The turn that did it; None for what no turn has done."""
    words: str


class ToolCalls(SingleVerifier):
    """Accepts a trajectory that calls the task's tools as they may be called.

    Each call must name a tool of the task, with arguments that are strict JSON and valid against
    its schema. The calls must keep within the budget and in order, and an action that can't be
    undone must come after its condition was *seen* to hold: not before, not in the same breath,
    and not after one that failed. Nothing may come after the end. Calls inside the arguments of
    another, as a tool takes them that calls others, break these rules and meet none.

    Its score is 1. Each turn that calls a tool gets a score of its own, 1 or 0, with feedback.
    Evidence counts calls, failures and recoveries for the report card.

    **The task** holds `tools`, each with `name`, `parameters` (JSON Schema) and `most` (calls);
    and may hold `max_calls`, `least_calls` (1: doing nothing does not pass), `required` (calls
    that must succeed, in this order), `forbidden` (`[a, b]`: no b after a; `[a]`: no a) and
    `irreversible`: `tool`, `after`, `same` (arguments in which both agree), `where` (arguments of
    the condition), `succeeded`.

    **Without turns** the calls are read from the candidate's own text, as `trajectory.from_text`
    does. What it says there of results counts for nothing, and where a condition hangs on a
    result the verifier abstains.

    Example:
        >>> task = {"tools": [{"name": "search", "parameters": {"required": ["query"]}}]}
        >>> turns = (Turn(ToolCall("search", {"query": "lamp"}), "3 lamps"),)
        >>> ToolCalls().judge([Candidate("text", "Done.", task, turns)])[0].outcome.value
        'accept'
    """

    name = "tool-calls"
    version = "3"
    tier = Tier.FAST
    kind = "text"
    domain = "tool use"
    capabilities = ("tool use",)
    cost = Cost(seconds=2e-4)
    timeout = 30.0
    task_fields = ("tools", "max_calls", "least_calls", "required", "forbidden", "irreversible")
    reads_turns = True
    control = Candidate(
        "text", "", task={"tools": [{"name": "wait"}]}, turns=(Turn(ToolCall("wait"), "done"),)
    )

    @checked()
    def __init__(self, *, most_turns: int = 1000) -> None:
        """Set what is read.

        Args:
            most_turns: Turns, and calls, of the longest trajectory.

        Raises:
            ConfigError: If the bound makes no sense.
        """
        if not 1 <= most_turns <= 10_000:  # noqa: PLR2004  # A server takes as many.
            raise ConfigError("most_turns must be 1 to 10,000")
        self._most = most_turns
        super().__init__(most_turns=most_turns)
        self.tools = versions("jsonschema-rs")

    def setup(self) -> None:
        """Load the library."""
        compiled(_ANY_OBJECT)

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the task, then the calls, then compare them."""
        given = {n: value for n, value in (candidate.task or {}).items() if value is not None}
        task = read_task(CallRules, given)
        validators = {tool.name: tool.validator for tool in task.tools}
        turns = candidate.turns or _own_words(candidate.content, validators)
        made = self._made(turns, validators)
        if not candidate.turns:  # What it says itself of results nobody has seen.
            made = [each._replace(failed=None) for each in made]
        own = {tool.name: tool.own_parameters for tool in task.tools}
        calls = compared(made, validators, own, is_seen=bool(candidate.turns))
        self._refuse_many(len(calls))
        faults = [*faults_of(task, calls), *_after_the_end(turns)]
        if not faults and not candidate.turns:
            _refuse_unseen(task, calls)
        return _verdict(calls, faults, ToolCount.of(made, task.max_calls))

    def _made(self, turns: Sequence[Turn], tools: Collection[str]) -> list[MadeCall]:
        self._refuse_many(len(turns))
        made = calls_of(turns, tools)
        self._refuse_many(len(made))
        return made

    def _refuse_many(self, count: int) -> None:
        if count > self._most:
            raise CandidateError(
                f"the trajectory has more than {self._most} turns or calls",
                feedback="Call fewer tools.",
            )


def _own_words(content: str | bytes, tools: Collection[str]) -> tuple[Turn, ...]:
    """Turns that a candidate wrote itself."""
    text = text_of(content)
    if len(text) > LONGEST:
        raise CandidateError(
            f"the output is {len(text)} characters long; at most {LONGEST} are read",
            feedback=f"Write at most {LONGEST} characters.",
        )
    return from_text(text, tools)


def compared(
    made: Sequence[MadeCall], validators: Mapping[str, Any],
    own: Mapping[str, Collection[str]], *, is_seen: bool,
) -> list[ComparedCall]:  # fmt: skip
    """The calls, and those inside of them; `own` are the parameters that tools say they take."""
    calls, moment = list[ComparedCall](), 0
    for each in made:
        moment += not (each.parallel and is_seen)
        values, fault = _read(each.call, validators)
        succeeded = each.failed is False or not is_seen
        name = each.call.name
        calls.append(ComparedCall(each.turn, name, values, each.failed, succeeded, moment, fault))
        inner = inner_calls(values, validators, own.get(name, ()))
        for call in islice(inner, _MOST_INNER):
            given, _ = _read(call, validators)
            calls.append(
                calls[-1]._replace(
                    name=call.name, values=given, failed=None, fault="", is_inner=True,
                )
            )  # fmt: skip
    return calls


def _read(call: ToolCall, validators: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The arguments of a call, and what is wrong with it."""
    if call.name not in validators:
        return {}, f"there is no tool {printable(call.name, _NAME)!r}"
    given = call.arguments
    try:
        text = given if isinstance(given, str) else json.dumps(dict(given), default=str)
        value = parse(text, _DEEPEST)
    # What JSON has no word for: a circle, a number of 5,000 digits, what nests too deeply.
    except (CandidateError, ValueError, RecursionError) as error:
        return {}, f"the arguments can't be read: {error}"
    if not isinstance(value, dict):
        return {}, "the arguments must be an object, with a name for each"
    told = breaches(validators[call.name], value)
    return value, told and f"the arguments of {call.name}: {told}"


# ---- Rules


def faults_of(task: CallRules, calls: Sequence[ComparedCall], since: int = 0) -> Iterator[Fault]:
    """What calls break of a task's rules.

    Args:
        task: The rules.
        calls: All of a trajectory, in order.
        since: The first of them that is looked at for conditions that did not hold.
    """
    yield from (Fault(call.turn, call.fault) for call in calls if call.fault)
    yield from _beyond_budget(task, calls)
    yield from _out_of_order(task, calls)
    for rule in task.irreversible:
        yield from _too_early(rule, calls, since)


def _beyond_budget(task: CallRules, calls: Sequence[ComparedCall]) -> Iterator[Fault]:
    outer = [call for call in calls if not call.is_inner]
    if len(outer) < task.least_calls:
        yield Fault(None, f"only {len(outer)} calls of at least {task.least_calls} were made")
    if task.max_calls is not None:
        for call in outer[task.max_calls :]:
            yield Fault(call.turn, f"only {task.max_calls} calls may be made")
    limits = {tool.name: tool.most for tool in task.tools}
    made = Counter[str]()
    for call in calls:
        made[call.name] += 1
        most = limits.get(call.name)
        if most is not None and made[call.name] > most:
            yield Fault(call.turn, f"{call.name} may be called {most} times only")


def _out_of_order(task: CallRules, calls: Sequence[ComparedCall]) -> Iterator[Fault]:
    done = iter([
        call.name for call in calls if not (call.failed or call.fault or call.is_inner)
    ])  # fmt: skip
    if not all(name in done for name in task.required):  # Each takes up where the last was found.
        yield Fault(None, "a call that is demanded is missing, failed or came out of order")
    for *before, name in task.forbidden:
        start = 0
        if before:
            first = (place for place, call in enumerate(calls) if call.name == before[0])
            start = next(first, len(calls)) + 1
        for call in calls[start:]:
            if call.name == name:
                after = f" after {before[0]}" if before else ""
                yield Fault(call.turn, f"{name} must not be called{after}")


def _too_early(rule: _Irreversible, calls: Sequence[ComparedCall], since: int) -> Iterator[Fault]:
    for call in calls[since:]:
        if call.name == rule.tool and not _held(rule, call, calls):
            seen = " has been seen to succeed" if rule.succeeded else ""
            same = f" with the same {', '.join(rule.same)}" if rule.same else ""
            yield Fault(call.turn, f"call {rule.tool} only after {rule.after}{same}{seen}")


def _held(rule: _Irreversible, call: ComparedCall, calls: Sequence[ComparedCall]) -> bool:
    """Whether the condition of a call held when it was made, as far as that can be known."""
    return any(
        other.moment < call.moment and (other.succeeded or not rule.succeeded)
        for other in calls
        if _is_condition(rule, other, call)
    )


def _is_condition(rule: _Irreversible, other: ComparedCall, call: ComparedCall) -> bool:
    return (
        other.name == rule.after
        and not other.fault
        and not other.is_inner
        and all(alike(other.values.get(n, _NONE), call.values.get(n, ...)) for n in rule.same)
        and all(alike(other.values.get(n, ...), value) for n, value in rule.where.items())
    )


def _after_the_end(turns: Sequence[Turn]) -> Iterator[Fault]:
    ends = (
        place for place, turn in enumerate(turns)
        if isinstance(turn.action, Terminate) or turn.terminated or turn.truncated
    )  # fmt: skip
    for place in range(next(ends, len(turns)) + 1, len(turns)):
        yield Fault(place, "nothing may come after the end")


def _refuse_unseen(task: CallRules, calls: Sequence[ComparedCall]) -> None:
    """Refuse to judge by results that only the candidate itself tells.

    Raises:
        TaskError: If a call that was made is right or wrong by the result of another.
    """
    acted = {call.name for call in calls}
    if any(rule.succeeded and rule.tool in acted for rule in task.irreversible):
        raise TaskError(
            "the task's irreversible actions need observations, and a candidate without turns has "
            "only its own words for them; give `vl.Turn` with what the tools answered"
        )


# ---- Verdict


def _verdict(calls: Sequence[ComparedCall], faults: Sequence[Fault], count: ToolCount) -> Verdict:
    blamed: dict[int, list[str]] = {call.turn: [] for call in calls}
    for fault in faults:
        if fault.turn is not None:
            blamed.setdefault(fault.turn, []).append(fault.words)
    turns = tuple(
        TurnVerdict(place, float(not words), "; ".join(words[:_SHOWN]))
        for place, words in sorted(blamed.items())
    )
    evidence = {EVIDENCE: count._asdict()}
    if not faults:
        return Verdict.accept(1.0, turns=turns, evidence=evidence)
    shown = [
        fault.words if fault.turn is None else f"turn {fault.turn + 1}: {fault.words}"
        for fault in sorted(faults, key=lambda fault: (fault.turn is None, fault.turn))[:_SHOWN]
    ]
    told = "; ".join(shown)
    return Verdict.reject(
        f"the calls break the task's rules: {told}",
        feedback=f"Mend this: {told}.", turns=turns, evidence=evidence,
    )  # fmt: skip
