"""Bills: what was asked for and what it cost, in order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from routing.table import Floats, Indices, Table


class Bill:
    """Counts what a method bought from a table, whoever bought it and through whatever path."""

    def __init__(self, table: Table) -> None:
        """Start with nothing bought."""
        self._table = table
        self._checks: list[tuple[int, int]] = []

    def charge(self, column: int, rows: Iterable[int]) -> None:
        """Note that a tier was asked about rows; may be called from any thread."""
        self._checks.extend([(int(row), column) for row in rows])

    def __len__(self) -> int:
        """Count the checks."""
        return len(self._checks)

    @property
    def rows(self) -> Indices:
        """Rows in the order they were bought. Shape (checks,)."""
        return np.array([row for row, _ in self._checks], dtype=np.int64)

    @property
    def columns(self) -> Indices:
        """Tier of each check. Shape (checks,)."""
        return np.array([column for _, column in self._checks], dtype=np.int64)

    @property
    def costs(self) -> Floats:
        """Cost of each check. Shape (checks,)."""
        costs: Floats = self._table.costs[self.rows, self.columns]
        return costs

    @property
    def total(self) -> float:
        """What everything cost together."""
        return float(self.costs.sum())

    def count(self, column: int) -> int:
        """How often a tier was asked."""
        return int((self.columns == column).sum())
