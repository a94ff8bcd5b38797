"""Charts of forecasts and back-tests: what was said, what came true, and what was earned.

What a candidate forecasts is read from its text in a process that may be killed; only numbers come
back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import isfinite
from typing import Any, Final, NamedTuple

import orjson
from markupsafe import Markup

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.report.charts import Frame, label, ticks
from verifier_ladder.summary.amounts import number
from verifier_ladder.text import printable
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Outcome, Verdict

NUMBER: Final = "numeric-forecast"
SERIES: Final = "series-forecast"
_POINTS = "points.json"
_MOST_POINTS = 240
"""Steps of a series that are shown, the last ones."""
_LEVELS = ((0.25, 0.75, "50 %"), (0.05, 0.95, "90 %"))
_WIDTH, _ROW, _SIDE, _FOOT = 420, 34, 12, 46
_FIELDS = 5
_LEAST = 1e-9
"""What is smaller, or by how little numbers differ as a part of them, is not to be seen."""


class Interval(NamedTuple):
    """A range of numbers, and what it is of."""

    name: str
    low: float
    high: float


class Point(NamedTuple):
    """What was said of one step of a series, and what came."""

    step: int
    low: float
    middle: float
    high: float
    came: float


# ---- Reading


class ForecastReading(SingleVerifier):
    """Reads what a text forecasts."""

    name, version, kind = "forecast-reading", "1", "text"
    timeout = 10.0
    memory = 2**30
    batch_size = 1

    def examine(self, candidate: Candidate) -> Verdict:
        """Read one forecast, that stands in JSON beside its task."""
        asked = orjson.loads(candidate.content)
        said = Candidate("text", asked["text"], task=asked["task"])
        if asked["of"] == SERIES:
            return _series(said, asked["settings"])
        return _number(said, asked["settings"])


def _number(said: Candidate, settings: Mapping[str, Any]) -> Verdict:
    from verifier_ladder.tiers.world.forecast import NumericForecast

    try:
        reader = NumericForecast(find=settings["find"])
    except (ConfigError, KeyError):
        reader = NumericForecast()
    found = reader.forecast(said)
    return Verdict.accept(evidence={"mean": found.mean, "deviation": found.deviation})


def _series(said: Candidate, settings: Mapping[str, Any]) -> Verdict:
    from verifier_ladder.tiers.simulation.seriesforecast import SeriesForecast

    given = {n: settings[n] for n in ("calibration", "least") if type(settings.get(n)) is int}
    rolling, forecasts, _ = SeriesForecast(**given).told(said)
    levels = rolling.levels
    middle = levels[len(levels) // 2]
    points = [
        (origin, steps[0].quantile(levels[0]), steps[0].quantile(middle),
         steps[0].quantile(levels[-1]), rolling.values[origin])
        for origin, steps in zip(rolling.origins, forecasts, strict=True)
    ]  # fmt: skip
    told = orjson.dumps(points[-_MOST_POINTS:])
    return Verdict.accept(
        evidence={"low": levels[0], "high": levels[-1]}, artifacts={_POINTS: told}
    )


READER: Final = ForecastReading()


def question(
    of: str, text: str, task: Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> str | None:
    """What the reader is asked; None where it can't be written."""
    try:
        asked = {"of": of, "text": text, "task": task, "settings": dict(settings)}
        return orjson.dumps(asked).decode()
    except (orjson.JSONEncodeError, TypeError):
        return None


# ---- What was said of one number


class Said(NamedTuple):
    """A forecast of one number."""

    mean: float
    deviation: float | None

    def intervals(self) -> list[Interval]:
        """Where it says that the number lies; none of a point."""
        if not self.deviation:
            return []
        from statistics import NormalDist

        normal = NormalDist(self.mean, self.deviation)
        return [
            Interval(name, normal.inv_cdf(low), normal.inv_cdf(high))
            for low, high, name in _LEVELS
        ]


def said_in(verdict: Verdict) -> Said | None:
    """The forecast that the reader has found, if it has found one."""
    mean, deviation = (_finite(verdict.evidence.get(name)) for name in ("mean", "deviation"))
    if verdict.outcome is not Outcome.ACCEPT or mean is None:
        return None
    return Said(mean, deviation if deviation is not None and deviation > 0 else None)


def _finite(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and isfinite(value) else None


def number_chart(said: Said, came: float | None, unit: str) -> Markup:
    """A forecast of one number, and what came."""
    rows = said.intervals() or [Interval("a point", said.mean, said.mean)]
    marks = [("said", said.mean)] + ([] if came is None else [("came", came)])
    return intervals_chart(
        "The forecast and what came", number_text(said, came), rows, marks, unit
    )


def number_text(said: Said, came: float | None) -> str:
    """The same in words."""
    text = f"forecast {number(said.mean, said.deviation)}"
    if came is None:
        return f"{text}; what came is not known yet"
    off = abs(came - said.mean)
    beyond = f", {off / said.deviation:.1f} deviations off" if said.deviation else ""
    return f"{text}; {number(came)} came{beyond}"


def _scale(*values: float) -> list[float]:
    """Round numbers that cover values; those that hardly differ are one number."""
    low, high = (edge if abs(edge) > _LEAST else 0.0 for edge in (min(values), max(values)))
    return ticks(low, low if high - low <= _LEAST * max(abs(low), abs(high)) else high)


def intervals_chart(
    title: str, description: str, rows: Sequence[Interval], marks: Sequence[tuple[str, float]],
    unit: str = "",
) -> Markup:  # fmt: skip
    """Ranges, one below the other on one scale, and numbers that are marked on all of them.

    Args:
        title: What it is.
        description: The same with its numbers, for those who can't see it.
        rows: The ranges.
        marks: Class and value of each mark: `said`, `came` or `zero`.
        unit: Of the scale.
    """
    ends = [end for row in rows for end in (row.low, row.high)] + [value for _, value in marks]
    scale = _scale(*ends)
    bottom = _SIDE + _ROW * len(rows)

    def x(value: float) -> float:
        share = (value - scale[0]) / (scale[-1] - scale[0])
        return round(_SIDE + 12 + share * (_WIDTH - 2 * _SIDE - 24), 2)

    parts = [
        Markup('<line class="tickline" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>'
               '<text class="tick" x="{0}" y="{3}" text-anchor="middle">{4}</text>').format(
            x(value), _SIDE, bottom, bottom + 18, label(value, scale[1] - scale[0]))
        for value in scale
    ]  # fmt: skip
    for place, row in enumerate(rows):
        top = _SIDE + _ROW * place
        parts.append(Markup(
            '<rect class="band" x="{}" y="{}" width="{}" height="12"/>'
            '<text class="tick" x="{}" y="{}">{}</text>'
        ).format(x(row.low), top + 16, max(1.5, round(x(row.high) - x(row.low), 2)), x(row.low),
                 top + 12, row.name))  # fmt: skip
    parts += [
        Markup('<line class="mark {}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            name, x(value), x(value), _SIDE, bottom
        )
        for name, value in marks
    ]
    name = printable(unit, 40)
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>'
        '<desc>{}</desc>{}<text class="name" x="{}" y="{}" text-anchor="middle">{}</text></svg>'
    ).format(_WIDTH, bottom + _FOOT, title, title, description, Markup().join(parts), _WIDTH / 2,
             bottom + 38, name)  # fmt: skip


# ---- What was said of a series


def points_in(verdict: Verdict) -> list[Point]:
    """The steps that the reader has found; none if it has not."""
    file = verdict.files.get(_POINTS)
    if verdict.outcome is not Outcome.ACCEPT or file is None or file.data is None:
        return []
    try:
        rows = orjson.loads(file.data)
    except orjson.JSONDecodeError:
        return []
    if not isinstance(rows, list) or len(rows) > _MOST_POINTS:
        return []
    made = []
    for row in rows:
        values = [_finite(value) for value in row] if isinstance(row, list) else []
        known = [value for value in values if value is not None]
        if len(known) != _FIELDS:
            return []
        made.append(Point(int(known[0]), *known[1:]))
    return made


def series_chart(points: Sequence[Point]) -> Markup:
    """One step ahead at each origin: the interval, its middle, and what came."""
    values = [value for point in points for value in (point.low, point.high, point.came)]
    steps = [float(point.step) for point in points]
    frame = Frame(_scale(*steps), _scale(*values), "step", "value")
    upper = [(float(p.step), p.high) for p in points]
    lower = [(float(p.step), p.low) for p in reversed(points)]
    marks = [Markup('<path class="band" d="{}Z"/>').format(frame.path([*upper, *lower]))]
    for name, row in (
        ("mean", [(float(p.step), p.middle) for p in points]),
        ("best", [(float(p.step), p.came) for p in points]),
    ):
        marks.append(Markup('<path class="line {}" d="{}"/>').format(name, frame.path(row)))
    return frame.figure("Forecasts and what came", series_text(points), marks)


def series_text(points: Sequence[Point]) -> str:
    """The same in words."""
    inside = sum(point.low <= point.came <= point.high for point in points)
    return f"of {len(points)} values {inside} lay in their intervals, forecast one step ahead"


# ---- What a strategy has earned


def equity_chart(worth: Sequence[float]) -> Markup:
    """What was earned by each price, and how far that is below the most until then."""
    step = max(1, -(-len(worth) // _MOST_POINTS))
    peaks = [*accumulate(worth, max)]
    # Of several prices the worst one is shown: else a loss could lie between two of them.
    shown = [
        min(range(first, min(first + step, len(worth))), key=lambda n: worth[n] - peaks[n])
        for first in range(0, len(worth), step)
    ]
    shown += [len(worth) - 1] if shown[-1] != len(worth) - 1 else []
    values = [0.0, *(worth[n] for n in shown), *(peaks[n] for n in shown)]
    frame = Frame(
        _scale(0.0, float(len(worth) - 1)), _scale(*values), "price",
        "earned, of the capital",
    )  # fmt: skip
    over = [(float(n), peaks[n]) for n in shown]
    under = [(float(n), worth[n]) for n in shown]
    marks = [
        Markup('<path class="loss" d="{}Z"/>').format(frame.path([*over, *reversed(under)])),
        Markup('<path class="line mean" d="{}"/>').format(frame.path(under)),
    ]
    return frame.figure("What was earned", equity_text(worth), marks)


def equity_text(worth: Sequence[float]) -> str:
    """The same in words."""
    lost, place = max(
        (peak - value, n)
        for n, (peak, value) in enumerate(zip(accumulate(worth, max), worth, strict=True))
    )
    return (
        f"{100 * worth[-1]:.1f} % of the capital over {len(worth)} prices; the most that was lost "
        f"of what had been earned is {100 * lost:.1f} %, at price {place + 1}"
    ).replace("-", "−")
