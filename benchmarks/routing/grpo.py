"""Training with a budget: what share of the gain with all truth is reached without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from routing.backend import Backend
from routing.learner import Course, Learner
from routing.metrics import floor_of, learnt_from
from routing.table import Flags, Table


@dataclass(slots=True)
class Training:
    """How one run ended."""

    gain: float
    """Expected truth under the last policy, less that under the first; more is better."""
    world: float
    """Share of the rollouts that the top tier was asked about."""
    marked: float
    """Share of the policy on rows that were marked."""


def train(
    table: Table, backend: Backend, course: Course, seed: int, *, marked: Flags | None = None
) -> Training:
    """Train a learner on the rewards of a backend.

    Args:
        table: The table behind the backend.
        backend: Where rewards come from; it is closed at the end.
        course: How long and how hard.
        seed: Which rollouts are drawn; the same for every backend.
        marked: Rows whose share of the last policy is wanted.
    """
    learner = Learner(table, course, seed)
    floor = floor_of(table.value)
    start = learner.expected(table.value)
    asked = 0
    try:
        for _ in range(course.updates):
            rollouts = learner.propose()
            scored = backend.score(rollouts)
            asked += len(rollouts.rows)
            gain = learnt_from(scored, rollouts.group, floor)
            learner.update(gain, np.isfinite(scored.rewards))
    finally:
        backend.close()
    top = table.scores.shape[1] - 1
    flags = np.zeros(len(table)) if marked is None else marked.astype(float)
    return Training(
        learner.expected(table.value) - start, backend.bill.count(top) / asked,
        learner.expected(flags),
    )  # fmt: skip
