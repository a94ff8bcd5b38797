"""Beliefs: what the target is expected to be, given the deepest tier that has answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any, Protocol

from verifier_ladder.decision import Belief
from verifier_ladder.ladder import Ladder

_PRIOR_PAIRS = 4.0
"""How many pairs the declared deviation is worth before measured ones outweigh it."""


class BeliefModel(Protocol):
    """**Protocol:** predicts the target from what the tiers have said, and learns from pairs."""

    def predict(
        self, scores: Sequence[float | None], deviations: Sequence[float | None]
    ) -> Belief:
        """Predict from each tier's primary score and its own deviation; NaN where unknown."""
        ...

    def learn(self, scores: Sequence[float | None], target: float) -> None:
        """Take one candidate whose target is now known."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        ...


@dataclass(slots=True)
class Residuals:
    """Running sums of target − score for one tier."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, residual: float) -> None:
        """Take one more pair; one so far off that sums would overflow is left out."""
        if not isfinite(self.squares + residual * residual):
            return
        self.count += 1
        self.total += residual
        self.squares += residual * residual


class OffsetBelief:
    """Target = score + offset + noise, one offset and one noise per tier.

    Offset and noise have a conjugate Normal–inverse-gamma prior worth a few pairs: offset 0 and
    the deviation that the verifier declares. So the first answer is the tier's own score, and
    measured pairs take over as they come.
    (Murphy, *Conjugate Bayesian analysis of the Gaussian distribution*, 2007, section 3.)

    Example:
        >>> model = OffsetBelief(declared=[1.0, 0.0])
        >>> model.predict([2.0, None], [None, None])
        Belief(mean=2.0, deviation=1.0)
    """

    def __init__(
        self, declared: Sequence[float | None], prior: tuple[float, float] | None = None
    ) -> None:
        """Start without pairs.

        Args:
            declared: Each tier's declared deviation from the target, None if not declared.
            prior: Mean and deviation of the target before any tier has answered.
        """
        self._declared = list(declared)
        self._prior = Belief(*prior) if prior else Belief(nan, nan)
        self._residuals = [Residuals() for _ in declared]

    @classmethod
    def for_ladder(cls, ladder: Ladder) -> OffsetBelief:
        """Build the model of a ladder from what its verifiers declare."""
        declared = [r.primary.deviation if r.primary else None for r in ladder.rungs]
        return cls(declared, ladder.prior)

    def predict(
        self, scores: Sequence[float | None], deviations: Sequence[float | None]
    ) -> Belief:
        """Predict from the deepest tier that has a score."""
        top = scores[-1]
        if top is not None:
            own = deviations[-1] if deviations[-1] is not None else self._declared[-1]
            return Belief(top, nan if own is None else own)
        for column in range(len(scores) - 2, -1, -1):
            score = scores[column]
            if score is not None:
                return self._from_tier(column, score, deviations[column])
        return self._prior

    def _from_tier(self, column: int, score: float, deviation: float | None) -> Belief:
        own = deviation if deviation is not None else self._declared[column]
        sums = self._residuals[column]
        weight = sums.count + _PRIOR_PAIRS
        offset = sums.total / weight
        if own is None and self._prior.deviation == self._prior.deviation:
            own = self._prior.deviation
        if own is None:
            if sums.count < 2:  # noqa: PLR2004 - one pair has no spread
                return Belief(score + offset, nan)
            own = sqrt(max(sums.squares / sums.count - (sums.total / sums.count) ** 2, 0.0))
        variance = (_PRIOR_PAIRS * own * own + sums.squares - weight * offset * offset) / weight
        return Belief(score + offset, sqrt(max(variance, 0.0)))

    def learn(self, scores: Sequence[float | None], target: float) -> None:
        """Add the residual of every lower tier that had a score."""
        for sums, score in zip(self._residuals[:-1], scores, strict=False):
            if score is not None:
                sums.add(target - score)

    def snapshot(self) -> dict[str, Any]:
        """The sums of every tier."""
        return {"residuals": [[r.count, r.total, r.squares] for r in self._residuals]}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take the sums of a snapshot; one of another shape is ignored."""
        rows = snapshot.get("residuals", [])
        if len(rows) == len(self._residuals):
            self._residuals = [Residuals(int(n), float(t), float(s)) for n, t, s in rows]
