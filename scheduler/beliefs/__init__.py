"""Beliefs: what the target is expected to be, given what the tiers have said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier_ladder.scheduler.beliefs.calibrated import CalibratedBelief
from verifier_ladder.scheduler.beliefs.chained import ChainedBelief
from verifier_ladder.scheduler.beliefs.model import BeliefModel, Beliefs, Seen

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder

__all__ = ["BeliefModel", "Beliefs", "CalibratedBelief", "ChainedBelief", "Seen", "create_model"]


def create_model(ladder: Ladder) -> BeliefModel:
    """The belief model of a ladder, before it has learnt anything.

    A policy that compares candidates asks the top tier about what lower tiers have called good,
    so its labels are not like the rest; the chain of tiers is believed there.
    """
    if ladder.policy.is_sequential and ladder.target.scale != "binary":
        return ChainedBelief.for_ladder(ladder)
    return CalibratedBelief.for_ladder(ladder)
