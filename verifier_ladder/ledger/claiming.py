"""Claiming in SQL: which queued checks a worker gets, and who pays for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.ledger.accounts import Balances
from verifier_ladder.ledger.asking import check_rows, where
from verifier_ladder.ledger.protocol import PARKED, micro
from verifier_ladder.ledger.records import CheckRow, CheckState, Claim
from verifier_ladder.ledger.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection


_SPARE = 16
"""Rows to read beyond the limit, for those of another verifier."""


class Wish(NamedTuple):
    """What a worker is able to work on; None for anything."""

    verifier: tuple[str, str] | None
    tiers: Sequence[int] | None
    campaigns: Sequence[str] | None

    def takes(self, row: CheckRow) -> bool:
        """Whether a check is of the wished verifier."""
        return self.verifier in {None, (row.verifier, row.version)}


class SqlClaiming(Store):
    """**Abstract:** the part of the SQL ledger that leases checks."""

    def claim(
        self,
        *,
        verifier: tuple[str, str] | None = None,
        tiers: Sequence[int] | None = None,
        campaigns: Sequence[str] | None = None,
        owner: str,
        lease: float,
        limit: int,
        now: float,
    ) -> list[Claim]:
        """See `Ledger.claim`."""
        if limit < 1 or not self._anything_ready(now):
            return []
        with self._writing() as connection:
            chosen = _choose(connection, Wish(verifier, tiers, campaigns), now, limit)
            return _lease(connection, chosen, owner, now, now + lease)

    def _anything_ready(self, now: float) -> bool:
        """Look before taking the write lock: workers ask often."""
        with self._reading() as connection:
            found = connection.exec_driver_sql(
                "SELECT 1 FROM check_queue WHERE state = 0 AND not_before <= ? LIMIT 1", (now,)
            )
            return found.first() is not None


def _choose(connection: Connection, wish: Wish, now: float, limit: int) -> list[CheckRow]:
    """The checks to lease, their money reserved; those that can't be paid are parked."""
    balances = Balances(connection)
    chosen: list[CheckRow] = []
    seen: set[bytes] = set()
    size = limit + _SPARE
    while len(chosen) < limit:
        rows = [row for row in _ready(connection, wish, now, size) if row.check_key not in seen]
        if not rows:
            break
        seen.update(row.check_key for row in rows)
        parked = []
        for row in rows:
            if not wish.takes(row) or len(chosen) >= limit:
                continue
            if balances.take(row.campaign, row.tier, micro(row.reserve)):
                wish = wish._replace(verifier=(row.verifier, row.version))  # Only its own now.
                chosen.append(row)
            elif row.note != PARKED:
                parked.append((PARKED, row.check_key))
        if parked:
            connection.exec_driver_sql(
                "UPDATE check_queue SET note = ? WHERE check_key = ?", parked
            )
        size *= 2  # Many that can't be paid must not take many rounds.
    balances.write()
    return chosen


def _ready(connection: Connection, wish: Wish, now: float, limit: int) -> list[CheckRow]:
    """Queued checks in the order of their priority; those parked only if they are affordable."""
    clause, values = where(
        ("c.tier", wish.tiers),
        ("c.verifier", None if wish.verifier is None else [wish.verifier[0]]),
        ("c.version", None if wish.verifier is None else [wish.verifier[1]]),
        asked=wish.campaigns,
    )  # fmt: skip
    return check_rows(
        connection,
        "LEFT JOIN account a ON a.campaign = c.campaign AND a.tier = c.tier "
        f"{clause or 'WHERE 1'} AND c.state = 0 AND c.not_before <= ? "
        f"AND (c.note <> '{PARKED}' OR a.cap IS NULL OR "
        "a.settled + a.failed + a.reserved + round(c.reserve * 1000000) <= a.cap) "
        "ORDER BY c.priority DESC, c.not_before, c.id LIMIT ?",
        (*values, now, limit),
    )


def _lease(
    connection: Connection, rows: Sequence[CheckRow], owner: str, now: float, until: float
) -> list[Claim]:
    if rows:
        connection.exec_driver_sql(
            "UPDATE check_queue SET state = 1, owner = ?, lease_until = ?, fence = fence + 1, "
            "attempt = attempt + 1, note = '', claimed_at = ?, reserved = ? WHERE check_key = ?",
            [(owner, until, now, micro(row.reserve), row.check_key) for row in rows],
        )
    leased = [
        row._replace(
            state=CheckState.LEASED, owner=owner, lease_until=until, fence=row.fence + 1,
            attempt=row.attempt + 1, note="",
        )
        for row in rows
    ]  # fmt: skip
    return [Claim(row, row.fence) for row in leased]
