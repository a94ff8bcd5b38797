"""The accounts in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.ledger.accountbook import checked_caps
from verifier_ladder.ledger.protocol import MICRO, Amounts, micro, micros
from verifier_ladder.ledger.records import Account, Charged, CheckRow, Spend
from verifier_ladder.resource import Resource


@dataclass(slots=True)
class Purse:
    """One account, in whole millionths."""

    cap: int | None = None
    settled: int = 0
    reserved: int = 0
    failed: int = 0
    checks: int = 0
    kept: int = 0

    def holds(self, amount: int) -> bool:
        """Whether the cap allows to reserve so much."""
        return self.cap is None or self.total + self.kept + amount <= self.cap

    @property
    def total(self) -> int:
        """Spent and reserved."""
        return self.settled + self.reserved + self.failed


class MemoryAccounts:
    """**Abstract:** the budget part of the memory ledger."""

    if TYPE_CHECKING:

        def _held(self, *, tell: bool = False) -> AbstractContextManager[None]: ...

    def __init__(self) -> None:
        """Start empty."""
        self._purses: dict[tuple[str, int, int], Purse] = {}
        self._paused: set[tuple[str, int]] = set()
        self._spent: dict[tuple[str, str, Charged, int], list[int]] = {}

    def set_caps(self, campaign: str, caps: Mapping[tuple[int, Resource], float | None]) -> None:
        """See `Ledger.set_caps`."""
        amounts = {
            (int(tier), int(resource)): None if cap is None else micro(cap, resource)
            for (tier, resource), cap in checked_caps(caps).items()
        }
        with self._held(tell=True):
            for (tier, resource), amount in amounts.items():
                if tier == TOTAL and (campaign, TOTAL, resource) not in self._purses:
                    self._purses[campaign, TOTAL, resource] = self._together(campaign, resource)
                self._purse(campaign, tier, resource).cap = amount

    def _together(self, campaign: str, resource: int) -> Purse:
        """What all tiers have spent and reserved so far."""
        made = Purse()
        for (name, _, kind), purse in self._purses.items():
            if (name, kind) == (campaign, resource):
                made.settled += purse.settled
                made.reserved += purse.reserved
                made.failed += purse.failed
                made.checks += purse.checks
        return made

    def keep(self, campaign: str, kept: Cost) -> None:
        """See `Ledger.keep`."""
        with self._held(tell=True):
            self._keep(campaign, kept)

    def _keep(self, campaign: str, kept: Cost) -> None:
        for resource, amount in enumerate(micros(kept)):
            if (purse := self._purses.get((campaign, TOTAL, resource))) is not None:
                purse.kept = amount

    def accounts(self, campaign: str) -> list[Account]:
        """See `Ledger.accounts`."""
        with self._held():
            purses = sorted(
                (key[1:], purse) for key, purse in self._purses.items() if key[0] == campaign
            )
            return [
                Account(
                    tier, Resource(resource), None if purse.cap is None else purse.cap / MICRO,
                    purse.settled / MICRO, purse.reserved / MICRO, purse.failed / MICRO,
                    purse.checks, purse.kept / MICRO,
                )
                for (tier, resource), purse in purses
                if purse.cap is not None or (tier != TOTAL and purse != Purse())
            ]  # fmt: skip

    def spend(self, campaign: str | None = None) -> list[Spend]:
        """See `Ledger.spend`."""
        with self._held():
            rows = sorted(item for item in self._spent.items() if campaign in {None, item[0][0]})
        return [
            Spend(name, run, charged, Resource(resource), settled / MICRO, failed / MICRO, checks)
            for (name, run, charged, resource), (settled, failed, checks) in rows
        ]

    def pause(self, campaign: str, tier: int) -> None:
        """See `Ledger.pause`."""
        with self._held(tell=True):
            self._paused.add((campaign, int(tier)))

    def resume(self, campaign: str, tier: int) -> None:
        """See `Ledger.resume`."""
        with self._held(tell=True):
            self._paused.discard((campaign, int(tier)))

    def paused(self, campaign: str) -> set[int]:
        """See `Ledger.paused`."""
        with self._held():
            return {tier for name, tier in self._paused if name == campaign}

    def _purse(self, campaign: str, tier: int, resource: int) -> Purse:
        return self._purses.setdefault((campaign, int(tier), int(resource)), Purse())

    def _touched(self, campaign: str, tier: int, resource: int) -> Iterator[Purse]:
        """The purses that a check of a tier pays from."""
        yield self._purse(campaign, tier, resource)
        total = self._purses.get((campaign, TOTAL, int(resource)))
        if total is not None:
            yield total

    def _take(self, campaign: str, tier: int, amounts: Amounts) -> bool:
        """Reserve from every purse that is touched, if all their caps allow."""
        if not self._can_take(campaign, tier, amounts):
            return False
        for purse, amount in self._wanted_of(campaign, tier, amounts):
            purse.reserved += amount
        return True

    def _can_take(self, campaign: str, tier: int, amounts: Amounts) -> bool:
        """Whether all caps allow to reserve so much."""
        wanted = self._wanted_of(campaign, tier, amounts)
        return all(purse.holds(amount) for purse, amount in wanted)

    def _wanted_of(self, campaign: str, tier: int, amounts: Amounts) -> list[tuple[Purse, int]]:
        return [
            (purse, amount)
            for resource, amount in enumerate(amounts)
            if amount
            for purse in self._touched(campaign, tier, resource)
        ]

    def _put_back(self, campaign: str, tier: int, amounts: Amounts) -> None:
        """Give a reservation back."""
        for resource, amount in enumerate(amounts):
            if amount:
                for purse in self._touched(campaign, tier, resource):
                    purse.reserved -= amount

    def _spend(self, row: CheckRow, reserved: Amounts, cost: Amounts, *, failed: bool) -> None:
        """Free a check's reservation and record what it took."""
        campaign, tier = row.campaign, row.tier
        charged = Charged(tier, row.verifier, row.version)
        self._put_back(campaign, tier, reserved)
        for resource, amount in enumerate(cost):
            if reserved[resource] or resource == Resource.CPU_SECONDS:
                told = (0, amount, 0) if failed else (amount, 0, 1)
                self._tell_apart(campaign, row.run, charged, resource, told)
                for purse in self._touched(campaign, tier, resource):
                    if failed:
                        purse.failed += amount
                    else:
                        purse.settled += amount
                        purse.checks += 1

    def _tell_apart(
        self, campaign: str, run: str, charged: Charged, resource: int, told: tuple[int, int, int]
    ) -> None:
        """Add to what a run has spent on a verifier: settled, failed, checks."""
        if not any(told):
            return
        sums = self._spent.setdefault((campaign, run, charged, resource), [0, 0, 0])
        sums[:] = [had + more for had, more in zip(sums, told, strict=True)]

    def _amounts(
        self, charges: Mapping[Charged, tuple[Cost, int]]
    ) -> dict[Charged, tuple[Amounts, int]]:
        return {charged: (micros(cost), checks) for charged, (cost, checks) in charges.items()}

    def _charge(
        self, campaign: str, run: str, charges: Mapping[Charged, tuple[Amounts, int]]
    ) -> None:
        for charged, (amounts, checks) in charges.items():
            for resource, amount in enumerate(amounts):
                if amount or resource == Resource.CPU_SECONDS:
                    self._tell_apart(campaign, run, charged, resource, (amount, 0, checks))
                    for purse in self._touched(campaign, charged.tier, resource):
                        purse.settled += amount
                        purse.checks += checks
