"""Programs that read standard input and write standard output, in Python, C++ and others.

A task says what each run is given, and what it must write:

| Field | Meaning |
|---|---|
| `inputs` | the tests: what stands on standard input |
| `outputs` | what each must write to standard output; hidden |
| `language` | one of the verifier's; its first if left out |
| `compare` | `tokens`: the same words; `lines`: the same lines; `exact`: the same bytes |
| `tolerance` | among tokens: how far floats may be off, absolute or relative; exact by default |
| `limits` | what each run may take, by the names of `Limits` |

What is compiled is compiled once, in the sandbox. Inputs go in there, expected outputs never do.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf, isclose
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.programs import (
    CAPS,
    Bounds,
    Caller,
    TimeUsedUpError,
    allowed,
    ending_of,
    limits_of,
    program_in,
    tested,
)
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox
from verifier_ladder.tiers.sandbox.compiler import COMPILING, compiled
from verifier_ladder.tiers.sandbox.language import CPP17, PYTHON, Language
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import MOST_SCORES, Verdict

_SHOWN, _SAID = 200, 300
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_LONGEST_NUMBER = 400
"""Characters of a token that is read as a number: no float has more before its point."""


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    inputs: Annotated[list[str], Field(min_length=1, max_length=MOST_SCORES)]
    outputs: list[str]
    language: str | None = None
    compare: Literal["tokens", "lines", "exact"] = "tokens"
    tolerance: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    limits: Bounds = Bounds()


# ---- What came of it


def is_same(
    written: bytes, wanted: bytes, compare: str = "tokens", tolerance: float = 0.0
) -> bool:
    r"""Whether two outputs are the same.

    With a tolerance, a token that is wanted as a float, such as `0.5` or `1e9`, may be off by as
    much or by that share; one that is wanted as a whole number must be that number, however it is
    written.

    Args:
        written: What the program wrote.
        wanted: What it should have written.
        compare: `tokens` between white space, `lines` without white space at their ends and
            without empty lines at the end of all, or `exact`.
        tolerance: Of floats, among tokens.

    Example:
        >>> is_same(b"1 2\n", b"1\n2"), is_same(b"1 2\n", b"1\n2", "lines")
        (True, False)
        >>> is_same(b"0.3333", b"0.33333333", tolerance=1e-3), is_same(b"4", b"3", tolerance=9.0)
        (True, False)
    """
    if compare == "exact":
        return written == wanted
    if compare == "lines":
        return _lines(written) == _lines(wanted)
    mine, theirs = written.split(), wanted.split()
    if len(mine) != len(theirs):
        return False
    pairs = zip(mine, theirs, strict=True)
    return all(a == b or (tolerance > 0 and _is_near(a, b, tolerance)) for a, b in pairs)


def _lines(text: bytes) -> list[bytes]:
    return [line.rstrip() for line in text.rstrip().split(b"\n")]


def _is_near(written: bytes, wanted: bytes, tolerance: float) -> bool:
    if max(len(written), len(wanted)) > _LONGEST_NUMBER:
        return False
    if not _NUMBER.fullmatch(written) or not _NUMBER.fullmatch(wanted):
        return False
    if _INTEGER.fullmatch(wanted):
        whole, _, rest = written.partition(b".")
        is_whole = bool(_INTEGER.fullmatch(whole)) and not rest.strip(b"0")
        return is_whole and int(whole) == int(wanted)
    return isclose(float(written), float(wanted), rel_tol=tolerance, abs_tol=tolerance)


# ---- The verifier


class CodeStdio(SingleVerifier):
    r"""Accepts a program that writes what the task expects, for every input.

    Each run has a fresh process in the sandbox, its input on standard input, and must end with
    status 0. What it wrote is compared outside. Each test has a named score, `test_1`, `test_2`
    and so on; a reject's own score is the share of tests that passed.

    Example:
        >>> task = {"inputs": ["3", "0"], "outputs": ["9", "0"], "language": "c++17"}
        >>> head = "#include <iostream>\nusing namespace std;\n"
        >>> source = head + "int main() { int n; cin >> n; cout << n * n; }"
        >>> squares = Candidate("text", source, task=task)
        >>> CodeStdio().judge([squares])[0].outcome.value  # doctest: +SKIP
        'accept'
    """

    name = "code-stdio"
    version = "1"
    tier = Tier.FAST
    kind = "text"
    domain = "software"
    capabilities = ("reasoning",)
    cost = Cost(seconds=0.3)
    timeout = 900.0
    batch_size = 8
    task_fields = ("inputs", "outputs", "language", "compare", "tolerance", "limits")
    hidden = ("outputs",)
    observed = "outside"
    sandbox: Sandbox = Sandbox()
    control = Candidate("text", "print(input())", task={"inputs": ["a\n"], "outputs": ["a\n"]})

    @checked()
    def __init__(
        self,
        *,
        languages: Sequence[str | Mapping[str, Any] | Language] = (PYTHON, CPP17),
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
        compiling: Mapping[str, float] | None = None,
        total: float = 120.0,
    ) -> None:
        """Say which languages there are, and what programs may take.

        Args:
            languages: `python`, `c++17`, or profiles with the fields of `Language`; the first is
                that of a task that names none. Their versions on this machine are part of the key
                of a check, so name only those that tasks ask for.
            limits: What each run may take where its task does not say, by the names of `Limits`.
            most: What a task may allow at most. From a task that asks for more it abstains.
            compiling: What a compiler may take; it has a file system as large as `file_bytes`.
            total: Seconds that all runs of a program may take together.

        Raises:
            ConfigError: If one makes no sense.
        """
        if isinstance(languages, (str, Mapping)) or not languages:
            raise ConfigError(f"languages={languages!r}: give a list of one language or more")
        found = [Language.of(each) for each in languages]
        self._languages = {each.name: each for each in found}
        if len(self._languages) < len(found):
            raise ConfigError("languages: two of them have one name")
        self._limits = limits_of(Limits(cpu=5.0, wall=15.0), limits, "limits")
        self._most = limits_of(CAPS, most, "most")
        self._compiling = limits_of(COMPILING, compiling, "compiling")
        if not 0 < total < inf:
            raise ConfigError(f"total={total!r}: give seconds above 0")
        self._total = total
        if all(each.compiler for each in found):
            self.sandbox = Sandbox(needs=("files",))
        self.tools = {each.name: each.installed() for each in found}
        super().__init__(
            languages=[each.as_json() for each in found], limits=asdict(self._limits),
            most=asdict(self._most), compiling=asdict(self._compiling), total=total,
        )  # fmt: skip

    def examine(self, candidate: Candidate) -> Verdict:
        """Compile it once, run it for each input, and compare."""
        task = read_task(_Task, candidate.task)
        limits = allowed(self._limits, task.limits, self._most)
        inputs, wanted = _read("inputs", task.inputs), _read("outputs", task.outputs)
        _check(task, limits, wanted)
        language = self._language(task.language)
        source = program_in(candidate.content, language)
        program = compiled(
            self.sandbox, source, language=language, limits=self._compiling,
            version=self.tools[language.name],
        )  # fmt: skip
        results = _run(program, inputs, Caller(self.sandbox, limits, self._total))
        passed = [
            result.ended is Ending.FINISHED
            and is_same(result.stdout, right, task.compare, task.tolerance)
            for result, right in zip(results, wanted, strict=False)
        ]

        def failure(place: int) -> tuple[str, str]:
            why = said_of(results[place], limits)
            return why, f"Given {printable(repr(task.inputs[place]), _SHOWN)}, {why}"

        return tested(passed, len(inputs), failure)

    def _language(self, name: str | None) -> Language:
        if name is None:
            return next(iter(self._languages.values()))
        if name not in self._languages:
            known = ", ".join(self._languages)
            raise TaskError(
                f"the task's language is {printable(name, 60)}; `languages` of the verifier has "
                f"{known}"
            )
        return self._languages[name]


def _read(name: str, texts: Sequence[str]) -> list[bytes]:
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError:
        raise TaskError(f"the task's {name} hold half of a character") from None


def _check(task: _Task, limits: Limits, wanted: Sequence[bytes]) -> None:
    """Refuse a task that no program could meet, or every program would.

    Raises:
        TaskError: If it is one.
    """
    if len(wanted) != len(task.inputs):
        raise TaskError(f"the task has {len(task.inputs)} inputs and {len(wanted)} outputs")
    if not any(each.strip() for each in wanted):
        raise TaskError("the task expects nothing on standard output, which any program writes")
    if task.tolerance and task.compare != "tokens":
        raise TaskError(f"the task has a tolerance, and compares {task.compare}: compare tokens")
    if (longest := max(map(len, wanted))) > limits.output:
        raise TaskError(
            f"the task expects an output of {longest} bytes, and limits.output is {limits.output}"
        )


def _run(program: Program, inputs: Sequence[bytes], caller: Caller) -> list[Result]:
    """Run it once for each input, as long as there is time."""
    found = []
    for given in inputs:
        try:
            found.append(caller.run(program, Input(stdin=given)))
        except TimeUsedUpError:
            break
    return found


def said_of(result: Result, limits: Limits) -> str:
    """How a run ended, in words that tell nothing of what was expected."""
    if result.ended is Ending.FINISHED:
        if not result.stdout:
            return "it wrote nothing"
        shown = repr(result.stdout[:_SAID].decode(errors="backslashreplace"))
        return f"it wrote {printable(shown, _SAID)}, which is not what is expected"
    if result.ended is Ending.RAISED:
        told = ": ".join(filter(None, (result.error, result.message)))
        return f"it raised an exception: {printable(told, _SAID)}"
    if result.ended is Ending.EXITED:
        return f"it ended with status {result.status}"
    if result.ended is Ending.CRASHED:
        return f"it crashed ({_signal(result.signal)})"
    return ending_of(result, limits)


def _signal(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"
