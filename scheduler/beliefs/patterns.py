"""Patterns: which tiers have answered, and what speaks for each set of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verifier_ladder.scheduler.beliefs.answers import Answers, Labelled
from verifier_ladder.scheduler.beliefs.calibrator import Calibrator, FitOf
from verifier_ladder.scheduler.beliefs.declaration import Declaration, Declared
from verifier_ladder.scheduler.beliefs.filing import Filing, columns_of
from verifier_ladder.scheduler.beliefs.gains import Gain
from verifier_ladder.scheduler.beliefs.steps import steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

_EXPECTED = 0.5
"""Share of the variance that a tier is expected to explain if it declares no deviation."""
_FAR = 6.0
"""Errors count for no more than so many deviations in what a tier is said to gain."""
_ENOUGH = 8.0
"""Labels from which a tier may prove to mislead."""
_SELECTED = 0.1
"""What a label counts for in patterns without the scores for which it was selected."""
_INHERITED = 8.0
"""How many labels the gains of an earlier version are worth."""
_FORGETTING = 0.999


class _Said(NamedTuple):
    """How the predictions of one pattern came true."""

    rows: Indices
    errors: Floats
    deviations: Floats

    def squares(self, size: int) -> tuple[Floats, Floats]:
        """Squared errors and the largest that count, in their rows of so many; else NaN."""
        squares, most = np.full(size, nan), np.full(size, nan)
        squares[self.rows] = self.errors**2
        most[self.rows] = (_FAR * self.deviations) ** 2
        return squares, most


class Patterns:
    """One calibrator for each set of lower tiers that may have answered.

    A pattern is a number whose bit j says that tier j has answered. What is learnt is filed
    under the names and versions of its tiers.
    """

    def __init__(
        self,
        tiers: Sequence[Declaration],
        prior: tuple[float, float],
        owners: Sequence[int],
        fit: FitOf,
    ) -> None:
        """Start without labels; see `CalibratedBelief`."""
        self._tiers, self._prior, self._make = tuple(tiers), prior, fit
        self._owners = np.array(owners, dtype=np.int64)
        self._lower = len(self._tiers) - 1
        self._start()

    def _start(self) -> None:
        """Forget everything."""
        self._calibrators = {p: self._new(p) for p in range(1 << self._lower)}
        self._gains = {
            (pattern, column): Gain() for pattern in self._calibrators
            for column in columns_of(pattern)
        }  # fmt: skip
        self._speakers: dict[int, int] = {}
        self._count = 0

    def _new(self, pattern: int) -> Calibrator:
        tiers = tuple(self._tiers[column] for column in columns_of(pattern))
        calibrator = Calibrator(Declared(tiers, self._prior), self._make)
        calibrator.forgetting = _FORGETTING
        return calibrator

    def of(self, scores: Floats) -> Indices:
        """The pattern of each row of the lower tiers' scores. Takes shape (n, tiers)."""
        known = np.isfinite(scores)
        patterns: Indices = known @ (1 << np.arange(self._lower))
        return patterns

    def predict(
        self, pattern: int, scores: Floats, own: Floats, features: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Predict candidates of one pattern.

        Returns:
            Mean and deviation of the target, each of shape (n,), and what each lower tier is
            expected to explain, of shape (n, tiers).
        """
        speaker = self._speaker(pattern)
        answers = self._answers(speaker, scores, own, features)
        mean, deviation = self._calibrators[speaker].predict(answers)
        explained = np.zeros((len(scores), self._lower))
        for column in range(self._lower):
            if not pattern >> column & 1:
                gain = self._gains[speaker | 1 << column, column]
                explained[:, column] = gain.explained(self._expected(column, deviation))
        return mean, deviation, explained

    def _answers(self, pattern: int, scores: Floats, own: Floats, features: Floats) -> Answers:
        chosen = columns_of(pattern)
        if not chosen:
            return Answers(scores[:, :0], np.full(len(scores), nan), features)
        speaker = self._calibrators[pattern].declared.speaker
        if speaker < 0 or self._tiers[chosen[speaker]].is_other:
            own = np.full_like(own, nan)  # A deviation in another unit is none of the target.
        return Answers(scores[:, chosen], own[:, chosen[speaker]], features)

    def _expected(self, column: int, deviation: Floats) -> Floats | float:
        """What a tier explains if its declared noise is added to the truth."""
        declared = self._tiers[column].deviation
        if not isfinite(declared):
            return _EXPECTED
        squares = deviation**2
        whole = squares + declared**2
        share = np.divide(squares, whole, out=np.ones_like(squares), where=whole > 0)
        return np.where(np.isnan(share), _EXPECTED, share)

    def _speaker(self, pattern: int) -> int:
        """The pattern that speaks for a pattern: itself, or what is left when a tier is dropped.

        A tier is dropped if predictions have proved worse with it than without, and if too
        little is known of it while another pattern knows more. The dearest that has answered is
        not dropped for what cheaper ones declare, and where its number estimates the target not
        for what labels have taught of them either: it was paid for, and would not be heard.
        """
        if pattern not in self._speakers:
            self._speakers[pattern] = self._find_speaker(pattern)
        return self._speakers[pattern]

    def _find_speaker(self, pattern: int) -> int:
        chosen = columns_of(pattern)
        if not self._calibrators[pattern].is_ready:
            others = [self._speaker(pattern ^ 1 << column) for column in chosen]
            ready = [other for other in others if self._may_replace(pattern, other)]
            return max(ready, key=lambda p: (self._calibrators[p].count, p), default=pattern)
        gains = [self._gains[pattern, column] for column in chosen]
        losses = [
            (gain.ratio, column) for gain, column in zip(gains, chosen, strict=True)
            if gain.count >= _ENOUGH and gain.ratio > 1.0
        ]  # fmt: skip
        return self._speaker(pattern ^ 1 << max(losses)[1]) if losses else pattern

    def _may_replace(self, pattern: int, other: int) -> bool:
        """Whether a smaller pattern may speak for one of which too little is known."""
        if other.bit_length() == pattern.bit_length():  # The dearest tier is in both.
            return self._calibrators[other].is_ready
        return (
            self._calibrators[pattern].declared.is_foreign and self._calibrators[other].is_learnt
        )

    def learn(
        self, scores: Floats, own: Floats, features: Floats, target: Floats, drawn: Flags
    ) -> None:
        """Take candidates whose target is known, the oldest first; all targets are finite."""
        for rows in steps(self._count, len(target)):
            self._learn(scores[rows], own[rows], features[rows], target[rows], drawn[rows])
        self._speakers = {}

    def _learn(
        self, scores: Floats, own: Floats, features: Floats, target: Floats, drawn: Flags
    ) -> None:
        patterns, size = self.of(scores), len(target)
        said: dict[int, _Said] = {}
        for pattern in self._calibrators:
            rows = np.flatnonzero((patterns & pattern) == pattern)
            if len(rows):
                known = self._known(pattern, features[rows])
                answers = self._answers(pattern, scores[rows], own[rows], known)
                full = drawn[rows] | (patterns[rows] == pattern)
                weights = np.where(full, 1.0, _SELECTED)
                labelled = Labelled(answers, target[rows], weights)
                mean, deviation = self._calibrators[pattern].learn(labelled)
                said[pattern] = _Said(rows, labelled.targets - mean, deviation)
        self._compare(said, size)
        self._count += size

    def _known(self, pattern: int, features: Floats) -> Floats:
        """Features as they are while only the tiers of a pattern have answered."""
        if not len(self._owners):
            return features
        bits = np.where(self._owners < 0, 0, 1 << np.maximum(self._owners, 0))
        return np.where((bits & ~pattern) == 0, features, nan)

    def _compare(self, said: Mapping[int, _Said], size: int) -> None:
        """Measure what each tier gained over the same pattern without it."""
        squares = {pattern: one.squares(size) for pattern, one in said.items()}
        for (pattern, column), gain in self._gains.items():
            gain.fade(size)
            if pattern in squares:
                with_tier, _ = squares[pattern]
                without, most = squares[pattern ^ 1 << column]
                both = np.isfinite(with_tier) & np.isfinite(without) & np.isfinite(most)
                gain.add(np.minimum(with_tier, most)[both], np.minimum(without, most)[both])

    def set_forgetting(self, column: int, kept: float) -> None:
        """Set what patterns whose dearest tier has that column keep per label."""
        for pattern, calibrator in self._calibrators.items():
            if pattern.bit_length() - 1 == column:
                calibrator.forgetting = kept

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {
            "count": self._count, "features": len(self._owners),
            "tiers": [[tier.name, tier.digest] for tier in self._tiers],
            "calibrators": [
                [pattern, calibrator.snapshot()]
                for pattern, calibrator in self._calibrators.items() if calibrator.count
            ],
            "gains": [[*key, *gain.as_json()] for key, gain in self._gains.items() if gain.count],
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot, be it of a ladder with other tiers.

        Tiers are known by their verifiers' names. What was learnt of an earlier version of a
        verifier stays likely and becomes less certain; of tiers that are gone it is left out.
        """
        self._start()
        filing = Filing([(name, digest) for name, digest in snapshot["tiers"]], self._tiers)
        if snapshot["features"] != len(self._owners) or not filing.is_about_same:
            return
        for then, learnt in snapshot["calibrators"]:
            now = filing.pattern(then)
            if now is not None and filing.is_same(then):
                self._calibrators[now].restore(learnt)
            elif now is not None:
                self._calibrators[now].inherit(learnt)
        for then, column, *numbers in snapshot["gains"]:
            now = filing.pattern(then)
            if now is not None:
                most = inf if filing.is_same(then) else _INHERITED
                self._gains[now, filing.columns[column]] = Gain.from_json(numbers, most)
        self._count = int(snapshot["count"])
