"""Windows: calibrations that are fitted to the latest labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.scheduler.beliefs.answers import Answers, Labelled
from verifier_ladder.scheduler.beliefs.declaration import Declared
from verifier_ladder.scheduler.beliefs.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST = 512
"""Labels that are kept."""
_FEWEST = 4
"""Labels from which a model is fitted."""
_FAR = 10.0
"""Targets count for no more than so many deviations."""


class Window(ABC):
    """Keeps the latest labels and fits a model to them each time a quarter of them is new.

    A subclass fits the model and asks it, in standardised terms. Labels count alike, whatever
    their weight. With a forgetting of 0.97, for example, the window holds 1/(1 − 0.97), or 33,
    labels; it never holds more than 512.
    """

    def __init__(self, declared: Declared, terms: Terms) -> None:
        """Start without labels."""
        del declared
        self._terms = terms
        tiers, bends = len(terms.scales), len(terms.knots)
        # The constant stays, so that a pattern of no tiers has an input too.
        size = 1 + tiers + bends + len(terms.means)
        self._columns = [*range(1 + tiers), *range(1 + tiers + bends, size)]
        self.inputs = np.empty((0, len(self._columns)))
        """Standardised scores and features, after a constant. Shape (n, d)."""
        self.targets = np.empty(0)
        """Standardised targets, less the first guess. Shape (n,)."""
        self._since, self._is_fitted = 0, False

    @abstractmethod
    def fit(self) -> None:
        """Fit the model to the window."""

    @abstractmethod
    def ask(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the standardised target, each of shape (n,)."""

    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """What was fitted, as JSON."""

    @abstractmethod
    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Go back to what was fitted."""

    def predict(self, answers: Answers) -> tuple[Floats, Floats]:
        """Mean and deviation of the target, each of shape (n,)."""
        rows, guess, excess = self._terms.rows(answers)
        mean, deviation = np.zeros(len(rows)), np.ones(len(rows))
        if self._is_fitted and len(rows):
            mean, deviation = self.ask(rows[:, self._columns])
        unit = self._terms.unit
        return guess + unit * mean, np.sqrt((unit * deviation) ** 2 + excess**2)

    def learn(self, labelled: Labelled, forgetting: float) -> tuple[Floats, Floats]:
        """Take labelled answers; gives the mean and deviation that were expected of each."""
        said = self.predict(labelled.answers)
        rows, guess, _ = self._terms.rows(labelled.answers)
        targets = np.clip((labelled.targets - guess) / self._terms.unit, -_FAR, _FAR)
        most = min(_MOST, round(1.0 / (1.0 - min(forgetting, 1.0 - 1.0 / _MOST))))
        self.inputs = np.concatenate([self.inputs, rows[:, self._columns]])[-most:]
        self.targets = np.concatenate([self.targets, targets])[-most:]
        self._terms.widen(labelled.answers)
        self._since += len(targets)
        if len(self.targets) >= _FEWEST and 4 * self._since >= len(self.targets):
            self.fit()
            self._is_fitted, self._since = True, 0
        return said

    def fade(self, count: float) -> None:
        """Remember no more than so many labels."""
        self.inputs, self.targets = self.inputs[-int(count) :], self.targets[-int(count) :]

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {
            "inputs": self.inputs.tolist(), "targets": self.targets.tolist(),
            "since": self._since, "fitted": self.parameters() if self._is_fitted else None,
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self.targets = np.array(snapshot["targets"], dtype=float)
        self.inputs = np.array(snapshot["inputs"], dtype=float).reshape(len(self.targets), -1)
        self._since, self._is_fitted = int(snapshot["since"]), snapshot["fitted"] is not None
        if self._is_fitted:
            self.set_parameters(snapshot["fitted"])
