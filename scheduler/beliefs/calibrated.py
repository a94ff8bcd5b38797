"""The default belief: one calibration for each set of tiers that may have answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.beliefs.binary import Binary
from verifier_ladder.scheduler.beliefs.calibrator import FitOf
from verifier_ladder.scheduler.beliefs.declaration import Declaration
from verifier_ladder.scheduler.beliefs.model import Beliefs, Seen
from verifier_ladder.scheduler.beliefs.normal import Normal
from verifier_ladder.scheduler.beliefs.patterns import Patterns
from verifier_ladder.scheduler.beliefs.terms import LARGEST

if TYPE_CHECKING:
    from verifier_ladder.scheduler.beliefs.model import Flags, Floats


class CalibratedBelief:
    """Predicts the target by one calibration for each pattern of tiers that have answered.

    A label whose lower tiers were all asked teaches every pattern that is part of what was seen,
    so a tier that is passed over is no surprise. Where a pattern has too few labels, or a tier
    in it has proved to mislead, a smaller pattern speaks. Before anything is learnt, a tier's own
    number is the first answer, with the deviation that it declares; where nothing is declared
    and nothing learnt, the deviation is NaN: not known. A number in another unit than the
    target's is no answer where a cheaper tier or the prior has one.

    The top tier's answer is final. Larger numbers than 1e50 count as 1e50, and labels whose
    target is NaN are left out.

    Example:
        >>> cheap, top = Declaration("cheap", is_same=True, deviation=1.0), Declaration("top")
        >>> model = CalibratedBelief([cheap, top])
        >>> scores = np.array([[2.0, np.nan], [0.0, 5.0]])
        >>> seen = Seen(scores, np.full((2, 2), np.nan), np.empty((2, 0)))
        >>> model.predict(seen).mean.tolist()
        [2.0, 5.0]
    """

    def __init__(
        self,
        tiers: Sequence[Declaration],
        prior: tuple[float, float] | None = None,
        owners: Sequence[int] = (),
        fit: FitOf = Normal,
    ) -> None:
        """Start without labels.

        Args:
            tiers: What each tier declares, the cheapest first.
            prior: Mean and deviation of the target before any tier has answered.
            owners: For each feature, the column of the tier that offers it; -1 if it is known
                whatever has answered. Features of tiers outside of a pattern don't teach it.
            fit: What learns one pattern: `Normal`, or `Binary` for targets that are 0 or 1.
        """
        self._top = tiers[-1]
        self._patterns = Patterns(tiers, prior or (nan, nan), owners, fit)
        self._version = 0

    @classmethod
    def for_ladder(cls, ladder: Ladder, fit: FitOf | None = None) -> CalibratedBelief:
        """Build the model of a ladder from what its verifiers declare.

        Args:
            ladder: The ladder.
            fit: What learns one pattern; by default what suits the target's scale.
        """
        reject = ladder.reward.unscale(float(ladder.reward.reject), sign=ladder.target.sign)
        binary: FitOf = partial(Binary, reject=reject)
        usual = binary if ladder.target.scale == "binary" else Normal
        owners = [
            column if column and rung.primaries else -1
            for column, rung in enumerate(ladder.rungs)
            for verifier in rung.verifiers
            for _ in verifier.features
        ]
        tiers = [Declaration.of(rung, ladder.target.unit) for rung in ladder.rungs]
        return cls(tiers, ladder.prior, owners, fit or usual)

    @property
    def version(self) -> int:
        """Counts the calls of `learn`."""
        return self._version

    def predict(self, seen: Seen) -> Beliefs:
        """Predict the target of each candidate."""
        lower, own, features = map(
            _bounded, (seen.scores[:, :-1], seen.deviations[:, :-1], seen.features)
        )
        mean, deviation = np.empty(len(seen)), np.empty(len(seen))
        explained = np.zeros(seen.scores.shape)
        patterns = self._patterns.of(lower)
        for pattern in set(patterns.tolist()):
            chosen = patterns == pattern
            rows: Any = slice(None) if chosen.all() else np.flatnonzero(chosen)
            mean[rows], deviation[rows], explained[rows, :-1] = self._patterns.predict(
                pattern, lower[rows], own[rows], features[rows]
            )
        return self._with_top(seen, Beliefs(mean, deviation, explained))

    def _with_top(self, seen: Seen, beliefs: Beliefs) -> Beliefs:
        """The top tier's answer is final, bit for bit."""
        scores, own = seen.scores[:, -1], seen.deviations[:, -1]
        final = np.isfinite(scores)
        beliefs.explained[:, -1] = 1.0
        if final.any():
            said = np.where(np.isfinite(own), own, self._top.deviation)
            beliefs.mean[final], beliefs.deviation[final] = scores[final], said[final]
            beliefs.explained[final] = 0.0
        return beliefs

    def learn(self, seen: Seen, target: Floats, drawn: Flags) -> None:
        """Take candidates whose target is now known."""
        known = ~np.isnan(target)
        lower, own, features = (
            _bounded(values[known])
            for values in (seen.scores[:, :-1], seen.deviations[:, :-1], seen.features)
        )
        self._patterns.learn(lower, own, features, _bounded(target[known]), drawn[known])
        self._version += 1

    def set_forgetting(self, column: int, kept: float) -> None:
        """Set how much of what was learnt is kept with each label, after a drift for example.

        Args:
            column: Patterns whose dearest tier has this column forget so; -1 for no tier.
            kept: Weight that a label keeps when another is learnt; 0.999 unless set.
        """
        self._patterns.set_forgetting(column, kept)

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {"version": self._version, "patterns": self._patterns.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot; one of another model teaches nothing.

        What was learnt of an earlier version of a verifier stays likely and becomes less
        certain.
        """
        if "patterns" in snapshot:
            self._patterns.restore(snapshot["patterns"])
            self._version = int(snapshot["version"])


def _bounded(values: Floats) -> Floats:
    """An end to what is absurdly large; NaN stays."""
    return np.minimum(np.maximum(values, -LARGEST), LARGEST)
