"""Claiming in SQL: which queued checks a worker gets, and who pays for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.ledger.accounts import reserve
from verifier_ladder.ledger.asking import check_rows, where
from verifier_ladder.ledger.protocol import micro
from verifier_ladder.ledger.records import Claim
from verifier_ladder.ledger.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection


class Wish(NamedTuple):
    """What a worker is able to work on; None for anything."""

    verifier: tuple[str, str] | None
    tiers: Sequence[int] | None
    campaigns: Sequence[str] | None

    def takes(self, row: Any) -> bool:
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
        if not self._anything_ready(now):
            return []
        wish = Wish(verifier, tiers, campaigns)
        claims: list[Claim] = []
        seen: set[int] = set()
        with self._writing() as connection:
            while len(claims) < limit:
                rows = _ready(connection, wish, now, limit)
                fresh = [row for row in rows if row.id not in seen]
                if not fresh:
                    break
                for row in fresh:
                    seen.add(row.id)
                    if not wish.takes(row) or len(claims) >= limit:
                        continue
                    claim = _lease(connection, row, owner, now, now + lease)
                    if claim is not None:  # From now on only this verifier's.
                        wish = wish._replace(verifier=(row.verifier, row.version))
                        claims.append(claim)
        return claims

    def _anything_ready(self, now: float) -> bool:
        """Look before taking the write lock: workers ask often."""
        with self._reading() as connection:
            found = connection.exec_driver_sql(
                "SELECT 1 FROM check_queue WHERE state = 0 AND not_before <= ? LIMIT 1", (now,)
            )
            return found.first() is not None


def _ready(connection: Connection, wish: Wish, now: float, limit: int) -> list[Any]:
    """Queued checks in the order of their priority; those parked only if they are affordable."""
    clause, values = where(
        ("c.tier", wish.tiers),
        ("c.verifier", None if wish.verifier is None else [wish.verifier[0]]),
        ("c.version", None if wish.verifier is None else [wish.verifier[1]]),
        asked=wish.campaigns,
    )  # fmt: skip
    ready = (
        "c.state = 0 AND c.not_before <= ? AND (c.note <> 'budget' OR a.cap IS NULL OR "
        "a.settled + a.failed + a.reserved + round(c.reserve * 1000000) <= a.cap)"
    )
    return list(
        connection.exec_driver_sql(
            "SELECT c.* FROM check_queue c LEFT JOIN account a "
            "ON a.campaign = c.campaign AND a.tier = c.tier "
            f"{clause or 'WHERE 1'} AND {ready} "
            "ORDER BY c.priority DESC, c.not_before, c.id LIMIT ?",
            (*values, now, limit + 16),
        ).all()
    )


def _lease(connection: Connection, row: Any, owner: str, now: float, until: float) -> Claim | None:
    """Reserve the money and lease the check; or park it until the budget allows."""
    amount = micro(row.reserve)
    if not reserve(connection, row.campaign, row.tier, amount):
        connection.exec_driver_sql(
            "UPDATE check_queue SET note = 'budget' WHERE id = ? AND note <> 'budget'", (row.id,)
        )
        return None
    connection.exec_driver_sql(
        "UPDATE check_queue SET state = 1, owner = ?, lease_until = ?, fence = fence + 1, "
        "attempt = attempt + 1, note = '', claimed_at = ?, reserved = ? WHERE id = ?",
        (owner, until, now, amount, row.id),
    )
    (check,) = check_rows(connection, "WHERE c.id = ?", (row.id,))
    return Claim(check, check.fence)
