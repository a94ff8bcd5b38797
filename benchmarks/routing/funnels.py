"""Funnels: each tier passes its best on to the next."""

from __future__ import annotations

from itertools import product

import numpy as np
from routing.backend import Rollouts, Scored
from routing.baselines import Baseline
from routing.metrics import correlation, floor_of, learnt_from
from routing.table import Floats, Indices, Table

_SHARES = (1.0, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05, 0.02)


class Funnel(Baseline):
    """Passes on what scores above a threshold; the deepest answer is the reward.

    The thresholds are tuned on half of the table, with its truth, and the answers of each tier
    are brought to the truth's scale by a line fitted there: knowledge it is given for nothing.
    """

    def __init__(
        self,
        table: Table,
        limits: list[float],
        lines: list[tuple[float, float]],
        quota: float = 1.0,
    ) -> None:
        """Use thresholds and lines, one for each tier below the top; see `tuned`."""
        super().__init__(table)
        self._limits, self._lines, self._quota = limits, [*lines, (0.0, 1.0)], quota
        self._left = 0.0

    @classmethod
    def tuned(
        cls, table: Table, seed: int, *, budget: float = np.inf, quota: float = 1.0
    ) -> Funnel:
        """Choose thresholds whose rewards agree best with the truth and whose cost is in budget.

        Args:
            table: The table; half of its groups are trained on.
            seed: Which half.
            budget: Mean cost per rollout that may be spent.
            quota: Share of each call that may reach the top tier; the best of those above the
                threshold do.
        """
        half = np.random.default_rng([seed, 2]).permutation(table.groups)[: table.groups // 2]
        chosen = np.flatnonzero(np.isin(table.group, half))
        trained = table.rows(chosen)
        lines = [_line(trained, column) for column in range(trained.scores.shape[1] - 1)]
        best: tuple[float, list[float]] = (-np.inf, [np.inf] * len(lines))
        for shares in product(_SHARES, repeat=len(lines)):
            limits = _limits(trained, shares)
            candidate = cls(trained, limits, lines, quota)
            every = np.arange(len(trained))
            rewards = candidate.score(Rollouts(every, trained.group)).rewards
            quality = _agreement(trained, rewards)
            if candidate.bill.total <= budget * len(trained) and quality > best[0]:
                best = (quality, limits)
        return cls(table, best[1], lines, quota)

    def score(self, rollouts: Rollouts) -> Scored:
        """Let each tier pass its best on."""
        going = np.arange(len(rollouts.rows))
        rewards = np.empty(len(going))
        for column, (offset, slope) in enumerate(self._lines):
            answers = self.buy(column, rollouts.rows[going])
            rewards[going] = offset + slope * answers
            if column < self.top:
                going = going[answers >= self._limits[column]]
            if column == self.top - 1:
                going = self._within_quota(going, rewards)
        return Scored.plain(rewards)

    def _within_quota(self, going: Indices, rewards: Floats) -> Indices:
        most = self._quota * len(rewards) + self._left
        best = going[np.argsort(-rewards[going], kind="stable")][: int(most)]
        self._left = min(most - len(best), 1.0)
        return np.sort(best)


class Halving(Baseline):
    """Successive halving: in each group, each tier passes the best part on.

    (Jamieson and Talwalkar, AISTATS 2016.)
    """

    def __init__(self, table: Table, keep: float) -> None:
        """Pass on a share of each group."""
        super().__init__(table)
        self._keep = keep

    def score(self, rollouts: Rollouts) -> Scored:
        """Let each group's best climb."""
        rewards = np.full(len(rollouts.rows), np.nan)
        going = np.arange(len(rollouts.rows))
        for column in range(self.top + 1):
            rewards[going] = self.buy(column, rollouts.rows[going])
            going = self._best(going, rewards, rollouts.group)
        return Scored.plain(rewards)

    def _best(self, going: Indices, rewards: Floats, group: Indices) -> Indices:
        kept = []
        for number in np.unique(group[going]):
            some = going[group[going] == number]
            count = max(1, int(np.ceil(self._keep * len(some))))
            kept.append(some[np.argsort(-rewards[some], kind="stable")[:count]])
        return np.sort(np.concatenate(kept))


def _line(table: Table, column: int) -> tuple[float, float]:
    """Offset and slope from a tier's answers to the truth, by least squares."""
    sign = table.manifest.sign
    answers = sign * table.scores[:, column]
    if np.ptp(answers) == 0:
        return float(table.value.mean()), 0.0
    slope, offset = np.polyfit(answers, table.value, 1)
    return float(offset), float(slope)


def _limits(table: Table, shares: tuple[float, ...]) -> list[float]:
    """Thresholds that pass these shares on, each of what the one before has passed."""
    limits, going = [], np.arange(len(table))
    for column, share in enumerate(shares):
        answers = table.manifest.sign * table.scores[going, column]
        limit = float(np.quantile(answers, 1 - share)) if share < 1 else -np.inf
        limits.append(limit)
        going = going[answers >= limit]
    return limits


def _agreement(table: Table, rewards: Floats) -> float:
    floor = floor_of(table.value)
    truth, learnt = (
        learnt_from(Scored.plain(some), table.group, floor) for some in (table.value, rewards)
    )
    found = correlation(truth, learnt)
    return found if np.isfinite(found) else -np.inf
