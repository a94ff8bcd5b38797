"""Thresholds: the plain funnel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies.settings import number
from verifier_ladder.scheduler.policies.steps import next_column, pick
from verifier_ladder.tier import Tier

_REASONS = (
    "there is no tier left to ask",
    "believed {mean:.3g} ± {deviation:.2g}, good enough for the {tier} tier ({limit:.3g})",
    "it passed, and the {tier} tier has no threshold",
    "the budget of the {tier} tier is spent or reserved",
    "believed {mean:.3g} ± {deviation:.2g}, not good enough for the {tier} tier ({limit:.3g})",
    "nothing is known of it yet",
)
_OVER, _GOOD, _FREE, _UNPAID, _WEAK, _UNKNOWN = range(6)
_ACTIONS = np.array(
    [
        Action.STOP, Action.ESCALATE, Action.ESCALATE, Action.DEFER, Action.STOP, Action.STOP
    ],
    dtype=np.int64,
)  # fmt: skip
"""What each of the reasons leads to."""


class Thresholds:
    """Climbs while the believed target value reaches the next tier's threshold.

    A tier without a threshold is climbed to by everything that passes.

    The queue is ranked by the optimistic belief, mean plus one deviation in the direction of the
    target: the best candidates reach a short budget first.

    Example:
        >>> Thresholds(thresholds={"world": 0.5}).as_json()["thresholds"]
        {'world': 0.5}
    """

    name = "thresholds"
    version = "2"
    is_sequential = False

    def __init__(self, *, thresholds: Mapping[str, float] | None = None) -> None:
        """Set the thresholds.

        Args:
            thresholds: For each tier, the target value that the belief's mean must reach.

        Raises:
            ConfigError: If a tier is unknown or a number makes no sense.
        """
        if not isinstance(thresholds, Mapping | None):
            raise ConfigError(
                f"thresholds={thresholds!r}: give a target value for each tier by its name, "
                'such as {"high_fidelity": 0.5}'
            )
        self.limits: dict[Tier, float] = {}
        for name, limit in (thresholds or {}).items():
            tier = Tier.parse(name)
            self.limits[tier] = number(f"the threshold of tier {tier.label}", limit)

    def decide(self, situation: Situation) -> Decisions:
        """Compare each belief with the threshold of the next tier."""
        to = next_column(situation)
        limits = np.array([self.limits.get(tier, np.nan) for tier in situation.tiers])
        limit = np.where(to >= 0, limits[to], np.nan)
        free = np.isnan(limit)
        with np.errstate(over="ignore", invalid="ignore"):
            good = situation.sign * (situation.mean - limit) >= 0
            optimistic = situation.sign * situation.mean + np.fmax(situation.deviation, 0.0)
        wanted = np.where(free, _FREE, _GOOD)
        weak = np.where(np.isnan(situation.mean), _UNKNOWN, _WEAK)
        paid = pick(situation.affordable, to)
        reason = np.where(free | good, np.where(paid, wanted, _UNPAID), weak)
        reason = np.where(to >= 0, reason, _OVER)
        return Decisions(
            action=_ACTIONS[reason], to=to, reason=reason, reasons=_REASONS,
            verify=np.zeros(len(situation)),
            benefit=np.where(np.isfinite(optimistic), optimistic, 0.0), limit=limit,
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Name, version and settings."""
        return {
            "name": self.name, "version": self.version,
            "thresholds": {tier.label: limit for tier, limit in self.limits.items()},
        }  # fmt: skip
