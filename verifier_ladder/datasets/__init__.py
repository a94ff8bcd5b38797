"""Datasets: a run's samples with what is known of them by now, for training on late truth."""

from __future__ import annotations

from verifier_ladder.datasets.kinds import KINDS, Kind
from verifier_ladder.datasets.selection import Selection
from verifier_ladder.datasets.trainingset import TrainingSet, training_set

__all__ = ["KINDS", "Kind", "Selection", "TrainingSet", "training_set"]
