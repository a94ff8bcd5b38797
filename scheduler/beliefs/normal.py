"""Normal calibration: the target as a bent line through scores, with noise."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.scheduler.beliefs.answers import Answers, Labelled
from verifier_ladder.scheduler.beliefs.declaration import Declared
from verifier_ladder.scheduler.beliefs.regression import Regression
from verifier_ladder.scheduler.beliefs.scaling import Scaling
from verifier_ladder.scheduler.beliefs.steps import steps
from verifier_ladder.scheduler.beliefs.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SHAPE = 2.0
"""Shape of the noise's prior: worth four labels."""
_SLOPE = 0.5
"""Expected slope, in deviations, of a tier that does not declare to estimate the target."""
_NOISE = 0.5
"""Expected share of the target's variance that such a tier leaves unexplained."""
_ONE, _SCORE, _HINGE, _FEATURE = 0.5, 2.0, 4.0, 2.0
"""How many labels the prior of each coefficient is worth; of features at least as many as there
are features, so that all together they are expected to explain no more than the noise."""
_FAR = 5.0
"""Errors count for no more than so many predicted deviations (or one of the target)."""
_USUAL = 2.0
"""The width of predictions is that of errors up to so many deviations: rare larger ones would
widen all others."""
_CONSISTENT = 0.9205
"""The mean square of standard normal errors that count up to so many deviations: without it the
widths of good predictions would shrink by 4 %."""
_MOST = 1000.0
"""A deviation that a verdict gives counts for no more than so many of the target."""
_LEAST = 1e-6
"""The least deviation, over the target's: nothing is known without any doubt."""


class Normal:
    """One pattern's calibration: regression of the standardised target, and its scaling."""

    def __init__(self, declared: Declared, terms: Terms) -> None:
        """Start from what is declared."""
        self._terms = terms
        self._expected = _expected(declared, terms)
        size, tiers = 1 + len(terms.scales) + len(terms.knots), len(terms.scales)
        mean = np.zeros(size + len(terms.means))
        precision = np.full(len(mean), max(_FEATURE, float(len(terms.means))))
        precision[0] = _ONE
        precision[1 : 1 + tiers] = _SCORE
        precision[1 + tiers : size] = _HINGE
        if terms.base < 0 and tiers:
            mean[tiers] = _SLOPE
        self._regression = Regression(
            mean.tolist(), precision.tolist(), _SHAPE, (_SHAPE - 1) * self._expected
        )
        self._scaling = Scaling(len(terms.knots) + 1)

    def predict(self, answers: Answers) -> tuple[Floats, Floats]:
        """Mean and deviation of the target, each of shape (n,)."""
        rows, guess, excess = self._terms.rows(answers)
        return self._said(rows, guess, excess, *self._standard(rows, answers.own))

    def learn(self, labelled: Labelled, forgetting: float) -> tuple[Floats, Floats]:
        """Take labelled answers; gives the mean and deviation that were expected of each."""
        runs = [
            self._learn(labelled[rows], forgetting)
            for rows in steps(self._memory(forgetting), len(labelled))
        ]
        return np.concatenate([mean for mean, _ in runs]), np.concatenate([s for _, s in runs])

    def _learn(self, labelled: Labelled, forgetting: float) -> tuple[Floats, Floats]:
        rows, guess, excess = self._terms.rows(labelled.answers)
        mean, deviation = self._standard(rows, labelled.answers.own)
        said = self._said(rows, guess, excess, mean, deviation)
        bound = np.maximum(_FAR * deviation, 1.0)
        errors = np.clip((labelled.targets - guess) / self._terms.unit - mean, -bound, bound)
        squares = np.minimum((errors / deviation) ** 2, _USUAL**2) / _CONSISTENT
        self._scaling.add(self._terms.bins(rows), squares, forgetting)
        self._regression.forgetting = forgetting
        self._regression.add(rows, mean + errors, labelled.weights)
        self._terms.widen(labelled.answers)
        return said

    def _memory(self, forgetting: float) -> int:
        """How many labels it remembers, now or at most."""
        most = 1.0 / (1.0 - forgetting) if forgetting < 1 else inf
        return int(min(self._regression.count, most))

    def _said(
        self, rows: Floats, guess: Floats, excess: Floats, mean: Floats, deviation: Floats
    ) -> tuple[Floats, Floats]:
        """Mean and scaled deviation in target units."""
        unit = self._terms.unit
        variance = deviation**2 * self._scaling.factors[self._terms.bins(rows)]
        return guess + unit * mean, np.sqrt(unit * unit * variance + excess**2)

    def _standard(self, rows: Floats, own: Floats) -> tuple[Floats, Floats]:
        """Prediction in deviations of the target, before scaling.

        A deviation that a verdict gives replaces what was expected before anything was learnt,
        so it fades as labels come.
        """
        predictive = self._regression.predict(rows)
        deviation = predictive.deviation
        is_own = np.isfinite(own)
        if is_own.any():
            said = np.minimum(np.where(is_own, own, 0.0) / self._terms.unit, _MOST)
            change = np.where(is_own, said**2 - self._expected, 0.0) * (_SHAPE - 1)
            factor = np.maximum(1.0 + change / self._regression.rate, _LEAST**2)
            deviation = deviation * np.sqrt(factor)
        return predictive.mean, deviation

    def fade(self, count: float) -> None:
        """Remember no more than so many labels."""
        self._regression.fade(count)

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {"regression": self._regression.snapshot(), "scaling": self._scaling.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self._regression.restore(snapshot["regression"])
        self._scaling.restore(snapshot["scaling"])


def _expected(declared: Declared, terms: Terms) -> float:
    """Expected variance of the noise, over the target's."""
    if terms.base < 0:
        return _NOISE if len(terms.scales) else 1.0
    if not isfinite(declared.deviation):
        return _NOISE / 2
    return min(max(declared.deviation / terms.unit, _LEAST), _MOST) ** 2
