"""Looking at the work queue of the memory ledger: checks, requests, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from verifier_ladder.ledger.memoryaccounts import MemoryAccounts
from verifier_ladder.ledger.protocol import (
    NOTHING,
    PARKED,
    Amounts,
)
from verifier_ladder.ledger.records import (
    CheckRow,
    CheckState,
    Queued,
    Request,
    Vitals,
    Waiting,
)
from verifier_ladder.ledger.workqueue import MOST_LOOKED_AT


@dataclass(slots=True)
class Work:
    """A check of the queue and what only the store knows of it."""

    row: CheckRow
    order: int
    claimed_at: float = 0.0
    seen_at: float = 0.0
    begun_at: float = 0.0
    asked_at: float = 0.0
    reserved: Amounts = NOTHING


class MemoryLooking(MemoryAccounts):
    """**Abstract:** holds the work queue of the memory ledger, and reads it."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self._work: dict[bytes, Work] = {}
        self._open: dict[bytes, Work] = {}
        """Those that have not ended, and some that have just ended."""
        self._asked: dict[str, dict[bytes, None]] = {}
        self._requests: dict[tuple[bytes, str, str, int, int], Request] = {}
        self._inbox: set[tuple[str, str]] = set()
        self._rates: dict[str, float] = {}
        """When the bucket of each rate is full again."""

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
        wanted = None if keys is None else set(keys)
        with self._held():
            all_ever = states is None or any(state.is_final for state in states)
            place = None if after is None else self._work.get(after)
            if after is not None and place is None:
                return []
            found = [
                work
                for work in (self._work if all_ever else self._open).values()
                if (place is None or _urgency(work) > _urgency(place))
                and work.row.check_key.hex().startswith(prefix)
                and (states is None or work.row.state in states)
                and (wanted is None or work.row.check_key in wanted)
                and verifier in {None, work.row.verifier}
                and (tiers is None or work.row.tier in tiers)
                and (campaign is None or self._is_asked(work.row.check_key, [campaign]))
            ]
            rows = [work.row for work in ordered(found)[:limit]]
        return rows if payloads else [row._replace(payload={}) for row in rows]

    def answered(self, verifier: bytes, limit: int) -> list[CheckRow]:
        """See `Ledger.answered`."""
        with self._held():
            newest = islice(reversed(self._work.values()), MOST_LOOKED_AT)
            rows = (work.row for work in newest)
            found = (
                row._replace(payload={})
                for row in rows
                if row.state is CheckState.DONE and row.digest == verifier
            )
            return [*islice(found, limit)][::-1]

    def requests(
        self,
        *,
        campaign: str | None = None,
        check_keys: Sequence[bytes] | None = None,
        final: bool | None = None,
        limit: int | None = None,
    ) -> list[Request]:
        """See `Ledger.requests`."""
        wanted = None if check_keys is None else set(check_keys)
        with self._held():
            found = [
                request
                for request in self._requests.values()
                if campaign in {None, request.campaign}
                and (wanted is None or request.check_key in wanted)
                and final in {None, self._work[request.check_key].row.state.is_final}
            ]
        return found[:limit]

    def counts(self, campaign: str) -> dict[int, dict[CheckState, int]]:
        """See `Ledger.counts`."""
        found: dict[int, dict[CheckState, int]] = {}
        with self._held():
            for key in self._asked.get(campaign, {}):
                row = self._work[key].row
                states = found.setdefault(row.tier, {})
                states[row.state] = states.get(row.state, 0) + 1
        return found

    def parked(self, campaign: str) -> dict[int, int]:
        """See `Ledger.parked`."""
        found: dict[int, int] = {}
        with self._held():
            for key in self._asked.get(campaign, {}):
                row = self._work[key].row
                if row.state is CheckState.QUEUED and row.note == "budget":
                    found[row.tier] = found.get(row.tier, 0) + 1
        return found

    def vitals(self, *, now: float) -> Vitals:
        """See `Ledger.vitals`."""
        with self._held():
            ready = [w for w in self._ready(now) if w.row.note != PARKED]
            dead = [w.row for w in self._work.values() if w.row.state is CheckState.DEAD]
        asked: dict[tuple[str, str], list[float]] = {}
        for work in ready:
            asked.setdefault((work.row.verifier, work.row.version), []).append(work.asked_at)
        return Vitals(
            {name: Waiting(len(at), max(0.0, now - min(at))) for name, at in asked.items()},
            dict(Counter((row.verifier, row.version) for row in dead)), 0, 0.0,
        )  # fmt: skip

    def queued(self, *, now: float) -> list[Queued]:
        """See `Ledger.queued`."""
        with self._held():
            ready = [work for work in self._ready(now) if work.row.note != PARKED]
        found: dict[tuple[str, str, bytes, bool], list[float]] = {}
        for work in ready:
            row = work.row
            name = (row.verifier, row.version, row.digest, row.reserve.gpu_seconds > 0)
            found.setdefault(name, []).append(work.asked_at)
        groups = [
            Queued(*name[:3], len(asked), max(0.0, now - min(asked)), name[3])
            for name, asked in found.items()
        ]
        return sorted(groups, key=lambda group: -group.longest)

    def _ready(self, now: float) -> list[Work]:
        """Checks that may go to work, the most urgent first."""
        # Many thousands have ended where a few are open: what has ended is not looked at again.
        for key in [key for key, work in self._open.items() if work.row.state.is_final]:
            del self._open[key]
        return sorted(
            ordered(
                work for work in self._open.values()
                if work.row.state is CheckState.QUEUED and work.row.not_before <= now
            ),
            key=lambda w: w.row.wanted_until <= now,
        )  # fmt: skip

    def _is_asked(self, check_key: bytes, campaigns: Sequence[str]) -> bool:
        return any(check_key in self._asked.get(campaign, {}) for campaign in campaigns)


def ordered(work: Iterable[Work]) -> list[Work]:
    """The most urgent first."""
    return sorted(work, key=_urgency)


def _urgency(work: Work) -> tuple[float, float, int]:
    return -work.row.priority, work.row.not_before, work.order
