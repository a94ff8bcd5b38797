"""Audited: what the samples of each step were told, and what audits say they are worth.

Entries are read on from where the last look stopped, so that it can be kept up to date beside a
training. It needs nothing but the ledger; pages keep the same sums in their index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, isfinite
from typing import NamedTuple

from verifier_ladder.candidate import MOST_PLACES
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block
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


class _Sample(NamedTuple):
    """One sample as it stands."""

    reward: float | None
    is_sorted_out: bool
    """Whether a tier below the top has rejected it."""
    truth: float | None
    """What the top tier says of it, on the learner's scale."""
    weight: float
    """For how many samples that speaks: one over the chance with which it was asked."""
    pending: bool


class AuditedSteps:
    """The steps of a campaign, told beside true; reads on from where it stopped.

    A sample that the top tier has judged speaks for one over the chance with which it was asked;
    those that a lower tier has rejected speak for themselves. A ladder of one tier is audited by
    nobody. Steps that nobody counts are left out.

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
        self._steps: dict[tuple[str, int], dict[int, _Sample]] = {}
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
            _told(run, step, list(samples.values()))
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
        for key in [key for key in self._steps if key[0] == run and key[1] <= step]:
            del self._steps[key]

    def _take(self, block: Block) -> None:
        samples = block.samples
        if samples is None or self._run not in {None, samples.run}:
            return
        if not self._over.get(samples.run, -1) < samples.step < MOST_PLACES:
            return
        known = self._steps.setdefault((samples.run, samples.step), {})
        chances = _chances(block)
        for place, (sample, side) in enumerate(samples_of(block, self._corrections)):
            old, reward = known.get(sample.position), side.reward
            is_judged = self._top is not None and reward.tier == self._top
            is_out = self._top is not None and reward.is_rejected and not is_judged
            known[sample.position] = _Sample(
                reward.value, is_out or (old is not None and old.is_sorted_out),
                side.worth if is_judged else None,
                chances.get(place, 1.0 if old is None else old.weight), reward.pending,
            )  # fmt: skip


def _chances(block: Block) -> Mapping[int, float]:
    """For how many samples each speaks of which a draw is told, by its place in the block."""
    return {
        place: 1.0 / draw.propensity
        for columns in block.decisions
        for place, draw in zip(columns.sample, columns.draws(), strict=True)
        if isfinite(draw.propensity) and draw.propensity > 0.0
    }


def _told(run: str, step: int, samples: Sequence[_Sample]) -> AuditedStep:
    rewards = [s.reward for s in samples if s.reward is not None]
    out = [s for s in samples if s.reward is not None and s.is_sorted_out]
    audits = [s for s in samples if s.truth is not None and not s.is_sorted_out]
    told = fsum(rewards) / len(rewards) if rewards else None
    truth = told if len(out) == len(rewards) else None
    if rewards and audits:
        own = fsum((s.reward if s.truth is None else s.truth) or 0.0 for s in out)
        mean = fsum(s.weight * (s.truth or 0.0) for s in audits) / fsum(s.weight for s in audits)
        truth = (own + (len(rewards) - len(out)) * mean) / len(rewards)
    pending = sum(s.pending for s in samples)
    return AuditedStep(run, step, len(samples), told, truth, len(audits), pending)
