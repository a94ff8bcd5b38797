r"""The verifiers `series-forecast` and `code-forecast`: forecasts at rolling origins.

The first reads the forecasts of all origins in a text; of the second a program makes them, which
is given at each origin what is known there, in a fresh process in the sandbox. Later values are in
no process that it could reach. What a text was written with knowledge of, nobody can tell: its
prompt must hold no value from the first origin on, and `values` is hidden from learners.

| Field of a task | Meaning |
|---|---|
| `values` | the series; hidden |
| `first`, `every` | how many values are known at the first origin, and how many more at others |
| `horizon` | how many steps are forecast; 1 by default |
| `period` | how many steps a season has; 1, for none, by default |
| `form` | what is said of each step: `points`, `normals`, `quantiles` or `samples` (`rolling`) |
| `levels` | of quantiles: .1 to .9 by default; the interval is from the first to the last |
| `skill` | how much better than the best reference they must be: more than 0 by default |
| `function`, `limits` | of `code-forecast`: what is called, and what each call may take |
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.extraction import DOCUMENT, agreed, answers
from verifier_ladder.tiers.fast.programs import (
    FILE,
    Bounds,
    Caller,
    Name,
    ProgramVerifier,
    allowed,
    program_in,
    wordless,
)
from verifier_ladder.tiers.sandbox import Ending, Input, Program, Sandbox
from verifier_ladder.tiers.simulation.rolling import Forecast, Form, Rolling, Skill, forecast_of
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import read_task
from verifier_ladder.tiers.world.forecast import LARGEST
from verifier_ladder.verdict import Verdict

_HOW = (
    "Write JSON: a list with one forecast for each origin, each a list with one entry for each "
    "step; alone, between <answer> and </answer>, or in a block that begins with ```json."
)
_LEVELS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    values: Annotated[
        list[Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]], Field(max_length=5000)
    ]
    first: Annotated[int, Field(ge=1)]
    every: Annotated[int, Field(ge=1)] = 1
    horizon: Annotated[int, Field(ge=1, le=500)] = 1
    period: Annotated[int, Field(ge=1)] = 1
    form: Form = "points"
    levels: Annotated[
        list[Annotated[FiniteFloat, Field(gt=0, lt=1)]], Field(min_length=2, max_length=99)
    ] = _LEVELS
    skill: Annotated[FiniteFloat, Field(lt=1)] = 0.0

    @field_validator("levels")
    @classmethod
    def _rise(cls, levels: list[float]) -> list[float]:
        if not all(low < high for low, high in pairwise(levels)):
            raise ValueError("levels rise")
        return levels

    def rolling(self, calibration: int, least: int) -> Rolling:
        """Its origins.

        Raises:
            TaskError: If nobody could be judged by them.
        """
        return Rolling(
            self.values, self.first, self.every, self.horizon, self.period, self.form, self.levels,
            calibration, least,
        )  # fmt: skip

    def forecast(self, said: Any) -> list[Forecast]:
        """Read what is said at one origin.

        Raises:
            CandidateError: If it is no forecast of what is asked for.
        """
        if not isinstance(said, (list, tuple)) or len(said) != self.horizon:
            raise CandidateError(
                f"a forecast is not a list of {self.horizon} entries, one for each step",
                feedback=f"Forecast {self.horizon} steps at each origin, as a list.",
            )
        return [forecast_of(step, self.form, self.levels) for step in said]


class _ProgramTask(_Task):
    """Fields of a task for programs."""

    function: Name = "solve"
    limits: Bounds = Bounds()


def _concluded(found: Skill, asked: float) -> Verdict:
    """What a skill amounts to where more than another one is asked for."""
    evidence = {"reference": found.reference, "origins": found.origins}
    scores = {
        "skill": found.skill, "skill_low": found.low, "skill_high": found.high,
        "coverage": found.coverage, "coverage_calibrated": found.calibrated,
    }  # fmt: skip
    if found.low > asked:
        return Verdict.accept(found.skill, scores=scores, evidence=evidence)
    wanted = f"more than {asked:g} is asked for"
    return Verdict.reject(
        f"its skill is {found}; {wanted}", score=0.0, scores=scores, evidence=evidence,
        feedback=f"The forecast has a skill of {found}; {wanted}, by the whole interval. "
        f"{found.coverage:.0%} of the values lay in its intervals.",
    )  # fmt: skip


_VALUES = [float(n * n % 7) for n in range(48)]


class SeriesForecast(SingleVerifier):
    """Accepts forecasts that are surely better than what simple references say.

    Their skill is 1 for perfect ones and 0 for those that are as good as the best of three
    references; it is accepted if all of its 95 % interval lies above what the task asks for. It is
    the score; a reject has a score of 0. Named scores are `skill`, the ends of its interval
    (`skill_low`, `skill_high`), and the share of values in the intervals (`coverage`), also after
    they were calibrated by the first origins (`coverage_calibrated`).

    Example:
        >>> task = {"values": _VALUES, "first": 4}
        >>> said = [[[y] for y in _VALUES[4:]], [[y] for y in _VALUES[3:-1]]]
        >>> [v.outcome.value for v in SeriesForecast().judge(
        ...     [Candidate("text", f"{each}", task=task) for each in said])]
        ['accept', 'reject']
    """

    name = "series-forecast"
    version = "1"
    tier = Tier.SIMULATION
    kind = "text"
    domain = "forecasting"
    capabilities = ("reasoning",)
    cost = Cost(seconds=0.02)
    task_fields = ("values", "first", "every", "horizon", "period", "form", "levels", "skill")
    hidden = ("values",)
    observed = "outside"
    control = Candidate(
        "text", f"{[[y] for y in _VALUES[4:]]}", task={"values": _VALUES, "first": 4}
    )

    @checked(calibration=2, least=2)
    def __init__(self, *, calibration: int = 20, least: int = 20) -> None:
        """Say how many origins there are.

        Args:
            calibration: How many origins, the first ones, only calibrate intervals and references.
            least: How many there must be after them. From a task with fewer it abstains.

        Raises:
            ConfigError: If one makes no sense.
        """
        self._origins = {"calibration": calibration, "least": least}
        super().__init__(**self._origins)

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the forecasts, and compare them with what came."""
        rolling, forecasts, asked = self.told(candidate)
        return _concluded(rolling.skill(forecasts), asked)

    def told(self, candidate: Candidate) -> tuple[Rolling, list[list[Forecast]], float]:
        """The origins of its task, what it says at each, and the skill that is asked for.

        Raises:
            CandidateError: If it is no list of forecasts.
            TaskError: If nobody could be judged by the task.
        """
        task = read_task(_Task, candidate.task)
        rolling = task.rolling(**self._origins)
        found = answers(candidate.content, DOCUMENT, _HOW, languages=("json",))
        said = orjson.loads(agreed(map(_plain, found), _HOW))
        if not isinstance(said, list) or len(said) != len(rolling.origins):
            raise CandidateError(
                f"it is not a list of {len(rolling.origins)} forecasts, one for each origin",
                feedback=_HOW,
            )
        return rolling, [task.forecast(each) for each in said], task.skill


def _plain(text: str) -> bytes:
    """JSON as it is written in one way.

    Raises:
        CandidateError: If it is none.
    """
    try:
        return orjson.dumps(orjson.loads(text))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, UnicodeEncodeError) as error:
        why = printable(str(error), 200)
        raise CandidateError(f"the answer is no JSON: {why}", feedback=f"{_HOW} {why}.") from None


class CodeForecast(ProgramVerifier):
    r"""Accepts a program whose forecasts are surely better than what simple references say.

    At each origin its `solve(history, horizon)` is called with the values that are known there, in
    a fresh process, and returns a list with what it says of each step. What it is worth is told as
    by `SeriesForecast`.

    Example:
        >>> task = {"values": _VALUES, "first": 4}
        >>> said = "def solve(history, horizon):\n    return [len(history) ** 2 % 7]"
        >>> CodeForecast().judge([Candidate("text", said, task=task)])  # doctest: +SKIP
    """

    name = "code-forecast"
    version = "1"
    tier = Tier.SIMULATION
    domain = "forecasting"
    cost = Cost(seconds=1.0)
    batch_size = 4
    task_fields = (*SeriesForecast.task_fields, "function", "limits")
    hidden = ("values",)
    sandbox: Sandbox = Sandbox()
    control = Candidate(
        "text", "def solve(history, horizon):\n    return [len(history) ** 2 % 7]",
        task={"values": _VALUES, "first": 4},
    )  # fmt: skip

    @checked(calibration=2, least=2)
    def __init__(
        self,
        *,
        calibration: int = 20,
        least: int = 20,
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
        total: float = 120.0,
    ) -> None:
        """Say how many origins there are, and what programs may take.

        Args:
            calibration: How many origins, the first ones, only calibrate intervals and references.
            least: How many there must be after them. From a task with fewer it abstains.
            limits: What each call may take where the task does not say, by the names of `Limits`.
            most: What a task may allow at most. From a task that asks for more it abstains.
            total: Seconds of processor time that all calls of a program may take together.

        Raises:
            ConfigError: If one makes no sense.
        """
        self._origins = {"calibration": calibration, "least": least}
        super().__init__(self._origins, limits=limits, most=most, total=total)

    def examine(self, candidate: Candidate) -> Verdict:
        """Call it at each origin, and compare what it says with what came."""
        task = read_task(_ProgramTask, candidate.task)
        limits = allowed(self._limits, task.limits, self._most)
        rolling = task.rolling(**self._origins)
        program = Program({FILE: program_in(candidate.content)}, entry=f"{FILE}:{task.function}")
        caller = Caller(self.sandbox, limits, self._total)
        forecasts = [
            _called(caller, program, task, task.values[:origin]) for origin in rolling.origins
        ]
        return _concluded(rolling.skill(forecasts), task.skill)


def _called(
    caller: Caller, program: Program, task: _ProgramTask, known: list[float]
) -> list[Forecast]:
    """What a program says of the steps after those that are known.

    Raises:
        CandidateError: If that is no forecast.
    """
    result = caller.run(program, Input((known, task.horizon)))
    if result.ended is not Ending.FINISHED:
        is_untold = result.ended is Ending.UNTOLD
        why = "it returned no plain data" if is_untold else wordless(result, caller.limits)
        said = f"given {len(known)} values {why}"
        raise CandidateError(said, feedback=f"{said}.")
    return task.forecast(result.value)
