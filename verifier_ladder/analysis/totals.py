"""Totals: where a campaign stands, by its counters, accounts, queue and alarms.

Whatever is asked how much there is of something (`campaign show`, summaries, pages, notebooks,
trackers) is told from here, so that it says the same everywhere. No sample is read for it, and no
entry but the alarms: it is told at once of a campaign of any size. How many distinct candidates
there are and what became of them follows from no counter; a summary reads it, and an index keeps
what it has read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from verifier_ladder.alerts.rules import rules_as_set
from verifier_ladder.budget import TOTAL
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.counting import BEFORE_TIERS, FAILED, OPEN, TOGETHER, StepCount
from verifier_ladder.ledger.records import Account, CampaignRow, Entry, Extent
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.status import CampaignStatus, Waiting, campaign_status, recorded_campaign
from verifier_ladder.tier import Tier
from verifier_ladder.unanswered import unanswered_alarm
from verifier_ladder.verdict import Outcome


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run: what it asked and how much of it the ledger knew."""

    name: str
    samples: int = 0
    checks: int = 0
    """New checks its score calls ran at once."""
    reused: int = 0
    """Answers its score calls found in the ledger."""


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
        return StepCount.together(self.runs)

    @property
    def known(self) -> int | None:
        """Rewards that are a number, as they stand; None if that is not known."""
        return None if self.rewards.unsummed else self.rewards.known

    @property
    def waiting(self) -> int | None:
        """Rewards that are not known and may still come; None if that is not known."""
        return None if self.unrewarded is None else self.rewards.waiting

    @property
    def unrewarded(self) -> tuple[int, int] | None:
        """See `StepCount.unrewarded`."""
        return self.rewards.unrewarded

    @property
    def unanswered(self) -> str | None:
        """The alarm about samples without a reward, as a sentence; None if there is no reason."""
        return unanswered_text(self.rewards)

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


@dataclass(frozen=True, slots=True)
class CampaignTotals:
    """Where a campaign stands, as far as it can be told without reading it."""

    row: CampaignRow
    ledger: str
    """Where the ledger lies."""
    counts: CampaignCounts
    status: CampaignStatus
    accounts: tuple[Account, ...]
    drift: tuple[tuple[int, Alarm | None], ...]
    """What audits have found, oldest first, each with its entry; None where that can't be read."""

    @property
    def updated_at(self) -> float:
        """When its newest entry was recorded; seconds since 1970."""
        return self.counts.extent.recorded_at or self.row.created_at

    @property
    def alarms(self) -> tuple[str, ...]:
        """All alarms as sentences, that of samples without a reward last."""
        return self.alarms_with(self.counts.rewards)

    def alarms_with(self, rewards: StepCount) -> tuple[str, ...]:
        """The same, where more is known of the rewards than was counted."""
        found = [alarm_text(entry, alarm) for entry, alarm in self.drift]
        return tuple(filter(None, [*found, unanswered_text(rewards)]))

    @property
    def runs(self) -> tuple[RunSummary, ...]:
        """What each run asked, and how much of it the ledger knew."""
        return tuple(
            RunSummary(run.run, run.samples, run.checks, run.reused) for run in self.counts.runs
            if run.samples
        )  # fmt: skip

    @property
    def spent(self) -> float:
        """Cpu-seconds spent on all tiers."""
        return sum(tier.settled + tier.failed for tier in self.status.tiers)

    def resources(self, tier: int | None = None) -> dict[Resource, float]:
        """What a tier, or all of them, have spent of other resources than cpu time."""
        found: dict[Resource, float] = {}
        for account in self.status.budgets:
            if account.spent and account.tier != TOTAL and tier in {None, account.tier}:
                found[account.resource] = found.get(account.resource, 0.0) + account.spent
        return found

    def checks(self, tier: int) -> int:
        """Checks of a tier that this campaign paid for and that gave an answer."""
        if any(v.get("scope") == "group" for v in self.row.ladder["verifiers"]):
            # What is said of a group is recorded of its members, and charged once.
            used = (a for a in self.accounts if a.resource is Resource.CPU_SECONDS)
            return sum(account.checks for account in used if account.tier == tier)
        return sum(v.answered for v in self.counts.verifiers if v.tier == tier)


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


def campaign_totals(
    ledger: Ledger, campaign: str, waiting: Waiting | None = None
) -> CampaignTotals:
    """Tell where a campaign stands without reading its entries.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        waiting: Its work queue, if that was counted before; that takes time in proportion to its
            checks.

    Raises:
        ConfigError: If the ledger has no campaign of this name.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> _ = ledger.open_campaign("try", {"verifiers": []}, b"0" * 32)
        >>> campaign_totals(ledger, "try").counts.samples
        0
    """
    row, counts = recorded_campaign(ledger, campaign), campaign_counts(ledger, campaign)
    return CampaignTotals(
        row, ledger.url, counts, campaign_status(ledger, campaign, waiting),
        tuple(ledger.accounts(campaign)), recorded_alarms(ledger, campaign),
    )  # fmt: skip


def unanswered_text(rewards: StepCount) -> str | None:
    """The alarm about samples without a reward, as a sentence; None if there is no reason."""
    counted = rewards.unrewarded
    return None if counted is None else unanswered_alarm(*counted, rules_as_set())


def recorded_alarms(
    ledger: Ledger, campaign: str, after: int = 0
) -> tuple[tuple[int, Alarm | None], ...]:
    """What audits of a campaign have found, oldest first; see `CampaignTotals.drift`.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        after: Entry up to which nothing is wanted.
    """
    found = ledger.entries(after=after, kind="alarm", campaign=campaign)
    return tuple((entry.id, read_alarm(ledger, entry)) for entry in found)


def alarm_count(ledger: Ledger, counts: CampaignCounts) -> int:
    """How many alarms `CampaignTotals.alarms` has; none is read for it."""
    found = sum(1 for _ in ledger.entries(kind="alarm", campaign=counts.campaign))
    return found + (counts.unanswered is not None)


def drift_alarms(ledger: Ledger, campaign: str, after: int = 0) -> list[Alarm]:
    """Those of `recorded_alarms` that can be read, for those who also tell of the others."""
    return [a for _, a in recorded_alarms(ledger, campaign, after) if a is not None]


def read_alarm(ledger: Ledger, entry: Entry) -> Alarm | None:
    """What an entry of kind `alarm` tells; None where it can't be read."""
    try:
        return Alarm.from_json(ledger.read(entry).facts)
    except LedgerError:
        return None


def alarm_text(entry: int, alarm: Alarm | None) -> str:
    """An alarm as a sentence; one that is damaged is not passed over."""
    if alarm is None:
        return f"entry {entry} is an alarm and can't be read; run `vladder ledger verify`"
    return alarm.text
