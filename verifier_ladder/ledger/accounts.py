"""Accounts: a campaign's budget per tier; money is reserved before work and settled after."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from verifier_ladder.ledger.protocol import MICRO, micro
from verifier_ladder.ledger.records import Account
from verifier_ladder.ledger.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection


def reserve(connection: Connection, campaign: str, tier: int, amount: int) -> bool:
    """Set money aside, if the cap allows."""
    _ensure(connection, campaign, tier)
    found = connection.exec_driver_sql(
        "UPDATE account SET reserved = reserved + ?1 WHERE campaign = ?2 AND tier = ?3 "
        "AND (cap IS NULL OR settled + failed + reserved + ?1 <= cap) RETURNING 1",
        (amount, campaign, tier),
    )
    return found.first() is not None


class Balances:
    """What accounts can still reserve, inside one transaction that holds the write lock.

    Each account is read once and written once, however many checks it pays.
    """

    def __init__(self, connection: Connection) -> None:
        """Begin with what the accounts hold."""
        self._connection = connection
        self._left: dict[tuple[str, int], float] = {}
        self._taken: dict[tuple[str, int], int] = {}

    def take(self, campaign: str, tier: int, amount: int) -> bool:
        """Set money aside, if the cap allows."""
        name = (campaign, int(tier))
        if name not in self._left:
            self._left[name] = self._balance(*name)
        if amount > self._left[name]:
            return False
        self._left[name] -= amount
        self._taken[name] = self._taken.get(name, 0) + amount
        return True

    def _balance(self, campaign: str, tier: int) -> float:
        row = self._connection.exec_driver_sql(
            "SELECT cap - settled - failed - reserved FROM account "
            "WHERE campaign = ? AND tier = ?",
            (campaign, tier),
        ).first()
        return inf if row is None or row[0] is None else row[0]

    def write(self) -> None:
        """Record the reservations; the table itself refuses to pass a cap."""
        for (campaign, tier), amount in self._taken.items():
            _ensure(self._connection, campaign, tier)
            self._connection.exec_driver_sql(
                "UPDATE account SET reserved = reserved + ? WHERE campaign = ? AND tier = ?",
                (amount, campaign, tier),
            )


def settle(
    connection: Connection,
    campaign: str,
    tier: int,
    *,
    reserved: int,
    spent: int,
    failed: bool,
    checks: int = 1,
) -> None:
    """Free reservations and record what was spent of them.

    Args:
        connection: The one that writes.
        campaign: Who pays.
        tier: The account's tier.
        reserved: What had been reserved, in microseconds.
        spent: What it took, in microseconds; never more than was reserved.
        failed: Whether there was no answer.
        checks: How many checks that were.
    """
    connection.exec_driver_sql(
        "UPDATE account SET reserved = reserved - ?, settled = settled + ?, "
        "failed = failed + ?, checks = checks + ? WHERE campaign = ? AND tier = ?",
        (reserved, 0 if failed else spent, spent if failed else 0, 0 if failed else checks,
         campaign, tier),
    )  # fmt: skip


def free(connection: Connection, campaign: str, tier: int, amount: int) -> None:
    """Give a reservation back."""
    connection.exec_driver_sql(
        "UPDATE account SET reserved = reserved - ? WHERE campaign = ? AND tier = ?",
        (amount, campaign, tier),
    )


def charge(connection: Connection, campaign: str, tier: int, amount: int, checks: int) -> None:
    """Record spend that needed no reservation; it may pass the cap, for it is spent already."""
    _ensure(connection, campaign, tier)
    connection.exec_driver_sql(
        "UPDATE account SET settled = settled + ?1, checks = checks + ?2, "
        "excess = max(excess, settled + ?1 + failed + reserved - ifnull(cap, 0)) "
        "WHERE campaign = ?3 AND tier = ?4",
        (amount, checks, campaign, tier),
    )


def _ensure(connection: Connection, campaign: str, tier: int) -> None:
    connection.exec_driver_sql(
        "INSERT INTO account (campaign, tier) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (campaign, int(tier)),
    )


class SqlAccounts(Store):
    """**Abstract:** the budget part of the SQL ledger."""

    def set_caps(self, campaign: str, caps: Mapping[int, float | None]) -> None:
        """See `Ledger.set_caps`."""
        rows = [
            (campaign, int(tier), None if cap is None else micro(cap))
            for tier, cap in caps.items()
        ]
        if not rows:
            return
        with self._writing() as connection:
            # What is spent already stays spent under a lower cap: that part is the excess.
            connection.exec_driver_sql(
                "INSERT INTO account (campaign, tier, cap) VALUES (?, ?, ?) "
                "ON CONFLICT (campaign, tier) DO UPDATE SET cap = excluded.cap, excess = "
                "max(0, settled + failed + reserved - ifnull(excluded.cap, 0))",
                rows,
            )

    def accounts(self, campaign: str) -> list[Account]:
        """See `Ledger.accounts`."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT tier, cap, settled, reserved, failed, checks FROM account "
                "WHERE campaign = ? "
                "AND (cap IS NOT NULL OR settled + reserved + failed + checks > 0) "
                "ORDER BY tier",
                (campaign,),
            ).all()
        return [_account(row) for row in rows]


def _account(row: Any) -> Account:
    tier, cap, settled, reserved, failed, checks = row
    return Account(
        tier, None if cap is None else cap / MICRO, settled / MICRO, reserved / MICRO,
        failed / MICRO, checks,
    )  # fmt: skip
