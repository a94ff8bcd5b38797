"""Thresholds: the plain funnel, with random audits past it."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies.steps import next_column, pick
from verifier_ladder.tier import Tier

_REASONS = (
    "it was rejected",
    "the top of the ladder has answered",
    "believed {mean:.3g} ± {deviation:.2g}, good enough for the {tier} tier ({limit:.3g})",
    "it passed, and the {tier} tier has no threshold",
    "drawn for an audit with probability {propensity:.3g}",
    "believed {mean:.3g} ± {deviation:.2g}, not good enough for the {tier} tier ({limit:.3g})",
    "the budget of the {tier} tier is spent",
    "nothing is known of it yet",
)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and isfinite(value)


class Thresholds:
    """Climbs while the believed target value reaches the next tier's threshold.

    A tier without a threshold is climbed to by everything that passes. A sample that would stop
    below a threshold climbs all the same with probability `audit`.

    The queue is ranked by the optimistic belief, mean plus one deviation in the direction of the
    target: the best candidates reach a short budget first.
    """

    name = "thresholds"
    version = "1"

    def __init__(
        self, *, audit: float = 0.0, thresholds: Mapping[str, float] | None = None
    ) -> None:
        """Set the thresholds.

        Args:
            audit: Probability of climbing past a threshold that is not reached.
            thresholds: For each tier, the target value that the belief's mean must reach.

        Raises:
            ConfigError: If a tier is unknown or a number makes no sense.
        """
        if not _is_number(audit) or not 0 <= audit <= 1:
            raise ConfigError(f"audit={audit!r} must be a number between 0 and 1")
        if not isinstance(thresholds, Mapping | None):
            raise ConfigError(
                f"thresholds={thresholds!r}: give a target value for each tier by its name, "
                'such as {"high_fidelity": 0.5}'
            )
        self.audit = float(audit)
        self.limits: dict[Tier, float] = {}
        for name, limit in (thresholds or {}).items():
            tier = Tier.parse(name)
            if not _is_number(limit):
                raise ConfigError(f"the threshold of tier {tier.label} must be a finite number")
            self.limits[tier] = float(limit)

    @property
    def draws(self) -> bool:
        """Whether audits need random numbers."""
        return self.audit > 0

    def decide(self, situation: Situation) -> Decisions:
        """Compare each belief with the threshold of the next tier."""
        to = next_column(situation)
        climbs = to >= 0
        limits = np.array([self.limits.get(tier, np.nan) for tier in situation.tiers])
        limit = np.where(climbs, limits[to], np.nan)
        free = np.isnan(limit)
        unknown = np.isnan(situation.mean) & ~free
        good = situation.sign * (situation.mean - limit) >= 0
        draw = situation.draw if situation.draw is not None else np.ones(len(situation))
        audited = climbs & ~free & ~good & (draw < self.audit)
        wanted = climbs & (free | good | audited)
        paid = pick(situation.affordable, to)
        action = np.select(
            [wanted & paid, wanted], [int(Action.ESCALATE), int(Action.DEFER)], int(Action.STOP)
        )
        reason = np.select(
            [~climbs & situation.rejected, ~climbs, wanted & ~paid, audited, free, good, unknown],
            [0, 1, 6, 4, 3, 2, 7],
            5,
        )
        below = climbs & ~free & ~good
        propensity = np.where(below, np.where(audited, self.audit, 1 - self.audit), 1.0)
        optimistic = situation.sign * situation.mean + np.nan_to_num(situation.deviation)
        return Decisions(
            action=action, to=to, reason=reason, reasons=_REASONS, propensity=propensity,
            benefit=np.nan_to_num(optimistic), draw=situation.draw, limit=limit,
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Name, version and settings."""
        return {
            "name": self.name, "version": self.version, "audit": self.audit,
            "thresholds": {tier.label: limit for tier, limit in self.limits.items()},
        }  # fmt: skip
