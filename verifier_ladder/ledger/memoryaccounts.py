"""The accounts in memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verifier_ladder.ledger.protocol import MICRO, micro
from verifier_ladder.ledger.records import Account


@dataclass(slots=True)
class Purse:
    """One account, in microseconds."""

    cap: int | None = None
    settled: int = 0
    reserved: int = 0
    failed: int = 0
    checks: int = 0

    def take(self, amount: int) -> bool:
        """Reserve, if the cap allows."""
        total = self.settled + self.reserved + self.failed + amount
        if self.cap is not None and total > self.cap:
            return False
        self.reserved += amount
        return True


class MemoryAccounts:
    """**Abstract:** the budget part of the memory ledger."""

    if TYPE_CHECKING:

        def _held(self, *, tell: bool = False) -> AbstractContextManager[None]: ...

    def __init__(self) -> None:
        """Start empty."""
        self._purses: dict[tuple[str, int], Purse] = {}

    def set_caps(self, campaign: str, caps: Mapping[int, float | None]) -> None:
        """See `Ledger.set_caps`."""
        amounts = {tier: None if cap is None else micro(cap) for tier, cap in caps.items()}
        with self._held(tell=True):
            for tier, amount in amounts.items():
                self._purse(campaign, tier).cap = amount

    def accounts(self, campaign: str) -> list[Account]:
        """See `Ledger.accounts`."""
        with self._held():
            purses = sorted(
                (key[1], purse) for key, purse in self._purses.items() if key[0] == campaign
            )
            return [
                Account(
                    tier, None if purse.cap is None else purse.cap / MICRO,
                    purse.settled / MICRO, purse.reserved / MICRO, purse.failed / MICRO,
                    purse.checks,
                )
                for tier, purse in purses
                if purse != Purse()
            ]  # fmt: skip

    def _purse(self, campaign: str, tier: int) -> Purse:
        return self._purses.setdefault((campaign, int(tier)), Purse())

    def _amounts(self, charges: Mapping[int, tuple[float, int]]) -> dict[int, tuple[int, int]]:
        return {tier: (micro(seconds), n) for tier, (seconds, n) in charges.items()}

    def _charge(self, campaign: str, amounts: Mapping[int, tuple[int, int]]) -> None:
        for tier, (amount, checks) in amounts.items():
            purse = self._purse(campaign, tier)
            purse.settled += amount
            purse.checks += checks
