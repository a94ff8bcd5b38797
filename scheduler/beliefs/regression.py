"""Bayesian linear regression with unknown noise, learnt row by row and able to forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Predictive(NamedTuple):
    """Student-t predictions, one per row."""

    mean: Floats
    """Centre. Shape (n,)."""
    scale: Floats
    """Scale of the t distribution; the standard deviation is larger, see `deviation`.
    Shape (n,)."""
    degrees: float
    """Degrees of freedom, the same for all rows."""

    @property
    def deviation(self) -> Floats:
        """Standard deviation; infinite where two degrees of freedom or fewer have none."""
        if self.degrees <= 2:  # noqa: PLR2004 - the variance of a t distribution begins there
            return np.full_like(self.scale, np.inf)
        deviation: Floats = self.scale * np.sqrt(self.degrees / (self.degrees - 2))
        return deviation


class Regression:
    """Linear regression under a conjugate Normal–inverse-gamma prior.

    y = φ·β + ε with ε ~ N(0, σ²), β ~ N(mean, σ²/precision), σ² ~ InvGamma(shape, rate).
    Rows that were learnt fade as others come, and the prior never does: where rows stop coming,
    the regression returns to what was declared instead of losing its footing.

    What was learnt is kept as the triangular factor of the rows and their targets (a square-root
    information filter), so squares are never summed: a large offset beside small noise costs no
    accuracy, and rows that say nothing new, such as a constant, are no special case.
    (Murphy, *Machine Learning: A Probabilistic Perspective*, 2012, section 7.6;
    Bierman, *Factorization Methods for Discrete Sequential Estimation*, 1977, chapter 5.)

    Example:
        >>> line = Regression(mean=[0.0, 1.0], precision=[1.0, 1.0], shape=2.0, rate=2.0)
        >>> float(line.predict([[1.0, 3.0]]).mean[0])
        3.0
        >>> line.add([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
        >>> round(float(line.predict([[1.0, 3.0]]).mean[0]), 1)
        6.6
    """

    def __init__(
        self,
        mean: Sequence[float],
        precision: Sequence[float],
        shape: float,
        rate: float,
        forgetting: float = 1.0,
    ) -> None:
        """Start from the prior.

        Args:
            mean: Expected coefficients. Shape (d,).
            precision: How many observations each expected coefficient is worth, in units of the
                feature's square. Shape (d,).
            shape: Shape of the noise variance's prior; twice the observations it is worth is
                its degrees of freedom.
            rate: Rate of the noise variance's prior: the expected variance is about rate/shape.
            forgetting: Weight that everything learnt keeps when one more row is learnt, in
                (0, 1]; 0.999 remembers about a thousand rows. It may be changed at any time.

        Raises:
            ConfigError: If a number makes no sense.
        """
        centre, weights = np.asarray(mean, dtype=float), np.asarray(precision, dtype=float)
        if centre.shape != weights.shape or centre.ndim != 1:
            raise ConfigError("a regression needs one prior mean and one precision per feature")
        numbers = np.concatenate([centre, weights, [shape, rate]])
        if not np.isfinite(numbers).all() or (np.append(weights, [shape, rate]) <= 0).any():
            raise ConfigError(
                "the prior of a regression takes finite means, and positive precisions, shape "
                "and rate"
            )
        self.forgetting = forgetting
        self.count = 0.0
        """How many rows it remembers, forgotten ones counted less."""
        self._shape, self._rate = shape, rate
        roots = np.sqrt(weights)
        self._prior = np.column_stack([np.diag(roots), roots * centre])
        self._learnt = np.zeros((len(centre) + 1, len(centre) + 1))
        self._posterior: tuple[Floats, Floats, float] | None = None

    @property
    def forgetting(self) -> float:
        """Weight that everything learnt keeps when one more row is learnt."""
        return self._forgetting

    @forgetting.setter
    def forgetting(self, value: float) -> None:
        if not 0 < value <= 1:
            raise ConfigError(f"forgetting={value!r} must be above 0 and at most 1")
        self._forgetting = float(value)

    @property
    def variance(self) -> float:
        """Expected noise variance; infinite while it has no expectation."""
        shape = self._shape + self.count / 2
        return self._solution()[2] / (shape - 1) if shape > 1 else float("inf")

    @property
    def rate(self) -> float:
        """Rate of the noise variance's posterior."""
        return self._solution()[2]

    @property
    def coefficients(self) -> Floats:
        """Posterior mean of the coefficients. Shape (d,)."""
        return self._solution()[0].copy()

    def add(self, rows: ArrayLike, targets: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn rows, the oldest first; as good as learning them one by one.

        Args:
            rows: Features. Shape (n, d).
            targets: What was observed. Shape (n,).
            weights: How many observations each row counts for; 1 if left out. Shape (n,).

        Raises:
            ConfigError: If a number is not finite.
        """
        new = np.column_stack([np.asarray(rows, dtype=float), np.asarray(targets, dtype=float)])
        if not np.isfinite(new).all():
            raise ConfigError("a regression learns finite numbers; leave the others out")
        size = len(new)
        if size == 0:
            return
        kept = self._forgetting ** np.arange(size - 1, -1, -1.0)
        if weights is not None:
            kept = kept * np.asarray(weights, dtype=float)
        faded = self._forgetting ** float(size)
        stack = np.vstack([self._learnt * np.sqrt(faded), new * np.sqrt(kept)[:, None]])
        self._learnt = _triangle(stack)
        self.count = self.count * faded + float(kept.sum())
        self._posterior = None

    def predict(self, rows: ArrayLike) -> Predictive:
        """Predict new observations. Takes features of shape (n, d)."""
        features = np.asarray(rows, dtype=float)
        coefficients, root, rate = self._solution()
        shape = self._shape + self.count / 2
        spread = features @ root
        leverage = np.einsum("ij,ij->i", spread, spread)
        return Predictive(
            features @ coefficients, np.sqrt(rate / shape * (1.0 + leverage)), 2.0 * shape
        )

    def fade(self, count: float) -> None:
        """Remember no more than so many rows: what was learnt stays likely, and less certain."""
        if self.count > count:
            self._learnt = self._learnt * np.sqrt(count / self.count)
            self.count, self._posterior = count, None

    def _solution(self) -> tuple[Floats, Floats, float]:
        """Coefficients, a root of their covariance over σ², and the posterior rate."""
        if self._posterior is None:
            size = len(self._prior)
            factor = _triangle(np.vstack([self._prior, self._learnt]))
            # The factor is triangular with full rank, because the prior's precisions are positive.
            root = np.linalg.inv(factor[:size, :size]).astype(float)
            rate = self._rate + factor[size, size] ** 2 / 2
            self._posterior = root @ factor[:size, size], root, float(rate)
        return self._posterior

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {"count": self.count, "forgetting": self.forgetting, "rows": self._learnt.tolist()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot.

        Raises:
            ConfigError: If the snapshot is of a regression with other features.
        """
        learnt = np.asarray(snapshot["rows"], dtype=float)
        if learnt.shape != self._learnt.shape:
            raise ConfigError(
                f"the snapshot holds {len(learnt) - 1} features, this regression "
                f"{len(self._learnt) - 1}"
            )
        self._learnt, self.count = learnt, float(snapshot["count"])
        self.forgetting = float(snapshot["forgetting"])
        self._posterior = None


def _triangle(rows: Floats) -> Floats:
    """The triangular factor of some rows, of which there are enough: its squares are theirs."""
    # "raw" is LAPACK's own answer, transposed, and half the work of "r".
    packed, _ = np.linalg.qr(rows, mode="raw")
    return np.triu(packed.T[: rows.shape[1]]).astype(float)
