"""Drift: how soon it is noticed that a cheap tier no longer means what it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from routing.backend import Rollouts
from routing.campaign import CampaignBackend
from routing.table import Table

CALL = 16
"""Rollouts of a call: few, so that audits come one or two at a time."""
_LONGEST = 200
"""Audits after the change at which a search for an alarm is given up."""


@dataclass(slots=True)
class Watch:
    """What was noticed."""

    delay: float
    """Audits after the change until the alarm; infinite if there was none."""
    false: float
    """Alarms before the change, for each 1000 audits."""


def drifting(table: Table) -> Table:
    """The table twice: as it is, and with a dearest cheap tier that promises a deviation more.

    The deviation is that of the truth around its best line through the tier's score, which is
    what a belief is unsure by. The tiers below it stay as they are: a belief that has seen both
    may count a promise of theirs for nothing, or against the candidate.
    """
    changed, column = table.scores.copy(), table.scores.shape[1] - 2
    slope, offset = np.polyfit(table.scores[:, column], table.truth, 1)
    error = (table.truth - offset - slope * table.scores[:, column]).std()
    changed[:, column] += table.manifest.sign * error / slope
    double = table.rows(np.tile(np.arange(len(table)), 2))
    return replace(double, scores=np.concatenate([table.scores, changed]))


def watch(table: Table, backend: CampaignBackend, seed: int, *, passes: int) -> Watch:
    """Score honest rows for some passes, then changed ones until an alarm.

    Args:
        table: What `drifting` made; the second half of its rows is changed.
        backend: A campaign that audits; it is closed at the end.
        seed: Order of the rows.
        passes: How often the honest rows are scored.
    """
    half = len(table) // 2
    top = table.scores.shape[1] - 1
    try:
        for rollouts in _calls(half, seed, passes, start=0):
            backend.score(rollouts)
        honest = backend.bill.count(top)
        before = len(backend.campaign.alarms())
        for rollouts in _calls(half, seed + 1, passes, start=half):
            backend.score(rollouts)
            audits = backend.bill.count(top) - honest
            if len(backend.campaign.alarms()) > before or audits > _LONGEST:
                break
        is_noticed = len(backend.campaign.alarms()) > before
    finally:
        backend.close()
    return Watch(float(audits) if is_noticed else float("inf"), 1000.0 * before / max(honest, 1))


def _calls(size: int, seed: int, passes: int, *, start: int) -> Iterator[Rollouts]:
    random = np.random.default_rng([seed, 6])
    for _ in range(passes):
        order = random.permutation(size)
        for first in range(0, size - CALL + 1, CALL):
            yield Rollouts(start + order[first : first + CALL], np.zeros(CALL, dtype=np.int64))
