"""How often forecasts are accepted that are no better than the best reference, and means above 0.

Run: `python benchmarks/forecast_intervals.py [--series 2000]`

An interval of 95 % lies wholly above what is true in 2.5 of 100 series. First the mean of values
whose expectation is 0, by `longrun.reach`: ten times as many series, independent (normal,
Student's with 3 degrees of freedom, and with a long tail below), and such of which each value
holds a share of the one before, or overlaps with its neighbours. Then `series-forecast` itself:
forecasts whose cost is, on average, that of the best reference. Of noise that is the mean of
another such series; of y(t) = .9 y(t-1) + noise it is .9 y(t-1) with as much noise of its own as
the last value errs beyond; that noise is independent, or moves as slowly as the series ("slow").
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verifier_ladder.tiers.simulation.longrun import reach
from verifier_ladder.tiers.simulation.rolling import Forecast, Form, Quantiles, Rolling
from verifier_ladder.tiers.world.forecast import Normal

Floats = NDArray[np.float64]
Law = Callable[[int, Any], Floats]
SIZES = (20, 60, 160)
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
BELL = NormalDist()
FIRST = 30


def normal(size: int, draw: Any) -> Floats:
    """Independent values."""
    found: Floats = draw.normal(size=size)
    return found


def linked(share: float) -> Law:
    """Values of which each holds a share of the one before; their deviation is 1."""

    def law(size: int, draw: Any) -> Floats:
        found = normal(size + 200, draw) * sqrt(1 - share**2)
        for n in range(1, len(found)):
            found[n] += share * found[n - 1]
        return found[200:]

    return law


def overlapping(count: int) -> Law:
    """Sums of so many neighbours."""
    return lambda size, draw: np.convolve(normal(size + count - 1, draw), np.ones(count), "valid")


MEANS: tuple[tuple[str, Law, int], ...] = (
    ("independent, normal", normal, 1),
    ("independent, heavy tails", lambda size, draw: draw.standard_t(3, size=size), 1),
    ("independent, a long tail below", lambda size, draw: 1 - draw.exponential(size=size), 1),
    ("each holds .5 of the one before", linked(0.5), 1),
    ("each holds .9 of the one before", linked(0.9), 1),
    ("twelve steps that overlap", overlapping(12), 12),
)


def of_noise(law: Law) -> Callable[[int, Any], tuple[Floats, Floats, float]]:
    """A series, what is forecast of its values, and the deviation that is said."""

    def made(size: int, draw: Any) -> tuple[Floats, Floats, float]:
        other = np.cumsum(law(size, draw)) / np.arange(1, size + 1)
        return law(size, draw), np.roll(other, 1), 1.0

    return made


def of_steps(noise: Law, share: float = 0.9) -> Callable[[int, Any], tuple[Floats, Floats, float]]:
    """The same of a series of which each value holds a share of the one before."""

    def made(size: int, draw: Any) -> tuple[Floats, Floats, float]:
        values = linked(share)(size, draw)
        own = (1 - share) * noise(size, draw)
        return values, np.roll(share * values + own, 1), sqrt(1 - share**2 + (1 - share) ** 2)

    return made


FORECASTS: tuple[tuple[str, Form, int, Any], ...] = (
    ("noise", "points", 1, of_noise(normal)),
    ("noise", "points", 6, of_noise(normal)),
    ("noise, heavy tails", "points", 1, of_noise(MEANS[1][1])),
    ("noise", "normals", 1, of_noise(normal)),
    ("noise", "quantiles", 1, of_noise(normal)),
    (".9 of the one before", "points", 1, of_steps(normal)),
    (".9 of the one before", "normals", 1, of_steps(normal)),
    (".9 of the one before, slow", "points", 1, of_steps(linked(0.9))),
)


def said(form: Form, point: float, deviation: float) -> Forecast:
    """What is said of a value."""
    if form == "points":
        return Normal(point)
    if form == "normals":
        return Normal(point, deviation)
    return Quantiles(LEVELS, [point + deviation * BELL.inv_cdf(level) for level in LEVELS])


def is_accepted(form: Form, horizon: int, made: Any, origins: int, draw: Any) -> bool:
    """Whether a forecast of a new series is accepted."""
    values, points, deviation = made(FIRST + 20 + origins + 2 * horizon - 2, draw)
    rolling = Rolling(values.tolist(), FIRST, horizon=horizon, form=form, levels=LEVELS)
    forecasts = [[said(form, float(points[t]), deviation)] * horizon for t in rolling.origins]
    return rolling.skill(forecasts).low > 0


def shares(count: int) -> Iterator[tuple[str, list[float]]]:
    """Each row, with what is accepted at each size, in per cent."""
    for name, law, overlap in MEANS:
        row = []
        for size in SIZES:
            draw = np.random.default_rng(size)
            each = (law(size, draw) for _ in range(10 * count))
            row.append(10 * sum(x.mean() > reach(x.tolist(), overlap) for x in each) / count)
        yield name, row
    for name, form, horizon, made in FORECASTS:
        row = []
        for size in SIZES:
            draw = np.random.default_rng(size)
            found = sum(is_accepted(form, horizon, made, size, draw) for _ in range(count))
            row.append(100 * found / count)
        yield f"{name}: {form}, {horizon} ahead", row


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=2000)
    count = parser.parse_args().series
    print("".rjust(46), *(f"{size:>6}" for size in SIZES))
    for name, row in shares(count):
        print(name.rjust(46), *(f"{share:6.1f}" for share in row), flush=True)


if __name__ == "__main__":
    main()
