"""One pass: every row of a table is scored once, group by group, in calls of whole groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from routing.backend import Backend, Rollouts, Scored
from routing.metrics import correlation, cosine, floor_of, learnt_from
from routing.table import Indices, Table

CALL = 128
"""Rollouts of a call, about: whole groups are never cut."""


@dataclass(slots=True)
class Agreement:
    """How close the rewards of one pass come to the truth, and at what cost."""

    correlation: float
    """Of the advantages with those of the truth."""
    cosine: float
    """Of the gradients of a learner with one logit per arm."""
    cost: float
    """Share of what the truth for all costs."""


def calls(table: Table, seed: int) -> Iterator[Rollouts]:
    """The groups in random order, gathered into calls."""
    gathered: list[Indices] = []
    members = table.members()
    for number in np.random.default_rng([seed, 3]).permutation(len(members)):
        gathered.append(members[number])
        if sum(map(len, gathered)) >= CALL:
            yield _rollouts(table, gathered)
            gathered = []
    if gathered:
        yield _rollouts(table, gathered)


def _rollouts(table: Table, gathered: list[Indices]) -> Rollouts:
    rows = np.concatenate(gathered)
    return Rollouts(rows, np.unique(table.group[rows], return_inverse=True)[1])


def one_pass(table: Table, backend: Backend, seed: int) -> Scored:
    """Score every row once; the rewards stand in the order of the rows."""
    scored = Scored(*(np.full(len(table), np.nan) for _ in range(3)))
    try:
        for rollouts in calls(table, seed):
            made = backend.score(rollouts)
            scored.rewards[rollouts.rows] = made.rewards
            scored.mean[rollouts.rows] = made.mean
            scored.deviation[rollouts.rows] = made.deviation
    finally:
        backend.close()
    return scored


def agreement(table: Table, backend: Backend, seed: int) -> Agreement:
    """Score every row once, and compare what a learner would make of it with the truth."""
    scored = one_pass(table, backend, seed)
    floor = floor_of(table.value)
    truth = learnt_from(Scored.plain(table.value), table.group, floor)
    learnt = learnt_from(scored, table.group, floor)
    return Agreement(
        correlation(truth, learnt), cosine(truth, learnt, table.arm),
        backend.bill.total / float(table.costs[:, -1].sum()),
    )  # fmt: skip


def setting_for(
    table: Table, build: Callable[[float], Backend], share: float, seed: int, *, steps: int = 20
) -> float:
    """The largest setting with which a method costs no more than a share, found in hindsight.

    Args:
        table: The table.
        build: Builds the method from its setting; a larger one costs more.
        share: The cost allowed, as a share of what the truth for all costs.
        seed: Order of the groups.
        steps: Halvings of the setting's logarithm, between 1e-9 and 1e9.
    """
    low, high = -9.0, 9.0
    for _ in range(steps):
        middle = (low + high) / 2
        if agreement(table, build(10.0**middle), seed).cost <= share:
            low = middle
        else:
            high = middle
    return float(10.0**low)
