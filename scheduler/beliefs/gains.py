"""Gains: by how much each tier has proved to sharpen what the others say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_PRIOR = 8.0
"""How many labels the expected gain is worth, so that a few unlucky ones don't rule a tier out."""
_FORGETTING = 0.995
"""Weight that what was measured keeps for each label: a tier that begins to mislead is found out
within some dozens, and one that was ruled out is tried again."""


class Gain:
    """Squared errors of the same predictions with and without one tier.

    All predictions were made before their labels were learnt, so a tier that adds nothing, or
    misleads, shows no gain.

    Example:
        >>> gain = Gain()
        >>> gain.add(with_tier=np.full(100, 1.0), without=np.full(100, 4.0))
        >>> round(float(gain.explained(0.5)), 2)
        0.73
    """

    def __init__(self) -> None:
        """Start without labels."""
        self.count = 0.0
        self._with, self._without = 0.0, 0.0

    @property
    def ratio(self) -> float:
        """Share of the squared error that is left when the tier has answered; 1 if not known."""
        return self._with / self._without if self._without > 0 else 1.0

    def fade(self, labels: int) -> None:
        """Let go of a little for each label that was learnt since, about this tier or not."""
        kept = _FORGETTING**labels
        self.count, self._with, self._without = (
            self.count * kept, self._with * kept, self._without * kept,
        )  # fmt: skip

    def add(self, with_tier: Floats, without: Floats) -> None:
        """Take squared errors of the same candidates. Shape (n,) each."""
        self.count += len(with_tier)
        self._with += float(with_tier.sum())
        self._without += float(without.sum())

    def explained(self, expected: Floats | float) -> Floats | float:
        """Share of the variance that the tier explains, in [0, 1].

        Args:
            expected: The share that is expected before anything was measured.
        """
        gained = self.count * (1.0 - self.ratio) + _PRIOR * expected
        explained: Floats = np.maximum(gained / (self.count + _PRIOR), 0.0)
        return explained

    def as_json(self) -> list[float]:
        """Count and sums."""
        return [self.count, self._with, self._without]

    @classmethod
    def from_json(cls, numbers: list[float], most: float = np.inf) -> Gain:
        """Read what `as_json` wrote, as worth no more than so many labels."""
        gain = cls()
        share = min(1.0, most / numbers[0]) if numbers[0] > 0 else 1.0
        gain.count, gain._with, gain._without = (share * number for number in numbers)
        return gain
