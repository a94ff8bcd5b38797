"""Rolling origins: what forecasts are worth that are made again and again, with more known.

At each origin the next values are forecast from those before it. What a forecast says of one value
is a number, a normal distribution, quantiles or samples; what it costs is a score that is smallest
on average for who says what he believes (Gneiting and Raftery, *Strictly Proper Scoring Rules,
Prediction, and Estimation*, 2007):

- a number: its distance;
- a normal distribution: the continuous ranked probability score (CRPS) in closed form, eq. 21;
- samples x₁ … xₙ: the CRPS of their steps, Σ|xᵢ - y| / n - Σᵢ<ⱼ|xᵢ - xⱼ| / n², eq. 20;
- quantiles: twice the mean of the pinball losses (y - q)(τ - [y < q]), of which the CRPS is the
  mean over all levels τ (Laio and Tamea, *Verification Tools for Probabilistic Forecasts*, 2007).

The **skill** is 1 - C / R: C is the mean score of the forecasts, R that of the best of three
references, which say the last value, that of the last season, and the mean so far. Where more than
numbers is asked for, each says its value with all errors that it is known to have had. Few errors
tell less than the distribution that they come from, and nobody is paid for that: samples cost what
this distribution costs on average, with n (n - 1) pairs for n² (Ferro, *Fair Scores for Ensemble
Forecasts*, 2014). Quantiles cost the mean of what they cost with those errors, and with the one
that comes as well: one is as much above what the distribution costs as the other is below.

How sure the skill is, C - (1 - skill) R tells origin by origin, by its long-run error (`longrun`).
The interval begins where that against any reference begins: which is the best may be luck.

**Calibration** is split conformal. The first origins tell how far outside its interval [l, u] a
forecast's values have been, e = max(l - y, y - u). With c the share that the interval should
hold, the ⌈(n + 1) c⌉-th smallest of n such numbers is what it lacks on each side: then it holds a
value like those with a chance of at least c (Vovk, Gammerman and Shafer, *Algorithmic Learning in
a Random World*, 2005, 4.2; for quantiles Romano, Patterson and Candès, *Conformalized Quantile
Regression*, 2019, eq. 6 to 8). Values of a series are not exchangeable, so the share that was held
at the later origins is told, as forecast and as calibrated.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, fsum
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple, Protocol

from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.simulation.longrun import reach
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.world.forecast import LARGEST, Normal

Form = Literal["points", "normals", "quantiles", "samples"]
MOST_SAMPLES: Final = 1000
_MOST_STEPS: Final = 50_000
"""Steps of all origins together."""
_HOW: Final[Mapping[str, str]] = {
    "points": "a number",
    "normals": "[mean, deviation], with a deviation above 0",
    "quantiles": "one number for each level, none smaller than the one before",
    "samples": f"a list of 1 to {MOST_SAMPLES} numbers",
}
_MIDDLE, _ROUNDING = 0.5, 1e-9


# ---- What a forecast says of one value


class Forecast(Protocol):
    """What is said of one value."""

    def score(self, value: float) -> float:
        """What it costs when this value comes; less is better."""
        ...

    def quantile(self, level: float) -> float:
        """The number below which the value lies with this chance."""
        ...


class Samples(NamedTuple):
    """Numbers that are as likely as each other, in order."""

    values: Sequence[float]

    def score(self, value: float) -> float:
        """The CRPS of their steps.

        Example:
            >>> Samples([0.0, 1.0]).score(0.0)
            0.25
        """
        size = len(self.values)
        away = fsum(abs(x - value) for x in self.values) / size
        apart = fsum((2 * n - size + 1) * x for n, x in enumerate(self.values))
        return away - apart / size**2

    def quantile(self, level: float) -> float:
        """The conformal one: further out rather than further in.

        Example:
            >>> [Samples(range(1, 20)).quantile(level) for level in (0.1, 0.5, 0.92)]
            [2, 10, 19]
        """
        place = level * (len(self.values) + 1)
        rank = ceil(place - _ROUNDING) if level >= _MIDDLE else floor(place + _ROUNDING)
        return self.values[min(max(rank, 1), len(self.values)) - 1]


class Quantiles(NamedTuple):
    """Numbers below which the value lies with the chances of some levels."""

    levels: Sequence[float]
    values: Sequence[float]

    def score(self, value: float) -> float:
        """Twice the mean of the pinball losses.

        Example:
            >>> Quantiles([0.25, 0.75], [1.0, 3.0]).score(2.0)
            0.5
        """
        pairs = zip(self.levels, self.values, strict=True)
        return 2 * fmean((value - q) * (level - (value < q)) for level, q in pairs)

    def quantile(self, level: float) -> float:
        """That of one of the levels."""
        return self.values[list(self.levels).index(level)]


def forecast_of(said: Any, form: Form, levels: Sequence[float]) -> Forecast:
    """Read what is said of one value.

    Raises:
        CandidateError: If it is nothing of this form.

    Example:
        >>> forecast_of([3, 0.5], "normals", [])
        Normal(mean=3.0, deviation=0.5)
    """
    given = said if isinstance(said, (list, tuple)) else [said]
    is_list = given is said
    numbers = [float(x) for x in given[: MOST_SAMPLES + 1] if _is_number(x)]
    if len(numbers) == len(given) and is_list == (form != "points"):
        if form == "points":
            return Normal(numbers[0])
        if form == "normals" and len(numbers) == 2 and numbers[1] > 0:  # noqa: PLR2004 - a pair
            return Normal(*numbers)
        if form == "quantiles" and len(numbers) == len(levels) and numbers == sorted(numbers):
            return Quantiles(levels, numbers)
        if form == "samples" and 1 <= len(numbers) <= MOST_SAMPLES:
            return Samples(sorted(numbers))
    raise CandidateError(
        f"a step of the forecast is not {_HOW[form]}",
        feedback=f"Say of each step {_HOW[form]}. Numbers are finite and at most {LARGEST:g}.",
    )


def _is_number(x: Any) -> bool:
    return type(x) in {int, float} and abs(x) <= LARGEST


# ---- What forecasts are worth


class Skill(NamedTuple):
    """How much better forecasts are than the best reference."""

    skill: float
    low: float
    high: float
    """A 95 % interval."""
    reference: str
    """The best one."""
    origins: int
    """By how many it is told."""
    coverage: float
    """The share of values that lay in the intervals as they were forecast."""
    calibrated: float
    """The share of them that lay in the calibrated intervals."""

    def __str__(self) -> str:
        return (
            f"{self.skill:.3g} (95 %: {self.low:.3g} to {self.high:.3g}) against "
            f"{self.reference}, over {self.origins} origins"
        )


_REFERENCES: Final = ("the last value", "the last season", "the mean")


def references(known: Sequence[float], horizon: int, period: int) -> list[list[float]]:
    """What each reference says of the next values.

    Example:
        >>> references([1.0, 2.0, 3.0], 3, 2)
        [[3.0, 3.0, 3.0], [2.0, 3.0, 2.0], [2.0, 2.0, 2.0]]
    """
    season = [known[step % period - period] for step in range(horizon)]
    return [[known[-1]] * horizon, season, [fmean(known)] * horizon]


@dataclass(frozen=True)
class Rolling:
    """A series, its origins, and what is asked of a forecast.

    Example:
        >>> values = [0.0, 1.0, 3.0, 2.0, 4.0, 7.0, 5.0, 6.0, 8.0, 9.0]
        >>> rolling = Rolling(values, first=2, levels=(0.25, 0.75), calibration=3, least=4)
        >>> rolling.origins
        (2, 3, 4, 5, 6, 7, 8, 9)
        >>> perfect = [[Normal(values[t])] for t in rolling.origins]
        >>> print(rolling.skill(perfect))
        1 (95 %: 1 to 1) against the last value, over 5 origins
    """

    values: Sequence[float]
    first: int
    """How many values are known at the first origin."""
    every: int = 1
    """How many more are known at each other one."""
    horizon: int = 1
    """How many are forecast."""
    period: int = 1
    """How many a season has."""
    form: Form = "points"
    levels: Sequence[float] = (0.1, 0.9)
    """Of quantiles; the interval is that between the first and the last."""
    calibration: int = 20
    """How many origins only calibrate."""
    least: int = 20
    """How many others are needed at least."""

    def __post_init__(self) -> None:
        """Refuse what nobody can be judged by.

        Raises:
            TaskError: If there are too few origins or too many steps, no origin has seen a
                season, or the references are never wrong.
        """
        if (steps := len(self.origins) * self.horizon) > _MOST_STEPS:
            raise TaskError(
                f"the task asks for {steps} steps at all origins; at most {_MOST_STEPS} are judged"
            )
        if self.first < self.period:
            raise TaskError(f"the task's period is {self.period}, and its first {self.first}")
        needed = max(self.least, self._overlap)
        if (found := len(self._tested)) < needed:
            raise TaskError(
                f"the task leaves {found} origins to judge by, after {self.calibration} that "
                f"calibrate; at least {needed} are needed"
            )
        if self._rank > self.calibration:
            raise TaskError(
                f"the task's levels can't be calibrated by {self.calibration} origins: leave more "
                "below the first or above the last"
            )
        if not min(map(sum, self._cost_of_references)) > 0:
            raise TaskError("the references are never wrong about the task's values")

    @cached_property
    def origins(self) -> tuple[int, ...]:
        """How many values are known at each origin."""
        return tuple(range(self.first, len(self.values) - self.horizon + 1, self.every))

    @property
    def _calibrating(self) -> tuple[int, ...]:
        return self.origins[: self.calibration]

    @cached_property
    def _tested(self) -> tuple[int, ...]:
        """Those origins at which all that calibrates is known."""
        return self.origins[self.calibration + self._overlap - 1 :]

    @property
    def _overlap(self) -> int:
        """How many origins in a row share values that come after them."""
        return ceil(self.horizon / self.every)

    @property
    def _rank(self) -> int:
        """Which of the sorted errors calibrates."""
        held = self.levels[-1] - self.levels[0]
        return ceil((self.calibration + 1) * held - _ROUNDING)

    @cached_property
    def _cost_of_references(self) -> list[list[float]]:
        """The mean score of each reference at each origin that is judged by."""
        return [
            [
                fmean(steps)
                for steps in zip(*map(self._costs, zip(*errors, strict=True)), strict=True)
            ]
            for errors in zip(*map(self._errors, self.origins), strict=True)
        ]

    def _errors(self, origin: int) -> list[list[float]]:
        """How far off each reference was at an origin, for each step."""
        said = references(self.values[:origin], self.horizon, self.period)
        return [
            [y - x for x, y in zip(points, self._came(origin), strict=True)] for points in said
        ]

    def _costs(self, errors: Sequence[float]) -> list[float]:
        """What a reference's errors cost at the origins that are judged by."""
        first = len(self.origins) - len(self._tested)
        if self.form == "points":
            return [abs(error) for error in errors[first:]]
        known = [(place, place - self._overlap + 1) for place in range(first, len(errors))]
        if self.form == "quantiles":
            return _costs_of_quantiles(errors, known, self.levels)
        return _costs_of_samples(errors, known)

    def _came(self, origin: int) -> Sequence[float]:
        """What came after an origin."""
        return self.values[origin : origin + self.horizon]

    def _cost(self, origin: int, forecast: Sequence[Forecast]) -> float:
        """The mean score of a forecast."""
        pairs = zip(forecast, self._came(origin), strict=True)
        return fmean(each.score(value) for each, value in pairs)

    def skill(self, forecasts: Sequence[Sequence[Forecast]]) -> Skill:
        """How good forecasts are.

        Args:
            forecasts: For each origin what is said of each step.
        """
        said = dict(zip(self.origins, forecasts, strict=True))
        own = [self._cost(origin, said[origin]) for origin in self._tested]
        found = [self._against(own, other) for other in self._cost_of_references]
        skill, best = min((skill, number) for number, (skill, _) in enumerate(found))
        low, high = min(skill - sides for skill, sides in found), skill + found[best][1]
        return Skill(skill, low, high, _REFERENCES[best], len(own), *self._coverage(said))

    def _against(self, own: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
        """The skill against one reference, and how far it may be from that, to each side."""
        share, whole = fmean(own) / fmean(other), fmean(other)
        beyond = [(mine - share * its) / whole for mine, its in zip(own, other, strict=True)]
        return 1 - share, reach(beyond, self._overlap)

    def _coverage(self, said: Mapping[int, Sequence[Forecast]]) -> tuple[float, float]:
        """The shares of values in intervals as forecast, and as calibrated."""
        calibrating = [self._outside(origin, said[origin]) for origin in self._calibrating]
        rank = self._rank
        lacking = [sorted(step)[rank - 1] for step in zip(*calibrating, strict=True)]
        tested = [self._outside(origin, said[origin]) for origin in self._tested]
        raw = fmean(e <= 0 for row in tested for e in row)
        return raw, fmean(e <= q for row in tested for e, q in zip(row, lacking, strict=True))

    def _outside(self, origin: int, forecast: Sequence[Forecast]) -> list[float]:
        """How far outside of its interval each value is; below 0 inside."""
        low, high = self.levels[0], self.levels[-1]
        return [
            max(each.quantile(low) - value, value - each.quantile(high))
            for each, value in zip(forecast, self._came(origin), strict=True)
        ]


# ---- What references cost that say their errors


def _costs_of_samples(errors: Sequence[float], known: Iterable[tuple[int, int]]) -> list[float]:
    """What errors cost that have those before them as samples.

    Args:
        errors: All of them, in their order.
        known: Places of those that are wanted, and how many of the first are known there.

    Example:
        >>> _costs_of_samples([0.0, 2.0, 0.0], [(2, 2)])
        [0.0]
    """
    import numpy as np

    row = np.asarray(errors, dtype=float)
    found, counted, apart = [], 0, 0.0
    for place, size in known:
        for number in range(counted, size):
            apart += float(np.abs(row[:number] - row[number]).sum())
        counted = size
        away = float(np.abs(row[:size] - row[place]).mean())
        found.append(away - apart / (size * (size - 1)))
    return found


def _costs_of_quantiles(
    errors: Sequence[float], known: Iterable[tuple[int, int]], levels: Sequence[float]
) -> list[float]:
    """What errors cost that have the quantiles of those before them."""
    found, before = [], list[float]()

    def cost(error: float) -> float:
        around = Samples(before)
        return Quantiles(levels, [around.quantile(level) for level in levels]).score(error)

    for place, size in known:
        for error in errors[len(before) : size]:
            insort(before, error)
        mine = errors[place]
        blind, at = cost(mine), bisect(before, mine)
        before.insert(at, mine)
        found.append((blind + cost(mine)) / 2)
        before.pop(at)
    return found
