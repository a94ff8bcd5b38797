"""Beliefs: what the target is expected to be, given what the tiers have said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier_ladder.scheduler.beliefs.calibrated import CalibratedBelief
from verifier_ladder.scheduler.beliefs.model import BeliefModel, Beliefs, Seen

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder

__all__ = ["BeliefModel", "Beliefs", "CalibratedBelief", "Seen", "create_model"]


def create_model(ladder: Ladder) -> BeliefModel:
    """The belief model of a ladder, before it has learnt anything."""
    return CalibratedBelief.for_ladder(ladder)
