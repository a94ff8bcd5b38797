"""Step rewards: all samples of one step with their groups, as of any entry of the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import nan

import numpy as np

from verifier_ladder.arrays import Floats
from verifier_ladder.candidate import UNKNOWN_SIZE
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.records import Block, DrawRow
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.advantages import advantages, changes


class StepRewards:
    """The samples of one run and step, one row each, in the order in which they were recorded.

    Groups are compared by what was believed of their samples before any draw: where a draw for
    the top tier fell on a sample, the reward it had then stays its estimate; and so it does while
    an answer that was due for certain speaks for others. A group that is not complete, or of which
    nobody knows whether it is, is not compared.
    """

    def __init__(self, ledger: Ledger, campaign: str, run: str, step: int) -> None:
        """Begin before the first entry."""
        self._ledger, self._place = ledger, (campaign, run, step)
        self._entry = 0
        self._rows: dict[int, int] = {}
        self.groups: list[str] = []
        self.learner_versions: list[str] = []
        self._sizes: list[int] = []
        self.rewards: list[Reward] = []
        self._estimates: list[float] = []
        self._deviations: list[float] = []
        self._drawn: set[int] = set()

    @property
    def positions(self) -> list[int]:
        """The position of each row."""
        return list(self._rows)

    def row(self, position: int) -> int:
        """The row of a position."""
        return self._rows[position]

    def read(self, until: int | None = None) -> None:
        """Go on to an entry of the ledger, that one too; to the newest without one."""
        newest = self._ledger.newest()
        end = newest if until is None else min(until, newest)
        for entry in self._ledger.step_entries(*self._place, after=self._entry):
            if entry.id > end:
                return
            self._entry = entry.id
            self._take(self._ledger.read(entry))

    @property
    def values(self) -> Floats:
        """Each row's reward; NaN where it can't be compared. Shape (rows,).

        That is one that is unknown, or whose group is not known to be complete.
        """
        partial = self._partial()
        return np.array(
            [
                nan if group in partial else _float(reward.value)
                for group, reward in zip(self.groups, self.rewards, strict=True)
            ],
            dtype=np.float64,
        )

    def _partial(self) -> set[str]:
        """Groups of which samples are missing, or of which nobody knows."""
        if not any(self._sizes):
            return set()
        counts = Counter(self.groups)
        return {
            group for group, size in zip(self.groups, self._sizes, strict=True)
            if size == UNKNOWN_SIZE or size > counts[group]
        }  # fmt: skip

    def advantages(self) -> Floats:
        """Each row's advantage in its group; NaN where it has none. Shape (rows,)."""
        return advantages(
            self.values, self.groups, estimates=self._estimates, deviations=self._deviations
        )

    def changes(self, before: Floats) -> Floats:
        """How each row's advantage has changed; NaN where it has none. Shape (rows,).

        Args:
            before: `values` as they were; rows that have come since were unknown then.
        """
        old = np.full(len(self.rewards), nan)
        old[: len(before)] = before
        return changes(
            old, self.values, self.groups,
            estimates=self._estimates, deviations=self._deviations,
        )  # fmt: skip

    def _take(self, block: Block) -> None:
        samples = block.samples
        if samples is None or not block.rewards:
            return
        count = len(samples.contents)
        groups, versions = samples.groups or [""] * count, samples.learner_versions or [""] * count
        sizes = samples.group_sizes or [0] * count
        draws = dict(_draws(block))
        for place, (position, group, size, version, reward) in enumerate(zip(
            listed(samples.positions), groups, sizes, versions, block.rewards, strict=True
        )):  # fmt: skip
            row = self._rows.setdefault(position, len(self._rows))
            if row == len(self.rewards):
                self.groups.append(group)
                self._sizes.append(size)
                self.learner_versions.append(version)
                self.rewards.append(reward)
                self._estimates.append(nan)
                self._deviations.append(nan)
            self.rewards[row] = reward
            draw = draws.get(place)
            if row not in self._drawn and not (draw and draw.is_certain and draw.factor != 1.0):
                self._estimates[row] = _float(reward.value)
                self._deviations[row] = _float(reward.uncertainty)
            if draw and not draw.is_certain:
                self._drawn.add(row)


def _draws(block: Block) -> Iterator[tuple[int, DrawRow]]:
    """The draws for the top tier that fell on samples, by place."""
    for columns in block.decisions:
        for place, draw in zip(columns.sample, columns.draws(), strict=True):
            if draw.is_hit:
                yield place, draw


def _float(value: float | None) -> float:
    return nan if value is None else value
