# ruff: noqa: E501, RUF001 - other scripts' digits and signs are what some cases are about
"""Make the answer key of `numeric-forecast`, from the series that comes along.

    python tools/forecast_key.py        # writes tiers/answer_keys/numeric-forecast.jsonl

The score of a point is its distance. That of a normal distribution is the integral that defines
the continuous ranked probability score, computed here by Simpson's rule and not in closed form.
"""

from __future__ import annotations

import csv
import random
from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import erf, prod, sqrt
from typing import Any

from keywriter import FOLDER, NO, UNKNOWN, YES, Key, write
from order_key import MERGER, REVISED, SPLIT, price_at
from order_key import ROWS as PRICES
from order_key import SERIES as PRICED

SERIES = "example-series"
PATH = FOLDER.parent / "world" / f"{SERIES}.csv"
ROWS = [(row["time"], row["value"]) for row in csv.DictReader(PATH.open(encoding="utf-8"))]
CASE = {"key": "6b" * 32, "deadline": None}
HALT = 10
"""The row without a value."""
GAP = 19
"""The row before a gap of three weeks."""
KNOWN = [place for place in range(len(ROWS)) if place not in {HALT, GAP}]
TIMES = [datetime.fromisoformat(time) for time, _ in ROWS]
DISTANCE = "closed form: a distance"
UNITS = "closed form: a distance in units of another time"
INTEGRAL = "closed form: the integral, by Simpson's rule"


def moved(time: str, **by: float) -> str:
    """A time so much later."""
    return (datetime.fromisoformat(time) + timedelta(**by)).isoformat()


def task(horizon: Any, series: Any = SERIES, **more: Any) -> dict[str, Any]:
    """The task of a case that is to be settled."""
    return {"series": series, "horizon": horizon, "«case»": CASE, **more}


def simpson(f: Callable[[float], float], low: float, high: float, parts: int = 20_000) -> float:
    """The integral of a smooth function."""
    step = (high - low) / parts
    inner = sum(f(low + n * step) * (4 if n % 2 else 2) for n in range(1, parts))
    return step / 3 * (f(low) + inner + f(high))


def crps(mean: float, deviation: float, value: float, parts: int = 20_000) -> float:
    """The integral of (F(x) - [x >= value])², over twelve deviations beyond both."""

    def below(x: float) -> float:
        return (1 + erf((x - mean) / deviation / sqrt(2))) / 2

    least, most = min(mean, value) - 12 * deviation, max(mean, value) + 12 * deviation
    left = simpson(lambda x: below(x) ** 2, least, value, parts)
    return left + simpson(lambda x: (1 - below(x)) ** 2, value, most, parts)


def within(score: float, room: float) -> list[float]:
    """The range of a score."""
    return [score - room, score + room]


def points(key: Key) -> None:
    """Forecasts of one number."""
    for n, place in enumerate(KNOWN[:12]):
        time, value = ROWS[place]
        said = Decimal(value) + Decimal((-3, 0, 1, 25)[n % 4]) / 10
        away = float(abs(said - Decimal(value)))
        key.add(str(said), task(time), YES, "a point", DISTANCE, score=within(away, 1e-9))
    time, value = ROWS[25]
    for text, why in (
        ("So <answer>100.5</answer>.", "a tag"), ("\\boxed{100.5}", "a box"),
        ("I think it falls first.\n100.5", "the last line"), ("+1.005e2", "powers of ten"),
        ("**100.50**", "bold"), ("Answer: 100.5", "a phrase"),
    ):  # fmt: skip
        away = float(abs(Decimal("100.5") - Decimal(value)))
        key.add(text, task(time), YES, why, "convention", score=within(away, 1e-9))
    far = "−100000000000"
    away = 1e11 + float(value)
    key.add(far, task(time), YES, "far off, with a minus sign", DISTANCE, score=within(away, 1e-3))


def times(key: Key) -> None:
    """Which value it is settled with: the first that is told at the horizon or later."""
    for place in (3, 4, 30):
        (time, value), (_, later) = ROWS[place], ROWS[place + 1]
        for by, expected, why in ((0, value, "at the horizon"), (60, later, "after it")):
            away = float(abs(Decimal(100) - Decimal(expected)))
            key.add(
                "100", task(moved(time, seconds=by)), YES, f"the first value {why}", DISTANCE,
                score=within(away, 1e-9),
            )  # fmt: skip
    time, value = ROWS[5]
    instant = datetime.fromisoformat(time)
    near = within(float(abs(Decimal(100) - Decimal(value))), 1e-9)
    key.add("100", task(instant.timestamp()), YES, "seconds since 1970", "convention", score=near)
    other = (instant.replace(tzinfo=None) + timedelta(hours=5, minutes=30)).isoformat() + "+05:30"
    key.add("100", task(other), YES, "another zone", "convention", score=near)
    zulu = instant.replace(tzinfo=None).isoformat() + "Z"
    key.add("100", task(zulu), YES, "the zone of UTC", "convention", score=near)


def distributions(key: Key) -> None:
    """Normal distributions."""
    for n, place in enumerate(KNOWN[12:27]):
        time, text = ROWS[place]
        value, deviation = float(text), (0.1, 0.5, 2.0, 10.0, 50.0)[n % 5]
        mean = round(value + (0.0, 0.7, -1.3)[n % 3] * deviation, 3)
        score = crps(mean, deviation, value)
        key.add(
            f"{mean} {('±', '+/-')[n % 2]} {deviation}", task(time), YES, "a normal distribution",
            INTEGRAL, score=within(score, 1e-6 * max(1.0, deviation)),
        )  # fmt: skip
    time, text = ROWS[7]
    score = crps(100.0, 1.0, float(text))
    for said in ("<answer>100±1</answer>", "100 ±1.0", "$100 \\pm 1$"):
        key.add(
            said, task(time), YES, "how it is written", "convention", score=within(score, 1e-6)
        )
    far = 1000.0 - float(text) - 1 / sqrt(3.141592653589793)
    key.add(
        "1000 ± 1", task(time), YES, "nine hundred deviations off", INTEGRAL,
        score=within(far, 1e-6),
    )  # fmt: skip


def wrong(key: Key) -> None:
    """What is no forecast, or came too late."""
    time = ROWS[6][0]
    for said, why in (
        ("100.5 ± -2", "a deviation below zero"), ("100.5 ± 0", "no deviation"),
        ("100.5 ± nan", "a deviation that is no number"), ("100.5 ± 1e16", "a deviation too large"),
        ("1e16", "too large"), ("100.5 ±", "half of it"), ("± 2", "the other half"),
        ("100.5 ± 2 ± 3", "two deviations"), ("100.5 +- 2", "another sign"),
        ("100.5 ± 2 %", "percent"), ("100.5 EUR", "a unit"), ("about 100.5", "a hedge"),
        ("100.5 or 101", "two answers"), ("100.5 to 101", "a range"), ("[100, 101]", "an interval"),
        ("1O0.5", "a letter"), ("100,5", "a decimal comma"), ("nan", "not a number"),
        ("inf", "infinite"), ("١٠٠", "other digits"), ("50 * 2", "a product"),
        ("<answer>100.5</answer> <answer>101</answer>", "two tags"), ("1e-400 ± 1e-400", "vanishing"),
        ("<answer></answer>", "nothing"), ("", "no text"), ("It rises.", "words"),
    ):  # fmt: skip
        key.add(said, task(time), NO, why, "convention")
        if len(key.rows) % 3 == 0:
            opened = {"series": SERIES, "horizon": time}
            key.add(said, opened, NO, f"{why}, before it is known", "convention")
    for said in ("100.5", "100.5 ± 2"):
        late = {"series": SERIES, "horizon": time, "horizon_passed": True}
        key.add(said, late, NO, "it came when the answer could be known", "known hack")


def unknown(key: Key) -> None:
    """What nobody can settle, yet or at all."""
    time = ROWS[6][0]
    for given, reason, why in (
        ({"series": SERIES, "horizon": time}, "was asked", "it opens a case"),
        (task(ROWS[HALT][0]), "no value", "nothing was traded"),
        (task(moved(ROWS[GAP][0], hours=1)), "within", "nothing was told for weeks"),
        (task(moved(ROWS[-1][0], seconds=1)), "not settled yet", "nothing was told so far"),
        (task(time, series="none-such"), "none-such", "there is no such series"),
        (task(time, series="../example-series"), "series", "a path"),
        (task(time, series=7), "series", "no name"),
        ({"horizon": time, "«case»": CASE}, "series", "no series"),
        ({"series": SERIES}, "horizon", "no time"),
        (task("2026-01-07T16:00:00"), "horizon", "a time without a zone"),
        (task("noon"), "horizon", "words for a time"),
        ({**task(time), "horizon": True}, "horizon", "a truth value for a time"),
        (task(1.8e12), "horizon", "milliseconds"),
    ):  # fmt: skip
        key.add("100.5", given, UNKNOWN, why, "convention", reason=reason)


def hostile(key: Key) -> None:
    """Input that is made to break a verifier."""
    time = ROWS[6][0]
    for said, why in (
        ([["9", 1_000_000]], "a million digits"), ([["1", 1], ["0", 2_000_000]], "two million"),
        ([["<answer>", 100_000]], "tags that never end"), ("9" * 400 + " ± 1", "400 digits"),
        ("1e999999999", "a power of ten"), ("100.5\0", "a zero byte"),
        ("\u202e5.001", "written backwards"), ([["<answer>1</answer><answer>2</answer>", 50_000]], "many answers"),
        ("=1+1", "a formula"), ("__import__('os').abort()", "a program"),
    ):  # fmt: skip
        key.hostile(said, task(time), why)


def drawn(key: Key) -> None:
    """Forecasts that are drawn, of times that are drawn too, and each with one that is none."""
    draw = random.Random(20261126)  # noqa: S311 - cases, not secrets
    frames = ("%s", "<answer>%s</answer>", "It is near.\n%s", "\\boxed{%s}", "Answer: %s")
    for n in range(24):
        place = draw.choice([place for place in KNOWN[1:] if place - 1 not in {HALT, GAP}])
        back = draw.randrange(int((TIMES[place] - TIMES[place - 1]).total_seconds()))
        asked = moved(ROWS[place][0], seconds=-back)
        value = Decimal(ROWS[bisect_left(TIMES, datetime.fromisoformat(asked))][1])
        deviation = Decimal(draw.randint(1, 999)).scaleb(draw.randint(-3, 0))
        mean = value + deviation * draw.randint(-300, 300) / 100
        said, other, why = _said(mean, deviation, n)
        frame = frames[n % len(frames)]
        if "±" in said:
            source, room = INTEGRAL, 1e-6 * max(1.0, float(deviation))
            score = crps(float(mean), float(deviation), float(value), parts=2000)
        else:
            source, room, score = DISTANCE, 1e-9, float(abs(mean - value))
        told = f"a forecast that is drawn, {n}"
        key.add(frame % said, task(asked), YES, told, source, score=within(score, room))
        key.add(frame % other, task(asked), NO, f"{told}; one edit away: {why}", source)


def _said(mean: Decimal, deviation: Decimal, n: int) -> tuple[str, str, str]:
    """A forecast, what it is with one edit, and the edit: by turns of a point and of a spread."""
    spread = f"{mean} ± {deviation}"
    return (
        (spread, f"{mean} ± -{deviation}", "a deviation below zero"),
        (f"{mean}", f"{mean} {deviation}", "a number more"),
        (spread, f"{mean} ±", "no deviation"),
        (f"{mean}", f"--{mean}", "signs"),
        (spread, f"{mean} ± {deviation} ± {deviation}", "a deviation more"),
        (f"{mean}", f"{mean}.5", "a point more"),
        (spread, f"{mean} - {deviation}", "a difference"),
        (f"{mean}", f"{mean}e", "half a power of ten"),
    )[n % 8]  # fmt: skip


def splits(key: Key) -> None:
    """Forecasts of a price, in units of a time before one unit became two, or half a one."""
    for n, (since, at) in enumerate((
        (SPLIT - 1, SPLIT), (SPLIT, SPLIT), (SPLIT - 1, SPLIT + 2), (SPLIT + 1, SPLIT + 3),
        (3, SPLIT - 1), (5, REVISED), (MERGER - 1, MERGER), (MERGER, MERGER + 1),
        (SPLIT + 1, MERGER + 1), (0, MERGER + 2),
    )):  # fmt: skip
        time, value = PRICES[at][0], price_at(at)
        whole = value * prod(split for _, _, split in PRICES[since + 1 : at + 1])
        said = whole + Fraction((-5, 0, 3)[n % 3], 2)
        away = float(abs(said - whole))
        given = task(time, PRICED, as_of=PRICES[since][0])
        key.add(
            f"{float(said)}", given, YES, "units of a time before", UNITS, score=within(away, 1e-9)
        )
        key.add(
            f"{float(said)} each",
            given,
            NO,
            "units of a time before; one edit away: a word",
            UNITS,
        )
    time, value = PRICES[SPLIT + 2][0], price_at(SPLIT + 2)
    away = float(abs(100 - value))
    key.add(
        "100",
        task(time, PRICED),
        YES,
        "of no time: as it is told",
        UNITS,
        score=within(away, 1e-9),
    )
    moment_before = datetime.fromisoformat(PRICES[SPLIT][0]).timestamp() - 1
    key.add(
        "101", task(time, PRICED, as_of=moment_before), YES, "a second before the split", UNITS,
        score=within(float(abs(101 - 2 * value)), 1e-9),
    )  # fmt: skip
    for stated, why in (
        ("noon", "words for a time"), (True, "a truth value for a time"),
        ("2026-02-16T16:00:00", "a time without a zone"), (moved(time, seconds=1), "after it"),
    ):  # fmt: skip
        given = task(time, PRICED, as_of=stated)
        key.add("100", given, UNKNOWN, f"units of {why}", "convention", reason="as_of")
        del given["«case»"]
        key.add(
            "100",
            given,
            UNKNOWN,
            f"units of {why}, before it is known",
            "convention",
            reason="as_of",
        )


def numeric_forecast(key: Key) -> None:
    """The whole key."""
    for part in (points, times, distributions, wrong, unknown, hostile, drawn, splits):
        part(key)


if __name__ == "__main__":
    write({"numeric-forecast": numeric_forecast}, [])
