"""Performance: the processor time of a program, as a ratio to a reference on the same inputs.

A task says what to run and how fast it must be:

| Field | Meaning |
|---|---|
| `function` | its name, the same in both programs |
| `inputs` | one strategy for each argument (`drawing`); large enough for some milliseconds |
| `reference` | a program that is right; hidden |
| `ratio` | at most so much of the reference's processor time; 0.5 is twice as fast |
| `tolerance` | how far floats may be off |
| `limits` | what each run may take, by the names of `Limits` |

Each **pair** has an input of its own, drawn outside, and three runs in a random order: the
program, the reference, and one that returns at once, whose time is taken off. Each run has a fresh
process in a sandbox that nothing else is in; each value that was timed is compared outside. Time
is what the kernel tells of the process and its children, so no clock of the program counts. Unless
the task's `limits.processes` says otherwise it may start no process and no thread: they save no
processor time, and could hide some.

The ratio is the median of all means of two pairs (Hodges and Lehmann), with the interval of
Wilcoxon's signed ranks, which needs no shape of the noise and bears a few pairs that a neighbour
has disturbed. Pairs are added until the interval is narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random
from statistics import median
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.keys import digest
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.code import is_same
from verifier_ladder.tiers.fast.drawing import Strategy, typical
from verifier_ladder.tiers.fast.programs import (
    FILE,
    Bounds,
    Name,
    ProgramVerifier,
    allowed,
    program_in,
    said_of,
)
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

LEAST_PAIRS, MOST_PAIRS = 7, 60
WIDEST = 0.15
"""Width from which on an interval earns nothing, as a share of the larger of the ratio and the one
that is asked for."""
NARROW = 0.07
"""Width at which no pairs are added any more."""
_DOUBT = 0.05
"""Chance that the interval does not hold the ratio."""
_LEAST_SECONDS = 0.002
"""What the reference must take at least, for a process that does nothing takes several times that
and varies by a tenth of it."""
_SHOWN = 200
_AT_ONCE = "def {function}(*_, **__):\n    pass\n"


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    function: Name = "solve"
    inputs: Annotated[list[Strategy], Field(min_length=1, max_length=16)]
    reference: Annotated[str, Field(min_length=1)]
    ratio: Annotated[FiniteFloat, Field(gt=0, le=1000)]
    tolerance: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    limits: Bounds = Bounds()


class Estimate(NamedTuple):
    """A ratio, and an interval that holds it."""

    ratio: float
    low: float
    high: float

    def width(self, asked: float) -> float:
        """How wide the interval is, as a share of the ratio or of the one asked for."""
        return (self.high - self.low) / max(abs(self.ratio), asked)

    def __str__(self) -> str:
        return f"{self.ratio:.3g} (95 %: {self.low:.3g} to {self.high:.3g})"


def estimated(values: Sequence[float]) -> Estimate:
    """The middle of some values whose noise is about symmetric, with a 95 % interval.

    Hodges and Lehmann's estimator and the interval of Wilcoxon's signed-rank test (Hollander and
    Wolfe, *Nonparametric Statistical Methods*, 3.2 and 3.3).

    Args:
        values: Six or more; of fewer no interval of 95 % is known.

    Example:
        >>> estimated([1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.0])
        Estimate(ratio=1.0, low=0.9, high=1.1)
    """
    means = sorted((a + b) / 2 for n, a in enumerate(values) for b in values[n:])
    cut = _cut(len(values))
    return Estimate(median(means), means[cut], means[-1 - cut])


def _cut(size: int) -> int:
    """How many means lie outside the interval on each side."""
    ways = [1]  # Of each sum of ranks, how many sets of ranks have it.
    for rank in range(1, size + 1):
        ways += [0] * rank
        ways = [n + (ways[k - rank] if k >= rank else 0) for k, n in enumerate(ways)]
    most = _DOUBT / 2 * 2**size
    return len([each for each in accumulate(ways) if each <= most]) - 1


class CodePerformance(ProgramVerifier):
    r"""Accepts a program that is right and takes at most a share of a reference's processor time.

    It accepts if the whole interval of the ratio lies below the one that the task asks for, and
    rejects if not, or at the first value that is wrong. Where the interval stays wider than 15 %,
    it abstains, unless all of it lies above: a program that is slower, however much its time
    varies, is not spared by noise, which may be its own.

    The named score `speedup` is how many times as fast as the reference it is.

    Example:
        >>> task = {"inputs": [{"type": "integers", "min": 10**5, "max": 2 * 10**5}],
        ...         "reference": "def solve(n):\n    return sum(range(n))", "ratio": 0.5}
        >>> said = Candidate("text", "def solve(n): return n * (n - 1) // 2", task=task)
        >>> CodePerformance().judge([said])[0].outcome.value  # doctest: +SKIP
        'accept'
    """

    name = "code-performance"
    version = "2"
    cost = Cost(seconds=1.0)
    batch_size = 1
    task_fields = ("function", "inputs", "reference", "ratio", "tolerance", "limits")
    hidden = ("reference",)
    sandbox: Sandbox = Sandbox(needs=("metering",))
    usual = Limits(cpu=10.0, wall=60.0, processes=1)
    control = Candidate(
        "text", "def solve(n):\n    return sum(range(n))",
        task={
            "inputs": [{"type": "integers", "min": 200_000, "max": 240_000}], "ratio": 0.9,
            "reference": "def solve(n):\n    return sum(k for k in range(n))",
        },
    )  # fmt: skip

    @checked()
    def __init__(
        self,
        *,
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
        pairs: int = MOST_PAIRS,
        total: float = 120.0,
    ) -> None:
        """Say how much is measured.

        Args:
            limits: What each run may take where its task does not say, by the names of `Limits`.
            most: What a task may allow at most. From a task that asks for more it abstains.
            pairs: How many pairs there are at most.
            total: Seconds of processor time after which no pair is added.

        Raises:
            ConfigError: If one makes no sense.
        """
        if pairs < LEAST_PAIRS:
            raise ConfigError(f"pairs={pairs!r}: give {LEAST_PAIRS} pairs or more")
        self._pairs = pairs
        super().__init__({"pairs": pairs}, limits=limits, most=most, total=total)

    def examine(self, candidate: Candidate) -> Verdict:
        """Measure pairs until the ratio is known well enough."""
        task = read_task(_Task, candidate.task)
        source = program_in(candidate.content)
        key = digest({
            "program": source.decode(), "task": task.model_dump(), "by": self.digest.hex(),
        })  # fmt: skip
        limits = allowed(self._limits, task.limits, self._most)
        pairs = _Pairs(self.sandbox, source, task, limits, int.from_bytes(key[:8]))
        found = pairs.measured(self._pairs, self._total)
        return concluded(found, task.ratio, len(pairs.ratios))


def concluded(found: Estimate, asked: float, pairs: int) -> Verdict:
    """What an estimated ratio amounts to where another one is asked for, after so many pairs."""
    evidence = {"ratio": found.ratio, "low": found.low, "high": found.high, "pairs": pairs}
    told = f"it takes {found} of the reference's processor time, in {pairs} pairs"
    if found.low <= asked and found.width(asked) > WIDEST:
        return Verdict.abstain(
            f"{told}: that is wider than {WIDEST:.0%}, so nothing is said; a quieter machine or "
            "larger inputs would do", evidence=evidence,
        )  # fmt: skip
    scores = {"speedup": min(1 / max(found.ratio, 1e-6), 1e6)}
    if found.high <= asked:
        return Verdict.accept(1.0, scores=scores, evidence=evidence)
    wanted = f"at most {asked:g} is asked for"
    return Verdict.reject(
        f"{told}; {wanted}", score=0.0, scores=scores, evidence=evidence,
        feedback=f"The program is right, and takes {found} of the processor time of the "
        f"reference; {wanted}. Make it faster.",
    )  # fmt: skip


class _Pairs:
    """Pairs of runs of a program and its reference, and what they took."""

    def __init__(
        self, sandbox: Sandbox, source: bytes, task: _Task, limits: Limits, seed: int
    ) -> None:
        entry = f"{FILE}:{task.function}"
        self._programs = {
            name: Program({FILE: text}, entry=entry)
            for name, text in (
                ("candidate", source), ("reference", task.reference),
                ("at once", _AT_ONCE.format(function=task.function)),
            )
        }  # fmt: skip
        self._sandbox, self._task, self._limits = sandbox, task, limits
        self._inputs = typical(task.inputs, seed)
        self._rng = Random(seed)  # noqa: S311 - no secret
        self.ratios: list[float] = []
        self._seconds: list[float] = []
        self._spent = 0.0

    def measured(self, most: int, total: float) -> Estimate:
        """Add pairs until the interval is narrow, or there are enough of them.

        Raises:
            CandidateError: If a value is wrong.
            TaskError: If the reference gives no value, or takes too little time.
        """
        while True:
            self._add(next(self._inputs))
            if len(self.ratios) < LEAST_PAIRS:
                continue
            if median(self._seconds) < _LEAST_SECONDS:
                raise TaskError(
                    f"the task's reference takes {1000 * median(self._seconds):.1f} ms on its "
                    f"inputs; from {1000 * _LEAST_SECONDS:g} ms on it can be compared: ask for "
                    "larger inputs"
                )
            found = estimated(self.ratios)
            is_narrow = found.width(self._task.ratio) <= NARROW
            if is_narrow or len(self.ratios) >= most or self._spent >= total:
                return found

    def _add(self, given: tuple[Any, ...]) -> None:
        """Run the three on one input, and compare."""
        names = list(self._programs)
        self._rng.shuffle(names)
        results = {name: self._run(name, given) for name in names}
        self._check(given, results["candidate"], results["reference"])
        took = {name: result.cpu for name, result in results.items()}
        self._spent += sum(took.values())
        net = took["reference"] - took["at once"]
        self._seconds.append(net)
        self.ratios.append((took["candidate"] - took["at once"]) / max(net, _LEAST_SECONDS / 10))

    def _run(self, name: str, given: tuple[Any, ...]) -> Result:
        (result,) = self._sandbox.run(self._programs[name], [Input(given)], self._limits)
        return result

    def _check(self, given: tuple[Any, ...], found: Result, wanted: Result) -> None:
        if wanted.ended is Ending.WALL:  # A busy machine may have brought that about.
            raise ToolError("the task's reference was not done in time")
        if wanted.ended is not Ending.FINISHED:
            raise TaskError(
                f"the task's reference gives no value for an input: {wanted.ended} {wanted.error}"
            )
        is_right = found.ended is Ending.FINISHED and is_same(
            found.value, wanted.value, self._task.tolerance
        )
        if not is_right:
            called = printable(f"{self._task.function}({', '.join(map(repr, given))})", _SHOWN)
            said = printable(said_of(found, self._limits), _SHOWN)
            raise CandidateError(said, feedback=f"{called}: {said}.")
