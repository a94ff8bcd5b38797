r"""The verifier `numeric-forecast`: a number, or a normal distribution, settled from a table.

A point is scored by its distance from what came. A normal distribution N(m, s²) is scored by the
continuous ranked probability score, which is a distance too and is smallest on average for who
says what he believes: with z = (y - m) / s, and φ and Φ the density and the distribution function
of the standard normal distribution,

    CRPS = s (z (2 Φ(z) - 1) + 2 φ(z) - 1 / √π)

(Gneiting and Raftery, *Strictly Proper Scoring Rules, Prediction, and Estimation*, 2007, eq. 21,
with the sign turned).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import erf, exp, isfinite, pi, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.case import Case, moment, shown
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tiers.fast.extraction import SHORT, agreed, answers, bare, checked_marks
from verifier_ladder.tiers.fast.numeric import number
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.world.feed import FedVerifier, Feed, series_of
from verifier_ladder.verdict import Verdict

HOW = "Write one number, or mean ± standard deviation, alone between <answer> and </answer>."
LARGEST = 1e15
"""The largest number that a forecast may hold."""
_FAR = 40.0
"""Deviations from which on Φ is 1 and φ is 0, as far as numbers tell; z may be beyond them."""
_SPREAD = re.compile(r"\s*(?:±|\+/-|\\pm)\s*")


class Normal(NamedTuple):
    """A forecast: a normal distribution, or a point if it has no deviation."""

    mean: float
    deviation: float | None = None

    def score(self, value: float) -> float:
        """How far off it is: the distance of a point, else the CRPS.

        Example:
            >>> Normal(3.0).score(5.0), round(Normal(0.0, 1.0).score(0.0), 6)
            (2.0, 0.233695)
        """
        if self.deviation is None:
            return abs(value - self.mean)
        z = (value - self.mean) / self.deviation
        if abs(z) > _FAR:
            return abs(value - self.mean) - self.deviation / sqrt(pi)
        inner = z * erf(z / sqrt(2)) + sqrt(2 / pi) * exp(-z * z / 2) - 1 / sqrt(pi)
        return self.deviation * inner

    def quantile(self, level: float) -> float:
        """The number below which the value lies with this chance; of a point the point itself.

        Example:
            >>> Normal(3.0).quantile(0.9), round(Normal(0.0, 1.0).quantile(0.975), 2)
            (3.0, 1.96)
        """
        if self.deviation is None:
            return self.mean
        return NormalDist(self.mean, self.deviation).inv_cdf(level)


class NumericForecast(FedVerifier):
    """Scores a forecast of a series' value, once that is told; less is better.

    The task holds `series`, the name of the series, and `horizon`, the time of the forecast. It is
    settled with the first value that is told at the horizon or later. Where that comes too long
    after it, or is empty, nobody is judged.

    Of a price of units that may be split, the task says in `as_of` of which time the units are
    that the forecast is about: what came is told for one of those.

    Example:
        >>> task = {"series": "example-series", "horizon": "2126-01-05T16:00:00Z"}
        >>> said = ["It rises: <answer>101.5 ± 2</answer>", "It rises."]
        >>> [v.reason for v in NumericForecast().judge(
        ...     [Candidate("text", text, task=task) for text in said])]
        ['numeric-forecast was asked', 'the forecast is not one number, or mean ± deviation']
    """

    name = "numeric-forecast"
    version = "3"
    kind = "text"
    domain = "forecasting"
    capabilities = ("reasoning",)
    settles_at = "horizon"
    task_fields = ("series", "as_of")

    @checked()
    def __init__(
        self,
        *,
        folder: str = "",
        within: float = 7 * 86400.0,
        unit: str = "",
        find: Sequence[str] = SHORT,
        url: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Say where the series are.

        Args:
            folder: Folder of the tables; empty for the example series of the package.
            within: Seconds after the horizon within which a value settles a forecast.
            unit: Unit of the values.
            find: Marks of the answer: `verifier_ladder.tiers.fast.extraction`.
            url: Address of a service that gives the tables, in the place of a folder.
            headers: Sent with each request. A `$NAME` that is a value, or its last word, is one of
                its `secrets` without being declared.

        Raises:
            ConfigError: If `within` is no time span, or a mark does not exist.
        """
        if not (isfinite(within) and within >= 0):
            raise ConfigError(f"within={within!r} of numeric-forecast: give seconds from 0 on")
        self.within, self.unit, self._find = float(within), unit, checked_marks(find)
        super().__init__(
            **self.fed_by(folder, url, headers), within=self.within, unit=unit, find=self._find
        )

    def look_up(self, candidate: Candidate) -> Verdict | None:
        """Refuse what is no forecast; nothing is known of one before its horizon."""
        series_of(candidate.task)
        _as_of(candidate.task)
        self.forecast(candidate)
        return None

    def settle(self, case: Case, feed: Feed) -> Verdict | None:
        """Compare the forecast with the first value from the horizon on."""
        series, at = series_of(case.candidate.task), case.settles_at or 0.0
        table = feed.read(series)
        if (told := table.first(at)) is None:
            return None
        found = {
            "series": series, "time": told.time, "value": told.value,
            "published": shown(told.published), "vintage": told.vintage,
            "feed_sha256": table.sha256,
        }  # fmt: skip
        if told.time > at + self.within:
            why = f"nothing was told of {series} within {self.within:g} s of the horizon"
            return Verdict.abstain(why, evidence=found)
        if told.value is None:
            return Verdict.abstain(f"{series} has no value at the horizon", evidence=found)
        since = _as_of(case.candidate.task)
        split = 1.0 if since is None else table.split(since, told.time)
        value = told.value * split
        if not (split > 0 and isfinite(value)):
            why = f"the splits of {series} are too large or too small to compare with"
            return Verdict.abstain(why, evidence=found)
        score = self.forecast(case.candidate).score(value)
        return Verdict.accept(score, unit=self.unit, evidence={**found, "split": split})

    def forecast(self, candidate: Candidate) -> Normal:
        """What a candidate forecasts.

        Raises:
            CandidateError: If that is nothing.
        """
        found = answers(candidate.content, self._find, HOW)
        return agreed((_read(bare(text)) for text in found), HOW)

    def question(self, candidate: Candidate) -> str:
        """What came of the forecast."""
        task = candidate.task or {}
        return (
            f"How far off is the forecast {candidate.content!r} of {task.get('series')} at "
            f"{task.get('horizon')}?{self._in_unit()}"
        )


def _as_of(task: Mapping[str, Any] | None) -> float | None:
    """The time of whose units a forecast is; None where its task does not say.

    Raises:
        TaskError: If that is no time, or one after the horizon.
    """
    given = (task or {}).get("as_of")
    if given is None:
        return None
    try:
        since, horizon = moment(given), moment((task or {}).get("horizon"))
    except ConfigError as error:
        raise TaskError(f"the task's as_of: {error}") from None
    if since > horizon:
        raise TaskError("the task's as_of comes after its horizon")
    return since


def _read(said: str) -> Normal:
    """Read a forecast.

    Raises:
        CandidateError: If it is none.
    """
    parts = [_number(part) for part in _SPREAD.split(said, maxsplit=2)]
    if len(parts) > 2 or None in parts:  # noqa: PLR2004 - a mean and a deviation
        why = "the forecast is not one number, or mean ± deviation"
        raise CandidateError(why, feedback=f"{HOW} No unit, no range.")
    forecast = Normal(*parts)  # type: ignore[arg-type]
    if forecast.deviation is not None and forecast.deviation <= 0:
        raise CandidateError("the deviation is not above zero", feedback=HOW)
    return forecast


def _number(text: str) -> float | None:
    found = number(text.removesuffix("."))
    return float(found) if found is not None and abs(found) <= LARGEST else None
