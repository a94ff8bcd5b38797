"""Totals: where a campaign stands, by its counters, accounts, queue and alarms.

Whatever is asked how much there is of something (`campaign show`, pages, notebooks) is told from
here, so that it says the same everywhere. No sample is read for it, and no entry but the alarms:
it is told at once of a campaign of any size. How many distinct candidates there are and what
became of them follows from no counter; a summary reads it, and an index keeps what it has read.
"""

from __future__ import annotations

from dataclasses import dataclass

from verifier_ladder.alerts.rules import rules_as_set
from verifier_ladder.analysis.counts import CampaignCounts, campaign_counts
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.records import Account, CampaignRow, Entry
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.status import CampaignStatus, Waiting, campaign_status, recorded_campaign
from verifier_ladder.summary.records import RunSummary
from verifier_ladder.unanswered import unanswered_alarm


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
    unanswered: str | None
    """The alarm about samples without a reward, as a sentence; None if there is no reason."""

    @property
    def updated_at(self) -> float:
        """When its newest entry was recorded; seconds since 1970."""
        return self.counts.extent.recorded_at or self.row.created_at

    @property
    def alarms(self) -> tuple[str, ...]:
        """All alarms as sentences, that of samples without a reward last."""
        found = tuple(alarm_text(entry, alarm) for entry, alarm in self.drift)
        return found if self.unanswered is None else (*found, self.unanswered)

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

    def resources(self, tier: int) -> dict[Resource, float]:
        """What a tier has spent of other resources than cpu time."""
        return {
            account.resource: account.spent for account in self.status.budgets
            if account.tier == tier and account.spent
        }  # fmt: skip

    def checks(self, tier: int) -> int:
        """Checks of a tier that this campaign paid for and that gave an answer."""
        if any(v.get("scope") == "group" for v in self.row.ladder["verifiers"]):
            # What is said of a group is recorded of its members, and charged once.
            used = (a for a in self.accounts if a.resource is Resource.CPU_SECONDS)
            return sum(account.checks for account in used if account.tier == tier)
        return sum(v.answered for v in self.counts.verifiers if v.tier == tier)


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
    ended = counts.unrewarded
    return CampaignTotals(
        row, ledger.url, counts, campaign_status(ledger, campaign, waiting),
        tuple(ledger.accounts(campaign)), recorded_alarms(ledger, campaign),
        None if ended is None else unanswered_alarm(*ended, rules_as_set()),
    )  # fmt: skip


def recorded_alarms(ledger: Ledger, campaign: str) -> tuple[tuple[int, Alarm | None], ...]:
    """What audits of a campaign have found, oldest first; see `CampaignTotals.drift`."""
    found = ledger.entries(kind="alarm", campaign=campaign)
    return tuple((entry.id, _alarm(ledger, entry)) for entry in found)


def _alarm(ledger: Ledger, entry: Entry) -> Alarm | None:
    try:
        return Alarm.from_json(ledger.read(entry).facts)
    except LedgerError:
        return None


def alarm_text(entry: int, alarm: Alarm | None) -> str:
    """An alarm as a sentence; one that is damaged is not passed over."""
    if alarm is None:
        return f"entry {entry} is an alarm and can't be read; run `vladder ledger verify`"
    return alarm.text
