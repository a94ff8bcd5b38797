"""Scaling: how much too narrow or too wide predictions have proved to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

_PRIOR = 8.0
"""How many predictions of the right width there are before any was checked."""


class Scaling:
    """Factors of predicted variances, one per bin, from how predictions came true.

    A factor is (8 + Σ e²/s²) / (8 + n) over the bin's n predictions, each made before its answer
    was learnt. So noise that differs from bin to bin is found, and predictions that a wrong model
    makes too sure of itself are widened.

    Example:
        >>> scaling = Scaling(bins=1)
        >>> scaling.add(np.zeros(8, dtype=int), np.full(8, 4.0))
        >>> float(scaling.factors[0])
        2.5
    """

    def __init__(self, bins: int) -> None:
        """Start with factors of 1."""
        self._squares = np.zeros(bins)
        self._counts = np.zeros(bins)
        self.factors = np.ones(bins)

    def add(self, bins: Indices, squares: Floats, forgetting: float = 1.0) -> None:
        """Take predictions that were checked.

        Args:
            bins: Bin of each. Shape (n,).
            squares: Squared error of each over its predicted variance. Shape (n,).
            forgetting: Weight that everything learnt keeps for each prediction.
        """
        faded, size = forgetting ** len(bins), len(self.factors)
        self._squares = self._squares * faded + np.bincount(bins, squares, size)
        self._counts = self._counts * faded + np.bincount(bins, minlength=size)
        self.factors = (_PRIOR + self._squares) / (_PRIOR + self._counts)

    def snapshot(self) -> dict[str, Any]:
        """The sums, as JSON."""
        return {"squares": self._squares.tolist(), "counts": self._counts.tolist()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self._squares = np.array(snapshot["squares"], dtype=float)
        self._counts = np.array(snapshot["counts"], dtype=float)
        self.factors = (_PRIOR + self._squares) / (_PRIOR + self._counts)
