"""The contract of a belief model: what the target is expected to be, given what tiers said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Seen:
    """What is known of some candidates, one row each; NaN where a tier has not answered."""

    scores: Floats
    """Score of each tier's primary verifier. Shape (n, tiers)."""
    deviations: Floats
    """Standard deviation of that score as the verifier sees it; NaN if it says none.
    Shape (n, tiers)."""
    features: Floats
    """Numbers that verifiers offer about the candidate, NaN where missing. Shape (n, features)."""

    def __len__(self) -> int:
        """Count the candidates."""
        return len(self.scores)


@dataclass(slots=True)
class Beliefs:
    """Predictions of the target, one row per candidate."""

    mean: Floats
    """Predictive mean, in target units; NaN if nothing is known. Shape (n,)."""
    deviation: Floats
    """Predictive standard deviation; NaN if nothing is known. Shape (n,)."""
    explained: Floats
    """Share of the predictive variance that asking each tier is expected to explain, in [0, 1]:
    1 for the top tier, 0 for tiers that have answered. Shape (n, tiers)."""


@runtime_checkable
class BeliefModel(Protocol):
    """**Protocol:** predicts the target from what the tiers have said, and learns from truth.

    Predictions depend on nothing but what was declared and what was learnt, in order: a model
    that is restored from a snapshot and taught the rest predicts the same to 1e-9.
    """

    @property
    def version(self) -> int:
        """Counts the calls of `learn`; predictions of one version never change."""
        ...

    def predict(self, seen: Seen) -> Beliefs:
        """Predict the target of each candidate."""
        ...

    def learn(self, seen: Seen, target: Floats, drawn: Flags) -> None:
        """Take candidates whose target is now known.

        Args:
            seen: What the lower tiers had said; the top tier's column is ignored.
            target: What the top tier said, in target units. Shape (n,).
            drawn: Whether a random draw chose the candidate; otherwise it was selected for its
                value, and says less about the others. Shape (n,).
        """
        ...

    def set_forgetting(self, column: int, kept: float) -> None:
        """Set how much of what rests on a tier is kept with each label, after a drift.

        Args:
            column: The tier's column.
            kept: Weight that a label keeps when another is learnt; a model may have none.
        """
        ...

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        ...
