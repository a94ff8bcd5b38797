# ruff: noqa: E501 - one case, and one program, a line
"""Make the answer keys of `series-forecast` and `code-forecast`, from series that are made here.

    python tools/series_key.py [NAME]     # writes tiers/answer_keys/NAME.jsonl

Scores are what defines them, and no short form of it: the continuous ranked probability score of
samples is the integral of a square of steps; that of a normal distribution is Simpson's rule
(`forecast_key`). A right forecast has a skill of which nobody can doubt that it is
more than what is asked for: for each reference, the mean of batches of origins lies more than four
standard errors beyond it. Of a wrong one the skill is less than that, or well within the noise.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, cos, floor, fsum, isfinite, pi, sin, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Any, NamedTuple

from code_attacks import BOMBS, HOSTILE
from forecast_key import crps
from keywriter import NO, YES, Key, write

CLOSED = "closed form: the integral of a step function"
INTEGRAL = "closed form: the integral, by Simpson's rule"
CALIBRATION = 20
SURE = 4.0
"""Standard errors from which on nobody can doubt it."""
LEVELS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
Row = list[Any]
Rows = list[Row]


# ---- Series, and programs that know their law


class Law(NamedTuple):
    """A series, its period, the deviation of its noise, and programs that forecast it."""

    values: list[float]
    period: int
    noise: float
    right: str
    edits: Sequence[tuple[str, str, str]]
    """What is edited in it, into what, and why that is wrong."""


def _made(size: int, law: Callable[[int], float], noise: float, seed: int) -> list[float]:
    draw = random.Random(seed)  # noqa: S311 - cases, not secrets
    return [round(law(n) + draw.gauss(0, noise), 2) for n in range(size)]


def _swing() -> list[float]:
    draw, found = random.Random(3), [50.0]  # noqa: S311 - cases, not secrets
    for n in range(1, 90):
        found.append(round(found[-1] + (4 if n % 2 else -3.5) + draw.gauss(0, 0.5), 2))
    return found


SEASON = "def solve(history, horizon):\n    n = len(history)\n    drift = history[-1] - history[-13]\n    return [history[n + k - 12] + drift for k in range(horizon)]"
TREND = "def solve(history, horizon):\n    n = len(history)\n    slope = sum((k - (n - 1) / 2) * y for k, y in enumerate(history)) * 12 / (n * (n * n - 1))\n    middle = sum(history) / n\n    return [middle + slope * (n + k - (n - 1) / 2) for k in range(horizon)]"
SWING = (
    "def solve(history, horizon):\n    return [history[-1] + (4 if len(history) % 2 else -3.5)]"
)
WAVE = "from math import cos\ndef solve(history, horizon):\n    a, b = history[-2:]\n    found = []\n    for _ in range(horizon):\n        a, b = b, 2 * cos(0.3) * b - a\n        found.append(b)\n    return found"
LAWS = {
    "season": Law(
        _made(96, lambda n: 20 + n * n / 50 + 6 * sin(2 * pi * n / 12) + 4 * cos(4 * pi * n / 12), 0.4, 1), 12, 0.8, SEASON,
        (("n + k - 12] +", "n + k - 9] +", "three months after"), ("n + k - 12] +", "n + k - 18] +", "half a year late"), ("+ drift", "- drift", "the other way"),
         ("+ drift", "+ 0 * drift", "the same month of the last year, as a reference has it")),
    ),
    "trend": Law(
        _made(90, lambda n: 5 + 0.9 * n, 1.0, 2), 1, 1.0, TREND,
        (("middle + slope *", "middle - slope *", "the other way"), ("slope * (n + k - (n - 1) / 2)", "0 * slope", "the mean"), ("* 12 /", "* 6 /", "half of the slope"),
         ("[middle + slope * (n + k - (n - 1) / 2) for", "[history[-1] for", "the last value, as a reference has it")),
    ),
    "swing": Law(
        _swing(), 1, 0.5, SWING,
        (("(4 if", "(-3.5 if", "no swing"), ("else -3.5", "else 4", "no swing back"), ("len(history) % 2", "len(history) % 2 == 0", "the other way"), ("history[-1] +", "history[-2] +", "from the value before")),
    ),
    "wave": Law(
        _made(100, lambda n: 100 * cos(0.3 * n), 1.0, 4), 1, 4.6, WAVE,
        (("b - a\n", "b + a\n", "a sign"), ("cos(0.3)", "cos(0.6)", "twice as fast"), ("history[-2:]", "history[-3:-1]", "a step behind"), ("2 * cos(0.3) * b - a\n", "b\n", "the last value, as a reference has it")),
    ),
}  # fmt: skip
NOISE = _made(90, lambda _: 0.0, 5.0, 5)
WALK = [round(sum(NOISE[: n + 1]), 2) for n in range(len(NOISE))]


def task(values: list[float], first: int, **more: Any) -> dict[str, Any]:
    """A task; what is as it is by default is left out."""
    return {"values": values, "first": first, **{k: v for k, v in more.items() if v is not None}}


def of(law: str, first: int, **more: Any) -> dict[str, Any]:
    """A task about one of the series."""
    found = LAWS[law]
    period = {} if found.period == 1 else {"period": found.period}
    return task(found.values, first, **period, **more)


# ---- What a forecast is worth


def origins(given: dict[str, Any]) -> list[int]:
    """How many values are known at each origin."""
    last = len(given["values"]) - given.get("horizon", 1)
    return list(range(given["first"], last + 1, given.get("every", 1)))


def steps(samples: Sequence[float], value: float) -> float:
    """The integral of (F(x) - [x >= value])², where F has a step at each sample."""
    places = sorted({*samples, value})
    return fsum(
        (sum(s <= low for s in samples) / len(samples) - (value <= low)) ** 2 * (high - low)
        for low, high in pairwise(places)
    )


def pinball(level: float, said: float, value: float) -> float:
    """What a quantile costs."""
    return level * (value - said) if value >= said else (1 - level) * (said - value)


def rank(level: float, size: int) -> int:
    """Which of the sorted errors stands for a level, counted from 1: the conformal one."""
    place = Fraction(repr(level)) * (size + 1)
    at = ceil(place) if level >= 0.5 else floor(place)  # noqa: PLR2004 - the middle
    return min(max(at, 1), size)


def worth(form: str, levels: list[float], said: Any, value: float) -> float:
    """The score of one step."""
    if form == "points":
        return abs(float(said) - value)
    if form == "normals":
        return crps(said[0], said[1], value, parts=400)
    if form == "samples":
        return steps(said, value)
    return 2 * fmean(pinball(*each, value) for each in zip(levels, said, strict=True))


def references(given: dict[str, Any], at: int, step: int) -> list[float]:
    """What the references say at an origin of a step, counted from 1: last, season, mean."""
    values, period = given["values"], given.get("period", 1)
    back = at + step - 1
    while back >= at:
        back -= period
    return [values[at - 1], values[back], fmean(values[:at])]


def reference_worth(form: str, levels: list[float], spread: list[float], value: float) -> float:
    """The score of a reference that says its value with the errors that it has had.

    Few errors say less than the distribution that they come from, which is no merit of whoever is
    compared. Samples cost what this distribution costs on average; quantiles what they cost
    half-way from not knowing the value to knowing it.
    """
    if form == "quantiles":
        return fmean(
            worth(form, levels, [known[rank(each, len(known)) - 1] for each in levels], value)
            for known in (spread, sorted([*spread, value]))
        )
    pairs = fsum(abs(a - b) for a in spread for b in spread)
    size = len(spread)
    return steps(spread, value) - pairs / (2 * size**2 * (size - 1) or 1)


def errors(given: dict[str, Any], at: int, step: int, reference: int) -> list[float]:
    """How far off a reference was whenever that is known at an origin."""
    values, horizon = given["values"], given.get("horizon", 1)
    return [
        values[t + step - 1] - references(given, t, step)[reference]
        for t in origins(given)
        if t + horizon <= at
    ]


def scores(given: dict[str, Any], forecasts: Rows) -> list[list[float]]:
    """For each origin to judge by: the score of the forecast, then those of the references."""
    form, levels = given.get("form", "points"), given.get("levels", LEVELS)
    values, horizon = given["values"], given.get("horizon", 1)
    at = origins(given)
    found = []
    for t, said in zip(at, forecasts, strict=True):
        if t < at[CALIBRATION - 1] + horizon:
            continue
        row = [0.0] * 4
        for k in range(horizon):
            value = values[t + k]
            row[0] += worth(form, levels, said[k], value) / horizon
            for r, point in enumerate(references(given, t, k + 1)):
                if form == "points":
                    row[1 + r] += abs(point - value) / horizon
                    continue
                spread = sorted(point + error for error in errors(given, t, k + 1, r))
                row[1 + r] += reference_worth(form, levels, spread, value) / horizon
        found.append(row)
    return found


class Worth(NamedTuple):
    """The skill of forecasts, and how surely it is more than what is asked for."""

    skill: float
    surely: float
    """Standard errors, for the reference that is hardest to beat; below 0 if it is less."""


def judged(given: dict[str, Any], forecasts: Rows) -> Worth:
    """How good forecasts are."""
    table = scores(given, forecasts)
    sums = [sum(row[c] for row in table) for c in range(4)]
    least = min(sums[1:])
    step = max(ceil(len(table) ** (1 / 3)), ceil(given.get("horizon", 1) / given.get("every", 1)))
    asked, surely = given.get("skill", 0.0), []
    for r in range(1, 4):
        gains = [(1 - asked) * row[r] - row[0] for row in table]
        batches = [fmean(gains[n : n + step]) for n in range(0, len(gains) - step + 1, step)]
        error = stdev(batches) / sqrt(len(batches)) or 1e-12
        surely.append(fmean(gains) / error)
    return Worth(1 - sums[0] / least, min(surely))


def add(  # noqa: PLR0917 - a case
    key: Key, said: Any, given: dict[str, Any], forecasts: Rows, outcome: str, why: str,
    **more: Any,
) -> None:  # fmt: skip
    """Add a case whose outcome the forecasts' worth proves.

    Raises:
        ValueError: If it does not.
    """
    found = judged(given, forecasts)
    is_clear = found.surely > SURE if outcome == YES else found.surely < 1
    if not is_clear or not isfinite(found.skill):
        raise ValueError(f"{why}: {found} does not show that it is to {outcome}")
    source = INTEGRAL if given.get("form") == "normals" else CLOSED
    if outcome == YES:
        more["score"] = [found.skill - 1e-5, found.skill + 1e-5]
    else:
        more["score"] = [0.0, 0.0]
    key.add(said, given, outcome, why, source, **more)


# ---- Forecasts as programs give them, and as texts


def ran(program: str, given: dict[str, Any]) -> Rows:
    """What a tame program says at each origin."""
    found = []
    for t in origins(given):
        space: dict[str, Any] = {}
        exec(program, space)  # noqa: S102 - a program of this file
        found.append(space["solve"](given["values"][:t], given.get("horizon", 1)))
    return found


def shaped(points: Rows, form: str, levels: list[float], noise: float) -> Rows:
    """Forecasts in a form, whose middle the points are."""
    bell, draw = NormalDist(0, noise), random.Random(7)  # noqa: S311 - cases, not secrets

    def one(point: float) -> Any:
        if form == "points":
            return round(point, 3)
        if form == "normals":
            return [round(point, 3), noise]
        if form == "quantiles":
            return [round(point + bell.inv_cdf(level), 3) for level in levels]
        return [round(draw.gauss(point, noise), 3) for _ in range(15)]

    return [[one(point) for point in row] for row in points]


FRAMES = (
    "%s",
    "<answer>%s</answer>",
    "```json\n%s\n```",
    "I looked at its seasons.\n\n```json\n%s\n```\n",
    "<think>[[1]]</think>\n%s",
)


def text(forecasts: Rows, n: int = 0) -> str:
    """What a model may write."""
    return FRAMES[n % len(FRAMES)] % json.dumps(forecasts)


SETS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("season", 36, {"horizon": 1}), ("trend", 12, {"horizon": 4}), ("swing", 12, {}), ("wave", 12, {"horizon": 2, "skill": 0.4}),
)  # fmt: skip


def plain(key: Key) -> None:
    """Each series in each form, and each forecast with an edit."""
    for n, form in enumerate(("points", "normals", "quantiles", "samples")):
        for m, (law, first, more) in enumerate(SETS):
            given = of(law, first, **more, **({} if form == "points" else {"form": form}))
            found = LAWS[law]
            points = ran(found.right, given)
            said = shaped(points, form, LEVELS, found.noise)
            add(key, text(said, n + m), given, said, YES, f"{law}, as {form}")
            edit = found.edits[(n + m) % 4]
            worse = shaped(
                ran(found.right.replace(edit[0], edit[1]), given), form, LEVELS, found.noise
            )
            add(
                key,
                text(worse, n + m),
                given,
                worse,
                NO,
                f"{law}, as {form}; one edit away: {edit[2]}",
            )


def settings(key: Key) -> None:
    """Strides, horizons, levels and the skill that is asked for."""
    season, trend, swing, wave = (LAWS[name] for name in ("season", "trend", "swing", "wave"))
    for law, given, lag, why in (
        (trend, of("trend", 10, horizon=6), 7, "six steps, whose origins overlap"),
        (trend, of("trend", 5, horizon=3, every=2), 2, "three steps, every second origin"),
        (season, of("season", 24, horizon=2), 5, "two steps ahead"),
        (wave, of("wave", 8, horizon=3, every=2, form="samples"), 1, "samples of three steps, every second origin"),
        (swing, of("swing", 5, form="quantiles", levels=[0.05, 0.5, 0.95]), 1, "three levels"),
        (swing, of("swing", 5, form="quantiles", levels=[0.25, 0.75]), 1, "two levels"),
        (trend, of("trend", 6, horizon=2, form="normals"), 3, "normal distributions of two steps"),
    ):  # fmt: skip
        form, levels = given.get("form", "points"), given.get("levels", LEVELS)
        said = shaped(ran(law.right, given), form, levels, law.noise)
        add(key, text(said), given, said, YES, why)
        late = [*said[:1] * lag, *said[:-lag]]
        told = f"{why}; one edit away: each is that of an origin before"
        add(key, text(late), given, late, NO, told)
    for law, given in (
        (swing, of("swing", 12)),
        (wave, of("wave", 12, horizon=2)),
        (trend, of("trend", 12, horizon=4, form="samples")),
    ):
        said = shaped(ran(law.right, given), given.get("form", "points"), LEVELS, law.noise)
        skill = judged(given, said).skill
        for more, outcome in ((-0.4, YES), (0.01, NO), (-0.005, NO)):
            asked = {**given, "skill": round(skill + more, 3)}
            add(
                key,
                text(said),
                asked,
                said,
                outcome,
                f"a skill of {more:+g} beyond what it has is asked for",
            )


def spreads(key: Key) -> None:
    """Distributions that say too much or too little of what they know."""
    law, given = LAWS["swing"], of("swing", 12, form="normals", skill=0.5)
    points = ran(law.right, given)
    for noise, outcome, why in (
        (0.5, YES, "as wide as the noise"),
        (0.7, YES, "a little wide"),
        (40.0, NO, "much too wide"),
    ):
        said = shaped(points, "normals", LEVELS, noise)
        add(key, text(said), given, said, outcome, why)
    for form in ("normals", "quantiles", "samples"):
        given = of("season", 36, form=form, skill=0.1)
        points = [[y + 6 for y in row] for row in ran(SEASON, given)]
        said = shaped(points, form, LEVELS, 0.01)
        add(key, text(said), given, said, NO, f"sure of what is wrong, as {form}")


def references_alone(key: Key) -> None:
    """What the references say already, and what noise has in store."""
    for values, given, why in (
        (WALK, task(WALK, 12), "a random walk"), (WALK, task(WALK, 12, horizon=3), "a random walk, three steps ahead"),
        (NOISE, task(NOISE, 12), "white noise"), (NOISE, task(NOISE, 12, period=7), "white noise, with a season that is none"),
    ):  # fmt: skip
        horizon = given.get("horizon", 1)
        for said, how in (
            ([[values[t - 1]] * horizon for t in origins(given)], "the last value"),
            ([[round(fmean(values[:t]), 6)] * horizon for t in origins(given)], "the mean so far"),
            (
                [[2 * values[t - 1] - values[t - 2]] * horizon for t in origins(given)],
                "the last step once more",
            ),
            ([[0.0] * horizon for _ in origins(given)], "nothing"),
        ):
            add(key, text(said), given, said, NO, f"{why}: {how}")
    given = task(NOISE, 12, form="normals")
    bells: Rows = [[[round(fmean(NOISE[:t]), 3), 5.0]] for t in origins(given)]
    add(key, text(bells), given, bells, NO, "white noise: its mean and its deviation")
    given = of("season", 36, form="samples")
    alone: Rows = [[[LAWS["season"].values[t - 12]]] for t in origins(given)]
    add(key, text(alone), given, alone, NO, "the season's value, without a spread")


def shapes(key: Key) -> None:
    """What is no forecast of what is asked for."""
    law = LAWS["swing"]
    given = of("swing", 12)
    good = shaped(ran(SWING, given), "points", LEVELS, law.noise)
    whole = json.dumps(good)
    for said, why in (
        (json.dumps(good[:-1]), "an origin is missing"), (json.dumps([*good, [1.0]]), "an origin too many"),
        (json.dumps([*good[:-1], []]), "a step is missing"), (json.dumps([*good[:-1], [1.0, 2.0]]), "a step too many"),
        (json.dumps([row[0] for row in good]), "no list of steps"), (json.dumps({"forecasts": good}), "an object"),
        (whole.replace("[[", "[[NaN], [", 1).rpartition(", [")[0] + "]", "not a number"), (json.dumps([[float("inf")], *good[1:]]), "infinite"),
        (json.dumps([[True], *good[1:]]), "a truth value"), (json.dumps([["54.0"], *good[1:]]), "a number in quotes"), (json.dumps([[None], *good[1:]]), "nothing"),
        (json.dumps([[1e16], *good[1:]]), "too large"), ("[[1e999]" + whole[1:].partition("]")[2], "a number beyond all"), ("[[" + "9" * 400 + "]" + whole[1:].partition("]")[2], "400 digits"),
        (whole[:-1], "not closed"), (whole + whole, "twice"), (f"<answer>{whole}</answer> or <answer>[[1]]</answer>", "two answers"), (whole.replace(".", ",", 1), "a decimal comma"),
        ("", "no text"), ("It swings.", "words"), ("null", "nothing at all"), ("<think>" + whole, "thought that never ends"), (SWING, "a program"),
        (json.dumps([[[y] for y in row] for row in good]), "samples where numbers are asked for"),
    ):  # fmt: skip
        key.add(said, given, NO, why, "convention")
    forms: tuple[tuple[str, Any, str], ...] = (
        ("normals", [54.0, 0.0], "no deviation"), ("normals", [54.0, -0.5], "a deviation below zero"), ("normals", [54.0], "no deviation at all"), ("normals", 54.0, "a number"), ("normals", [54.0, 0.5, 1], "a third number"), ("normals", {"mean": 54.0}, "an object"),
        ("quantiles", [54.0] * 8, "a level is missing"), ("quantiles", [54.0] * 10, "a level too many"), ("quantiles", [54.1, *[54.0] * 8], "quantiles that cross"), ("quantiles", 54.0, "a number"),
        ("samples", [], "no sample"), ("samples", [54.0] * 1001, "too many samples"), ("samples", 54.0, "a number"), ("samples", [54.0, None], "a sample that is none"),
    )  # fmt: skip
    for form, step, why in forms:
        asked = of("swing", 12, form=form)
        rows = shaped(ran(SWING, asked), form, LEVELS, law.noise)
        key.add(json.dumps([[step], *rows[1:]]), asked, NO, f"{form}: {why}", "convention")
    edge = of("swing", 12, form="quantiles")
    flat = [[[round(y, 3)] * 9 for y in row] for row in ran(SWING, edge)]
    add(key, json.dumps(flat), edge, flat, YES, "quantiles that are all alike")
    edge = of("swing", 12, form="samples")
    lone = [[[round(y, 3)] for y in row] for row in ran(SWING, edge)]
    add(key, json.dumps(lone), edge, lone, YES, "one sample")


def broken_tasks() -> list[tuple[Any, str, str]]:
    """Tasks that nobody can be judged by."""
    good = of("swing", 12)
    return [
        (None, "values", "no task"), ({"first": 12}, "values", "no series"), ({"values": good["values"]}, "first", "no origin"),
        ({**good, "values": [1.0, None, 2.0]}, "values", "a value that is none"), ({**good, "values": "1 2 3"}, "values", "words for a series"), ({**good, "values": [True] * 90}, "values", "truth values"),
        ({**good, "first": 0}, "first", "an origin that knows nothing"), ({**good, "first": 60}, "10 origins to judge by", "too few origins"), ({**good, "first": 100}, "0 origins to judge by", "no origin at all"),
        ({**good, "period": 13}, "period", "a season that no origin has seen"), ({**good, "period": 0}, "period", "no season"), ({**good, "every": 0}, "every", "no stride"),
        ({**good, "horizon": 0}, "horizon", "no step"), ({**good, "horizon": 40}, "0 origins to judge by", "too far ahead"), ({**good, "form": "letters"}, "form", "a form that there is not"),
        ({**good, "levels": [0.5, 0.5]}, "levels", "levels that do not rise"), ({**good, "levels": [0.5]}, "levels", "one level"), ({**good, "levels": [0.0, 0.5]}, "levels", "a level that none can reach"),
        ({**good, "skill": 1.0}, "skill", "a skill that nobody can have"), ({**good, "skill": "much"}, "skill", "a skill in words"),
        ({**good, "values": [7.0] * 90}, "never wrong", "a series that never changes"), ({**good, "levels": [0.01, 0.99]}, "calibrat", "levels that so few origins can't calibrate"),
    ]  # fmt: skip


def unknown(key: Key) -> None:
    """Tasks that nobody can be judged by."""
    given = of("swing", 12)
    key.broken(json.dumps(shaped(ran(SWING, given), "points", LEVELS, 0.5)), broken_tasks())


def hostile(key: Key) -> None:
    """Input that is made to break a verifier."""
    given = of("swing", 12)
    for said, why in (
        ([["[", 200_000]], "brackets that never end"), ([["[", 5_000], ["]", 5_000]], "five thousand levels"), ([["[[1],", 200_000]], "many origins"), ([["9", 1_000_000]], "a million digits"),
        ([["[[1]] ", 100_000]], "many answers"), ([["<answer>", 100_000]], "tags that never end"), ([["```json\n", 50_000]], "fences that never end"), ("[[1e-400]]", "vanishing"), ("[[-0]]\0", "a zero byte"),
        ('{"__class__": "float"}', "a class"), ("[[__import__('os').abort()]]", "a program"), ('[[{"a": 1, "a": 2}]]', "a name twice"), ("\ufeff[[1]]", "a mark of byte order"),
    ):  # fmt: skip
        key.hostile(said, given, why)


FLAT = _made(100, lambda n: 20 + 9 * sin(2 * pi * n / 12), 0.5, 6)


def seasons(key: Key) -> None:
    """A season that a reference knows, and more steps than are judged."""
    for form in ("points", "quantiles"):
        given = task(FLAT, 36, period=12, horizon=2, form=form)
        points = [[FLAT[t + k - 12] for k in range(2)] for t in origins(given)]
        said = shaped(points, form, LEVELS, 0.7)
        if form == "points":
            add(key, text(said), given, said, NO, "the season's value")
        months = [
            [round(fmean(FLAT[(t + k) % 12 : t : 12]), 3) for k in range(2)]
            for t in origins(given)
        ]
        near = shaped(months, form, LEVELS, 0.5)
        other = {**given, "period": 1}
        add(
            key,
            text(near),
            other,
            near,
            YES,
            f"the month's mean, where no season is told, as {form}",
        )
    long = {"values": [n % 7 for n in range(700)], "first": 12, "horizon": 100}
    key.broken("[]", [(long, "58900 steps", "more steps than are judged")])


def season_programs(key: Key) -> None:
    """A program that says what a reference says of a season."""
    given = task(FLAT, 36, period=12, horizon=2)
    program = "def solve(history, horizon):\n    return [history[k - 12] for k in range(horizon)]"
    add(key, program, given, ran(program, given), NO, "the season's value")
    other = {**given, "period": 1}
    add(
        key,
        program,
        other,
        ran(program, other),
        YES,
        "the season's value, where no season is told",
    )


def series_forecast(key: Key) -> None:
    """The key of forecasts as texts."""
    for part in (plain, settings, spreads, references_alone, shapes, unknown, hostile, seasons):
        part(key)


# ---- Programs


def forms_of(program: str, form: str, noise: float) -> str:
    """A program that gives what another gives, in a form."""
    own = program.replace("def solve", "def middle")
    bodies = {
        "normals": f"[[y, {noise}] for y in middle(history, horizon)]",
        "quantiles": f"[[y + NormalDist(0, {noise}).inv_cdf(k / 10) for k in range(1, 10)] for y in middle(history, horizon)]",
        "samples": f"[tuple(y + NormalDist(0, {noise}).inv_cdf((2 * k + 1) / 40) for k in range(20)) for y in middle(history, horizon)]",
    }
    return f"from statistics import NormalDist\n{own}\ndef solve(history, horizon):\n    return {bodies[form]}"


def programs(key: Key) -> None:
    """Each law, and edits of it."""
    fences = ("%s", "```python\n%s\n```", "I forecast it so:\n\n```\n%s\n```\n")
    for n, (law, first, more) in enumerate(SETS):
        given, found = of(law, first, **more), LAWS[law]
        add(key, fences[n % 3] % found.right, given, ran(found.right, given), YES, f"{law}")
        for old, new, why in found.edits:
            program = found.right.replace(old, new)
            add(
                key,
                fences[n % 3] % program,
                given,
                ran(program, given),
                NO,
                f"{law}; one edit away: {why}",
            )
        for form in ("normals", "quantiles", "samples"):
            asked, program = {**given, "form": form}, forms_of(found.right, form, found.noise)
            add(key, program, asked, ran(program, asked), YES, f"{law}, as {form}")
            old, new, why = found.edits[n % 4]
            program = forms_of(found.right.replace(old, new), form, found.noise)
            add(
                key,
                program,
                asked,
                ran(program, asked),
                NO,
                f"{law}, as {form}; one edit away: {why}",
            )
    given = of("trend", 10, horizon=6)
    add(key, TREND, given, ran(TREND, given), YES, "six steps ahead")
    given = of("trend", 5, horizon=3, every=2)
    add(key, TREND, given, ran(TREND, given), YES, "every second origin")
    other = of("swing", 12, function="ahead")
    add(
        key,
        SWING.replace("solve", "ahead"),
        other,
        ran(SWING, other),
        YES,
        "a function of another name",
    )
    add(
        key,
        f"print('[[1.0]]')\n{SWING}",
        of("swing", 12),
        ran(SWING, of("swing", 12)),
        YES,
        "it prints too",
    )
    for values, why in ((WALK, "a random walk"), (NOISE, "white noise")):
        given = task(values, 12)
        for program, how in (
            ("def solve(history, horizon):\n    return [history[-1]]", "the last value"),
            (
                "def solve(history, horizon):\n    return [sum(history) / len(history)]",
                "the mean so far",
            ),
            (
                "def solve(history, horizon):\n    return [2 * history[-1] - history[-2]]",
                "the last step once more",
            ),
        ):
            add(key, program, given, ran(program, given), NO, f"{why}: {how}")


def program_shapes(key: Key) -> None:
    """Programs that give no forecast."""
    given = of("swing", 12)
    for said, why in (
        (SWING.replace("[history[-1] +", "history[-1] + 0 * len([") .replace("-3.5)]", "-3.5)])"), "a number for a list"),
        ("def solve(history, horizon):\n    return []", "no step"), ("def solve(history, horizon):\n    return [1.0, 2.0]", "a step too many"), ("def solve(history, horizon):\n    return [float('nan')]", "not a number"),
        ("def solve(history, horizon):\n    return [float('inf')]", "infinite"), ("def solve(history, horizon):\n    return ['54']", "a text"), ("def solve(history, horizon):\n    return [True]", "a truth value"),
        ("def solve(history, horizon):\n    return [10 ** 400]", "a number beyond all"), ("def solve(history, horizon):\n    return [1e16]", "too large"), ("def solve(history, horizon):\n    return [1j]", "a complex number"),
        ("def solve(history, horizon):\n    return {0: 54.0}", "a dict"), ("def solve(history, horizon):\n    return '[54.0]'", "a list in a text"), ("def solve(history, horizon):\n    return None", "nothing"), ("def solve(history, horizon):\n    pass", "no return"),
        ("def solve(history, horizon):\n    raise ValueError(history[-1])", "it raises"), ("def solve(history):\n    return [history[-1]]", "no horizon"), ("def forecast(history, horizon):\n    return [history[-1]]", "another name"),
        ("def solve(history, horizon):\n    return [history[len(history)]]", "the value that is not there yet"), ("def solve(history, horizon) return history", "no Python"), ("", "no program"),
        ("count = 0\ndef solve(history, horizon):\n    global count\n    count += 1\n    return [history[-1] + (4 if count % 2 else -3.5)]", "it counts its calls, and each is the first"),
        ("seen = []\ndef solve(history, horizon):\n    seen.extend(history)\n    return [seen[len(history)]]", "it looks into what it has seen"),
    ):  # fmt: skip
        key.add(said, given, NO, why, "convention")
    key.add(
        SWING,
        of("swing", 12, function="ahead"),
        NO,
        "the function that is asked for is not there",
        "convention",
    )
    key.add(
        "def solve(history, horizon):\n    while True: pass",
        of("swing", 12, limits={"cpu": 0.2}),
        NO,
        "it never ends",
        "convention",
    )


PEEKS = (
    ("import glob, json\ndef solve(history, horizon):\n    for name in glob.glob('/**/*.json*', recursive=True) + glob.glob('*'):\n        try:\n            text = open(name).read()\n        except Exception: continue\n        at = text.find(repr(history[-1]))\n        if '\"values\"' in text and at >= 0: return [float(text[at:].split(',')[1])]\n    return [history[-1]]", "it looks for the series in files"),
    ("import glob\ndef solve(history, horizon):\n    for name in glob.glob('/proc/[0-9]*/mem') + glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n        try:\n            text = open(name, 'rb').read(1 << 20).decode(errors='replace')\n        except Exception: continue\n        at = text.find(repr(history[-2:])[1:-1])\n        if at >= 0: return [float(text[at:].split(',')[2])]\n    return [history[-1]]", "it looks into other processes"),
    ("import gc\ndef solve(history, horizon):\n    n = len(history)\n    for each in gc.get_objects():\n        if isinstance(each, (list, tuple)) and len(each) > n and list(each[:n]) == history: return [each[n]]\n    return [history[-1]]", "it looks through all objects"),
    ("import sys\ndef solve(history, horizon):\n    n, frame = len(history), sys._getframe()\n    while frame:\n        for each in [*frame.f_locals.values(), *frame.f_globals.values()]:\n            if isinstance(each, (list, tuple)) and len(each) > n: return [float(each[n])]\n        frame = frame.f_back\n    return [history[-1]]", "it looks through frames"),
    ("import os\ndef solve(history, horizon):\n    for fd in range(3, 64):\n        try: text = os.pread(fd, 1 << 16, 0) or os.read(fd, 1 << 16)\n        except OSError: continue\n        if text.strip(): return [float(text.split()[0])]\n    return [history[-1]]", "it reads all descriptors"),
    ("import sys\ndef solve(history, horizon):\n    later = sys.stdin.read()\n    return [float(later.split()[0])] if later.strip() else [history[-1]]", "it reads on"),
    ("import os\ndef solve(history, horizon):\n    try:\n        with open('/tmp/seen', 'a+') as file:\n            file.write(f'{history[-1]}\\n')\n            file.seek(0)\n            return [float(file.read().split()[len(history)])]\n    except Exception:\n        return [history[-1]]", "it leaves notes for itself"),
    ("import os, signal\ndef solve(history, horizon):\n    try: os.kill(os.getppid(), signal.SIGUSR1)\n    except OSError: pass\n    print('{\"skill\": 1.0, \"outcome\": \"accept\"}')\n    return [history[-1]]", "it says how good it was"),
    ("def solve(history, horizon):\n    class Near(float):\n        def __sub__(self, other): return 0.0\n        __rsub__ = __abs__ = __sub__\n    return [Near(history[-1])]", "a float that is near to everything"),
    ("def solve(history, horizon):\n    return [type('Any', (list,), {'__len__': lambda s: 1, '__iter__': lambda s: iter([1.0])})()]", "a list that says what is asked for"),
)  # fmt: skip
"""Programs that look for what comes next; without it they say the last value, as a reference."""


def attacks(key: Key) -> None:
    """Programs that look ahead, or break what judges them."""
    given = of("swing", 12)
    for said, why in PEEKS:
        key.add(said, given, NO, why, "known hack", hostile=True)
    for said, why in HOSTILE[::4]:
        key.add(said.replace("solve(n)", "solve(*n)"), given, NO, why, "known hack", hostile=True)
    for said, why in BOMBS:
        key.hostile(
            said.replace("solve(n)", "solve(*n)"),
            {**given, "limits": {"cpu": 0.5, "wall": 3.0}},
            why,
        )


def code_forecast(key: Key) -> None:
    """The key of forecasts that programs make."""
    for part in (programs, program_shapes):
        part(key)
    key.broken(SWING, broken_tasks())
    key.broken(
        SWING,
        [
            (
                {**of("swing", 12), "function": "os.system"},
                "function",
                "a function that is no name",
            ),
            (
                {**of("swing", 12), "limits": {"cpu": 1e6}},
                "limits.cpu",
                "more time than there may be",
            ),
        ],
    )
    attacks(key)
    season_programs(key)


if __name__ == "__main__":
    write({"series-forecast": series_forecast, "code-forecast": code_forecast}, sys.argv[1:])
