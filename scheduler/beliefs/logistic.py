"""Bayesian logistic regression, learnt in runs of rows and able to forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_MOST = 30.0
"""Logits beyond are as good as certain, and their exponentials would overflow."""
_ROUNDS, _HALVINGS, _CLOSE = 25, 10, 1e-9


class Logistic:
    """The probability of a 1 as a logistic function of features.

    The coefficients' prior is normal, and so is what stands for their posterior: its centre is
    the most likely value and its precision the curvature there (Laplace's approximation). Rows
    learnt together are learnt exactly so; each later run takes the posterior before it as prior.
    Predictions are averaged over what is not known of the coefficients.
    (MacKay, *The evidence framework applied to classification networks*, 1992; Spiegelhalter and
    Lauritzen, *Sequential updating of conditional probabilities*, 1990.)

    Example:
        >>> model = Logistic(mean=[0.0, 0.5], precision=[0.1, 0.1])
        >>> model.add([[1.0, -1.0]] * 20 + [[1.0, 1.0]] * 20, [0.0] * 20 + [1.0] * 20)
        >>> [round(float(p), 1) for p in model.predict([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]])]
        [0.1, 0.5, 0.9]
    """

    def __init__(self, mean: Sequence[float], precision: Sequence[float]) -> None:
        """Start from the prior.

        Args:
            mean: Expected coefficients. Shape (d,).
            precision: Precision of each. Shape (d,).
        """
        self._prior = np.diag(np.asarray(precision, dtype=float))
        self._mean = np.array(mean, dtype=float)
        self._learnt = np.zeros_like(self._prior)
        self._root: Floats | None = None

    def predict(self, rows: ArrayLike, offsets: ArrayLike = 0.0) -> Floats:
        """Probability of a 1 for rows of shape (n, d), whose logits are offset by so much."""
        features = np.asarray(rows, dtype=float)
        if self._root is None:
            factor = np.linalg.cholesky(self._prior + self._learnt)
            self._root = np.linalg.solve(factor, np.eye(len(factor))).T.astype(float)
        spread = features @ self._root
        variance = np.einsum("ij,ij->i", spread, spread)
        logits = (features @ self._mean + offsets) / np.sqrt(1.0 + pi / 8.0 * variance)
        return sigmoid(logits)

    def add(
        self,
        rows: ArrayLike,
        targets: ArrayLike,
        offsets: ArrayLike = 0.0,
        weights: ArrayLike = 1.0,
        forgetting: float = 1.0,
    ) -> None:
        """Learn rows together.

        Args:
            rows: Features. Shape (n, d).
            targets: What came of each, in [0, 1]. Shape (n,).
            offsets: What its logit is offset by. Shape (n,).
            weights: How many observations it counts for. Shape (n,).
            forgetting: Weight that everything learnt keeps for each row.
        """
        features = np.asarray(rows, dtype=float)
        self._learnt = self._learnt * forgetting ** len(features)
        posterior = _Posterior(
            features, np.asarray(targets, dtype=float), np.asarray(offsets, dtype=float),
            np.asarray(weights, dtype=float), self._mean, self._prior + self._learnt,
        )  # fmt: skip
        self._mean = posterior.mode()
        self._learnt = self._learnt + posterior.curvature(self._mean)
        self._root = None

    def fade(self, share: float) -> None:
        """Keep that share of what was learnt: as likely, and less certain."""
        self._learnt, self._root = self._learnt * share, None

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {"mean": self._mean.tolist(), "precision": self._learnt.tolist()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self._mean = np.array(snapshot["mean"], dtype=float)
        self._learnt = np.array(snapshot["precision"], dtype=float)
        self._root = None


@dataclass(slots=True)
class _Posterior:
    """The coefficients' posterior, given rows and a normal prior."""

    features: Floats
    targets: Floats
    offsets: Floats
    weights: Floats
    centre: Floats
    precision: Floats

    def mode(self) -> Floats:
        """The most likely coefficients, by Newton's method with steps that never lead uphill."""
        mean, loss = self.centre, self._loss(self.centre)
        for _ in range(_ROUNDS):
            hessian = self.precision + self.curvature(mean)
            step = np.linalg.solve(hessian, self._slope(mean))
            found, least = mean, loss
            for _ in range(_HALVINGS):
                found, least = mean - step, self._loss(mean - step)
                if least <= loss:
                    break
                step = step / 2.0
            if not least < loss - _CLOSE:
                break
            mean, loss = found, least
        return mean

    def curvature(self, mean: Floats) -> Floats:
        """Second derivative of the rows' part of the loss. Shape (d, d)."""
        chances = self._chances(mean)
        rates = chances * (1.0 - chances) * self.weights
        curvature: Floats = (self.features * rates[:, None]).T @ self.features
        return curvature

    def _slope(self, mean: Floats) -> Floats:
        errors = (self._chances(mean) - self.targets) * self.weights
        slope: Floats = self.features.T @ errors + self.precision @ (mean - self.centre)
        return slope

    def _loss(self, mean: Floats) -> float:
        logits = self.features @ mean + self.offsets
        losses = (np.logaddexp(0.0, logits) - self.targets * logits) * self.weights
        change = mean - self.centre
        return float(losses.sum() + change @ self.precision @ change / 2.0)

    def _chances(self, mean: Floats) -> Floats:
        return sigmoid(self.features @ mean + self.offsets)


def sigmoid(logits: Floats) -> Floats:
    """Probabilities of logits.

    Example:
        >>> float(sigmoid(np.array([0.0]))[0])
        0.5
    """
    chances: Floats = 1.0 / (1.0 + np.exp(-np.clip(logits, -_MOST, _MOST)))
    return chances
