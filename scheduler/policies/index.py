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

import numpy as np

from verifier_ladder.arrays import ArrayLike, Floats

_VALUES = np.linspace(-6.0, 36.0, 4201)
"""Beyond the left end the improvement is -x to 1e-10; beyond the right end it is below 1e-280."""
_DEAR = 5.5
"""A cost above which the index is minus the cost, to 1e-8."""
_CHEAPEST, _DEAREST = 1e-12, 1e12
"""Costs beyond these, infinite and unknown ones among them, count as these."""
_COSTS = np.linspace(log(_CHEAPEST), log(_DEAREST), 11053)
"""Logarithms of costs, a two-hundredth apart."""
_PER_LOG = (len(_COSTS) - 1) / log(_DEAREST / _CHEAPEST)
_ANGLES = np.linspace(0.0, pi / 2, 33)
_PER_RADIAN = (len(_ANGLES) - 1) / (pi / 2)
_FIRST, _PER_UNIT = -5.0, 4.0
_INDICES = np.arange(_FIRST, 7.1, 1.0 / _PER_UNIT)
"""Direct indices of both stages."""
_SIDE = len(_INDICES)
_CORNERS = np.arange(2)[:, None, None, None] * _SIDE**2 + (
    np.arange(2)[:, None, None] * _SIDE + np.arange(2)[:, None]
)
"""Where the corners of a cell of the two-stage table lie, from its first. Shape (2, 2, 2, 1)."""


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
    """Index of a box that shows its value: the g that solves E[(Z - g)+] = cost.

    It falls with the cost. A cost below 1e-12 counts as 1e-12, an unknown one as infinite. The
    error is below 1e-4, and for costs above ten below 1e-5 of the cost.

    Args:
        cost: Cost of opening the box, 0 or more; any shape.

    Example:
        >>> direct_index([0.0085, 0.3989, 2.0085]).round(2).tolist()
        [2.0, 0.0, -2.0]
    """
    index: Floats = _FIRST + _direct_places(np.fmin(cost, _DEAREST)) / _PER_UNIT
    return index


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
    share, look, dear = np.broadcast_arrays(explained, first, second)
    index = tier_indices(share.reshape(1, -1), np.stack([look.ravel(), dear.ravel()]))
    found: Floats = index[0].reshape(share.shape)
    return found


def tier_indices(explained: Floats, cost: Floats) -> Floats:
    """Index of each tier of many boxes: of the last one alone, of others as a look before it.

    All of them at once, and in place, so that a decision takes less than a microsecond.

    Args:
        explained: Share of the variance that each tier below the last explains.
            Shape (tiers - 1, n).
        cost: Cost of each tier. Shape (tiers, n).

    Returns:
        Shape (tiers, n).

    Example:
        >>> tier_indices(np.array([[0.9]]), np.array([[0.1], [0.2]])).round(1).tolist()
        [[0.6], [0.5]]
    """
    tiers, size = cost.shape
    costs = np.empty((2 * tiers - 1, size))  # Below, of the second over what is left unknown.
    dear = np.fmin(cost, _DEAREST, out=costs[:tiers])[-1]
    share = np.fmin(np.fmax(explained, 0.0), 1.0)
    left = np.maximum(1.0 - share, 1e-18)
    np.divide(dear, np.sqrt(left, out=left), out=costs[tiers:])
    places = _direct_places(costs)
    angle = np.arcsin(np.sqrt(share, out=share), out=share)
    angle *= _PER_RADIAN
    looks, caps = places[: tiers - 1].ravel(), places[tiers:].ravel()
    made = np.empty((tiers, size))
    made[-1] = _FIRST + places[tiers - 1] / _PER_UNIT
    whole = _interpolated(angle.ravel(), caps, looks).reshape(tiers - 1, size)
    np.subtract(whole, dear, out=made[:-1])
    return made


def _direct_places(costs: Floats) -> Floats:
    """Where the direct indices of costs lie among `_INDICES`, in steps of these."""
    place = np.log(np.maximum(costs, _CHEAPEST))
    place -= _COSTS[0]
    place *= _PER_LOG
    cell = np.minimum(place, len(_COSTS) - 2.0).astype(np.intp)
    place -= cell
    start, slope = _direct_lines()
    place *= slope.take(cell)
    place += start.take(cell)
    return place


def _interpolated(angle: Floats, cap: Floats, look: Floats) -> Floats:
    """Two-stage indices plus the second cost, at places in steps of the table's three axes.

    All of shape (n,), and overwritten. Angles are within the table, and looks go on as a line.
    """
    np.maximum(cap, 0.0, out=cap)
    np.minimum(cap, _SIDE - 1.0, out=cap)  # Beyond its ends nothing changes.
    angles = np.minimum(angle, len(_ANGLES) - 2.0).astype(np.intp)
    caps = np.minimum(cap, _SIDE - 2.0).astype(np.intp)
    looks = np.minimum(np.maximum(look, 0.0), _SIDE - 2.0).astype(np.intp)
    angle -= angles
    cap -= caps
    look -= looks
    corner = (angles * _SIDE + caps) * _SIDE + looks
    cube = _two_stages().take(_CORNERS + corner)
    for part in (angle, cap, look):
        low, cube = cube
        cube -= low
        cube *= part
        cube += low
    index: Floats = cube
    return index


@cache
def _improvements() -> Floats:
    """E[(Z - x)+] over the values."""
    return np.array([exp(-x * x / 2) / sqrt(2 * pi) - x * erfc(x / sqrt(2)) / 2 for x in _VALUES])


@cache
def _direct_lines() -> tuple[Floats, Floats]:
    """Where direct indices lie among `_INDICES`: start and slope of a line for each cell."""
    costs = np.exp(_COSTS)
    index = np.interp(-_COSTS, -np.log(_improvements()), _VALUES)
    index = np.where(costs < _DEAR, index, -costs)
    places = (index - _FIRST) * _PER_UNIT
    return places[:-1], np.diff(places)


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
