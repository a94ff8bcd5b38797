"""Coverage: whether what was believed before the truth came says how far off it is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from routing.backend import Backend, Scored
from routing.onepass import calls
from routing.table import Floats, Table

LABELS = 32
"""Truths that a belief may learn from before it is judged."""
_WIDTH = NormalDist().inv_cdf(0.95)
_normal = NormalDist()


@dataclass(slots=True)
class Coverage:
    """How well beliefs held, over all rows that came after the first `LABELS` truths."""

    share: float
    """Share of truths inside the central 90 % of what was believed."""
    crps: float
    """Mean continuous ranked probability score, in standard deviations of the truth."""
    null: float
    """The same for somebody who knows only mean and spread of the truth."""


def coverage(table: Table, backend: Backend, seed: int) -> Coverage:
    """Score every row once, and compare what was believed with the truth, call after call.

    A belief counts as it was when its climb stopped: strictly before its truth was known.
    """
    top = table.scores.shape[1] - 1
    kept: list[Scored] = []
    truths: list[Floats] = []
    try:
        for rollouts in calls(table, seed):
            is_judged = backend.bill.count(top) >= LABELS
            scored = backend.score(rollouts)
            if is_judged:
                kept.append(scored)
                truths.append(table.value[rollouts.rows])
    finally:
        backend.close()
    return _judged(kept, truths)


def _judged(kept: list[Scored], truths: list[Floats]) -> Coverage:
    if not kept:
        return Coverage(np.nan, np.nan, np.nan)
    truth = np.concatenate(truths)
    mean = np.concatenate([scored.mean for scored in kept])
    deviation = np.concatenate([scored.deviation for scored in kept])
    known = np.isfinite(mean + deviation) & (deviation > 0)
    truth, mean, deviation = truth[known], mean[known], deviation[known]
    scale = float(truth.std())
    inside = np.abs(truth - mean) <= _WIDTH * deviation
    null = crps(truth, np.full(len(truth), truth.mean()), np.full(len(truth), scale))
    return Coverage(
        float(inside.mean()), float(crps(truth, mean, deviation).mean() / scale),
        float(null.mean() / scale),
    )  # fmt: skip


def crps(truth: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Continuous ranked probability score of normal predictions.

    (Gneiting and Raftery, *Strictly proper scoring rules*, 2007, equation 21.)
    """
    z = (truth - mean) / deviation
    density = np.array([_normal.pdf(value) for value in z])
    below = np.array([_normal.cdf(value) for value in z])
    score: Floats = deviation * (z * (2 * below - 1) + 2 * density - 1 / np.sqrt(np.pi))
    return score
