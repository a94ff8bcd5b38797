"""Terms of a calibration: from what tiers said to the rows of a regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.scheduler.beliefs.answers import Answers, array, as_lists
from verifier_ladder.scheduler.beliefs.declaration import Declared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

LARGEST = 1e50
"""Larger numbers count as this one, and scales are no smaller than its inverse: so no square and
no quotient overflows."""
_QUINTILES = (0.2, 0.4, 0.6, 0.8)
_MANY = 8
"""Labels from which quartiles say more than means and a range can be trusted."""
_MARGIN = 3.0
"""How many deviations beyond what was learnt a score is still believed."""
_WIDEST = 10.0
"""How many deviations from the centre the range of few scores may reach."""
_MOST = 100.0
"""The largest doubt about a candidate, in deviations of the target."""
_FAR = 5.0
"""Features are not believed further out than so many deviations."""
_QUARTILES = 1.349
"""Distance of the quartiles of a normal distribution, in deviations."""


@dataclass(slots=True)
class Terms:
    """Standardised terms of the answers of one pattern: 1, scores, hinges, features.

    The hinges bend the line at the quintiles of the dearest tier's score. Scales are those of
    medians and quartiles from eight labels on, so that one absurd number can't set them. A
    missing feature counts as its mean and so says nothing: a term for "missing" would cost
    labels that are rarely there.
    """

    base: int
    """Column of the score that is the first guess; -1 for the centre of the targets."""
    is_bounded: bool
    """Whether enough was learnt to say how far scores range."""
    centre: float
    """Centre of the targets."""
    unit: float
    """Scale of the targets."""
    centres: Floats
    """Centres of the scores. Shape (tiers,)."""
    scales: Floats
    """Scales of the scores. Shape (tiers,)."""
    low: Floats
    """Lowest standardised scores that are believed. Shape (tiers,)."""
    high: Floats
    """Highest standardised scores that are believed. Shape (tiers,)."""
    knots: Floats
    """Standardised scores of the dearest tier at which the line bends. Shape (hinges,)."""
    means: Floats
    """Means of the features. Shape (features,)."""
    steepness: Floats
    """What brings the features to deviation 1; 0 for one that says nothing. Shape (features,)."""

    @classmethod
    def of(cls, declared: Declared, answers: Answers, targets: Floats) -> Terms:
        """Take centres, scales and knots from labelled answers, of which there is one at least."""
        centre, unit = _scale_of_targets(declared, targets)
        scores = answers.scores
        centres, scales = np.empty(scores.shape[1]), np.empty(scores.shape[1])
        for column, tier in enumerate(declared.tiers):
            centres[column], scale = _location(scores[:, column])
            scales[column] = scale or (unit if tier.is_same else abs(centres[column])) or 1.0
        scales = np.maximum(scales, 1.0 / LARGEST)
        standard = (scores - centres) / scales
        low = np.maximum(standard.min(axis=0) - _MARGIN, -_WIDEST)
        high = np.minimum(standard.max(axis=0) + _MARGIN, _WIDEST)
        means, steepness = _moments(answers.features)
        return cls(
            base=declared.base, is_bounded=len(targets) >= _MANY, centre=centre, unit=unit,
            centres=centres, scales=scales, low=low, high=high, knots=_knots(standard),
            means=means, steepness=steepness,
        )  # fmt: skip

    def rows(self, answers: Answers) -> tuple[Floats, Floats, Floats]:
        """The terms, the first guess of the target, and how far that goes beyond belief.

        A score outside of the range that was learnt counts as the edge of the range; what it
        exceeds it by is doubt about the candidate.

        Returns:
            Terms of shape (n, size), guesses of shape (n,), and excess of shape (n,) in target
            units, between 0 and a hundred deviations of the target.
        """
        size, tiers = answers.scores.shape
        bends, given = len(self.knots), len(self.means)
        terms = np.empty((size, 1 + tiers + bends + given))
        terms[:, 0] = 1.0
        standard = (answers.scores - self.centres) / self.scales
        believed = terms[:, 1 : 1 + tiers]
        np.minimum(np.maximum(standard, self.low), self.high, out=believed)
        if bends:
            hinges = terms[:, 1 + tiers : 1 + tiers + bends]
            np.maximum(believed[:, -1:] - self.knots, 0.0, out=hinges)
        if given:
            terms[:, 1 + tiers + bends :] = self._features(answers.features)
        return terms, *self._guess(answers, standard, believed)

    def _guess(
        self, answers: Answers, standard: Floats, believed: Floats
    ) -> tuple[Floats, Floats]:
        column = self.base if self.base >= 0 else len(self.scales) - 1
        if column < 0:
            return np.full(len(answers), self.centre), np.zeros(len(answers))
        if self.base >= 0 and not self.is_bounded:
            return answers.scores[:, column], np.zeros(len(answers))
        beyond = np.abs(standard[:, column] - believed[:, column])
        if self.base < 0:
            guess, scale = np.full(len(answers), self.centre), self.unit
        else:
            scale = float(self.scales[column])
            guess = self.centres[column] + scale * believed[:, column]
        return guess, np.minimum(beyond * scale, _MOST * self.unit)

    def _features(self, features: Floats) -> Floats:
        standard = np.nan_to_num((features - self.means) * self.steepness)
        return np.clip(standard, -_FAR, _FAR)

    def widen(self, answers: Answers) -> None:
        """Believe scores that were learnt; one label widens the range by one deviation at most."""
        standard = (answers.scores - self.centres) / self.scales
        low, high = standard.min(axis=0) - _MARGIN, standard.max(axis=0) + _MARGIN
        self.low = np.minimum(self.low, np.maximum(low, self.low - len(answers)))
        self.high = np.maximum(self.high, np.minimum(high, self.high + len(answers)))

    def bins(self, terms: Floats) -> Indices:
        """Number of the stretch between two knots in which the dearest score lies."""
        if not len(self.knots):
            return np.zeros(len(terms), dtype=np.int64)
        deepest = terms[:, len(self.scales)]
        bins: Indices = (deepest[:, None] > self.knots).sum(axis=1)
        return bins

    def as_json(self) -> dict[str, Any]:
        """All numbers, as JSON."""
        return {
            name: as_lists(value) if isinstance(value, np.ndarray) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, numbers: Mapping[str, Any]) -> Terms:
        """Read what `as_json` wrote."""
        values: dict[str, Any] = {
            name: array(value) if isinstance(value, list) else value
            for name, value in numbers.items()
        }
        return cls(**values)


def _scale_of_targets(declared: Declared, targets: Floats) -> tuple[float, float]:
    """Centre and scale of the target: measured if there are enough labels, else declared."""
    mean, deviation = declared.prior
    centre, scale = _location(targets)
    if len(targets) >= _MANY and scale > 1.0 / LARGEST:
        return centre, scale
    for known in (deviation, scale, declared.deviation, abs(centre)):
        if known > 1.0 / LARGEST:
            return mean if isfinite(mean) else centre, min(known, LARGEST)
    return centre, 1.0


def _location(values: Floats) -> tuple[float, float]:
    """Centre and scale of some values: mean and deviation of few, quartiles of many."""
    if len(values) < _MANY:
        return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return middle, (high - low) / _QUARTILES if high > low else float(values.std())


def _knots(standard: Floats) -> Floats:
    if standard.shape[1] == 0 or len(standard) < _MANY:
        return np.empty(0)
    deepest = standard[:, -1]
    knots: Floats = np.unique(np.quantile(deepest, _QUINTILES))
    inner: Floats = knots[(knots > deepest.min()) & (knots < deepest.max())]
    return inner


def _moments(features: Floats) -> tuple[Floats, Floats]:
    known = np.isfinite(features)
    count = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, features, 0.0).sum(axis=0) / count
    squares = (np.where(known, features - means, 0.0) ** 2).sum(axis=0) / count
    deviations = np.sqrt(squares)
    return means, np.divide(1.0, deviations, out=np.zeros_like(means), where=deviations > 0)
