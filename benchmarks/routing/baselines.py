"""Other ways to reward a learner, which the ladder is compared with."""

from __future__ import annotations

import numpy as np
from routing.backend import Rollouts, Scored
from routing.bill import Bill
from routing.table import Floats, Indices, Table

from verifier_ladder.scheduler.beliefs.regression import Regression


class Baseline:
    """What the ways have in common: a table whose numbers are turned so that more is better."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        """Start with nothing bought."""
        self.bill = Bill(table)
        self.table = table
        self.scores = table.manifest.sign * table.scores
        self.top = table.scores.shape[1] - 1
        self.random = np.random.default_rng([seed, 1])

    def score(self, rollouts: Rollouts) -> Scored:
        """Give the final rewards of one call."""
        raise NotImplementedError

    def close(self) -> None:
        """Hold nothing."""

    def buy(self, column: int, rows: Indices) -> Floats:
        """Pay for answers of one tier."""
        self.bill.charge(column, rows)
        answers: Floats = self.scores[rows, column]
        return answers


class FixedTier(Baseline):
    """Rewards everything with what one tier says; the top tier is the truth for all."""

    def __init__(self, table: Table, column: int) -> None:
        """Ask one column."""
        super().__init__(table)
        self.column = column

    def score(self, rollouts: Rollouts) -> Scored:
        """Ask the tier about everything."""
        return Scored.plain(self.buy(self.column, rollouts.rows))


class SmallerGroups(Baseline):
    """Verifies groups of four, as many as the share pays for; the rest of the call is dropped."""

    size = 4

    def __init__(self, table: Table, share: float, seed: int) -> None:
        """Verify a share of the rollouts."""
        super().__init__(table, seed)
        self.share = share

    def score(self, rollouts: Rollouts) -> Scored:
        """Verify the first rollouts of the first groups."""
        wanted = self.share * len(rollouts.rows) / self.size
        count = int(wanted) + (self.random.random() < wanted % 1)
        rewards = np.full(len(rollouts.rows), np.nan)
        for number in np.unique(rollouts.group)[:count]:
            few = np.flatnonzero(rollouts.group == number)[: self.size]
            rewards[few] = self.buy(self.top, rollouts.rows[few])
        return Scored.plain(rewards)


class RandomDrop(Baseline):
    """Verifies at random; what was not verified has no reward."""

    def __init__(self, table: Table, share: float, seed: int) -> None:
        """Verify a share of the rollouts."""
        super().__init__(table, seed)
        self.share = share

    def score(self, rollouts: Rollouts) -> Scored:
        """Draw each rollout alone."""
        drawn = np.flatnonzero(self.random.random(len(rollouts.rows)) < self.share)
        rewards = np.full(len(rollouts.rows), np.nan)
        rewards[drawn] = self.buy(self.top, rollouts.rows[drawn])
        return Scored.plain(rewards)


class RandomCorrected(Baseline):
    """Asks all cheap tiers, verifies at random, and corrects a regression's rewards without bias.

    r = μ + (y − μ)/p where the draw fell, else μ: augmented inverse propensity weighting, or
    active statistical inference with uniform draws (Zrnic and Candès, arXiv 2403.03208).
    """

    def __init__(self, table: Table, share: float, seed: int) -> None:
        """Verify a share of the rollouts."""
        super().__init__(table, seed)
        self.share = share
        width = self.top + 1
        self._model = Regression([0.0] * (width - 1) + [1.0], [0.1] * width, 2.0, 2.0)

    def score(self, rollouts: Rollouts) -> Scored:
        """Predict, draw, correct; then learn from what was drawn."""
        rows = rollouts.rows
        cheap = [self.buy(column, rows) for column in range(self.top)]
        features = np.column_stack([np.ones(len(rows)), *cheap])
        expected = self._model.predict(features)
        drawn = np.flatnonzero(self.random.random(len(rows)) < self.share)
        truth = self.buy(self.top, rows[drawn])
        rewards = expected.mean.copy()
        rewards[drawn] += (truth - rewards[drawn]) / self.share
        self._model.add(features[drawn], truth)
        return Scored(rewards, expected.mean, expected.deviation)
