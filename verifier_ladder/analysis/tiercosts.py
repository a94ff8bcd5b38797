"""Costs of a campaign's tiers: spent, failed, set aside, saved, and how its budgets burn down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from verifier_ladder.budget import TOTAL, place_label
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.summary.records import Summary

_HOUR = 3600.0
_SHORTEST = 60.0
"""Seconds from which on a rate says anything."""


class TierCost(NamedTuple):
    """What a tier took of one resource."""

    tier: str
    """`total` for all together."""
    resource: str
    settled: float
    """Spent on checks that answered."""
    failed: float
    """Spent on attempts that gave no answer."""
    reserved: float
    """Set aside for checks at work."""
    everything: float | None
    """An estimate: what it would have taken of every acceptable candidate; None if unknown."""

    @property
    def spent(self) -> float:
        """Spent on checks that answered and on attempts that did not."""
        return self.settled + self.failed

    @property
    def saved(self) -> float | None:
        """The share of everything that was not spent; None if that is not known, or not less."""
        if self.everything is None or self.everything <= self.spent:
            return None
        return 1.0 - self.spent / self.everything


class Burn(NamedTuple):
    """How far a budget is spent."""

    tier: str
    resource: str
    cap: float
    spent: float
    reserved: float
    rate: float | None
    """Spent in an hour, in the mean of the campaign's time; None while that is too short."""
    lasts: float | None
    """Seconds for which the rest lasts at that rate; None where it is not known."""

    @property
    def share(self) -> float | None:
        """Share of the cap that is spent; None of a cap of nothing."""
        return self.spent / self.cap if self.cap else None


def tier_costs(accounts: Sequence[Account], summary: Summary) -> list[TierCost]:
    """What each tier took of each resource that it uses, and all of them together.

    Args:
        accounts: Those of the campaign.
        summary: What `glance` says of it, for the estimates.
    """
    all_tiers = {account.tier for account in accounts} - {TOTAL}
    lines = [(tier.tier.label, {int(tier.tier)}, tier.everything) for tier in summary.tiers]
    found = []
    for label, tiers, everything in [*lines, ("total", all_tiers, summary.everything)]:
        for resource in Resource:
            own = [a for a in accounts if a.tier in tiers and a.resource is resource]
            estimate = everything.get(resource)
            if own or (estimate and label != "total"):
                found.append(TierCost(
                    label, resource.label, sum(a.settled for a in own),
                    sum(a.failed for a in own), sum(a.reserved for a in own), estimate,
                ))  # fmt: skip
    return found


def burns(accounts: Iterable[Account], seconds: float) -> list[Burn]:
    """How far each budget that has a cap is spent.

    Args:
        accounts: Those of the campaign.
        seconds: From the campaign's first entry to its last.
    """
    found = []
    for account in accounts:
        if account.cap is None:
            continue
        rate = account.spent * _HOUR / seconds if seconds >= _SHORTEST else None
        left = max(0.0, account.cap - account.spent - account.reserved)
        found.append(
            Burn(
                place_label(account.tier), account.resource.label, account.cap, account.spent,
                account.reserved, rate, left * _HOUR / rate if rate else None,
            )
        )  # fmt: skip
    return found
