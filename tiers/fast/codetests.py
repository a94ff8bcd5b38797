"""Tests that run beside a program, in one process with it: evidence, not proof.

A task brings test code (`testcode`): asserts, functions as pytest finds them, or a
`check(candidate)`. What such tests say comes out of a process that the program can take over. So
each of them has a canary, a copy in which another value is compared, and it passes only if its
canary fails, by an assertion. Each comparison is asked about another value as well, and one that
holds with both convicts the program; where none is surely reached, the task is at fault. Fewer
than four tests are run several times, each time with another canary, so that no throw of a coin
does instead. Each run has a fresh process; in which order, under which names and with which values
is drawn anew in each check, from its key and a salt that nothing inside could know.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from random import Random
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.keys import digest
from verifier_ladder.tiers.fast.falsify import Kind
from verifier_ladder.tiers.fast.programs import (
    FILE,
    Bounds,
    Caller,
    Name,
    ProgramVerifier,
    TimeUsedUpError,
    allowed,
    program_in,
    wordless,
)
from verifier_ladder.tiers.fast.testcode import Made, Said, Test, is_forged, read_tests
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox, Warmth
from verifier_ladder.tiers.tasks import read_task
from verifier_ladder.verdict import Verdict

_FAILED = "AssertionError"
_LEAST_RUNS = 4
"""Of tests, and as many of canaries: a program that passes and fails by the throw of a coin gets
through once in 2 ** 8 times."""
_FORGED = (
    "Beside the program {name} passes with other values, too, where it must fail. Return plain "
    "values, and leave the tests alone."
)
_UNREACHED = (
    "the task's {name} compares nothing that is surely reached, and its copy with other values "
    "does not fail by an assertion: write asserts that stand by themselves"
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
    made: Made

    @property
    def kind(self) -> Kind:
        """What it is."""
        return self.made.kind


class _Ended(NamedTuple):
    """A run, and what came of it."""

    run: _Run
    result: Result | None

    @property
    def failed(self) -> bool:
        """Whether it has failed as a canary must."""
        ended = self.result and (self.result.ended, self.result.error)
        return ended == (Ending.RAISED, _FAILED)

    @property
    def said(self) -> Said:
        """What it says."""
        is_whole = self.result is not None and self.result.ended is Ending.FINISHED
        told = self.run.made.told(self.result.value) if self.result and is_whole else None
        return Said(self.run.kind, self.run.made.false, told)


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
    version = "5"
    cost = Cost(seconds=0.1)
    batch_size = 8
    task_fields = ("tests", "function", "limits")
    hidden = ("tests",)
    observed = "inside"
    control = Candidate(
        "text", "def solve(n):\n    return n + 1", task={"tests": "assert solve(1) == 2"}
    )

    @checked()
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
        ended = [_Ended(*each) for each in zip(runs, results, strict=True)]
        return _verdict(tests, ended, limits, salt)

    def _results(
        self, source: bytes, runs: Sequence[_Run], caller: Caller
    ) -> Iterator[Result | None]:
        """What came of each run; None where there was no time left for it."""
        for _, made in runs:
            files: dict[str, str | bytes] = {FILE: source, f"{made.function}.py": made.source}
            program = Program(files, entry=f"{made.function}.py:{made.function}")
            try:
                yield caller.run(program, Input())
            except TimeUsedUpError:
                yield None


def _drawn(tests: Sequence[Test], rng: Random) -> list[_Run]:
    """Each test and its canaries, as often as needed, under new names, in a new order.

    Half of them ask late, so that a program that counts how often it is compared is wrong in one.
    """
    times, phase = ceil(_LEAST_RUNS / len(tests)), rng.getrandbits(1)
    runs = [
        _Run(place, test.made(rng, kind, late=(place + time + phase) % 2 == 1))
        for place, test in enumerate(tests)
        for time in range(times)
        for kind in test.code.kinds
    ]
    rng.shuffle(runs)
    return runs


def _verdict(
    tests: Sequence[Test], ended: Sequence[_Ended], limits: Limits, salt: bytes
) -> Verdict:
    """What the runs say together."""
    of = [[each for each in ended if each.run.place == n] for n in range(len(tests))]
    forged = [tests[n].name for n, each in enumerate(of) if is_forged([one.said for one in each])]
    canaries = sum(each.run.kind is not Kind.TEST for each in ended)
    evidence = {"tests": len(tests), "canaries": canaries, "salt": salt.hex()}
    if forged:
        return Verdict.reject(
            f"{len(forged)} of {len(tests)} tests pass with other values, too, {forged[0]} first",
            score=0.0, feedback=_FORGED.format(name=forged[0]),
            evidence={**evidence, "forged": len(forged)},
        )  # fmt: skip
    whys = [_why(each, limits) for each in of]
    scores = {test.name: float(not why) for test, why in zip(tests, whys, strict=True)}
    right = sum(not why for why in whys)
    evidence["passed"] = right
    unreached = [test.name for test, each in zip(tests, of, strict=True) if _is_unreached(each)]
    if right == len(tests) and unreached:
        return Verdict.abstain(_UNREACHED.format(name=unreached[0]), evidence=evidence)
    if right == len(tests):
        return Verdict.accept(1.0, scores=scores, evidence=evidence)
    first = next(n for n, why in enumerate(whys) if why)
    told = f"{right} of {len(tests)} tests passed. {tests[first].name}: {whys[first]}"
    return Verdict.reject(
        told, score=right / len(tests), feedback=f"{told}.", scores=scores, evidence=evidence
    )


def _is_unreached(ended: Sequence[_Ended]) -> bool:
    """Whether nothing false in it was surely met."""
    needed = not any(each.run.kind.must_fail for each in ended)
    return needed and any(each.run.kind is Kind.ALL and not each.failed for each in ended)


def _why(ended: Sequence[_Ended], limits: Limits) -> str:
    """Why a test has not passed; "" if it has, and what must fail has failed."""
    needed = [each for each in ended if each.run.kind is Kind.TEST or each.run.kind.must_fail]
    if any(each.result is None for each in needed):
        return "there was no time left for it"
    for each in sorted(needed, key=lambda each: each.run.kind.must_fail):
        assert each.result is not None  # noqa: S101 - for the type checker
        if each.run.kind.must_fail and not each.failed:
            return (
                f"its copy that must fail by an assertion did not: {wordless(each.result, limits)}"
            )
        if each.run.kind is Kind.TEST and each.said.told is None:
            return wordless(each.result, limits)
    return ""
