"""The outlook: what a policy would spend at given prices, judged by samples decided lately."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verifier_ladder.arrays import Floats, NDArray
from verifier_ladder.decision import Action, EscalationPolicy, Situation, decided
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier

_MOST, _PART = 256, 64
"""How many samples are remembered, and of one call at most while others follow: enough of several
calls for a mean, few enough to be asked about often."""
_GROUPS = 8
"""How many groups of a call are looked at, at the least."""
_GOLDEN = 0.6180339887498949
"""The golden section: its multiples, without their whole part, are spread as evenly as can be."""
_KINDS = {
    "reached": int, "mean": float, "deviation": float, "explained": float, "answered": bool,
    "weight": float, "group": int,
}  # fmt: skip
"""Columns of a situation that are remembered; prices make the cost, and budgets are ample."""
_SHARED = ("sign", "spread", "best")


class Outlook:
    """The newest samples that were decided, with what asking each tier would take."""

    def __init__(self, policy: EscalationPolicy, tiers: tuple[Tier, ...]) -> None:
        """Begin without samples."""
        self._policy, self._tiers = policy, tiers
        self._columns: dict[str, NDArray[Any]] = {
            name: np.empty((0, len(tiers)) if name in {"explained", "answered"} else 0, dtype=kind)
            for name, kind in _KINDS.items()
        }
        self._shared: dict[str, Any] = dict.fromkeys(_SHARED, float("nan"))
        self._costs: Floats = np.empty((0, len(tiers), len(Resource)))
        self._worth: Floats = np.empty(0)
        """How many samples each stands for."""

    def __len__(self) -> int:
        """Count the samples."""
        return len(self._costs)

    def add(
        self, situation: Situation, costs: Floats, start: int, *, left: int | None = None
    ) -> None:
        """Take some samples of a call, from all over it; the oldest ones are forgotten.

        Args:
            situation: The samples of the call.
            costs: What asking each tier takes. Shape (n, tiers, resources).
            start: How many samples came before, so that every call is looked at elsewhere.
            left: How many samples can still spend, if all are known: no more are remembered, or
                those that were decided when less was known would have a part of the budget too.
        """
        if not len(costs):
            return
        part = _some(situation.group, start, _PART if left is None else _MOST)
        most = _MOST if left is None else min(_MOST, left)
        keep = slice(min(len(self), max(0, len(self) + len(part) - most)), None)
        apart = self._columns["group"].max(initial=-1) + 1
        for name, had in self._columns.items():
            new = getattr(situation, name)[part]
            new = new + apart if name == "group" else new
            self._columns[name] = np.concatenate([had[keep], new])
        self._columns["group"] -= self._columns["group"].min(initial=0)
        self._costs = np.concatenate([self._costs[keep], costs[part]])
        stands_for = np.full(len(part), len(costs) / len(part))
        self._worth = np.concatenate([self._worth[keep], stands_for])
        self._shared = {name: getattr(situation, name) for name in _SHARED}

    @property
    def usual(self) -> Floats:
        """Mean of what asking each tier takes. Shape (tiers, resources)."""
        return self._mean(np.ones(self._costs.shape[:2]))

    def share_below(self, column: int) -> float:
        """Share of the samples that no tier from this column on has answered."""
        is_below = self._columns["reached"] < column
        return float(self._worth[is_below].sum() / max(self._worth.sum(), 1.0))

    def _mean(self, chance: Floats) -> Floats:
        """Mean amounts where each tier is asked with these probabilities."""
        share = self._worth / max(self._worth.sum(), 1.0)
        made: Floats = np.einsum("i,ij,ijr->jr", share, chance, self._costs)
        return made

    def unevenness(self, rates: Floats) -> float:
        """Variance of the logarithm of what the top tier costs; 0 where it costs nothing."""
        top = priced(self._costs, rates)[:, -1]
        costs = np.log(top[top > 0.0])
        return float(costs.var()) if len(costs) else 0.0

    def spend(self, rates: Floats, floor: float) -> Floats:
        """What the policy would spend on the whole climb of a sample, in the mean.

        A tier that answers is taken to explain what it is expected to, and the policy is asked
        again, until no sample climbs on.

        Args:
            rates: Price of one unit of each resource on each tier. Shape (tiers, resources).
            floor: Least probability that the top tier is asked.

        Returns:
            Expected amounts. Shape (tiers, resources).
        """
        if not len(self):
            return np.zeros_like(rates)
        return self._mean(self.chances(rates, floor))

    def amounts(self, rates: Floats, floor: float) -> Floats:
        """What the samples that each remembered one stands for would spend, in the mean.

        Returns:
            Expected amounts. Shape (n, tiers, resources).
        """
        chance = self.chances(rates, floor) * self._worth[:, None]
        made: Floats = chance[:, :, None] * self._costs
        return made

    def chances(self, rates: Floats, floor: float) -> Floats:
        """Probability that each tier is asked in the course of a climb. Shape (n, tiers)."""
        chance, drawn = self.climbs(rates, floor)
        chance[:, -1] += drawn
        return chance

    def climbs(self, rates: Floats, floor: float) -> tuple[Floats, Floats]:
        """Whether each tier is asked for its worth, and the chance to be drawn for the top one.

        Returns:
            1 where a tier is asked, of shape (n, tiers), and chances of shape (n,).
        """
        return climbs(self._policy, self._situation(rates), floor)

    def _situation(self, rates: Floats) -> Situation:
        cost = priced(self._costs, rates)
        columns: dict[str, Any] = {name: had.copy() for name, had in self._columns.items()}
        ample = np.ones(cost.shape, dtype=bool)
        return Situation(
            tiers=self._tiers, cost=cost, affordable=ample, unevenness=self.unevenness(rates),
            **columns, **self._shared,
        )  # fmt: skip

    def snapshot(self) -> dict[str, Any]:
        """All it remembers, as JSON."""
        return {
            **{name: column.tolist() for name, column in self._columns.items()},
            "costs": self._costs.tolist(), "worth": self._worth.tolist(),
            "shared": dict(self._shared),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        size = len(snapshot["mean"])
        for name, had in self._columns.items():
            shape = (size, *had.shape[1:])
            self._columns[name] = np.array(snapshot[name], dtype=had.dtype).reshape(shape)
        self._costs = np.array(snapshot["costs"]).reshape(size, *self._costs.shape[1:])
        self._worth = np.array(snapshot["worth"])
        self._shared = dict(snapshot["shared"])


def _some(group: NDArray[np.int64], start: int, most: int) -> NDArray[np.int64]:
    """Rows of whole groups from all over a call, each row as likely as any other.

    Whole groups, because a sample is worth what it tells beside the others of its group. Groups
    are taken whatever their size, or the rows of large ones would stand for too many.
    """
    if len(group) <= most:
        return np.arange(len(group))
    _, number = np.unique(group, return_inverse=True)
    groups = int(number.max()) + 1
    count = max(round(groups * most / len(group)), min(groups, _GROUPS))
    rows = np.flatnonzero(np.isin(number, _spread(groups, start, count)))
    return np.sort(rows[_spread(len(rows), start, most)])


def _spread(size: int, start: int, count: int) -> NDArray[np.int64]:
    """So many of the numbers below a size, spread evenly, without a period."""
    turn = _GOLDEN * np.arange(start, start + size) % 1.0
    return np.argsort(turn, kind="stable")[:count]


def priced(costs: Floats, rates: Floats) -> Floats:
    """Amounts of several resources as one number without unit.

    Args:
        costs: Amounts. Shape (n, tiers, resources).
        rates: Price of one unit of each resource on each tier. Shape (tiers, resources).
    """
    made: Floats = np.einsum("ijr,jr->ij", costs, rates)
    return made


def climbs(policy: EscalationPolicy, situation: Situation, floor: float) -> tuple[Floats, Floats]:
    """How samples would climb if every tier explained what it is expected to.

    Args:
        policy: What decides.
        situation: The samples; it is written over.
        floor: Least probability that the top tier is asked.

    Returns:
        1 where a tier is asked for its worth, of shape (n, tiers), and the chances to be drawn
        for the top one, of shape (n,).
    """
    chance, drawn = np.zeros(situation.cost.shape), np.zeros(len(situation))
    climbing = np.arange(len(situation))
    for _ in situation.tiers:
        decisions = decided(policy, situation)
        stops = climbing[decisions.action[climbing] == Action.STOP]
        verify = np.maximum(decisions.verify[stops], floor)
        drawn[stops] = np.where(situation.answered[stops, -1], 0.0, verify)
        climbing = climbing[decisions.action[climbing] == Action.ESCALATE]
        chance[climbing, decisions.to[climbing]] = 1.0
        climbing = climbing[decisions.to[climbing] < len(situation.tiers) - 1]
        if not len(climbing):
            break
        _answer(situation, climbing, decisions.to[climbing])
    return chance, drawn


def _answer(situation: Situation, rows: NDArray[np.int64], to: NDArray[np.int64]) -> None:
    """Have tiers answer, and explain what they are expected to."""
    share = np.clip(situation.explained[rows, to], 0.0, 1.0)
    situation.deviation[rows] *= np.sqrt(1.0 - share)
    situation.explained[rows, to] = 0.0
    situation.answered[rows, to] = True
    situation.reached[rows] = np.maximum(situation.reached[rows], to)
