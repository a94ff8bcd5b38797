"""Status: where every check of a campaign stands right now, tier by tier."""

from __future__ import annotations

from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, CheckState
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
    """Worth doing, but the budget is spent."""
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


class CampaignStatus(NamedTuple):
    """Where a campaign stands."""

    name: str
    tiers: list[TierStatus]

    def as_json(self) -> dict[str, Any]:
        """The status as JSON."""
        tiers = [{**t._asdict(), "tier": t.tier.label} for t in self.tiers]
        return {"name": self.name, "tiers": tiers}


def campaign_status(ledger: Ledger, name: str) -> CampaignStatus:
    """Read a campaign's status from the ledger; nothing needs to be running.

    Raises:
        ConfigError: If the ledger holds no campaign of this name.
    """
    row = next((c for c in ledger.campaigns() if c.name == name), None)
    if row is None:
        known = ", ".join(c.name for c in ledger.campaigns()) or "none"
        raise ConfigError(f"the ledger holds no campaign {name!r}; it holds {known}")
    tiers = sorted({Tier.parse(v["tier"]) for v in row.ladder["verifiers"]})
    counts = ledger.counts(name)
    accounts = {account.tier: account for account in ledger.accounts(name)}
    parked = ledger.parked(name)
    return CampaignStatus(
        name, [_tier(t, counts.get(int(t), {}), parked.get(int(t), 0), accounts) for t in tiers]
    )


def _tier(
    tier: Tier, counts: dict[CheckState, int], parked: int, accounts: dict[int, Account]
) -> TierStatus:
    account = accounts.get(int(tier), Account(int(tier), None, 0.0, 0.0, 0.0, 0))
    done = counts.get(CheckState.DONE, 0)
    return TierStatus(
        tier=tier, queued=max(0, counts.get(CheckState.QUEUED, 0) - parked),
        running=counts.get(CheckState.LEASED, 0), waiting=counts.get(CheckState.WAITING, 0),
        parked=parked, done=account.checks if tier is Tier.FAST else done,
        dead=counts.get(CheckState.DEAD, 0), expired=counts.get(CheckState.EXPIRED, 0),
        cap=account.cap, settled=account.settled, reserved=account.reserved,
        failed=account.failed,
    )  # fmt: skip
