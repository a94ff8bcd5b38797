"""Properties: what must hold of a function for all inputs, tried on inputs that are drawn.

A task says what to draw and what must hold:

| Field | Meaning |
|---|---|
| `function` | its name |
| `inputs` | one strategy for each argument, such as `{"type": "integers", "min": 0}` |
| `property` | `sorts`, `idempotent`, `round-trip` or `reference`; not of a verifier with its own |
| `inverse` | of `round-trip`: the function that undoes it |
| `reference` | of `reference`: a program whose function of this name is right; hidden |
| `tolerance` | how far floats may be off |

Inputs are drawn outside (`drawing`), from a seed that is a digest of the program, the task and the
verifier: the same check draws the same, and no program can know what it will be asked. The
shortest inputs are tried first, so that the one that is told is short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.keys import digest
from verifier_ladder.sourcecode import fingerprint
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.code import is_same
from verifier_ladder.tiers.fast.drawing import Strategy, drawn
from verifier_ladder.tiers.fast.programs import (
    FILE,
    Caller,
    Name,
    program_in,
    python_tools,
    said_of,
)
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

Runs = Callable[..., Any]
"""Calls a function of the candidate by its name, in the sandbox: `runs("solve", 3)`."""
Holds = Callable[..., bool]
"""A property: takes `Runs` and the drawn arguments."""
_SHOWN = 200
_MOST = 10_000
_OF_VALUES = (
    ArithmeticError,
    AttributeError,
    AssertionError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a property may raise of a value that is not of the type it expects."""


# ---- What must hold


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    function: Name = "solve"
    inputs: Annotated[list[Strategy], Field(min_length=1, max_length=16)]
    property: Literal["sorts", "idempotent", "round-trip", "reference"] | None = None
    inverse: Name | None = None
    reference: str | None = None
    tolerance: Annotated[FiniteFloat, Field(ge=0)] = 0.0

    def needs(self, name: str) -> Any:
        """A field that the property needs.

        Raises:
            TaskError: If it is not there.
        """
        if getattr(self, name) is None:
            raise TaskError(f"the task has no {name}")
        return getattr(self, name)


class _Failure(NamedTuple):
    """A call that ended without a value."""

    function: str
    result: Result


class _FailedError(CandidateError):
    """A call ended without a value, so that nothing can hold of it."""

    def __init__(self, failure: _Failure) -> None:
        super().__init__()
        self.failure = failure


def _sorts(task: _Task, runs: Runs, given: tuple[Any, ...]) -> bool:
    found = runs(task.function, *given)
    if type(found) is not list:
        return False
    left = list(given[0])
    for each in found:
        place = next((n for n, one in enumerate(left) if is_same(each, one)), None)
        if place is None:
            return False
        del left[place]
    return not left and all(a <= b for a, b in pairwise(found))


def _idempotent(task: _Task, runs: Runs, given: tuple[Any, ...]) -> bool:
    once = runs(task.function, *given)
    return is_same(runs(task.function, once), once, task.tolerance)


def _round_trip(task: _Task, runs: Runs, given: tuple[Any, ...]) -> bool:
    back = runs(task.needs("inverse"), runs(task.function, *given))
    return is_same(back, given[0], task.tolerance)


_TABLE: dict[str, Callable[[_Task, Runs, tuple[Any, ...]], bool]] = {
    "sorts": _sorts, "idempotent": _idempotent, "round-trip": _round_trip,
}  # fmt: skip


# ---- The verifier


class CodeProperties(SingleVerifier):
    """Accepts a program of which a property holds for all inputs that are drawn.

    The property is one of a closed table that the task names, or a function of yours:
    `CodeProperties(holds=mine)`, where `mine(runs, *arguments)` calls the candidate's functions by
    `runs("solve", …)` and says whether what they return is right. It stays outside the sandbox. If
    it raises over a value, or a call ends without one, the property does not hold.

    Example:
        >>> task = {"inputs": [{"type": "lists", "of": {"type": "integers"}}], "property": "sorts"}
        >>> said = Candidate("text", "def solve(xs): return sorted(xs)", task=task)
        >>> CodeProperties().judge([said])[0].outcome.value  # doctest: +SKIP
        'accept'
    """

    name = "code-properties"
    version = "4"
    tier = Tier.FAST
    kind = "text"
    domain = "software"
    capabilities = ("reasoning",)
    cost = Cost(seconds=1.0)
    timeout = 600.0
    batch_size = 4
    task_fields = ("function", "inputs", "property", "inverse", "reference", "tolerance")
    hidden = ("reference",)
    observed = "outside"
    sandbox: Sandbox = Sandbox()
    control = Candidate(
        "text", "def solve(xs):\n    return sorted(xs)",
        task={"inputs": [{"type": "lists", "of": {"type": "integers"}}], "property": "sorts"},
    )  # fmt: skip

    @checked()
    def __init__(
        self, *, examples: int = 50, cpu: float = 2.0, wall: float = 10.0,
        memory: int = 512 << 20, total: float = 120.0, holds: Holds | None = None,
    ) -> None:  # fmt: skip
        """Say how much is tried.

        Args:
            examples: How many inputs are drawn.
            cpu: Seconds of processor time of a call.
            wall: Seconds of a call.
            memory: Bytes of a call.
            total: Seconds that all calls of a program may take; see `CodeFunctions`.
            holds: A property of your own, instead of one that tasks name.

        Raises:
            ConfigError: If one makes no sense.
        """
        if not 1 <= examples <= _MOST or not 0 < total < float("inf"):
            raise ConfigError(f"examples={examples!r}, total={total!r}: give numbers above 0")
        self._limits = Limits(cpu=cpu, wall=wall, memory=memory)
        self._examples, self._total, self._holds = examples, total, holds
        self.tools = python_tools()
        own = {} if holds is None else {"holds": fingerprint(holds).digest}
        super().__init__(
            examples=examples, cpu=cpu, wall=wall, memory=memory, total=total, **own
        )  # fmt: skip

    def examine(self, candidate: Candidate) -> Verdict:
        """Draw inputs, and try the property on each."""
        task = read_task(_Task, candidate.task)
        if self._holds is None:
            name = task.needs("property")
            if name != "reference" and len(task.inputs) != 1:
                raise TaskError(f"the task's inputs: {name} is about one argument")
            if name == "sorts" and task.inputs[0].type != "lists":
                raise TaskError("the task's inputs: sorts is about lists")
            for field in {"round-trip": ["inverse"], "reference": ["reference"]}.get(name, []):
                task.needs(field)
        source = program_in(candidate.content)
        key = digest({
            "program": source.decode(), "task": task.model_dump(), "by": self.digest.hex(),
        })  # fmt: skip
        inputs = drawn(task.inputs, int.from_bytes(key[:8]), self._examples)
        calls = _Calls(source, Caller(self.sandbox, self._limits, self._total))
        return self._tried(task, calls, inputs)

    def _tried(
        self, task: _Task, calls: _Calls, inputs: Iterable[tuple[Any, ...]]
    ) -> Verdict:  # fmt: skip
        right = 0
        for given in inputs:
            shown = printable(f"{task.function}({', '.join(map(repr, given))})", _SHOWN)
            try:
                holds = self._is_right(task, calls, given)
                why = f"{self._named(task)} does not hold"
            except _FailedError as error:
                name, result = error.failure
                where = "" if name == task.function else f" in {name}"
                holds, why = False, said_of(result, self._limits) + where
            if not holds:
                return Verdict.reject(
                    f"after {right} inputs: {why}", feedback=f"{shown}: {why}.",
                    evidence={"held": right},
                )  # fmt: skip
            right += 1
        return Verdict.accept(1.0, evidence={"held": right})

    def _named(self, task: _Task) -> str:
        return f"the property {task.property}" if self._holds is None else "the property"

    def _is_right(self, task: _Task, calls: _Calls, given: tuple[Any, ...]) -> bool:
        if self._holds is None:
            if task.property == "reference":
                return self._like_reference(task, calls, given)
            return _TABLE[str(task.property)](task, calls, given)
        try:
            return bool(self._holds(calls, *given))
        except _OF_VALUES:
            return False

    def _like_reference(self, task: _Task, calls: _Calls, given: tuple[Any, ...]) -> bool:
        """Whether it gives what the reference gives, which runs in a sandbox of its own."""
        program = Program({FILE: task.needs("reference")}, entry=f"{FILE}:{task.function}")
        (wanted,) = self.sandbox.run(program, [Input(given)], self._limits)
        if wanted.ended is Ending.WALL:  # A busy machine may have brought that about.
            raise ToolError("the task's reference was not done in time")
        if wanted.ended is not Ending.FINISHED:
            raise TaskError(
                f"the task's reference gives no value for an input: {wanted.ended} {wanted.error}"
            )
        return is_same(calls(task.function, *given), wanted.value, task.tolerance)


class _Calls:
    """Calls functions of one program, each time in a fresh process."""

    def __init__(self, source: bytes, caller: Caller) -> None:
        self._source, self._caller = source, caller

    def __call__(self, function: str, *args: Any) -> Any:
        program = Program({FILE: self._source}, entry=f"{FILE}:{function}")
        result = self._caller.run(program, Input(args))
        if result.ended is not Ending.FINISHED:
            raise _FailedError(_Failure(function, result))
        return result.value
