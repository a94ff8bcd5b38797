"""Programs that a model wrote: found in its output, and called in the sandbox within limits.

**The program** is the last fenced block of the output that names its language or none; without
any fenced block, the whole output. What is thought aloud before `</think>` is not looked at.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from math import inf
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.arguments import checked
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.extraction import Span, blocks, text_of
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox
from verifier_ladder.tiers.sandbox.language import PYTHON, Language
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Observed

_LONGEST: Final = 1 << 18
"""Bytes of a program."""
_SAID = 300
"""Characters of what a program says of itself, in feedback."""
FILE = PYTHON.source
"""Where a program lies in the sandbox."""
Name = Annotated[str, Field(pattern=r"^[^\W\d]\w{0,99}$")]
"""Of a function, in a task."""
CAPS = Limits(
    cpu=60.0, wall=180.0, memory=2 << 30, output=1 << 20, files=64, file_bytes=64 << 20,
    processes=64,
)  # fmt: skip
"""What a task may allow at most, unless a verifier is told otherwise."""


def python_tools() -> dict[str, str]:
    """What results of Python programs depend on, beside the verifier."""
    return {PYTHON.name: PYTHON.installed()}


class ProgramVerifier(SingleVerifier):
    """Base of verifiers that call programs in the sandbox, which is where they are seen."""

    tier = Tier.FAST
    kind = "text"
    domain = "software"
    capabilities = ("reasoning",)
    timeout = 600.0
    observed: Observed = "outside"
    sandbox: Sandbox = Sandbox()
    usual: ClassVar[Limits] = Limits(cpu=5.0, wall=15.0)
    """What each call may take where nothing is said."""

    @checked()
    def __init__(
        self,
        own: Mapping[str, Any] | None = None,
        /,
        *,
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
        total: float = 120.0,
    ) -> None:
        """Say what programs may take, beside the subclass's own settings.

        Args:
            own: Those that affect results.
            limits: What each call may take where its task does not say, by the names of `Limits`.
            most: What a task may allow at most. From a task that asks for more it abstains.
            total: Seconds that all calls of a program may take together: of processor time, and
                those that ran out of `wall`. What is left then is not called, and not passed.

        Raises:
            ConfigError: If one makes no sense.
        """
        self._limits = limits_of(self.usual, limits, "limits")
        self._most = limits_of(CAPS, most, "most")
        if not 0 < total < inf:
            raise ConfigError(f"total={total!r}: give seconds above 0")
        self._total = total
        self.tools = python_tools()
        settings = {"limits": asdict(self._limits), "most": asdict(self._most), "total": total}
        super().__init__(**settings, **(own or {}))


# ---- What a model wrote


def program_in(content: str | bytes, language: Language = PYTHON) -> bytes:
    r"""Find the program in a model's output.

    Raises:
        CandidateError: If there is none, or it is no text, or longer than 256 KiB.

    Example:
        >>> program_in("As asked:\n```python\ndef solve(n): return n\n```\nIt is short.")
        b'def solve(n): return n\n'
    """
    try:
        spoken = text_of(content).rpartition("</think>")[2]
        fenced = list(blocks(spoken))
        mine = [each.text for each in fenced if _language(each) in {"", *language.fences}]
        source = (mine or [""])[-1].encode() if fenced else spoken.encode()
    except UnicodeError:
        raise CandidateError(
            "the program is no text", feedback="Write the program as UTF-8 text."
        ) from None
    if not source.strip():
        raise CandidateError(
            "there is no program in the output",
            feedback=f"Write one {language.name.capitalize()} program, in a block that begins "
            f"with ```{(*language.fences, '')[0]}.",
        )
    if len(source) > _LONGEST:
        raise CandidateError(
            f"the program takes {len(source)} bytes; at most {_LONGEST} are allowed",
            feedback="Write a shorter program.",
        )
    return source


def _language(block: Span) -> str:
    return (block.language.split(maxsplit=1) or [""])[0]


# ---- What a run may take


class Bounds(BaseModel):
    """Limits of each run, where a task names them."""

    model_config = ConfigDict(strict=True, extra="forbid")
    cpu: Annotated[FiniteFloat, Field(gt=0)] | None = None
    wall: Annotated[FiniteFloat, Field(gt=0)] | None = None
    memory: Annotated[int, Field(gt=0)] | None = None
    output: Annotated[int, Field(ge=0)] | None = None
    files: Annotated[int, Field(ge=0)] | None = None
    file_bytes: Annotated[int, Field(ge=0)] | None = None
    processes: Annotated[int, Field(gt=0)] | None = None


def limits_of(base: Limits, given: Mapping[str, float] | None, name: str) -> Limits:
    """Limits that a verifier is told, where they differ from a base.

    Raises:
        ConfigError: If one makes no sense.
    """
    try:
        return replace(base, **dict(given or {}))  # type: ignore[arg-type]
    except TypeError:
        known = ", ".join(asdict(base))
        raise ConfigError(f"{name}={given!r}: the limits are {known}") from None


def allowed(base: Limits, bounds: Bounds, most: Limits) -> Limits:
    """What a task's runs may take.

    Raises:
        TaskError: If the task asks for more than there may be, or for what makes no sense.
    """
    asked = bounds.model_dump(exclude_none=True)
    for name, value in asked.items():
        if value > getattr(most, name):
            raise TaskError(
                f"the task's limits.{name} is {value}; at most {getattr(most, name)} is "
                "allowed (`most` of the verifier)"
            )
    try:
        return replace(base, **asked)
    except ConfigError as error:
        raise TaskError(f"the task's limits make no sense: {error}") from None


class TimeUsedUpError(CandidateError):
    """All runs of a program together took too long."""


class Caller:
    """Runs one program again and again, each time in a fresh process, as long as there is time.

    Counted is processor time, and of runs that ran out of it the wall's.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits, total: float) -> None:
        """Begin to count."""
        self.sandbox, self.limits, self._left = sandbox, limits, total

    def run(self, program: Program, given: Input) -> Result:
        """Run it once.

        Raises:
            TimeUsedUpError: If there is no time left.
        """
        if self._left <= 0:
            raise TimeUsedUpError(
                "all runs together took too long", feedback="Make the program faster."
            )
        (result,) = self.sandbox.run(program, [given], self.limits)
        self._left -= self.limits.wall if result.ended is Ending.WALL else result.cpu
        return result


# ---- What is said of runs


def tested(
    passed: Sequence[bool], tests: int, failure: Callable[[int], tuple[str, str]]
) -> Verdict:
    """What the tests of a program say together.

    Args:
        passed: Whether each test that ran passed; only these have a score, `test_1` and so on.
        tests: How many there are.
        failure: What the reason and the feedback say of the test at a place that did not pass.
    """
    scores = {f"test_{place}": float(is_right) for place, is_right in enumerate(passed, 1)}
    evidence = {"passed": sum(passed), "tests": tests}
    if sum(passed) == tests:
        return Verdict.accept(1.0, scores=scores, evidence=evidence)
    told = f"{sum(passed)} of {tests} tests passed"
    if all(passed):
        reason = "all tests together took too long"
        feedback = f"{told}, then the time for all of them was used up. Make it faster."
    else:
        first = passed.index(False)
        why, shown = failure(first)
        reason, feedback = f"test {first + 1} of {tests}: {why}", f"{told}. {shown}."
    return Verdict.reject(
        printable(reason, _SAID), score=sum(passed) / tests, feedback=feedback, scores=scores,
        evidence=evidence,
    )  # fmt: skip


_ENDINGS: Mapping[Ending, str] = {
    Ending.EXITED: "it ended before its function had returned",
    Ending.CRASHED: "it crashed",
    Ending.CPU: "it used more than {cpu:g} s of processor time",
    Ending.WALL: "it ran longer than {wall:g} s",
    Ending.MEMORY: "it asked for more than {memory} bytes of memory",
    Ending.OUTPUT: "it wrote more than {output} bytes, or returned too large a value",
    Ending.FILES: "it wrote a file where it may write none, or too many or too large ones",
    Ending.PROCESSES: "it started more than {processes} processes and threads",
    Ending.THREADS: "it could start no other thread: {processes} processes and threads are "
    "allowed, and {memory} bytes of memory, their stacks included",
}


def said_of(result: Result, limits: Limits) -> str:
    """How a call ended, in words that tell nothing of what was expected."""
    if result.ended is Ending.FINISHED:
        return f"it returned {_shown(result.value)}, which is another value or of another type"
    if result.ended is Ending.UNTOLD:
        return f"it returned no plain data: {printable(result.message, _SAID)}"
    if result.ended is Ending.RAISED:
        words = printable(result.message, _SAID)
        return f"it raised {printable(result.error, 100)}: {words}".removesuffix(": ")
    return ending_of(result, limits)


def wordless(result: Result, limits: Limits) -> str:
    """How a run ended without what is asked for, in no words of the program's own.

    They may hold what the program was given, where that is hidden from learners.
    """
    if result.ended in {Ending.FINISHED, Ending.UNTOLD}:
        return "it ended before its end"
    if result.ended is not Ending.RAISED:
        return ending_of(result, limits)
    known = vars(builtins).get(result.error)
    if isinstance(known, type) and issubclass(known, BaseException):
        return f"it raised {result.error}"
    return "it raised an exception that is none of Python's own"


def ending_of(result: Result, limits: Limits) -> str:
    """How a run ended that neither returned nor raised anything."""
    return _ENDINGS[result.ended].format(**asdict(limits))


def _shown(value: Any) -> str:
    try:
        return printable(repr(value), _SAID)
    except ValueError:  # An integer that Python does not write.
        return f"a value of type {type(value).__name__} that is too long to show"
