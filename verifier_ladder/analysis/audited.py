"""Audited: what the samples of each step were told, and what audits say they are worth.

What a step comes to follows from sums over its samples, as they stand: the index of the pages
keeps these sums, and `AuditedSteps` reads them on from the ledger alone, beside a training.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import fsum, isfinite
from typing import Any, NamedTuple

from verifier_ladder.candidate import MOST_PLACES
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.reward import Reward
from verifier_ladder.status import recorded_campaign, tiers_of
from verifier_ladder.summary.shadow import Corrections, samples_of


class AuditedStep(NamedTuple):
    """One step of a run."""

    run: str
    step: int
    samples: int
    told: float | None
    """Mean of the rewards that are known, as they stand."""
    truth: float | None
    """Mean truth of the same samples, estimated from those that the top tier has judged; None
    where it has judged none of them."""
    audits: int
    """How many those are."""
    pending: int
    """Samples whose reward a higher tier may still revise."""


class StepSums(NamedTuple):
    """What the samples of a step add up to; the sums of several steps are theirs added up.

    A sample that the top tier has judged speaks for one over the chance with which it was asked;
    those that a lower tier has rejected speak for themselves.
    """

    samples: float = 0.0
    rewarded: float = 0.0
    """Samples that have a reward."""
    told: float = 0.0
    """Their rewards."""
    rejected: float = 0.0
    """Those of them that a tier below the top has rejected."""
    rejected_truth: float = 0.0
    """What those are worth."""
    audited: float = 0.0
    """Samples that no lower tier has rejected and the top tier has judged."""
    weight: float = 0.0
    """For how many samples they speak."""
    truth: float = 0.0
    """What they are worth, each as often as it speaks."""

    @property
    def mean(self) -> float | None:
        """Mean of the rewards that are known."""
        return self.told / self.rewarded if self.rewarded else None

    @property
    def mean_truth(self) -> float | None:
        """Mean truth of the same samples; None where nothing is known of those not rejected."""
        others = self.rewarded - self.rejected
        if not self.rewarded or (others and not self.audited):
            return None
        truth = others * self.truth / self.weight if others else 0.0
        return (self.rejected_truth + truth) / self.rewarded


class AuditedSample(NamedTuple):
    """One sample as it stands."""

    reward: float | None
    is_rejected: bool
    """Whether a tier below the top has rejected it."""
    truth: float | None
    """What the top tier says of it, on the learner's scale."""
    weight: float
    """For how many samples that speaks: one over the chance with which it was asked."""

    @classmethod
    def of(
        cls, reward: Reward, judge: int | None, truth: float | None, weight: float | None,
        before: AuditedSample | None,
    ) -> AuditedSample:  # fmt: skip
        """A sample that is told a reward.

        Args:
            reward: The reward.
            judge: The tier that audits ask; a ladder of one tier has none.
            truth: What that tier says of it, if the reward is that tier's.
            weight: For how many samples it speaks, if its draw is told.
            before: How it stood before.
        """
        is_rejected = judge not in {None, reward.tier} and reward.is_rejected
        if before is not None:
            is_rejected = is_rejected or bool(before.is_rejected)
            weight = before.weight if weight is None else weight
        return cls(reward.value, is_rejected, truth, 1.0 if weight is None else weight)

    @property
    def sums(self) -> StepSums:
        """What it adds to its step."""
        has, reward, truth = self.reward is not None, self.reward or 0.0, self.truth or 0.0
        is_reject = has and bool(self.is_rejected)
        is_audited = self.truth is not None and not self.is_rejected
        own = reward if self.truth is None else truth
        return StepSums(
            1.0, float(has), reward, float(is_reject), own if is_reject else 0.0,
            float(is_audited), self.weight * is_audited, self.weight * truth * is_audited,
        )  # fmt: skip


def weights_of(block: Block) -> Mapping[int, float]:
    """For how many samples each speaks of which a draw is told, by its place in the block."""
    return {
        place: 1.0 / draw.propensity
        for columns in block.decisions
        for place, draw in zip(columns.sample, columns.draws(), strict=True)
        if draw.propensity > 0.0 and isfinite(1.0 / draw.propensity)
    }


class AuditedSteps:
    """The steps of a campaign, told beside true; reads on from where it stopped.

    A ladder of one tier is audited by nobody. Steps that nobody counts are left out.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> _ = ledger.open_campaign("try", {"verifiers": []}, b"0" * 32)
        >>> AuditedSteps(ledger, "try").steps
        []
    """

    def __init__(
        self, ledger: Ledger, campaign: str, *, after: int = 0, run: str | None = None
    ) -> None:
        """Read nothing yet.

        Args:
            ledger: The ledger.
            campaign: Name of the campaign.
            after: Entry up to which nothing is wanted.
            run: The only run that is wanted; all of them by default.

        Raises:
            ConfigError: If the ledger has no campaign of this name.
        """
        self.campaign = campaign
        tiers = tiers_of(recorded_campaign(ledger, campaign))
        self._top = tiers[-1] if len(tiers) > 1 else None
        self._ledger, self._cursor, self._run = ledger, after, run
        self._steps: dict[tuple[str, int], dict[int, tuple[AuditedSample, bool]]] = {}
        """Samples of each step by position, and whether a higher tier may still revise them."""
        self._over: dict[str, int] = {}
        self._corrections = Corrections({}, {})

    @property
    def is_audited(self) -> bool:
        """Whether the ladder has a tier above the first, which audits those below."""
        return self._top is not None

    @property
    def steps(self) -> list[AuditedStep]:
        """The steps that were read and not forgotten, runs one after the other."""
        return [
            _told(run, step, samples.values())
            for (run, step), samples in sorted(self._steps.items())
        ]

    def refresh(self) -> None:
        """Read what has been recorded since.

        Raises:
            LedgerError: If an entry can't be read; the next call goes on behind it.
        """
        for entry in self._ledger.entries(after=self._cursor, campaign=self.campaign):
            self._cursor = entry.id
            if entry.kind in {"score", "revision"}:
                self._take(self._ledger.read(entry))

    def forget(self, run: str, step: int) -> None:
        """Keep nothing of a step and of those before it, and take nothing of them any more."""
        self._over[run] = max(step, self._over.get(run, -1))
        over: list[dict[Any, Any]] = [self._steps, *self._corrections]
        for known in over:
            for key in [key for key in known if key[0] == run and key[1] <= step]:
                del known[key]

    def _take(self, block: Block) -> None:
        samples = block.samples
        if samples is None or self._run not in {None, samples.run}:
            return
        if not self._over.get(samples.run, -1) < samples.step < MOST_PLACES:
            return
        known = self._steps.setdefault((samples.run, samples.step), {})
        weights = weights_of(block)
        for place, (sample, side) in enumerate(samples_of(block, self._corrections)):
            reward, (before, _) = side.reward, known.get(sample.position, (None, False))
            is_judged = self._top is not None and reward.tier is self._top
            truth = side.worth if is_judged else None
            told = AuditedSample.of(reward, self._top, truth, weights.get(place), before)
            known[sample.position] = told, reward.pending


def _told(run: str, step: int, samples: Collection[tuple[AuditedSample, bool]]) -> AuditedStep:
    sums = StepSums(*map(fsum, zip(*(sample.sums for sample, _ in samples), strict=True)))
    pending = sum(is_pending for _, is_pending in samples)
    return AuditedStep(
        run, step, len(samples), sums.mean, sums.mean_truth, int(sums.audited), pending
    )
