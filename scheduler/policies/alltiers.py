"""All tiers: everything that passes climbs to the top; the reference for every other policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.scheduler.policies.steps import next_column, pick

_REASONS = (
    "it was rejected",
    "the top of the ladder has answered",
    "it passed, and every tier is asked",
    "the budget of the {tier} tier is spent",
)


class AllTiers:
    """Climbs to the top unless it is rejected; takes no settings."""

    name = "all_tiers"
    version = "1"
    draws = False

    def decide(self, situation: Situation) -> Decisions:
        """Escalate everything that can climb."""
        to = next_column(situation)
        climbs = to >= 0
        paid = pick(situation.affordable, to)
        action = np.where(climbs, np.where(paid, Action.ESCALATE, Action.DEFER), Action.STOP)
        reason = np.where(climbs, np.where(paid, 2, 3), np.where(situation.rejected, 0, 1))
        size = len(situation)
        return Decisions(
            action=action, to=to, reason=reason, reasons=_REASONS,
            propensity=np.ones(size), benefit=situation.sign * np.nan_to_num(situation.mean),
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Name and version."""
        return {"name": self.name, "version": self.version}
