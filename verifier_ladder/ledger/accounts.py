"""Accounts: a campaign's budget per tier and resource; money is reserved before work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verifier_ladder.budget import TOTAL
from verifier_ladder.ledger.protocol import MICRO, Amounts, micro
from verifier_ladder.ledger.records import Account
from verifier_ladder.ledger.store import Store
from verifier_ladder.resource import Resource

if TYPE_CHECKING:
    from sqlalchemy import Connection


# The account of all tiers together exists once it was given a cap, and follows its tiers.
_OF_TIER = f"WHERE campaign = ? AND resource = ? AND tier IN (?, {TOTAL})"
_CPU = Resource.CPU_SECONDS


class Balances:
    """What accounts can still reserve, inside one transaction that holds the write lock.

    Each campaign's accounts are read once and written once, however many checks they pay.
    """

    def __init__(self, connection: Connection) -> None:
        """Begin with what the accounts hold."""
        self._connection = connection
        self._left: dict[str, dict[tuple[int, int], int | None]] = {}
        self._taken: dict[tuple[str, int, int], int] = {}

    def take(self, campaign: str, tier: int, amounts: Amounts) -> bool:
        """Set money aside in every account that is touched, if all their caps allow."""
        if campaign not in self._left:
            self._left[campaign] = self._read(campaign)
        left = self._left[campaign]
        wanted = [
            (place, amount)
            for resource, amount in enumerate(amounts)
            if amount
            for place in ((int(tier), resource), (TOTAL, resource))
        ]
        for place, amount in wanted:
            balance = left.get(place)
            if balance is not None and amount > balance:
                return False
        for place, amount in wanted:
            balance = left.get(place)
            if balance is not None:
                left[place] = balance - amount
            if place[0] != TOTAL:
                name = (campaign, *place)
                self._taken[name] = self._taken.get(name, 0) + amount
        return True

    def _read(self, campaign: str) -> dict[tuple[int, int], int | None]:
        rows = self._connection.exec_driver_sql(
            "SELECT tier, resource, cap - settled - failed - reserved FROM account "
            "WHERE campaign = ?",
            (campaign,),
        )
        return {(tier, resource): left for tier, resource, left in rows}

    def write(self) -> None:
        """Record the reservations; the table itself refuses to pass a cap."""
        for (campaign, tier, resource), amount in self._taken.items():
            _ensure(self._connection, campaign, tier, resource)
            self._connection.exec_driver_sql(
                f"UPDATE account SET reserved = reserved + ? {_OF_TIER}",
                (amount, campaign, resource, tier),
            )


@dataclass(slots=True)
class Bill:
    """What the checks of one tier had reserved, and what they took of it."""

    reserved: list[int] = field(default_factory=lambda: [0] * len(Resource))
    spent: list[int] = field(default_factory=lambda: [0] * len(Resource))
    checks: list[int] = field(default_factory=lambda: [0] * len(Resource))
    """How many checks used some of each resource; all use cpu time."""

    def add(self, reserved: Amounts, spent: Amounts) -> None:
        """Put one more check on the bill."""
        for resource, amount in enumerate(reserved):
            self.reserved[resource] += amount
            self.spent[resource] += spent[resource]
            self.checks[resource] += amount > 0 or resource == _CPU


def settle(connection: Connection, campaign: str, tier: int, bill: Bill, *, failed: bool) -> None:
    """Free reservations and record what was spent of them, never more than was reserved.

    Args:
        connection: The one that writes.
        campaign: Who pays.
        tier: The tier.
        bill: What the checks took.
        failed: Whether there was no answer.
    """
    _ensure(connection, campaign, tier, _CPU)
    for resource, count in enumerate(bill.checks):
        if count:
            cost = bill.spent[resource]
            settled, lost, checks = (0, cost, 0) if failed else (cost, 0, count)
            connection.exec_driver_sql(
                "UPDATE account SET reserved = reserved - ?, settled = settled + ?, "
                f"failed = failed + ?, checks = checks + ? {_OF_TIER}",
                (bill.reserved[resource], settled, lost, checks, campaign, resource, tier),
            )


def free(connection: Connection, campaign: str, tier: int, amounts: Amounts) -> None:
    """Give a reservation back."""
    for resource, amount in enumerate(amounts):
        if amount:
            connection.exec_driver_sql(
                f"UPDATE account SET reserved = reserved - ? {_OF_TIER}",
                (amount, campaign, resource, tier),
            )


def charge(
    connection: Connection, campaign: str, tier: int, amounts: Amounts, checks: int
) -> None:
    """Record spend that needed no reservation; it may pass the cap, for it is spent already."""
    for resource, amount in enumerate(amounts):
        if amount or resource == _CPU:
            _ensure(connection, campaign, tier, resource)
            connection.exec_driver_sql(
                "UPDATE account SET settled = settled + ?1, checks = checks + ?2, "
                "excess = max(excess, settled + ?1 + failed + reserved - ifnull(cap, 0)) "
                f"WHERE campaign = ?3 AND resource = ?4 AND tier IN (?5, {TOTAL})",
                (amount, checks, campaign, resource, tier),
            )


def _ensure(connection: Connection, campaign: str, tier: int, resource: int) -> None:
    connection.exec_driver_sql(
        "INSERT INTO account (campaign, tier, resource) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (campaign, int(tier), int(resource)),
    )


# What is spent already stays spent under a lower cap: that part is the excess. A new account of
# all tiers begins with what they hold; a new account of one tier finds no rows, and with nothing.
_SET_CAP = (
    "INSERT INTO account (campaign, tier, resource, cap, settled, reserved, failed, checks, "
    "excess) SELECT ?1, ?2, ?3, ?4, ifnull(sum(settled), 0), ifnull(sum(reserved), 0), "
    "ifnull(sum(failed), 0), ifnull(sum(checks), 0), "
    "max(0, ifnull(sum(settled + failed + reserved), 0) - ifnull(?4, 0)) "
    f"FROM account WHERE campaign = ?1 AND resource = ?3 AND ?2 = {TOTAL} AND tier <> {TOTAL} "
    "ON CONFLICT (campaign, tier, resource) DO UPDATE SET cap = excluded.cap, excess = "
    "max(0, settled + failed + reserved - ifnull(excluded.cap, 0))"
)


class SqlAccounts(Store):
    """**Abstract:** the budget part of the SQL ledger."""

    def set_caps(self, campaign: str, caps: Mapping[tuple[int, Resource], float | None]) -> None:
        """See `Ledger.set_caps`."""
        rows = [
            (campaign, int(tier), int(resource), None if cap is None else micro(cap, resource))
            for (tier, resource), cap in caps.items()
        ]
        if rows:
            with self._writing() as connection:
                connection.exec_driver_sql(_SET_CAP, rows)

    def accounts(self, campaign: str) -> list[Account]:
        """See `Ledger.accounts`."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT tier, resource, cap, settled, reserved, failed, checks FROM account "
                "WHERE campaign = ? AND (cap IS NOT NULL "
                f"OR tier <> {TOTAL} AND settled + reserved + failed + checks > 0) "
                "ORDER BY tier, resource",
                (campaign,),
            ).all()
        return [_account(row) for row in rows]

    def pause(self, campaign: str, tier: int) -> None:
        """See `Ledger.pause`."""
        with self._writing() as connection:
            connection.exec_driver_sql(
                "INSERT INTO pause (campaign, tier) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (campaign, int(tier)),
            )

    def resume(self, campaign: str, tier: int) -> None:
        """See `Ledger.resume`."""
        with self._writing() as connection:
            connection.exec_driver_sql(
                "DELETE FROM pause WHERE campaign = ? AND tier = ?", (campaign, int(tier))
            )

    def paused(self, campaign: str) -> set[int]:
        """See `Ledger.paused`."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT tier FROM pause WHERE campaign = ?", (campaign,)
            )
            return {tier for (tier,) in rows}


def _account(row: Any) -> Account:
    tier, resource, cap, settled, reserved, failed, checks = row
    return Account(
        tier, Resource(resource), None if cap is None else cap / MICRO, settled / MICRO,
        reserved / MICRO, failed / MICRO, checks,
    )  # fmt: skip
