"""A synthetic reward hack: rows that every cheap tier finds excellent and that are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from routing.table import Flags, Indices, Table

PER_GROUP = 2
"""Hacked rows in each group, beside the honest ones."""


def hacked(table: Table, seed: int) -> tuple[Table, Flags]:
    """The table with hacked rows in every group, and which rows they are.

    A hacked row is a copy of a row from the worse half of its group; what the tiers below the
    top say is one standard deviation better than the best of the group, its truth, its features
    and its costs stay. So nothing but the truth gives it away.
    """
    random = np.random.default_rng([seed, 5])
    copied: list[Indices] = []
    for rows in table.members():
        worse = rows[np.argsort(table.value[rows], kind="stable")][: max(1, len(rows) // 2)]
        copied.append(random.choice(worse, PER_GROUP, replace=len(worse) < PER_GROUP))
    rows = np.concatenate(copied)
    more = table.rows(np.concatenate([np.arange(len(table)), rows]))
    marked = np.arange(len(more)) >= len(table)
    scores = more.scores.copy()
    sign = table.manifest.sign
    for column in range(scores.shape[1] - 1):
        better = sign * table.scores[:, column]
        best = np.full(table.groups, -np.inf)
        np.maximum.at(best, table.group, better)
        scores[marked, column] = sign * (best[more.group[marked]] + better.std())
    names = [
        f"{name}{'*' if is_hack else ''}" for name, is_hack in zip(more.names, marked, strict=True)
    ]
    return replace(more, names=names, scores=scores), marked
