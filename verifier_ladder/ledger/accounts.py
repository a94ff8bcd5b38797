"""Accounts: a campaign's budget per tier and resource; money is reserved before work.

Whoever changes accounts holds them first, with `Dialect.hold_accounts`, and as the last thing in
its transaction: so none waits for another in a circle, and each waits but shortly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.ledger.accountbook import checked_caps
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.protocol import MICRO, Amounts, micro, micros
from verifier_ladder.ledger.records import Account, Charged, Spend
from verifier_ladder.ledger.schema import NO_DEBTS, WITHIN_CAP
from verifier_ladder.ledger.store import Store
from verifier_ladder.resource import Resource

if TYPE_CHECKING:
    from sqlalchemy import Connection


# The account of all tiers together exists once it was given a cap, and follows its tiers.
_OF_TIER = f"WHERE campaign = ? AND resource = ? AND tier IN (?, {TOTAL})"
_SPEND = (
    "INSERT INTO spend (campaign, run, tier, verifier, version, resource, settled, failed, "
    "checks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (campaign, run, tier, verifier, version, resource) DO UPDATE SET "
    "settled = spend.settled + excluded.settled, failed = spend.failed + excluded.failed, "
    "checks = spend.checks + excluded.checks"
)
_CAP = "coalesce(cap, 0)"
_CPU = Resource.CPU_SECONDS


class Balances:
    """What accounts can still reserve, inside one transaction that holds them.

    Each campaign's accounts are read once and written once, however many checks they pay.
    """

    def __init__(self, connection: Connection) -> None:
        """Begin with what the accounts hold."""
        self._connection = connection
        self._left: dict[str, dict[tuple[int, int], int | None]] = {}
        self._taken: dict[tuple[str, int, int], int] = {}

    def hold(self, campaigns: Collection[str]) -> None:
        """Hold the accounts of more campaigns, and read them.

        Only the first call waits for other transactions; later, those that others hold are left.
        """
        dialect, new = dialect_of(self._connection), set(campaigns) - set(self._left)
        for campaign in dialect.hold_accounts(self._connection, new, wait=not self._left):
            self._left[campaign] = self._read(campaign)

    def take(self, campaign: str, tier: int, amounts: Amounts) -> bool:
        """Set money aside in every account that is touched, if all their caps allow.

        False, too, for a campaign that is not held.
        """
        left = self._left.get(campaign)
        if left is None:
            return False
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
            "SELECT tier, resource, cap - settled - failed - reserved - kept, "
            f"{NO_DEBTS} AND ({WITHIN_CAP}) FROM account WHERE campaign = ?",
            (campaign,),
        )
        # What the table would refuse to change pays for nothing: it must not end others' claims.
        return {
            (tier, resource): left if is_sound else -1 for tier, resource, left, is_sound in rows
        }

    def write(self) -> None:
        """Record the reservations; the table itself refuses to pass a cap."""
        for (campaign, tier, resource), amount in self._taken.items():
            if (tier, resource) not in self._left[campaign]:
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


def settle(
    connection: Connection, campaign: str, run: str, charged: Charged, bill: Bill, *, failed: bool
) -> None:
    """Free reservations and record what was spent of them, never more than was reserved.

    Args:
        connection: The one that writes; it holds the campaign's accounts.
        campaign: Who pays.
        run: Which of its runs asked first.
        charged: Whom.
        bill: What the checks took.
        failed: Whether there was no answer.
    """
    tier = charged.tier
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
            _tell_apart(connection, (campaign, run, *charged, resource), settled, lost, checks)


def free(connection: Connection, campaign: str, tier: int, amounts: Amounts) -> None:
    """Give a reservation back."""
    for resource, amount in enumerate(amounts):
        if amount:
            connection.exec_driver_sql(
                f"UPDATE account SET reserved = reserved - ? {_OF_TIER}",
                (amount, campaign, resource, tier),
            )


def charge(
    connection: Connection, who: tuple[str, str], charged: Charged, amounts: Amounts, checks: int
) -> None:
    """Record spend that needed no reservation; it may pass the cap, for it is spent already."""
    (campaign, run), tier = who, int(charged.tier)
    left = f"settled + CAST(?1 AS BIGINT) + failed + reserved - {_CAP}"
    for resource, amount in enumerate(amounts):
        if amount or resource == _CPU:
            _ensure(connection, campaign, tier, resource)
            connection.exec_driver_sql(
                "UPDATE account SET settled = settled + ?1, checks = checks + ?2, "
                f"excess = CASE WHEN {left} > excess THEN {left} ELSE excess END "
                f"WHERE campaign = ?3 AND resource = ?4 AND tier IN (?5, {TOTAL})",
                (amount, checks, campaign, resource, tier),
            )
            place = (campaign, run, tier, charged.verifier, charged.version, resource)
            _tell_apart(connection, place, amount, 0, checks)


def keep(connection: Connection, campaign: str, kept: Amounts) -> None:
    """Keep back so much of what all tiers together may spend; the accounts are held."""
    for resource, amount in enumerate(kept):
        connection.exec_driver_sql(
            "UPDATE account SET kept = ? "
            f"WHERE campaign = ? AND resource = ? AND tier = {TOTAL} AND kept <> ?",
            (amount, campaign, resource, amount),
        )


def _tell_apart(
    connection: Connection, place: tuple[Any, ...], settled: int, failed: int, checks: int
) -> None:
    """Add to what a run has spent on a verifier in one resource."""
    if settled or failed or checks:
        connection.exec_driver_sql(_SPEND, (*place, settled, failed, checks))


def _ensure(connection: Connection, campaign: str, tier: int, resource: int) -> None:
    connection.exec_driver_sql(
        "INSERT INTO account (campaign, tier, resource) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (campaign, int(tier), int(resource)),
    )


def _positive(amount: str) -> str:
    """SQL: an amount, or 0 where it is negative."""
    return f"CASE WHEN {amount} > 0 THEN {amount} ELSE 0 END"


# What is spent already stays spent under a lower cap: that part is the excess. A new account of
# all tiers begins with what they hold; a new account of one tier finds no rows, and with nothing.
_NEW_CAP = "coalesce(CAST(?4 AS BIGINT), 0)"
_HELD = "account.settled + account.failed + account.reserved"
_SET_CAP = (
    "INSERT INTO account (campaign, tier, resource, cap, settled, reserved, failed, checks, "
    "excess) SELECT ?1, ?2, ?3, CAST(?4 AS BIGINT), coalesce(sum(settled), 0), "
    "coalesce(sum(reserved), 0), coalesce(sum(failed), 0), coalesce(sum(checks), 0), "
    f"{_positive(f'coalesce(sum(settled + failed + reserved), 0) - {_NEW_CAP}')} "
    f"FROM account WHERE campaign = ?1 AND resource = ?3 AND ?2 = {TOTAL} AND tier <> {TOTAL} "
    "ON CONFLICT (campaign, tier, resource) DO UPDATE SET cap = excluded.cap, excess = "
    f"{_positive(f'{_HELD} - coalesce(excluded.cap, 0)')}"
)


class SqlAccounts(Store):
    """**Abstract:** the budget part of the SQL ledger."""

    def set_caps(self, campaign: str, caps: Mapping[tuple[int, Resource], float | None]) -> None:
        """See `Ledger.set_caps`."""
        rows = [
            (campaign, int(tier), int(resource), None if cap is None else micro(cap, resource))
            for (tier, resource), cap in checked_caps(caps).items()
        ]
        if rows:
            with self._writing() as connection:
                dialect_of(connection).hold_accounts(connection, [campaign])
                connection.exec_driver_sql(_SET_CAP, rows)

    def keep(self, campaign: str, kept: Cost) -> None:
        """See `Ledger.keep`."""
        with self._writing() as connection:
            self._database.guard(connection, campaign)
            dialect_of(connection).hold_accounts(connection, [campaign])
            keep(connection, campaign, micros(kept))

    def accounts(self, campaign: str) -> list[Account]:
        """See `Ledger.accounts`."""
        rows = self._ask(
            "SELECT tier, resource, cap, settled, reserved, failed, checks, kept FROM account "
            "WHERE campaign = ? AND (cap IS NOT NULL "
            f"OR tier <> {TOTAL} AND settled + reserved + failed + checks > 0) "
            "ORDER BY tier, resource",
            campaign,
        )
        return [_account(row) for row in rows]

    def spend(self, campaign: str | None = None) -> list[Spend]:
        """See `Ledger.spend`."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT campaign, run, tier, verifier, version, resource, settled, failed, checks "
                "FROM spend WHERE CAST(?1 AS TEXT) IS NULL OR campaign = ?1 "
                "ORDER BY campaign, run, tier, verifier, version, resource",
                (campaign,),
            ).all()
        return [
            Spend(
                name, run, Charged(*charged), Resource(resource), settled / MICRO, failed / MICRO,
                checks,
            )
            for name, run, *charged, resource, settled, failed, checks in rows
        ]  # fmt: skip

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
        rows = self._ask("SELECT tier FROM pause WHERE campaign = ?", campaign)
        return {tier for (tier,) in rows}


def _account(row: Any) -> Account:
    tier, resource, cap, settled, reserved, failed, checks, kept = row
    return Account(
        tier, Resource(resource), None if cap is None else cap / MICRO, settled / MICRO,
        reserved / MICRO, failed / MICRO, checks, kept / MICRO,
    )  # fmt: skip
