"""Answers: what the tiers of one pattern said of some candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(slots=True)
class Answers:
    """What the tiers of one pattern said of some candidates, one row each."""

    scores: Floats
    """Scores from the cheapest of these tiers to the dearest, all finite. Shape (n, tiers)."""
    own: Floats
    """Deviation that the speaking tier gives for its score; NaN if none. Shape (n,)."""
    features: Floats
    """Numbers that verifiers offer about the candidate, NaN where missing. Shape (n, features)."""

    def __len__(self) -> int:
        """Count the candidates."""
        return len(self.scores)

    def __getitem__(self, rows: slice) -> Answers:
        """Some of the candidates."""
        return Answers(self.scores[rows], self.own[rows], self.features[rows])


@dataclass(slots=True)
class Labelled:
    """Answers of candidates whose target is known."""

    answers: Answers
    targets: Floats
    """What the top tier said, in target units. Shape (n,)."""
    weights: Floats
    """How many labels each counts for. Shape (n,)."""

    def __len__(self) -> int:
        """Count the candidates."""
        return len(self.targets)

    def __getitem__(self, rows: slice) -> Labelled:
        """Some of the candidates."""
        return Labelled(self.answers[rows], self.targets[rows], self.weights[rows])

    @classmethod
    def joined(cls, parts: Sequence[Labelled]) -> Labelled:
        """All candidates of some parts, in order."""
        return cls(
            Answers(
                np.concatenate([part.answers.scores for part in parts]),
                np.concatenate([part.answers.own for part in parts]),
                np.concatenate([part.answers.features for part in parts]),
            ),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )

    def as_json(self) -> dict[str, Any]:
        """The columns as lists; None for NaN."""
        return {
            "scores": as_lists(self.answers.scores), "own": as_lists(self.answers.own),
            "features": as_lists(self.answers.features), "targets": as_lists(self.targets),
            "weights": as_lists(self.weights),
        }  # fmt: skip

    @classmethod
    def from_json(cls, columns: Mapping[str, Any], tiers: int) -> Labelled:
        """Read what `as_json` wrote of a pattern with so many tiers."""
        targets = array(columns["targets"])
        size = len(targets)
        answers = Answers(
            array(columns["scores"]).reshape(size, tiers), array(columns["own"]),
            array(columns["features"]).reshape(size, -1),
        )  # fmt: skip
        return cls(answers, targets, array(columns["weights"]))


def as_lists(values: Floats) -> Any:
    """An array as lists for JSON, which has no NaN: None stands for it."""
    listed = values.astype(object)
    listed[np.isnan(values)] = None
    return listed.tolist()


def array(values: Any) -> Floats:
    """The array that `as_lists` wrote."""
    return np.array(values, dtype=object).astype(float)
