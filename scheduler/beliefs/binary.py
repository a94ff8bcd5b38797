"""Binary calibration: the probability that the target is 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.scheduler.beliefs.answers import Answers, Labelled
from verifier_ladder.scheduler.beliefs.declaration import Declared
from verifier_ladder.scheduler.beliefs.logistic import Logistic
from verifier_ladder.scheduler.beliefs.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SLOPE = 0.5
"""Expected slope of a tier that does not declare to estimate the target."""
_ONE, _SCORE, _HINGE, _FEATURE = 0.1, 0.1, 0.5, 0.5
"""Precision of each coefficient's prior."""
_SURE = 0.02
"""A tier's own number counts for no more certainty than this."""


class Binary:
    """One pattern's calibration where the target is 0 or 1: a logistic regression.

    The mean is the probability of a 1, averaged over what is not known of the coefficients; so
    its deviation, √(p(1 − p)), holds both the chance and the lack of labels. Targets between 0
    and 1 count as shares. Where rejects earn less than 0 or more than 1, that is one of the two
    ends instead.
    """

    def __init__(self, declared: Declared, terms: Terms, *, reject: float = 0.0) -> None:
        """Start from what is declared; `reject` is what a reject is worth, in target units."""
        del declared
        self._low = min(0.0, reject)
        self._width = max(1.0, reject) - self._low
        self._terms = terms
        tiers, bends, features = len(terms.scales), len(terms.knots), len(terms.means)
        mean = np.zeros(1 + tiers + bends + features)
        if terms.base < 0 and tiers:
            mean[tiers] = _SLOPE
        precision = [_ONE] + [_SCORE] * tiers + [_HINGE] * bends + [_FEATURE] * features
        self._logistic = Logistic(mean.tolist(), precision)
        self._count = 0.0

    def predict(self, answers: Answers) -> tuple[Floats, Floats]:
        """Mean and deviation of the target, each of shape (n,)."""
        rows, guess, _ = self._terms.rows(answers)
        chance = self._logistic.predict(rows, self._offsets(guess))
        return self._low + chance * self._width, self._width * np.sqrt(chance * (1.0 - chance))

    def learn(self, labelled: Labelled, forgetting: float) -> tuple[Floats, Floats]:
        """Take labelled answers; gives the mean and deviation that were expected of each."""
        said = self.predict(labelled.answers)
        rows, guess, _ = self._terms.rows(labelled.answers)
        self._logistic.add(
            rows, np.clip(self._share(labelled.targets), 0.0, 1.0), self._offsets(guess),
            labelled.weights, forgetting,
        )  # fmt: skip
        self._count = self._count * forgetting ** len(labelled) + labelled.weights.sum()
        self._terms.widen(labelled.answers)
        return said

    def _offsets(self, guess: Floats) -> Floats:
        """The logit that a score of the target itself amounts to."""
        if self._terms.base < 0:
            return np.zeros_like(guess)
        chance = np.clip(self._share(guess), _SURE, 1.0 - _SURE)
        return np.log(chance / (1.0 - chance))

    def _share(self, targets: Floats) -> Floats:
        """Where targets lie between the two ends."""
        return (targets - self._low) / self._width

    def fade(self, count: float) -> None:
        """Remember no more than so many labels."""
        if self._count > count:
            self._logistic.fade(count / self._count)
            self._count = count

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {"logistic": self._logistic.snapshot(), "count": self._count}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self._logistic.restore(snapshot["logistic"])
        self._count = float(snapshot["count"])
