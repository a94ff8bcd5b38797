"""Subjects: what a summary keeps of one candidate while it reads the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any

from verifier_ladder.verdict import Outcome, Verdict


class Stand(IntEnum):
    """What a verifier said of a candidate; of a tier's several verifiers the lowest counts."""

    REJECTED = 1
    FAILED = 2
    ABSTAINED = 3
    ACCEPTED = 4


_STANDS = {
    Outcome.REJECT: Stand.REJECTED,
    Outcome.ABSTAIN: Stand.ABSTAINED,
    Outcome.ACCEPT: Stand.ACCEPTED,
}
_CODES: tuple[Stand | None, ...] = (None, *Stand)
_BITS = 3
_NONE: Mapping[str, object] = MappingProxyType({})


class Subject:
    """One candidate of a campaign, in a few hundred bytes; its text stays in the ledger."""

    __slots__ = (
        "_said", "_scores", "content", "deviation", "features", "known", "mean", "own", "pending",
        "reached", "reward", "samples", "spelled", "uncertainty",
    )  # fmt: skip

    def __init__(self, content: bytes) -> None:
        """Start with nothing known."""
        self.content = content
        self.samples = 0
        self.reward: float | None = None
        """What the learner was told of it last; corrected for the draw, so it ranks nothing."""
        self.uncertainty: float | None = None
        self.mean: float | None = None
        self.deviation: float | None = None
        self.known: float | None = None
        """What is known of its target, so that larger is better; None while nothing is, and for
        one that was rejected."""
        self.features: Mapping[str, object] = _NONE
        """What verifiers offer as evidence under the names they declare as features."""
        self.reached = -1
        self.pending = False
        self.spelled = False
        """Whether a spelling of it was recorded."""
        self.own = 0
        """Bit mask of the tiers that this campaign has paid an answered check of."""
        self._said = 0
        self._scores: tuple[tuple[int, float, float | None], ...] = ()

    def memory(self) -> list[Any]:
        """All that it keeps, as JSON values; `recall` takes them back."""
        return [
            self.samples, self.reward, self.uncertainty, self.mean, self.deviation,
            dict(self.features), self.reached, self.pending, self.spelled, self.own,
            f"{self._said:x}", self._scores,
        ]  # fmt: skip

    def recall(self, memory: Sequence[Any]) -> None:
        """Go on from what another one kept."""
        (
            self.samples, self.reward, self.uncertainty, self.mean, self.deviation, self.features,
            self.reached, self.pending, self.spelled, self.own, said, scores,
        ) = memory  # fmt: skip
        self._said = int(said, 16)
        self._scores = tuple((tier, score, spread) for tier, score, spread in scores)

    def hear(self, place: int, tier: int, verdict: Verdict, *, is_primary: bool) -> None:
        """Take a verdict; a later one of the same verifier replaces the earlier.

        Args:
            place: Number of the verifier in the summary's list.
            tier: The verifier's tier.
            verdict: What it said.
            is_primary: Whether its score is the tier's score.
        """
        failed = verdict.failed_at is not None
        if failed and self.said(place):
            return
        self._say(place, Stand.FAILED if failed else _STANDS[verdict.outcome])
        if is_primary and verdict.score is not None and verdict.outcome is not Outcome.ABSTAIN:
            self.rate(tier, (verdict.score, verdict.uncertainty))

    def rate(self, tier: int, scored: tuple[float | None, float | None]) -> None:
        """Take a tier's score and its uncertainty; None where it has none, or none any more."""
        others = tuple(score for score in self._scores if score[0] != tier)
        score, uncertainty = scored
        self._scores = others if score is None else (*others, (tier, score, uncertainty))

    def said(self, place: int) -> Stand | None:
        """What one verifier said; None if it has not spoken."""
        return _CODES[self._said >> (_BITS * place) & 0b111]

    @property
    def answers(self) -> int:
        """How many verifiers have answered; canonicalising, at place 0, is none."""
        code, count = self._said >> _BITS, 0
        while code:
            count += code & 0b111 not in (0, Stand.FAILED)
            code >>= _BITS
        return count

    def _say(self, place: int, stand: Stand) -> None:
        shift = _BITS * place
        self._said = self._said & ~(0b111 << shift) | int(stand) << shift

    def stand(self, places: Iterable[int]) -> Stand | None:
        """Where it stands with a tier, given the places of that tier's verifiers."""
        codes = [code for place in places if (code := self._said >> (_BITS * place) & 0b111)]
        return _CODES[min(codes)] if codes else None

    @property
    def scores(self) -> tuple[tuple[int, float, float | None], ...]:
        """Tier, score and its uncertainty, for each tier that has scored it."""
        return self._scores

    def score(self, tier: int) -> tuple[float, float | None] | None:
        """One tier's score and its uncertainty."""
        return next(((value, spread) for t, value, spread in self._scores if t == tier), None)

    @property
    def deepest(self) -> int | None:
        """The highest tier that has scored it; None if none has."""
        return max((tier for tier, _, _ in self._scores), default=None)

    def best_known(self, top: int) -> tuple[float, float | None] | None:
        """What is known of its target, with one standard deviation; None if nothing is.

        What the ladder's top tier said, else what is believed, else the deepest score. It is never
        made of the reward: after a draw that is corrected, an estimate for a learner's mean that
        says little of this one candidate.
        """
        truth = self.score(top)
        if truth is not None:
            return truth
        if self.mean is not None:
            return self.mean, self.deviation
        return None if self.deepest is None else self.score(self.deepest)
