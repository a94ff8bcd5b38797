"""Verifiers that answer from a table, and the ladder of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import numpy as np
from routing.bill import Bill
from routing.table import Table

import verifier_ladder as vl
from verifier_ladder.cost import Cost
from verifier_ladder.decision import EscalationPolicy
from verifier_ladder.reward import Estimation, RewardRule
from verifier_ladder.target import Target
from verifier_ladder.verdict import Outcome, Verdict

KIND = "row"


def content_of(row: int, copy: int = 0) -> str:
    """How a row is written as a candidate; copies are distinct candidates with equal answers.

    Example:
        >>> content_of(12, copy=3), row_of("12 3")
        ('12 3', 12)
    """
    return f"{row} {copy}"


def row_of(content: str) -> int:
    """The row that a candidate stands for."""
    return int(content.partition(" ")[0])


def magnitude(table: Table, column: int) -> float:
    """The power of ten nearest to a tier's median cost: what its author would declare."""
    median = float(np.median(table.costs[:, column]))
    return 10.0 ** round(log10(median)) if median > 0 else 0.0


class TableVerifier(vl.Verifier):
    """Says what the table recorded, and charges what it cost then.

    Its class declares no cost: the engine would take it for the time that a look-up takes, and
    claim one check after another.
    """

    kind, version, isolation = KIND, "1", "inline"

    def __init__(self, table: Table, column: int, bill: Bill) -> None:
        """Answer for one tier.

        Args:
            table: Where the answers stand.
            column: Which tier it is.
            bill: Where every check is noted.
        """
        told = table.manifest.tiers[column]
        self.name, self.tier = told.score, told.place
        declared = told.declared
        if declared is None:
            declared = told.cost if isinstance(told.cost, float) else magnitude(table, column)
        self._declared = Cost(seconds=declared)
        self.same_quantity = told.same_quantity
        self._table, self._column, self._bill = table, column, bill
        self._is_binary = table.manifest.scale == "binary"
        self._numbers = dict(table.evidence[column])
        if column == 0:
            offered = zip(table.feature_names, table.features.T, strict=True)
            self._numbers.update(offered)
        self.features = tuple(self._numbers)
        super().__init__(table=table.name)

    def expected_cost(self, candidate: vl.Candidate) -> Cost:
        """The order of magnitude that the manifest declares, the same for all."""
        del candidate
        return self._declared

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[Verdict]:
        """Look the answers up."""
        rows = [row_of(str(candidate.content)) for candidate in candidates]
        self._bill.charge(self._column, rows)
        return [self._verdict(row) for row in rows]

    def _verdict(self, row: int) -> Verdict:
        score = float(self._table.scores[row, self._column])
        bad = self._is_binary and score == 0.0
        told = {key: float(values[row]) for key, values in self._numbers.items()}
        return Verdict(
            Outcome.REJECT if bad else Outcome.ACCEPT, score, reason="failed" if bad else "",
            evidence={key: value for key, value in told.items() if not np.isnan(value)},
            cost=Cost(seconds=float(self._table.costs[row, self._column])),
        )  # fmt: skip


def ladder_of(
    table: Table,
    bill: Bill,
    *,
    policy: EscalationPolicy | None = None,
    audit: float = 0.0,
    estimator: Estimation = "auto",
) -> vl.Ladder:
    """The ladder whose tiers answer from the table."""
    manifest = table.manifest
    return vl.Ladder(
        manifest.name,
        [TableVerifier(table, column, bill) for column in range(len(manifest.tiers))],
        policy=policy, audit=audit, reward=RewardRule(estimator=estimator),
        target=Target(
            manifest.tiers[-1].score, direction=manifest.direction, scale=manifest.scale
        ),
    )  # fmt: skip
