"""Counts: how far a campaign has come, by the counters that are kept as entries are written.

Nothing is read for them that grows with the number of samples, so they are told at once of a
campaign of any size, while it is at work and years after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.counting import BEFORE_TIERS, FAILED, OPEN, TOGETHER, StepCount
from verifier_ladder.ledger.records import Extent
from verifier_ladder.status import recorded_campaign
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome


@dataclass(frozen=True, slots=True)
class VerifierCounts:
    """How the checks of one version of a verifier ended in a campaign.

    Counted are those that its entries tell of. What the ledger knew from elsewhere, or what was
    imported, is not among them; a correction of the world counts once more.
    """

    tier: Tier | None
    """None for what a canonicaliser said of candidates that have no canonical form."""
    verifier: str
    version: str
    accepted: int = 0
    rejected: int = 0
    abstained: int = 0
    """Considered abstentions: the verifier declined."""
    opened: int = 0
    """Cases of the world that were opened; none of them is an answer."""
    groups: int = 0
    """Checks of whole groups; what they say of members counts as answers, once they are told."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Attempts that gave no answer, by the boundary that failed."""

    @property
    def answered(self) -> int:
        """Considered answers."""
        return self.accepted + self.rejected + self.abstained

    @property
    def failed(self) -> int:
        """Attempts that gave no answer, through no fault of the candidate."""
        return sum(self.failures.values())

    @property
    def pass_rate(self) -> float | None:
        """Share of the accepted among those that were accepted or rejected; None if none was."""
        judged = self.accepted + self.rejected
        return self.accepted / judged if judged else None

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON values; the tier by its label."""
        label = None if self.tier is None else self.tier.label
        rest = {"answered": self.answered, "failed": self.failed, "pass_rate": self.pass_rate}
        return {**asdict(self), "tier": label, **rest}


@dataclass(frozen=True, slots=True)
class CampaignCounts:
    """How far a campaign has come."""

    campaign: str
    extent: Extent
    verifiers: tuple[VerifierCounts, ...]
    """By tier and name, canonicalisers first."""
    runs: tuple[StepCount, ...]
    """The samples of each run, the oldest first."""

    @property
    def samples(self) -> int:
        """Samples that were scored."""
        return sum(run.samples for run in self.runs)

    @property
    def revised(self) -> int:
        """Revisions of rewards."""
        return sum(run.revised for run in self.runs)

    @property
    def rewards(self) -> StepCount:
        """The samples of all runs together."""
        total = StepCount("", -1, *[0] * len(StepCount._fields[2:]))
        for run in self.runs:
            total = total.plus(run)
        return total

    @property
    def known(self) -> int | None:
        """Rewards that are a number, as they stand; None if that is not known."""
        return None if self.rewards.unsummed else self.rewards.known

    @property
    def waiting(self) -> int | None:
        """Rewards that are not known and may still come; None if that is not known."""
        return None if self.rewards.unsummed else max(0, self.rewards.waiting)

    @property
    def unrewarded(self) -> tuple[int, int] | None:
        """Samples that have no reward and wait for none, and all that have ended.

        None if that is not known.
        """
        if self.known is None or self.waiting is None:
            return None
        ended = self.samples - self.waiting
        return ended - self.known, ended

    @property
    def checks(self) -> int:
        """All checks that were counted, however they ended."""
        return sum(v.answered + v.opened + v.groups + v.failed for v in self.verifiers)

    @property
    def failures(self) -> Mapping[str, int]:
        """Attempts that gave no answer, by the boundary that failed, the most frequent first."""
        return self.failures_of("")

    def failures_of(self, verifier: str) -> Mapping[str, int]:
        """The same of one verifier, in all of its versions; of all where no name is given."""
        found: Counter[str] = Counter()
        for each in self.verifiers:
            if verifier in {"", each.verifier}:
                found.update(each.failures)
        return dict(found.most_common())

    @property
    def size(self) -> int:
        """About how many records reading all of its entries would go through."""
        return self.extent.entries + self.samples + self.revised + self.checks

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {
            "campaign": self.campaign, **self.extent._asdict(), "samples": self.samples,
            "revised": self.revised, "known": self.known, "waiting": self.waiting,
            "mean": self.rewards.mean, "failures": self.failures,
            "verifiers": [verifier.as_json() for verifier in self.verifiers],
            "runs": [{**run._asdict(), "mean": run.mean} for run in self.runs],
        }  # fmt: skip


def campaign_counts(ledger: Ledger, campaign: str) -> CampaignCounts:
    """Tell how far a campaign has come; no entry is read for it.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.

    Raises:
        ConfigError: If the ledger has no campaign of this name.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> _ = ledger.open_campaign("try", {"verifiers": []}, b"0" * 32)
        >>> campaign_counts(ledger, "try").samples
        0
    """
    recorded_campaign(ledger, campaign)
    begun = {run["name"]: place for place, run in enumerate(ledger.runs(campaign))}
    runs = ledger.step_counts(campaign, whole_runs=True)
    runs.sort(key=lambda run: begun.get(run.run, -1))
    verifiers = _verifiers(ledger, campaign)
    return CampaignCounts(campaign, ledger.extent(campaign), verifiers, tuple(runs))


def reward_steps(ledger: Ledger, campaign: str) -> Sequence[StepCount]:
    """What the samples of each step earn as they stand now, in the order of steps and runs.

    Steps that nobody counts are left out: as where a learner asks without one.
    """
    return ledger.step_counts(campaign)


def _verifiers(ledger: Ledger, campaign: str) -> tuple[VerifierCounts, ...]:
    ended: dict[tuple[int, str, str], Counter[str]] = {}
    failures: dict[tuple[int, str, str], dict[str, int]] = {}
    for tier, verifier, version, outcome, boundary, checks in ledger.verdict_counts(campaign):
        name = (tier, verifier, version)
        ended.setdefault(name, Counter())[outcome] += checks
        if outcome == FAILED:
            failures.setdefault(name, {})[boundary] = checks
    return tuple(
        VerifierCounts(
            None if tier == BEFORE_TIERS else Tier(tier), verifier, version,
            counts[Outcome.ACCEPT], counts[Outcome.REJECT], counts[Outcome.ABSTAIN],
            counts[OPEN], counts[TOGETHER], failures.get((tier, verifier, version), {}),
        )
        for (tier, verifier, version), counts in ended.items()
    )  # fmt: skip
