"""Best of n: in each group, check only what may change which candidate is the best."""

from __future__ import annotations

from math import isnan
from statistics import NormalDist
from typing import Any

import numpy as np

from verifier_ladder.arrays import Flags, Floats, Indices
from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.scheduler.policies.settings import number
from verifier_ladder.scheduler.policies.steps import (
    benefits,
    best_column,
    free_first,
    known_spread,
    open_tiers,
    pick,
)

_REASONS = (
    "there is no tier left to ask",
    "believed {mean:.3g} ± {deviation:.2g}; which one of its group is best is known well enough",
    "believed {mean:.3g} ± {deviation:.2g}, the best of its group, and not yet for sure",
    "believed {mean:.3g} ± {deviation:.2g}, which may be better than the best of its group",
    "believed {mean:.3g} ± {deviation:.2g}; others of its group are more likely to be the best",
    "the budget of the {tier} tier is spent or reserved",
)
_OVER, _DECIDED, _LEADER, _CHALLENGER, _LATER, _UNPAID = range(6)
_ACTIONS = np.array(
    [
        Action.STOP, Action.STOP, Action.ESCALATE, Action.ESCALATE, Action.DEFER, Action.DEFER,
    ],
    dtype=np.int64,
)  # fmt: skip
"""What each of the reasons leads to."""


class BestOfN:
    """Asks about the leader of each group and its strongest challenger until they are apart.

    The leader has the largest mean, the strongest challenger the largest upper bound among the
    others. Both climb, on the tier that explains most variance per cost, until the challenger's
    upper bound is below the leader's lower bound; then the group is decided and all stop.
    (LUCB: Kalyanakrishnan et al., *PAC subset selection in stochastic multi-armed bandits*, ICML
    2012, with bounds from the beliefs.)

    A group's members whose top tier has answered may be among the rows: their value counts, and
    nothing is asked of them.

    Example:
        >>> BestOfN(error=0.1).as_json()["error"]
        0.1
    """

    name = "best_of_n"
    version = "1"
    is_sequential = True

    def __init__(self, *, error: float = 0.05) -> None:
        """Set how sure it has to be.

        Args:
            error: Probability with which one of the two bounds that are compared may be wrong.

        Raises:
            ConfigError: If it is no probability, or none at all.
        """
        self.error = number("error of best_of_n", error, least=1e-9, most=1.0)
        self._width = NormalDist().inv_cdf(1.0 - self.error / 2.0)

    def decide(self, situation: Situation) -> Decisions:
        """Send up leaders and challengers of the groups that are not decided."""
        can: Flags = np.logical_or.reduce(open_tiers(situation), axis=1)
        reason, decided = self._roles(situation, can)
        benefit = benefits(situation, _variance(situation))
        to = best_column(situation, free_first(situation, benefit, 0.0), 0.0)
        if not situation.affordable.all():
            unpaid = ~pick(situation.affordable, to) & (reason != _LATER)
            np.copyto(reason, _UNPAID, where=unpaid)
        np.copyto(reason, _DECIDED, where=decided)
        np.copyto(reason, _OVER, where=~can)
        np.copyto(to, -1, where=~can)
        return Decisions(
            action=_ACTIONS[reason], to=to, reason=reason, reasons=_REASONS,
            verify=np.zeros(len(situation)), benefit=np.maximum(pick(benefit, to), 0.0),
        )  # fmt: skip

    def _roles(self, situation: Situation, can: Flags) -> tuple[Indices, Flags]:
        """What each row is in its group, and which rows belong to a group that is decided."""
        group = situation.group
        mean, low, high = self._bounds(situation)
        role = np.full(len(situation), _LATER)
        leader = _largest_of_groups(mean, group)
        role[leader] = _LEADER
        # Of what failed for good nothing more can be learnt: it challenges nobody.
        barred = ~can & (situation.deviation != 0.0)
        barred[leader] = True
        challenger = _largest_of_groups(np.where(barred, -np.inf, high), group)
        is_challenged = ~barred[challenger]
        role[challenger[is_challenged]] = _CHALLENGER
        is_apart = (high[challenger] <= low[leader]) | ~is_challenged
        decided = np.zeros(group.max(initial=-1) + 1, dtype=bool)
        decided[group[leader]] = is_apart | ~(can[leader] | can[challenger])
        return role, decided[group]

    def _bounds(self, situation: Situation) -> tuple[Floats, Floats, Floats]:
        """Mean and bounds, for better is more; infinitely apart where nothing is known."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = situation.sign * situation.mean
            reach = self._width * situation.deviation
            low, high = mean - reach, mean + reach
            if np.isfinite(low + high).all():
                return mean, low, high
        return (
            np.where(np.isnan(mean), -np.inf, mean),
            np.where(np.isnan(low), -np.inf, low),
            np.where(np.isnan(high), np.inf, high),
        )

    def as_json(self) -> dict[str, Any]:
        """Name, version and settings."""
        return {"name": self.name, "version": self.version, "error": self.error}


def _variance(situation: Situation) -> Floats:
    """Variance of each belief in units of the target's, if that is known; 1 if it is not."""
    unit = known_spread(situation)
    with np.errstate(over="ignore", invalid="ignore"):
        share = situation.deviation / (1.0 if isnan(unit) else unit)
        variance = share * share
    return np.where(np.isfinite(variance), variance, 1.0)


def _largest_of_groups(values: Floats, group: Indices) -> Indices:
    """Row of the largest value of each group, the first of equals."""
    order = np.lexsort((-values, group))
    ordered = group[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return order[is_first]
