"""Steps that policies share: which tiers can be asked, and which of them brings most."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np

from verifier_ladder.arrays import Flags, Floats, Indices, NDArray
from verifier_ladder.decision import Situation

_CHEAPEST = 1e-12
_MOST = 1e300
CLOSED = -1.0
"""Stands for the benefit of a tier that can't be asked."""


def open_tiers(situation: Situation) -> Flags:
    """Which tiers can still be asked: those above the highest that answered. Shape (n, tiers)."""
    columns = np.arange(situation.answered.shape[1])
    return (columns > situation.reached[:, None]) & ~situation.answered


def next_column(situation: Situation) -> Indices:
    """Column of the lowest tier that can still be asked, -1 where none is left. Shape (n,)."""
    can = open_tiers(situation)
    return np.where(can.any(axis=1), can.argmax(axis=1), -1)


def pick(table: NDArray[Any], column: Indices) -> NDArray[Any]:
    """The entry of each row in its own column; rows with column -1 give their last entry."""
    return table[np.arange(len(column)), column]


def known_spread(situation: Situation) -> float:
    """The target's spread if it can serve as a unit, otherwise NaN."""
    return situation.spread if 0.0 < situation.spread < inf else nan


def benefits(situation: Situation, gain: Floats) -> Floats:
    """What each tier brings per cost: the part of the gain that it explains, over its cost.

    Finite; `CLOSED` where the tier can't be asked, 0 where its cost is not known.

    Args:
        situation: The rows.
        gain: What full knowledge of each row is worth. Shape (n,).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        ratio: Floats = gain[:, None] * situation.explained
        ratio /= np.maximum(situation.cost, _CHEAPEST)
    np.fmin(np.fmax(ratio, 0.0, out=ratio), _MOST, out=ratio)  # Drops what is not a number.
    np.copyto(ratio, CLOSED, where=~open_tiers(situation))
    return ratio


def free_first(situation: Situation, benefit: Floats, worth: float) -> Floats:
    """Benefits in which the lowest tier that costs nothing beats every tier above it.

    A tier below it goes first where that is worth its cost and can be paid: what is budgeted for
    a tier is spent there, and not passed over because a higher one has no cap.

    Args:
        situation: The rows.
        benefit: What each tier brings per cost.
        worth: Benefit from which a tier is worth its cost.
    """
    free = (situation.cost == 0.0) & (benefit > CLOSED)
    if not free.any():
        return benefit
    is_below: Flags = ~np.logical_or.accumulate(free, axis=1)
    goes_first: Flags = is_below & (benefit >= worth) & (benefit > 0.0) & situation.affordable
    waits: Flags = goes_first.any(axis=1, keepdims=True) & ~is_below
    return np.where(free & ~waits, inf, np.where(waits, np.minimum(benefit, 0.0), benefit))


def best_column(situation: Situation, benefit: Floats, limit: float) -> Indices:
    """Column of the largest benefit; among those that reach the limit, one that can be paid."""
    best: Indices = benefit.argmax(axis=1)
    if situation.affordable.all():
        return best
    paid = np.where(situation.affordable, benefit, CLOSED)
    best_paid: Indices = paid.argmax(axis=1)
    return np.where(pick(paid, best_paid) >= limit, best_paid, best)
