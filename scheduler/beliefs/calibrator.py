"""Calibrators: what the target is, given what one set of tiers said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from verifier_ladder.scheduler.beliefs.answers import Answers, Labelled
from verifier_ladder.scheduler.beliefs.declaration import Declared
from verifier_ladder.scheduler.beliefs.steps import SETTLED, steps
from verifier_ladder.scheduler.beliefs.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEW = 3
"""Labels from which a spread can be measured."""
_INHERITED = 16.0
"""How many labels the knowledge of an earlier version is worth."""
_OWN = 16
"""Labels from which a new version speaks for itself."""


class Fit(Protocol):
    """A calibration on settled terms; `Normal` and `Binary` are two."""

    def predict(self, answers: Answers) -> tuple[Floats, Floats]:
        """Mean and deviation of the target, each of shape (n,)."""
        ...

    def learn(self, labelled: Labelled, forgetting: float) -> tuple[Floats, Floats]:
        """Take labelled answers, the oldest first; gives the mean and deviation expected."""
        ...

    def fade(self, count: float) -> None:
        """Remember no more than so many labels."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        ...


FitOf = Callable[[Declared, Terms], Fit]
"""What makes a calibration from what is declared and settled terms."""


class Calibrator:
    """Predicts the target from the answers of one set of tiers, and learns from truth.

    Scales and knots are taken anew at 1, 2, 4, … 64 labels, and everything is learnt again on
    them. Then they are settled, and each label is the same small amount of work.
    """

    def __init__(self, declared: Declared, fit: FitOf) -> None:
        """Start without labels."""
        self.declared, self._make = declared, fit
        self.forgetting = 1.0
        """Weight that everything learnt keeps when one more label is learnt."""
        self.count = 0
        """How many labels it has learnt."""
        self._terms: Terms | None = None
        self._fit: Fit | None = None
        self._kept: list[Labelled] = []
        self._inherits = False

    @property
    def is_learnt(self) -> bool:
        """Whether what it says rests on labels."""
        return self._inherits or self.count >= _FEW

    @property
    def is_ready(self) -> bool:
        """Whether what it says rests on labels, or on a declared spread."""
        if self.is_learnt:
            return True
        return self.declared.base >= 0 and (self.count > 0 or isfinite(self.declared.spread))

    def predict(self, answers: Answers) -> tuple[Floats, Floats]:
        """Mean and deviation of the target, each of shape (n,); NaN where not known."""
        few = self.count < _FEW and not self._inherits
        if self._fit is None or (few and self.declared.is_foreign):
            return self._as_declared(answers)
        mean, deviation = self._fit.predict(answers)
        if few and not isfinite(self.declared.spread):
            deviation = answers.own
        return mean, deviation

    def _as_declared(self, answers: Answers) -> tuple[Floats, Floats]:
        """A tier's own number, and the spread that it declares."""
        column = self.declared.speaker
        if column < 0:
            mean = np.full(len(answers), self.declared.prior[0])
        else:
            mean = answers.scores[:, column]
        return mean, np.where(np.isfinite(answers.own), answers.own, self.declared.spread)

    def learn(self, labelled: Labelled) -> tuple[Floats, Floats]:
        """Take labelled answers, the oldest first.

        Returns:
            The mean and deviation that were expected of each before it was learnt, each of
            shape (n,); NaN where it had nothing of its own to say.
        """
        runs = [self._learn(labelled[rows]) for rows in steps(self.count, len(labelled))]
        return np.concatenate([mean for mean, _ in runs]), np.concatenate([s for _, s in runs])

    def _learn(self, labelled: Labelled) -> tuple[Floats, Floats]:
        is_heard = self.is_ready and not (self._inherits and self.count < _OWN)
        count = self.count + len(labelled)
        if count <= SETTLED:
            self._kept.append(labelled)
        if self._fit is None or self._is_due(count):
            said = self.predict(labelled.answers)
            self.count = count
            self._settle()
        else:
            self.count = count
            said = self._fit.learn(labelled, self.forgetting)
        if is_heard:
            return said
        return np.full(len(labelled), nan), np.full(len(labelled), nan)

    def _is_due(self, count: int) -> bool:
        """Whether scales are taken anew at that count."""
        is_early = self._inherits and count < _OWN
        return count.bit_count() == 1 and count <= SETTLED and not is_early

    def _settle(self) -> None:
        """Take scales and knots anew, and learn what was kept again."""
        kept = Labelled.joined(self._kept)
        self._terms = Terms.of(self.declared, kept.answers, kept.targets)
        self._fit = self._make(self.declared, self._terms)
        self._fit.learn(kept, self.forgetting)
        self._kept = [] if self.count >= SETTLED else [kept]

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {
            "count": self.count, "forgetting": self.forgetting, "inherits": self._inherits,
            "terms": self._terms and self._terms.as_json(),
            "fit": self._fit and self._fit.snapshot(),
            "kept": Labelled.joined(self._kept).as_json() if self._kept else None,
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self.count, self.forgetting = int(snapshot["count"]), float(snapshot["forgetting"])
        self._inherits = bool(snapshot["inherits"])
        self._terms, self._fit = None, None
        if snapshot["terms"] is not None:
            self._terms = Terms.from_json(snapshot["terms"])
            self._fit = self._make(self.declared, self._terms)
            self._fit.restore(snapshot["fit"])
        tiers = len(self.declared.tiers)
        kept = snapshot["kept"]
        self._kept = [Labelled.from_json(kept, tiers)] if kept is not None else []

    def inherit(self, snapshot: Mapping[str, Any]) -> None:
        """Start from what was learnt of an earlier version: as likely, and less certain.

        It speaks until the new version has labels enough of its own.
        """
        self.restore(snapshot)
        self.count, self._kept = 0, []
        if self._fit is not None:
            self._fit.fade(_INHERITED)
            self._inherits = True
