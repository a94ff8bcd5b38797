"""Status: where every check of a campaign stands right now, tier by tier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verifier_ladder.budget import TOTAL
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, CampaignRow, CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier


class TierStatus(NamedTuple):
    """The work queue and the budget of one tier."""

    tier: Tier
    queued: int
    """Waiting for a worker."""
    running: int
    waiting: int
    """Open in the world."""
    parked: int
    """Worth doing, but what the budget has left does not pay for it."""
    done: int
    dead: int
    """Failed too often."""
    expired: int
    cap: float | None
    """Budget in cpu-seconds; None if unlimited."""
    settled: float
    reserved: float
    failed: float
    """Cpu-seconds of attempts that gave no answer."""
    paused: bool = False
    """Whether its checks wait until somebody resumes it."""


class CampaignStatus(NamedTuple):
    """Where a campaign stands."""

    name: str
    tiers: list[TierStatus]
    budgets: tuple[Account, ...] = ()
    """The accounts of other resources than cpu time, and of all tiers together."""

    def as_json(self) -> dict[str, Any]:
        """The status as JSON."""
        tiers = [{**t._asdict(), "tier": t.tier.label} for t in self.tiers]
        budgets = [account.as_json() for account in self.budgets]
        return {"name": self.name, "tiers": tiers, "budgets": budgets}


def recorded_campaign(ledger: Ledger, name: str) -> CampaignRow:
    """Find a campaign of a ledger.

    Raises:
        ConfigError: If the ledger holds none of this name.
    """
    row = next(iter(ledger.campaigns(name)), None)
    if row is None:
        known = ", ".join(c.name for c in ledger.campaigns()) or "none"
        raise ConfigError(f"the ledger holds no campaign {name!r}; it holds {known}")
    return row


def tiers_of(row: CampaignRow) -> list[Tier]:
    """The tiers of a campaign's ladder, from cheap to dear."""
    return sorted({Tier.parse(verifier["tier"]) for verifier in row.ladder["verifiers"]})


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where the work queue of a campaign stood."""

    counts: Mapping[int, Mapping[CheckState, int]] = field(default_factory=dict)
    """Checks by tier and state."""
    parked: Mapping[int, int] = field(default_factory=dict)
    """By tier, those that the budget does not pay for."""
    paused: tuple[int, ...] = ()
    """Tiers that start no check."""
    at: float = 0.0
    """When it was looked at; seconds since 1970."""


def read_waiting(ledger: Ledger, campaign: str, *, at: float) -> Waiting:
    """Count the work queue of a campaign; it takes time in proportion to its checks.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        at: The time, in seconds since 1970.
    """
    return Waiting(
        ledger.counts(campaign), ledger.parked(campaign), tuple(sorted(ledger.paused(campaign))),
        at,
    )  # fmt: skip


def campaign_status(ledger: Ledger, name: str, waiting: Waiting | None = None) -> CampaignStatus:
    """Read a campaign's status from the ledger; nothing needs to be running.

    Args:
        ledger: The ledger.
        name: Name of the campaign.
        waiting: Its work queue, if that was counted before.

    Raises:
        ConfigError: If the ledger holds no campaign of this name.
    """
    row = recorded_campaign(ledger, name)
    queue = waiting or read_waiting(ledger, name, at=0.0)
    cpu: dict[int, Account] = {}
    others = []
    for account in ledger.accounts(name):
        if account.resource is Resource.CPU_SECONDS and account.tier != TOTAL:
            cpu[account.tier] = account
        else:
            others.append(account)
    return CampaignStatus(name, [_tier(t, queue, cpu) for t in tiers_of(row)], tuple(others))


def _tier(tier: Tier, queue: Waiting, accounts: Mapping[int, Account]) -> TierStatus:
    unused = Account(int(tier), Resource.CPU_SECONDS, None, 0.0, 0.0, 0.0, 0)
    account = accounts.get(int(tier), unused)
    counts, parked = queue.counts.get(int(tier), {}), queue.parked.get(int(tier), 0)
    done = counts.get(CheckState.DONE, 0)
    return TierStatus(
        tier=tier, queued=max(0, counts.get(CheckState.QUEUED, 0) - parked),
        running=counts.get(CheckState.LEASED, 0), waiting=counts.get(CheckState.WAITING, 0),
        parked=parked, done=account.checks if tier is Tier.FAST else done,
        dead=counts.get(CheckState.DEAD, 0), expired=counts.get(CheckState.EXPIRED, 0),
        cap=account.cap, settled=account.settled, reserved=account.reserved,
        failed=account.failed, paused=int(tier) in queue.paused,
    )  # fmt: skip
