"""Reservation indices of Gaussian boxes, from tables.

A box holds an unknown value and costs something to open. Its index is the known value at which
opening it and leaving it closed are worth the same, so it pays as long as nothing better is known.
Opening the box with the largest index first is optimal for independent boxes of one stage
(Weitzman, *Optimal search for the best alternative*, Econometrica 47, 1979).

Everything here is in units of the value's own deviation, measured from its mean.
"""

from __future__ import annotations

from functools import cache
from math import erfc, exp, log, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

_VALUES = np.linspace(-6.0, 36.0, 4201)
"""Beyond the left end the improvement is -x to 1e-10; beyond the right end it is below 1e-280."""
_DEAR = 5.5
"""A cost above which the index is minus the cost, to 1e-8."""
_COSTS = np.linspace(-28.0, log(_DEAR), 5961)
"""Logarithms of costs."""
_DEAREST = 1e12
"""Costs above this, infinite and unknown ones are taken for it, so that an index stays finite."""
_ANGLES = np.linspace(0.0, pi / 2, 33)
_INDICES = np.linspace(-5.0, 7.0, 49)
"""Direct indices of both stages."""
_CORNERS = np.array([
    (angle * len(_INDICES) + cap) * len(_INDICES) + look
    for angle in (0, 1) for cap in (0, 1) for look in (0, 1)
])  # fmt: skip
"""Where the corners of a cell of the two-stage table lie, from its first one."""


def improvement(x: ArrayLike) -> Floats:
    """Expected improvement E[(Z - x)+] of a standard normal value over x, to 1e-5.

    Example:
        >>> improvement([-2.0, 0.0, 2.0]).round(4).tolist()
        [2.0085, 0.3989, 0.0085]
    """
    values = np.asarray(x, dtype=float)
    gain: Floats = np.maximum(-values, np.interp(values, _VALUES, _improvements()))
    return gain


def direct_index(cost: ArrayLike) -> Floats:
    """Index of a box that shows its value: the g that solves E[(Z - g)+] = cost, to 1e-4.

    It falls with the cost. A cost below 1e-12 counts as 1e-12, an unknown one as infinite.

    Args:
        cost: Cost of opening the box, 0 or more; any shape.

    Example:
        >>> direct_index([0.0085, 0.3989, 2.0085]).round(2).tolist()
        [2.0, 0.0, -2.0]
    """
    known = np.maximum(np.fmin(cost, _DEAREST), 1e-12)
    cell, part = _place(np.log(known), _COSTS)
    table = _direct_indices()
    low = table.take(cell)
    inside = low + part * (table.take(cell + 1) - low)
    return np.where(known < _DEAR, inside, -known)


def two_stage_index(explained: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    """Index of a box with a preview: for `first` a noisy look, then the value for `second`.

    It solves E[(EI(M, g) - second)+] = first, where M is the mean after the look, normal with
    variance `explained`, and EI the expected improvement over g of a value that is normal around
    M with variance 1 - `explained`. After the look the box has an index of its own, M + k, and
    (EI(M, g) - second)+ is the expected improvement over g of min(value, M + k). So the index is
    that of a sum of two: the look, and what is left, capped at k. Its mean is -`second`; a table
    holds the rest over the angle whose squared sine is `explained`, the cap, and the direct index
    of `first`.

    The error is below 0.02; `tests/unit/scheduler/policies/test_index.py` compares it with roots
    found numerically.

    Args:
        explained: Share of the variance that the look explains, in [0, 1].
        first: Cost of the look, 0 or more.
        second: Cost of the value after the look, 0 or more; all three broadcast.

    Example:
        >>> two_stage_index([0.0, 0.5, 0.9], 0.1, 0.2).round(1).tolist()
        [0.2, 0.5, 0.6]
    """
    seen = np.sqrt(np.fmin(np.fmax(explained, 0.0), 1.0))
    dear = np.fmin(second, _DEAREST)
    left = np.maximum(np.sqrt(1.0 - seen * seen), 1e-9)
    costs = np.empty((2, *np.broadcast(seen, first, dear).shape))
    costs[0], costs[1] = dear / left, first
    angles, angle = _place(np.arcsin(seen), _ANGLES)
    (caps, looks), (cap, look) = _place(direct_index(costs), _INDICES)
    inside = np.minimum(np.maximum(cap, 0.0), 1.0)  # Beyond its ends nothing changes.
    corner = (angles * len(_INDICES) + caps) * len(_INDICES) + looks
    cube = _two_stages().take(np.add.outer(_CORNERS, corner))
    for weight, half in ((angle, 4), (inside, 2), (look, 1)):
        cube = cube[:half] + weight * (cube[half:] - cube[:half])
    index: Floats = cube[0] - dear
    return index


def _place(values: Floats, grid: Floats) -> tuple[Indices, Floats]:
    """Cell of each value in an even grid, and the place in it; outside, of the nearest cell."""
    steps = (values - grid[0]) * ((len(grid) - 1) / (grid[-1] - grid[0]))
    cells = np.minimum(np.maximum(steps, 0.0), len(grid) - 2.0).astype(np.int64)
    return cells, steps - cells


@cache
def _improvements() -> Floats:
    """E[(Z - x)+] over the values."""
    return np.array([exp(-x * x / 2) / sqrt(2 * pi) - x * erfc(x / sqrt(2)) / 2 for x in _VALUES])


@cache
def _direct_indices() -> Floats:
    """Direct indices over the costs."""
    table = _improvements()
    return np.interp(-_COSTS, -np.log(table), _VALUES)


@cache
def _two_stages() -> Floats:
    """Two-stage indices plus the second cost. Shape (angles, caps, looks)."""
    cost = improvement(_INDICES)
    table = np.empty((len(_ANGLES), len(_INDICES), len(_INDICES)))
    table[0] = direct_index(cost + cost[:, None]) + cost[:, None]  # Nothing is seen.
    table[-1] = _INDICES  # All is seen.
    for number, angle in enumerate(_ANGLES[1:-1], start=1):
        seen, left = np.sin(angle), np.cos(angle)
        x, gains = _capped_improvement(seen, left, left * cost[0])
        for cap, gain in enumerate(gains):
            table[number, cap] = np.interp(-np.log(cost), -np.log(gain), x) + left * cost[cap]
    return table


def _capped_improvement(seen: float, left: float, shift: float) -> tuple[Floats, Floats]:
    """E[(seen Z + left min(Z', cap) - x)+] for every cap, and the x it is given for.

    With the lowest cap the second part is a constant. From there on each step of the cap adds
    left P(Z' > cap) P(seen Z + left cap > x), summed by the trapezoidal rule.
    """
    steps = 8
    x = np.arange(_INDICES[0] - shift - 1.0, _INDICES[-1] + 1.0, min(0.1, seen / 2))
    cap = np.linspace(_INDICES[0], _INDICES[-1], (len(_INDICES) - 1) * steps + 1)[:, None]
    slope = left * _tail(cap) * _tail((x - left * cap) / seen)
    start = seen * improvement((x - left * cap[0]) / seen)
    added = np.cumsum((slope[1:] + slope[:-1]) / 2 * (cap[1] - cap[0]), axis=0)
    gains = np.vstack([start, start + added[steps - 1 :: steps]])
    return x, np.maximum(gains, 1e-300)


def _tail(x: Floats) -> Floats:
    """P(Z > x): how fast the improvement falls."""
    middle = (_VALUES[1:] + _VALUES[:-1]) / 2
    return np.interp(x, middle, -np.diff(_improvements()) / np.diff(_VALUES))
