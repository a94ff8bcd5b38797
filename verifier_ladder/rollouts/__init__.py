"""Scoring a file of rollouts, without any training."""

from __future__ import annotations

from verifier_ladder.badrow import BadRow
from verifier_ladder.rollouts.scored import ScoredFile
from verifier_ladder.rollouts.scoring import Progress, score_file
from verifier_ladder.rollouts.statistics import Statistics

__all__ = ["BadRow", "Progress", "ScoredFile", "Statistics", "score_file"]
