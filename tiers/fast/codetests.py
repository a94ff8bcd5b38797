"""Tests that run beside a program, in one process with it: evidence, not proof.

A task brings test code (`testcode`): asserts, functions as pytest finds them, or a
`check(candidate)`. What such tests say comes out of a process that the program can take over. So
each of them has a canary, a copy that must fail, and it passes only if its canary fails, by an
assertion. Each test and each canary has a fresh process; in which order, under which names and
with which values is drawn anew in each check, from its key and a salt that nothing inside could
know.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.keys import digest
from verifier_ladder.tiers.fast.programs import (
    FILE,
    Bounds,
    Caller,
    Name,
    ProgramVerifier,
    TimeUsedUpError,
    allowed,
    ending_of,
    program_in,
)
from verifier_ladder.tiers.fast.testcode import Made, Test, read_tests
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox, Warmth
from verifier_ladder.tiers.tasks import read_task
from verifier_ladder.verdict import Verdict

_FAILED = "AssertionError"
_FORGED = (
    "A copy of {name} that must fail has passed beside the program. Return plain values, and "
    "leave the tests alone."
)


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    tests: Annotated[str, Field(min_length=1, max_length=1 << 18)]
    function: Name | None = None
    limits: Bounds = Bounds()


class _Run(NamedTuple):
    """A test, or a canary of it, on its way into the sandbox."""

    place: int
    is_canary: bool
    made: Made


class CodeTests(ProgramVerifier):
    """Accepts a program beside which all tests pass, and all their canaries fail.

    | Field of a task | Meaning |
    |---|---|
    | `tests` | the test code; hidden from learners |
    | `function` | of a test that takes `candidate`: the function that it is given |
    | `limits` | what each test may take, by the names of `Limits` |

    Each test has a score of its name; a reject's own score is the share of tests that passed, and
    0 where a canary has passed: nothing that was seen is worth anything then.

    Example:
        >>> task = {"tests": "assert solve(3) == 9"}
        >>> squares = Candidate("text", "def solve(n): return n * n", task=task)
        >>> CodeTests().judge([squares])[0].outcome.value  # doctest: +SKIP
        'accept'
    """

    name = "code-tests"
    version = "1"
    cost = Cost(seconds=0.1)
    batch_size = 8
    task_fields = ("tests", "function", "limits")
    hidden = ("tests",)
    observed = "inside"
    control = Candidate(
        "text", "def solve(n):\n    return n + 1", task={"tests": "assert solve(1) == 2"}
    )

    def __init__(
        self,
        *,
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
        total: float = 120.0,
        modules: Sequence[str] = (),
    ) -> None:
        """Say what programs and their tests may take.

        Args:
            limits: What each test may take where its task does not say, by the names of `Limits`.
            most: What a task may allow at most.
            total: Seconds that all tests of a program may take together, canaries included.
            modules: Modules beside the standard library that tests may import, such as `numpy`.
                They are imported once, and name their versions in `tools` if results depend on it.

        Raises:
            ConfigError: If one makes no sense.
        """
        self._modules = tuple(modules)
        if modules:
            self.sandbox = Sandbox(Warmth(modules=self._modules))
        super().__init__({"modules": list(modules)}, limits=limits, most=most, total=total)

    def examine(self, candidate: Candidate) -> Verdict:
        """Run the tests and their canaries, in an order of this check's own."""
        task = read_task(_Task, candidate.task)
        tests = read_tests(task.tests, task.function or "", self._modules)
        limits = allowed(self._limits, task.limits, self._most)
        source = program_in(candidate.content)
        salt = os.urandom(16)
        key = digest(
            {"program": source.decode(), "task": task.model_dump(), "by": self.digest.hex()}
        )
        runs = _drawn(tests, Random(key + salt))  # noqa: S311 - salted by the system's
        results = self._results(source, runs, Caller(self.sandbox, limits, self._total))
        return _verdict(tests, runs, results, limits, salt)

    def _results(
        self, source: bytes, runs: Sequence[_Run], caller: Caller
    ) -> dict[tuple[int, bool], Result]:
        """What came of each run that there was time for."""
        found = {}
        for place, is_canary, made in runs:
            files: dict[str, str | bytes] = {FILE: source, f"{made.function}.py": made.source}
            program = Program(files, entry=f"{made.function}.py:{made.function}")
            try:
                found[place, is_canary] = caller.run(program, Input())
            except TimeUsedUpError:
                break
        return found


def _drawn(tests: Sequence[Test], rng: Random) -> list[_Run]:
    """Each test and its canary, under new names, in a new order."""
    runs = [
        _Run(place, is_canary, test.made(rng, canary=is_canary))
        for place, test in enumerate(tests)
        for is_canary in (False, True)
    ]
    rng.shuffle(runs)
    return runs


def _verdict(
    tests: Sequence[Test], runs: Sequence[_Run], results: Mapping[tuple[int, bool], Result],
    limits: Limits, salt: bytes,
) -> Verdict:  # fmt: skip
    """What the runs say together."""
    tokens = {(run.place, run.is_canary): run.made.token for run in runs}
    passed = {key for key, result in results.items() if _has_passed(result, tokens[key])}
    forged = [n for n in range(len(tests)) if {(n, False), (n, True)} <= passed]
    evidence = {"tests": len(tests), "canaries": len(tests), "salt": salt.hex()}
    if forged:
        name = tests[forged[0]].name
        return Verdict.reject(
            f"{len(forged)} canaries have passed, that of {name} first",
            score=0.0, feedback=_FORGED.format(name=name),
            evidence={**evidence, "canaries_passed": len(forged)},
        )  # fmt: skip
    whys = [_why(n, passed, results, limits) for n in range(len(tests))]
    scores = {test.name: float(not why) for test, why in zip(tests, whys, strict=True)}
    right = sum(not why for why in whys)
    evidence["passed"] = right
    if right == len(tests):
        return Verdict.accept(1.0, scores=scores, evidence=evidence)
    first = next(n for n, why in enumerate(whys) if why)
    told = f"{right} of {len(tests)} tests passed. {tests[first].name}: {whys[first]}"
    return Verdict.reject(
        told, score=right / len(tests), feedback=f"{told}.", scores=scores, evidence=evidence
    )


def _has_passed(result: Result, token: str) -> bool:
    return result.ended is Ending.FINISHED and result.value == token


def _why(
    place: int, passed: set[tuple[int, bool]], results: Mapping[tuple[int, bool], Result],
    limits: Limits,
) -> str:  # fmt: skip
    """Why a test has not passed; "" if it has, and its canary has failed as it must."""
    test, canary = results.get((place, False)), results.get((place, True))
    if test is None or canary is None:
        return "there was no time left for it"
    if (place, False) not in passed:
        return _said(test, limits)
    if canary.ended is Ending.RAISED and canary.error == _FAILED:
        return ""
    return f"its copy that must fail by an assertion did not: {_said(canary, limits)}"


def _said(result: Result, limits: Limits) -> str:
    """How a test ended: of what was raised the class alone, for words may hold hidden values."""
    if result.ended in {Ending.FINISHED, Ending.UNTOLD}:
        return "it ended before its end"
    if result.ended is not Ending.RAISED:
        return ending_of(result, limits)
    known = vars(builtins).get(result.error)
    if isinstance(known, type) and issubclass(known, BaseException):
        return f"it raised {result.error}"
    return "it raised an exception that is none of Python's own"
