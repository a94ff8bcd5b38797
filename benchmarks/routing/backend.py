"""Backends: what turns a learner's rollouts into rewards, and says what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from routing.bill import Bill
from routing.table import Floats, Indices


class Rollouts(NamedTuple):
    """What a learner wants judged in one call; whole groups, one after another."""

    rows: Indices
    """Row of the table that each rollout stands for. Shape (n,)."""
    group: Indices
    """Number of its group. Shape (n,)."""
    weight: Floats | None = None
    """Norm of the score function, where the learner knows it. Shape (n,)."""


@dataclass(slots=True)
class Scored:
    """The rewards of one call once everything that was bought has arrived; more is better."""

    rewards: Floats
    """NaN where nothing is known. Shape (n,)."""
    mean: Floats
    """What was expected before the top tier answered; NaN if nothing was. Shape (n,)."""
    deviation: Floats
    """Standard deviation of that expectation; NaN if the method has none. Shape (n,)."""

    @classmethod
    def plain(cls, rewards: Floats) -> Scored:
        """Rewards of a method that expects nothing."""
        nothing = np.full(len(rewards), np.nan)
        return cls(rewards, nothing, nothing)


class Backend(Protocol):
    """**Protocol:** scores one call after another, and keeps the bill."""

    bill: Bill

    def score(self, rollouts: Rollouts) -> Scored:
        """Give the final rewards of one call."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...
