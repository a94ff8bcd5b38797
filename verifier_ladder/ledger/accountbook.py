"""The contract of a ledger's accounts: caps, what was reserved and spent, and by whom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import product
from numbers import Real

from verifier_ladder.budget import TOTAL, Caps
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.records import Account, Spend
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier


class AccountBook(ABC):
    """**Abstract:** what campaigns may spend, and have spent."""

    @abstractmethod
    def set_caps(self, campaign: str, caps: Mapping[tuple[int, Resource], float | None]) -> None:
        """Set caps, in units of the resource; None lifts one. Spend is kept.

        Args:
            campaign: Who pays.
            caps: By tier, or `budget.TOTAL` for all tiers together, and resource.

        Raises:
            ConfigError: If one is of no tier or resource, or is no number.
            LedgerError: If one is negative, not finite, or too large.
        """

    @abstractmethod
    def accounts(self, campaign: str) -> list[Account]:
        """The accounts that have a cap or have spent, in the order of tier and resource.

        settled + failed + reserved ≤ cap. What all tiers spent together is an account only if
        that has a cap.
        """

    @abstractmethod
    def keep(self, campaign: str, kept: Cost) -> None:
        """Keep so much of the caps of all tiers together from whoever reserves from now on.

        It is there for the fast tier, whose spend is charged by `append` without a reservation.
        What is reserved already stays so.
        """

    @abstractmethod
    def spend(self, campaign: str | None = None) -> list[Spend]:
        """What was spent, by the run that asked first, by verifier and by resource.

        For every campaign, tier and resource the sums are those of its account. What was spent
        before a ledger knew who asked stands under an empty run and verifier.

        Args:
            campaign: Who pays; None for all campaigns.
        """

    @abstractmethod
    def pause(self, campaign: str, tier: int) -> None:
        """Have `claim` pass over the campaign's checks of a tier, unless others pay for them.

        Checks that run go on, and cases stay open. Pausing twice changes nothing.
        """

    @abstractmethod
    def resume(self, campaign: str, tier: int) -> None:
        """Have a paused tier's checks claimed again."""

    @abstractmethod
    def paused(self, campaign: str) -> set[int]:
        """The tiers that are paused."""


def checked_caps(caps: Mapping[tuple[int, Resource], float | None]) -> Caps:
    """Caps as they were given; a wrong one would stand in the ledger, where each reader meets it.

    Raises:
        ConfigError: If one is of no tier or resource, or is no number.
    """
    for place, cap in caps.items():
        if not _is_place(place):
            raise ConfigError(
                f"Ledger.set_caps: caps={{{place!r:.60}: …}}: give each by tier and resource, as "
                "(Tier.SIMULATION, Resource.CPU_SECONDS), or (budget.TOTAL, …) for all tiers"
            )
        if not _is_cap(cap):
            raise ConfigError(f"Ledger.set_caps: caps={{…: {cap!r:.60}}}: give a number or None")
    return dict(caps)


def _is_cap(cap: object) -> bool:
    return cap is None or (isinstance(cap, Real) and not isinstance(cap, bool))


def _is_place(place: object) -> bool:
    kinds = tuple(map(type, place)) if isinstance(place, tuple) else ()
    if kinds not in set(product((int, Tier), (int, Resource))):
        return False
    return place in set(product((TOTAL, *Tier), Resource))
