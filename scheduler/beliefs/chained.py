"""Chained beliefs: what a tier would say comes first, and from that the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.beliefs.answers import Answers, Labelled
from verifier_ladder.scheduler.beliefs.calibrated import CalibratedBelief
from verifier_ladder.scheduler.beliefs.calibrator import Calibrator, FitOf
from verifier_ladder.scheduler.beliefs.declaration import Declaration, Declared
from verifier_ladder.scheduler.beliefs.model import BeliefModel, Beliefs, Seen
from verifier_ladder.scheduler.beliefs.normal import Normal

if TYPE_CHECKING:
    from verifier_ladder.scheduler.beliefs.model import Flags, Floats

_POINTS = np.array([-sqrt(3.0), 0.0, sqrt(3.0)])
_WEIGHTS = np.array([1.0, 4.0, 1.0]) / 6.0
"""Gauss and Hermite's rule: exact for polynomials up to the fifth degree."""
_FORGETTING = 0.999
_ENOUGH = 8
"""Answers from which a tier's calibration is believed. Before, their scale is so uncertain that
the first few could promise the same of everything, and no look would ever correct them."""


class ChainedBelief:
    """Predicts what the next tier would say, and averages another model's beliefs over that.

    A search labels what lower tiers have called good. So its labels tell what the target is,
    given those tiers, and mislead about candidates which these have not seen: of what looks like
    a labelled one, most was turned down. But what a tier *says*, given what is known before it is
    asked, is told by all it was asked about, labelled or not; and there are many more of them.
    One calibration for each lower tier learns it. What the tier is expected to explain follows:
    the share of the variance that lies between the answers it may give. (The chain of fidelities
    is Kennedy and O'Hagan's, *Predicting the output from a complex computer code when fast
    approximations are available*, 2000; that such labels may be ignored is Rubin's *Inference and
    missing data*, 1976.)

    Tiers are taken to be asked in their order: a dearer one that is asked at once is expected to
    explain what those between would have explained as well. Where a tier was passed over, or fewer
    than eight of its answers are known, the other model speaks alone.

    Example:
        >>> tiers = [Declaration("cheap"), Declaration("mid"), Declaration("top")]
        >>> model = ChainedBelief(CalibratedBelief(tiers), tiers)
        >>> model.hears_tiers
        True
    """

    hears_tiers = True
    """It learns from rows without a target what the dearest tier has said."""

    def __init__(
        self, target: BeliefModel, tiers: Sequence[Declaration], fit: FitOf = Normal
    ) -> None:
        """Start without answers.

        Args:
            target: Predicts the target from what the tiers have said.
            tiers: What each tier declares, the cheapest first.
            fit: What learns the answers of one tier.
        """
        self._target, self._tiers, self._fit = target, tuple(tiers), fit
        self._start()

    @classmethod
    def for_ladder(cls, ladder: Ladder) -> ChainedBelief:
        """Build the model of a ladder from what its verifiers declare."""
        tiers = [Declaration.of(rung, ladder.target.unit) for rung in ladder.rungs]
        return cls(CalibratedBelief.for_ladder(ladder), tiers)

    def _start(self) -> None:
        """Forget what tiers say."""
        self._stages = [self._stage(column) for column in range(len(self._tiers) - 1)]
        self._own_version = 0

    def _stage(self, column: int) -> Calibrator:
        """What a tier says, given the tiers below it."""
        below = tuple(
            replace(
                tier,
                is_same=tier.is_same and self._tiers[column].is_same,
                deviation=nan,
                is_other=False,
            )
            for tier in self._tiers[:column]
        )  # Deviation and unit are declared about the target, not about what another tier says.
        stage = Calibrator(Declared(below), self._fit)
        stage.forgetting = _FORGETTING
        return stage

    @property
    def version(self) -> int:
        """Counts the calls of `learn`."""
        return self._own_version

    # -- predictions -----------------------------------------------------------------------------

    def predict(self, seen: Seen) -> Beliefs:
        """Predict the target of each candidate."""
        return self._from(seen, 0)

    def _from(self, seen: Seen, first: int) -> Beliefs:
        """Predict; tiers below `first` have answered, or are not asked for their answers."""
        beliefs = self._target.predict(seen)
        answered = np.isfinite(seen.scores)
        for column in range(first, len(self._stages)):
            if self._stages[column].count < _ENOUGH:
                continue
            is_next = answered[:, :column].all(axis=1) & ~answered[:, column:].any(axis=1)
            rows = np.flatnonzero(is_next)
            if len(rows):
                self._foretell(_rows(seen, rows), column, beliefs, rows)
        return beliefs

    def _foretell(self, seen: Seen, column: int, beliefs: Beliefs, rows: Any) -> None:
        """Average the beliefs of some rows over what their next tier may say."""
        mean, deviation = self._stages[column].predict(self._answers(column, seen))
        size, times = len(seen), len(_POINTS)
        many = _rows(seen, np.tile(np.arange(size), times))
        many.scores[:, column] = (mean + _POINTS[:, None] * deviation).ravel()
        then = self._from(many, column + 1)
        means = then.mean.reshape(times, size)
        spread = then.deviation.reshape(times, size) ** 2
        middle = _WEIGHTS @ means
        between, within = _WEIGHTS @ (means - middle) ** 2, _WEIGHTS @ spread
        whole = between + within
        after = then.explained.reshape(times, size, -1)
        with np.errstate(invalid="ignore", divide="ignore"):
            later = np.einsum("t,tn,tnj->nj", _WEIGHTS, spread, after) + between[:, None]
            explained = np.fmin(later / whole[:, None], 1.0)
            explained[:, column] = between / whole
        good = np.isfinite(middle) & np.isfinite(explained[:, column])
        chosen = rows[good]
        beliefs.mean[chosen], beliefs.deviation[chosen] = middle[good], np.sqrt(whole[good])
        beliefs.explained[chosen, column:] = explained[good, column:]

    def _answers(self, column: int, seen: Seen) -> Answers:
        """What the tiers below a column said."""
        speaker = self._stages[column].declared.speaker
        own = seen.deviations[:, speaker] if column else np.full(len(seen), nan)
        return Answers(seen.scores[:, :column], own, seen.features)

    # -- learning --------------------------------------------------------------------------------

    def learn(self, seen: Seen, target: Floats, drawn: Flags) -> None:
        """Take candidates of which something is now known.

        Args:
            seen: What the lower tiers had said.
            target: What the top tier said; NaN in rows that tell of the dearest tier in them.
            drawn: Whether a random draw chose the candidate for the top tier.
        """
        is_tier = np.isnan(target)
        answered = np.isfinite(seen.scores[:, :-1])
        for column, stage in enumerate(self._stages):
            is_dearest = answered[:, : column + 1].all(axis=1) & ~answered[:, column + 1 :].any(1)
            part = _rows(seen, np.flatnonzero(is_tier & is_dearest))
            if len(part):
                said, ones = part.scores[:, column], np.ones(len(part))
                stage.learn(Labelled(self._answers(column, part), said, ones))
        if not is_tier.all():
            self._target.learn(_rows(seen, ~is_tier), target[~is_tier], drawn[~is_tier])
        self._own_version += 1

    def set_forgetting(self, column: int, kept: float) -> None:
        """Set how much of what rests on a tier is kept, its own answers among it."""
        self._target.set_forgetting(column, kept)
        for stage in self._stages[max(column, 0) : column + 2]:
            stage.forgetting = kept

    # -- snapshots -------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {
            "version": self._own_version, "target": self._target.snapshot(),
            "tiers": [[tier.name, tier.digest] for tier in self._tiers],
            "stages": [stage.snapshot() for stage in self._stages],
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot.

        What tiers say is forgotten from the first on whose verifier is another; that of the
        target is the other model's affair.
        """
        if "stages" not in snapshot:
            return
        self._start()
        self._target.restore(snapshot["target"])
        self._own_version = int(snapshot["version"])
        for stage, learnt, then, now in zip(
            self._stages, snapshot["stages"], snapshot["tiers"], self._tiers, strict=False
        ):
            if then != [now.name, now.digest]:
                return
            stage.restore(learnt)


def _rows(seen: Seen, rows: Any) -> Seen:
    """Some rows, or all of them several times."""
    return Seen(seen.scores[rows], seen.deviations[rows], seen.features[rows])
