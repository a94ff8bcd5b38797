"""Discovery: what it costs to find the best rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from routing.bill import Bill
from routing.table import Floats, Indices, Table

SHARES = (0.5, 0.8, 1.0)
"""Shares of the best rows whose finding is timed."""


@dataclass(slots=True)
class Search:
    """What a search found, and when; costs in mean top-tier checks."""

    costs: list[float]
    """Cost until each of `SHARES` of the best rows was found; infinite if it never was."""
    regret: float
    """Share of the best rows that was still missing, averaged over the cost up to the horizon."""


def best_rows(table: Table) -> Indices:
    """The best rows by the truth, as many as the manifest says."""
    best: Indices = np.argsort(-table.value, kind="stable")[: table.manifest.top]
    return best


def traced(table: Table, bill: Bill, horizon: float) -> Search:
    """Read from a bill when the best rows were verified.

    Args:
        table: The table.
        bill: What was bought, in order.
        horizon: Cost, in mean top-tier checks, up to which regret is averaged.
    """
    unit = float(table.costs[:, -1].mean())
    spent = bill.costs.cumsum() / unit
    wanted = best_rows(table)
    is_find = (bill.columns == table.scores.shape[1] - 1) & np.isin(bill.rows, wanted)
    found = spent[is_find]
    costs = []
    for share in SHARES:
        place = int(np.ceil(share * len(wanted))) - 1
        costs.append(float(found[place]) if place < len(found) else float("inf"))
    missing = horizon - np.clip(horizon - found, 0.0, horizon).sum() / len(wanted)
    return Search(costs, float(missing / horizon))


def at_random(table: Table, seed: int) -> Bill:
    """Verify in random order."""
    return _all_of(table, np.random.default_rng([seed, 4]).permutation(len(table)))


def by_funnel(table: Table, column: int) -> Bill:
    """Ask a cheap tier about all, then verify the best by it first."""
    bill = Bill(table)
    bill.charge(column, range(len(table)))
    answers = table.manifest.sign * table.scores[:, column]
    bill.charge(table.scores.shape[1] - 1, np.argsort(-answers, kind="stable"))
    return bill


def by_oracle(table: Table) -> Bill:
    """Verify the best rows only, the cheapest first: nobody can do better."""
    best = best_rows(table)
    return _all_of(table, best[np.argsort(table.costs[best, -1], kind="stable")])


def _all_of(table: Table, order: Indices) -> Bill:
    bill = Bill(table)
    bill.charge(table.scores.shape[1] - 1, order)
    return bill


def geometric_mean(ratios: Floats) -> float:
    """Geometric mean of positive numbers; infinite if one of them is."""
    return float(np.exp(np.mean(np.log(ratios))))
