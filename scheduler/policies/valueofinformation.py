"""Value of information: climb where what would be learnt is worth more than it costs."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

import numpy as np

from verifier_ladder.arrays import Flags, Floats, NDArray
from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.scheduler.policies.index import improvement
from verifier_ladder.scheduler.policies.settings import number
from verifier_ladder.scheduler.policies.steps import (
    CLOSED,
    benefits,
    best_column,
    free_first,
    known_spread,
    pick,
)

_OVER_BUDGET = (
    "the {tier} tier brings {benefit:.3g} times what it costs, but its budget is spent or reserved"
)
_REASONS = (
    "there is no tier left to ask",
    "the {tier} tier brings {benefit:.3g} times what it costs",
    "the {tier} tier costs nothing that a budget limits",
    _OVER_BUDGET,
    _OVER_BUDGET,
    "no tier is worth its cost; the {tier} tier brings {benefit:.3g} of it",
)
_OVER, _WORTH, _FREE, _DEFERRED, _UNPAID, _WEAK = range(6)
_ACTIONS = np.array(
    [Action.STOP, Action.ESCALATE, Action.ESCALATE, Action.DEFER, Action.STOP, Action.STOP],
    dtype=np.int64,
)  # fmt: skip
"""What each of the reasons leads to."""
_STOP = int(Action.STOP)


class ValueOfInformation:
    """Asks the tier that brings most per cost, if that is more than its cost.

    For sample *i* and tier *j* the benefit is::

        b = explained[i, j] · (w² · deviation[i]² + beta² · (EI / spread)²) / cost[i, j]

    where w is the sample's weight over the deviation of its group's rewards, and EI the expected
    improvement over the best known value. Tiers may be jumped. Where no tier is worth its cost the
    climb stops, and the top tier verifies with probability min(b, 1) to the power `steepness`.

    Where checks cost alike the power is 1/2: for `beta` = 0, this gives the estimate of the policy
    gradient the least variance for its expected cost (Zrnic & Candès, *Active statistical
    inference*, 2024). Then the budget pins the chances, because all benefits are near each other.
    Where costs differ by orders of magnitude, so do benefits; small chances of very dear checks
    would eat the budget, and what is gained is lost by the noise that their draws add. There the
    power is higher, and nearly everything is either verified or left to the audits.

    A tier that costs nothing is climbed to. A sample of which nothing is known counts as wholly
    uncertain.

    Example:
        >>> ValueOfInformation(beta=0.5).as_json()["beta"]
        0.5
    """

    name = "value_of_information"
    version = "1"
    is_sequential = False

    def __init__(
        self, *, beta: float = 0.0, floor: float = 0.1, steepness: float | None = None
    ) -> None:
        """Set the objective.

        Args:
            beta: 0 to learn from all samples alike, as a learner does; 1 to find the best ones as
                well; between for a little of it.
            floor: Least deviation of a group, as a share of the target's spread: a group whose
                candidates are all alike teaches a learner nothing.
            steepness: How soon the chance to be verified falls with the benefit: it is its
                power. Left out, it is 1/2 where checks cost alike, and 1/2 plus the variance of
                the logarithm of their costs where they don't.

        Raises:
            ConfigError: If a number makes no sense.
        """
        self.beta = number("beta of value_of_information", beta, least=0.0)
        self.floor = number("floor of value_of_information", floor, least=0.0)
        self.steepness = steepness
        if steepness is not None:
            self.steepness = number("steepness of value_of_information", steepness, least=0.01)

    def decide(self, situation: Situation) -> Decisions:
        """Compare what each tier brings with what it costs."""
        benefit = benefits(situation, self._gain(situation))
        key = free_first(situation, benefit, 1.0)
        best = best_column(situation, key, 1.0)
        value, top = pick(key, best), key[:, -1]
        worth, over = value >= 1.0, top == CLOSED
        to = np.where(worth, best, len(situation.tiers) - 1)
        reason = np.where(worth, self._worth(situation, to, value), _WEAK)
        np.copyto(reason, _OVER, where=over)
        np.copyto(to, -1, where=over)
        action = _ACTIONS[reason]
        chance = np.minimum(np.maximum(top, 0.0), 1.0) ** self._power(situation)
        return Decisions(
            action=action, to=to, reason=reason, reasons=_REASONS,
            verify=np.where(action == _STOP, chance, 0.0),
            benefit=np.maximum(pick(benefit, to), 0.0),
        )  # fmt: skip

    def _power(self, situation: Situation) -> float:
        """The power of the benefit that is the chance to be verified."""
        return 0.5 + situation.unevenness if self.steepness is None else self.steepness

    @staticmethod
    def _worth(situation: Situation, to: NDArray[np.int64], value: Floats) -> NDArray[np.int64]:
        """The reason of rows for which a tier is worth its cost."""
        paid = np.where(value == np.inf, _FREE, _WORTH)
        if situation.affordable.all():
            return paid
        unpaid = np.where(to == len(situation.tiers) - 1, _UNPAID, _DEFERRED)
        return np.where(pick(situation.affordable, to), paid, unpaid)

    def _gain(self, situation: Situation) -> Floats:
        """What full knowledge of each sample is worth, without unit. Shape (n,)."""
        with np.errstate(all="ignore"):
            mean, deviation = situation.mean, situation.deviation
            known = np.isfinite(mean + deviation)
            is_all = bool(known.all())
            if not is_all:
                mean, deviation = np.where(known, mean, 0.0), np.where(known, deviation, 0.0)
            share = deviation / self._group_deviation(situation, known, mean, deviation)
            hope = _hope(situation, mean, deviation) if self.beta else 0.0
            if not is_all:
                share, hope = np.where(known, share, 1.0), np.where(known, hope, _EVEN)
            gain: Floats = np.square(situation.weight * share)
            if self.beta:
                gain = np.fmax(gain, 0.0) + np.square(self.beta * hope)
        return gain

    def _group_deviation(
        self, situation: Situation, known: Flags, mean: Floats, deviation: Floats
    ) -> Floats:
        """Deviation of the rewards of each sample's group, known and unknown together.

        A group of one tells nothing of it; there the target's spread stands in.
        """
        group, spread = situation.group, situation.spread
        count = np.bincount(group, known)
        middle = np.bincount(group, mean) / count
        apart = np.where(known, mean - middle[group], 0.0)
        within = np.bincount(group, deviation * deviation) / count
        between = np.bincount(group, apart * apart) / (count - 1.0)
        single = np.fmax(within, spread * spread)
        variance = np.where(count > 1.0, within + between, single)
        floor = self.floor * spread
        scale = np.sqrt(np.fmax(variance, floor * floor))
        scale[scale == 0.0] = np.inf  # Where all is certain nothing is left to be learnt.
        return scale[group]

    def as_json(self) -> dict[str, Any]:
        """Name, version and settings."""
        return {
            "name": self.name, "version": self.version, "beta": self.beta, "floor": self.floor,
            "steepness": self.steepness,
        }  # fmt: skip


_LEAST = 1e-300
"""Stands for a deviation of 0, by which nothing can be divided."""
_EVEN = 0.3989422804014327
"""Expected improvement of a standard normal value over its mean."""


def _hope(situation: Situation, mean: Floats, deviation: Floats) -> Floats | float:
    """Expected improvement over the best known, in units of the target's spread.

    While that is not known every sample is as good as any. While there is no best, a sample has
    to improve on its own mean.
    """
    spread = known_spread(situation)
    if isnan(spread):
        return _EVEN
    gap = situation.sign * (situation.best - mean) if isfinite(situation.best) else 0.0 * mean
    # improvement(-x) is x + improvement(x), which holds for a deviation of 0 as well.
    some = deviation * improvement(np.abs(gap) / np.maximum(deviation, _LEAST))
    return (np.maximum(-gap, 0.0) + some) / spread
