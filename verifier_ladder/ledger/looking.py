"""Looking at the work queue in SQL: checks, requests, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifier_ladder.ledger.asking import ALL, Place, check_rows, request_rows, where
from verifier_ladder.ledger.damage import contained
from verifier_ladder.ledger.records import CheckRow, CheckState, Queued, Request, Vitals, Waiting
from verifier_ladder.ledger.store import IN_LOG, Store, chunks
from verifier_ladder.ledger.workqueue import MOST_LOOKED_AT

if TYPE_CHECKING:
    from sqlalchemy import Connection


def _place(connection: Connection, check_key: bytes) -> Place | None:
    """Where a check stands in the queue; None if it is not there."""
    row = connection.exec_driver_sql(
        "SELECT priority, not_before, id FROM check_queue WHERE check_key = ?", (check_key,)
    ).first()
    return None if row is None else Place(*row)


class SqlLooking(Store):
    """**Abstract:** the part of the SQL ledger that reads the work queue."""

    @contained
    def checks(
        self,
        *,
        states: Sequence[CheckState] | None = None,
        campaign: str | None = None,
        verifier: str | None = None,
        tiers: Sequence[int] | None = None,
        keys: Sequence[bytes] | None = None,
        prefix: str = "",
        after: bytes | None = None,
        limit: int | None = None,
        payloads: bool = True,
    ) -> list[CheckRow]:
        """See `Ledger.checks`."""
        found: list[CheckRow] = []
        with self._reading() as connection:
            place = None if after is None else _place(connection, after)
            if after is not None and place is None:
                return []
            for part in [None] if keys is None else chunks(list(dict.fromkeys(keys))):
                clause, values = where(
                    ("c.state", states), ("c.check_key", part), ("c.tier", tiers),
                    ("c.verifier", None if verifier is None else [verifier]),
                    asked=None if campaign is None else [campaign], prefix=prefix, place=place,
                )  # fmt: skip
                order = " ORDER BY c.priority DESC, c.not_before, c.id LIMIT ?"
                size = ALL if limit is None else limit
                found += check_rows(connection, clause + order, (*values, size), payloads=payloads)
        if keys is not None and len(keys) > 1:
            found.sort(key=lambda row: (-row.priority, row.not_before))
        return found[:limit]

    @contained
    def answered(self, verifier: bytes, limit: int) -> list[CheckRow]:
        """See `Ledger.answered`."""
        newest = "(SELECT coalesce(max(id), 0) FROM check_queue)"
        with self._reading() as connection:
            found = check_rows(
                connection,
                f"WHERE c.state = 3 AND c.digest = ? AND c.id > {newest} - {MOST_LOOKED_AT} "
                "ORDER BY c.id DESC LIMIT ?",
                (verifier, limit),
                payloads=False,
            )
        return found[::-1]

    @contained
    def requests(
        self,
        *,
        campaign: str | None = None,
        check_keys: Sequence[bytes] | None = None,
        final: bool | None = None,
        limit: int | None = None,
    ) -> list[Request]:
        """See `Ledger.requests`."""
        found: list[Request] = []
        with self._reading() as connection:
            for part in [None] if check_keys is None else chunks(list(dict.fromkeys(check_keys))):
                clause, values = where(
                    ("r.campaign", None if campaign is None else [campaign]),
                    ("r.check_key", part),
                )
                if final is not None:
                    ended = "c.state >= 3" if final else "c.state < 3"
                    clause = f"{clause} AND {ended}" if clause else f"WHERE {ended}"
                size = ALL if limit is None else limit
                found += request_rows(connection, clause, values, size)
        return found[:limit]

    @contained
    def counts(self, campaign: str) -> dict[int, dict[CheckState, int]]:
        """See `Ledger.counts`."""
        found: dict[int, dict[CheckState, int]] = {}
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT c.tier, c.state, count(*) FROM asked a JOIN check_queue c "
                "ON c.check_key = a.check_key WHERE a.campaign = ? GROUP BY c.tier, c.state",
                (campaign,),
            ).all()
        for tier, state, count in rows:
            found.setdefault(tier, {})[CheckState(state)] = count
        return found

    @contained
    def parked(self, campaign: str) -> dict[int, int]:
        """See `Ledger.parked`."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT c.tier, count(*) FROM asked a JOIN check_queue c "
                "ON c.check_key = a.check_key "
                "WHERE a.campaign = ? AND c.state = ? AND c.note = 'budget' GROUP BY c.tier",
                (campaign, int(CheckState.QUEUED)),
            ).all()
        return {int(tier): int(count) for tier, count in rows}

    @contained
    def vitals(self, *, now: float) -> Vitals:
        """See `Ledger.vitals`."""
        with self._reading() as connection:
            waiting = connection.exec_driver_sql(
                "SELECT verifier, version, count(*), min(asked_at) FROM check_queue "
                "WHERE state = 0 AND not_before <= ? AND note <> 'budget' "
                "GROUP BY verifier, version",
                (now,),
            ).all()
            dead = connection.exec_driver_sql(
                "SELECT verifier, version, count(*) FROM check_queue WHERE state = 4 "
                "GROUP BY verifier, version"
            ).all()
            ((unsigned, first),) = connection.exec_driver_sql(
                f"SELECT count(*), min(recorded_at) FROM entry WHERE id > ({IN_LOG})"
            ).all()
        return Vitals(
            {(v, n): Waiting(int(count), max(0.0, now - at)) for v, n, count, at in waiting},
            {(verifier, version): int(count) for verifier, version, count in dead},
            int(unsigned), 0.0 if first is None else max(0.0, now - first),
        )  # fmt: skip

    @contained
    def queued(self, *, now: float) -> list[Queued]:
        """See `Ledger.queued`."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT verifier, version, digest, count(*), min(asked_at), "
                "reserve_gpu_seconds > 0 FROM check_queue "
                "WHERE state = 0 AND not_before <= ? AND note <> 'budget' "
                "GROUP BY verifier, version, digest, reserve_gpu_seconds > 0 "
                "ORDER BY min(asked_at)",
                (now,),
            ).all()
        return [
            Queued(name, version, bytes(digest), int(count), max(0.0, now - asked_at), bool(gpu))
            for name, version, digest, count, asked_at, gpu in rows
        ]
