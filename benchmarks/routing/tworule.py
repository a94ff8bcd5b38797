"""The two-rule baseline, and the limit that hindsight sets."""

from __future__ import annotations

import numpy as np
from routing.backend import Rollouts, Scored
from routing.baselines import Baseline
from routing.table import Floats, Indices, Table

from verifier_ladder.scheduler.beliefs.regression import Regression

_LEAST = 1e-6
"""Costs below this count as this, so that they have a logarithm."""


class TwoRule(Baseline):
    """The tier below the top for all, the top tier where its predicted cost is low.

    The cost is predicted by a regression of its logarithm on that of the tiers before and on the
    table's logarithms, learnt from what was bought.
    """

    def __init__(self, table: Table, limit: float) -> None:
        """Verify where the predicted cost is below a limit."""
        super().__init__(table)
        self._limit = np.log(max(limit, _LEAST))
        sizes = [n for n, name in enumerate(table.feature_names) if name.startswith("log ")]
        before = np.log(np.maximum(table.costs[:, self.top - 1], _LEAST))
        self._known = np.column_stack([
            np.ones(len(table)), before, np.nan_to_num(table.features[:, sizes]),
        ])  # fmt: skip
        width = self._known.shape[1]
        self._model = Regression([0.0, 1.0] + [0.0] * (width - 2), [0.1] * width, 2.0, 2.0)

    def score(self, rollouts: Rollouts) -> Scored:
        """Ask the tier below the top about all, and the top about the cheap ones."""
        rows = rollouts.rows
        rewards = self.buy(self.top - 1, rows)
        cheap = np.flatnonzero(self._model.predict(self._known[rows]).mean <= self._limit)
        rewards[cheap] = self.buy(self.top, rows[cheap])
        paid = np.log(np.maximum(self.table.costs[rows[cheap], self.top], _LEAST))
        self._model.add(self._known[rows[cheap]], paid)
        return Scored.plain(rewards)


class Knapsack(Baseline):
    """The limit: knows every answer and every cost, and asks where error falls most for the cost.

    For each row it takes the tier with the least (reward − truth)²/variance of the group + price
    · cost. What a tier alone would lead to believe is the best line to the truth, fitted to all.
    """

    def __init__(self, table: Table, price: float) -> None:
        """Buy at a price per unit of cost."""
        super().__init__(table)
        value = table.value
        members = np.bincount(table.group)
        mean = (np.bincount(table.group, value) / members)[table.group]
        spread = (np.bincount(table.group, (value - mean) ** 2) / members)[table.group]
        self._believed = np.column_stack([
            _fitted(self.scores[:, column], value) for column in range(self.top + 1)
        ])  # fmt: skip
        error = (self._believed - value[:, None]) ** 2 / np.maximum(spread, _LEAST)[:, None]
        self._column: Indices = np.argmin(error + price * table.costs, axis=1)

    def score(self, rollouts: Rollouts) -> Scored:
        """Ask each row's best tier."""
        columns = self._column[rollouts.rows]
        for column in range(self.top + 1):
            self.buy(column, rollouts.rows[columns == column])
        return Scored.plain(self._believed[rollouts.rows, columns])


def _fitted(answers: Floats, truth: Floats) -> Floats:
    slope, offset = np.polyfit(answers, truth, 1) if np.ptp(answers) > 0 else (0.0, truth.mean())
    fitted: Floats = offset + slope * answers
    return fitted
