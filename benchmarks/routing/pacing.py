"""Pacing: whether a budget lasts until the last sample, and is used up by then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from routing.backend import Backend
from routing.onepass import calls
from routing.table import Table


@dataclass(slots=True)
class Pacing:
    """How a budget was spent."""

    spent: float
    """What was spent in the end, as a share of the budget."""
    unevenness: float
    """Largest distance between the share of the budget spent and that of the samples scored."""


def pacing(table: Table, backend: Backend, seed: int, *, budget: float, passes: int) -> Pacing:
    """Score a table several times, and follow what is spent.

    Args:
        table: The table.
        backend: A backend with the budget for all passes; it is closed at the end.
        seed: Order of the groups.
        budget: What all tiers together may cost.
        passes: How often every row is scored.
    """
    spent, scored = [], []
    try:
        for number in range(passes):
            for rollouts in calls(table, seed + 1000 * number):
                backend.score(rollouts)
                spent.append(backend.bill.total / budget)
                scored.append(len(rollouts.rows))
    finally:
        backend.close()
    done = np.cumsum(scored) / np.sum(scored)
    return Pacing(spent[-1], float(np.abs(np.array(spent) - done).max()))
