"""Rates in SQL: one row for each name, which whoever takes tokens holds until he has written."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from verifier_ladder.ledger.store import Store
from verifier_ladder.rate import Rate

if TYPE_CHECKING:
    from sqlalchemy import Connection


class SqlRates(Store):
    """**Abstract:** the part of the SQL ledger that keeps rates."""

    def take_tokens(self, rate: Rate, wanted: int, *, now: float) -> tuple[int, float]:
        """See `Ledger.take_tokens`."""
        full_at = self._full_at(rate)
        if rate.tokens(full_at, now) < 1:  # Most ask in vain: they need no lock.
            return 0, rate.due(full_at, now)
        with self._writing(tell=False) as connection:
            full_at = held(connection, rate)
            count = min(wanted, rate.tokens(full_at, now))
            full_at = rate.taken(full_at, now, count)
            write(connection, rate, full_at)
        return count, rate.due(full_at, now)

    def put_off(self, rate: Rate, seconds: float, *, now: float) -> None:
        """See `Ledger.put_off`."""
        with self._writing(tell=False) as connection:
            write(connection, rate, rate.put_off(held(connection, rate), now, seconds))

    def _full_at(self, rate: Rate) -> float:
        """When a rate's bucket is full, at a look that keeps nobody waiting."""
        rows = self._ask("SELECT full_at FROM rate WHERE name = ?", rate.name)
        return _moment(rows[0][0]) if rows else 0.0


def held(connection: Connection, rate: Rate) -> float:
    """Keep a rate from others until the transaction ends; gives when its bucket is full.

    It comes before anything else that waits.
    """
    row = connection.exec_driver_sql(
        "INSERT INTO rate (name, full_at) VALUES (?, 0) "
        "ON CONFLICT (name) DO UPDATE SET full_at = rate.full_at RETURNING full_at",
        (rate.name,),
    ).one()
    return _moment(row[0])


def write(connection: Connection, rate: Rate, full_at: float) -> None:
    """Keep when the bucket of a rate that is held will be full."""
    connection.exec_driver_sql("UPDATE rate SET full_at = ? WHERE name = ?", (full_at, rate.name))


def _moment(found: object) -> float:
    """What a row says; 0, a full bucket, where somebody has written what is no moment."""
    return float(found) if isinstance(found, (int, float)) and isfinite(found) else 0.0
