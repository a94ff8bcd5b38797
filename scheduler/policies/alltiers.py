"""All tiers: everything that passes climbs to the top; the reference for every other policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.scheduler.policies.steps import next_column, pick

_REASONS = (
    "there is no tier left to ask",
    "it passed, and every tier is asked",
    "the budget of the {tier} tier is spent or reserved",
)
_ACTIONS = np.array([Action.STOP, Action.ESCALATE, Action.DEFER], dtype=np.int64)
"""What each of the reasons leads to."""


class AllTiers:
    """Climbs to the top unless it is rejected; takes no settings.

    Example:
        >>> AllTiers().as_json()
        {'name': 'all_tiers', 'version': '1'}
    """

    name = "all_tiers"
    version = "1"
    is_sequential = False

    def decide(self, situation: Situation) -> Decisions:
        """Escalate everything that can climb."""
        to = next_column(situation)
        paid = pick(situation.affordable, to)
        reason = np.where(to >= 0, np.where(paid, 1, 2), 0)
        known = np.isfinite(situation.mean)
        return Decisions(
            action=_ACTIONS[reason], to=to, reason=reason, reasons=_REASONS,
            verify=np.zeros(len(situation)),
            benefit=np.where(known, situation.sign * situation.mean, 0.0),
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Name and version."""
        return {"name": self.name, "version": self.version}
