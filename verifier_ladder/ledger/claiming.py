"""Claiming in SQL: which queued checks a worker gets, and who pays for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.ledger.accounts import Balances
from verifier_ladder.ledger.asking import check_rows, where
from verifier_ladder.ledger.damage import contained
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.holding import change
from verifier_ladder.ledger.protocol import PARKED, Amounts, micros
from verifier_ladder.ledger.rates import SqlRates, held, write
from verifier_ladder.ledger.records import CheckRow, CheckState, Claim
from verifier_ladder.ledger.schema import RESERVE, RESERVED
from verifier_ladder.ledger.store import chunks, marks
from verifier_ladder.ledger.workqueue import any_check
from verifier_ladder.memory import cuts
from verifier_ladder.rate import Rate

if TYPE_CHECKING:
    from sqlalchemy import Connection


_PAUSED = "SELECT campaign, tier FROM pause"
_SPARE = 16
"""Rows to read beyond the limit, for those of another verifier."""


class Wish(NamedTuple):
    """What a worker is able to work on; None for anything."""

    verifier: bytes | None
    """Digest."""
    tiers: Sequence[int] | None
    campaigns: Sequence[str] | None
    of_it: Callable[[CheckRow], bool]
    in_turn: bool
    gpu: bool | None
    room: float
    """Bytes of candidates."""

    def takes(self, row: CheckRow) -> bool:
        """Whether a check is of the wished verifier, and one that can be run."""
        return self.verifier in {None, row.digest} and self.of_it(row)

    def is_alone(self, row: CheckRow) -> bool:
        """Whether a check is claimed without others: it may have ended its last worker."""
        return self.in_turn and row.attempt > 0


class Payer(NamedTuple):
    """Who pays for a check."""

    campaign: str
    run: str
    """The run of the campaign that asked first."""


class SqlClaiming(SqlRates):
    """**Abstract:** the part of the SQL ledger that leases checks."""

    @contained
    def claim(
        self,
        *,
        verifier: bytes | None = None,
        tiers: Sequence[int] | None = None,
        campaigns: Sequence[str] | None = None,
        owner: str,
        lease: float,
        limit: int,
        now: float,
        reserve: Callable[[CheckRow], Cost] = attrgetter("reserve"),
        takes: Callable[[CheckRow], bool] = any_check,
        in_turn: bool = False,
        rate: Rate | None = None,
        gpu: bool | None = None,
        room: float = inf,
    ) -> list[Claim]:
        """See `Ledger.claim`."""
        if limit < 1 or not self._anything_ready(now):
            return []
        if rate is not None and rate.tokens(self._full_at(rate), now) < 1:
            return []
        with self._writing() as connection:
            wish = Wish(verifier, tiers, campaigns, takes, in_turn=in_turn, gpu=gpu, room=room)
            full_at = 0.0
            if rate is not None:
                full_at = held(connection, rate)
                limit = min(limit, rate.tokens(full_at, now))
            chosen = _choose(connection, wish, now, limit, reserve)
            if rate is not None and chosen:
                write(connection, rate, rate.taken(full_at, now, len(chosen)))
            return _lease(connection, chosen, owner, now, now + lease, in_turn=in_turn)

    def due(
        self, *, verifier: bytes, rate: Rate | None, now: float, gpu: bool | None = None
    ) -> float | None:
        """See `Ledger.due`."""
        ready = f"c.state = 0 AND c.digest = ? AND c.not_before <= ? AND {_WANTED}{_LANES[gpu]}"
        if not self._ask(f"SELECT 1 FROM check_queue c WHERE {ready} LIMIT 1", verifier, now):
            return None
        return now if rate is None else max(now, rate.due(self._full_at(rate), now))

    def _anything_ready(self, now: float) -> bool:
        """Look before taking the write lock: workers ask often."""
        return bool(
            self._ask("SELECT 1 FROM check_queue WHERE state = 0 AND not_before <= ? LIMIT 1", now)
        )


def _choose(
    connection: Connection, wish: Wish, now: float, limit: int,
    reserve: Callable[[CheckRow], Cost],
) -> list[tuple[CheckRow, Payer, Amounts]]:  # fmt: skip
    """The checks to lease, who pays, and what is reserved; what can't be paid is parked."""
    balances = Balances(connection)
    paused = {(name, tier) for name, tier in connection.exec_driver_sql(_PAUSED).all()}
    chosen: list[tuple[CheckRow, Payer, Amounts]] = []
    parked: list[bytes] = []
    room = wish.room
    for sizes in _pieces(connection, wish, now, limit + _SPARE):
        if chosen and next(iter(sizes.values())) > room:
            break
        rows = _rows(connection, list(sizes))
        payers = _payers(connection, rows, paused)
        balances.hold({payer.campaign for each in payers.values() for payer in each})
        for row in rows:
            is_full = chosen and (sizes[row.check_key] > room or wish.is_alone(row))
            if not wish.takes(row) or len(chosen) >= limit or is_full:
                continue
            amounts = micros(reserve(row))
            willing = (
                payer
                for payer in payers[row.check_key]
                if balances.take(payer.campaign, row.tier, amounts)
            )
            payer = next(willing, None)
            if payer is not None:
                wish = wish._replace(verifier=row.digest)  # Only its own now.
                limit = 1 if wish.is_alone(row) else limit
                room -= sizes[row.check_key]
                chosen.append((row, payer, amounts))
            elif row.note != PARKED:
                parked.append(row.check_key)
        if len(chosen) >= limit:
            break
    if parked:
        change(connection, parked, f"note = '{PARKED}'")
    balances.write()
    return chosen


def _pieces(
    connection: Connection, wish: Wish, now: float, size: int
) -> Iterator[dict[bytes, int]]:
    """Queued checks in order, as far as there is room for their rows at once; bytes of each.

    Args:
        connection: The one that writes.
        wish: What the worker is able to work on.
        now: Seconds since 1970.
        size: How many are looked for first; many that can't be paid must not take many rounds.
    """
    seen: set[bytes] = set()
    while True:
        found = _ready(connection, wish, now, size)
        new = {key: bytes_ for key, bytes_ in found.items() if key not in seen}
        keys = list(new)
        for part in cuts(list(new.values()), wish.room):
            yield {key: new[key] for key in keys[part]}
        if len(found) < size:
            return
        seen |= new.keys()
        size *= 2


def _payers(
    connection: Connection, rows: Sequence[CheckRow], paused: Collection[tuple[str, int]]
) -> dict[bytes, list[Payer]]:
    """Who may pay for each check, unless it has paused the tier: who does so far, or who waits."""
    wanted = {row.check_key: {row.campaign: row.run} for row in rows}
    for part in chunks(list(wanted)):
        waiting = connection.exec_driver_sql(
            "SELECT check_key, campaign, run FROM request "
            f"WHERE check_key IN ({marks(len(part))}) ORDER BY id",
            tuple(part),
        )
        for key, name, run in waiting:
            wanted[key].setdefault(name, run)
    return {
        row.check_key: [
            Payer(*each) for each in wanted[row.check_key].items()
            if (each[0], row.tier) not in paused
        ]
        for row in rows
    }  # fmt: skip


_NEED = " ".join(f"WHEN {code} THEN c.{name}" for code, name in enumerate(RESERVE))
_NEEDED = f"round(1000000 * CASE a.resource {_NEED} END)"


def _willing(campaign: str) -> str:
    """SQL: a campaign has not paused the tier of a check and, if it is parked, can pay for it."""
    return (
        f"NOT EXISTS (SELECT 1 FROM pause z WHERE z.campaign = {campaign} AND z.tier = c.tier) "
        f"AND NOT (c.note = '{PARKED}' AND EXISTS (SELECT 1 FROM account a "
        f"WHERE a.campaign = {campaign} AND a.tier IN (c.tier, {TOTAL}) AND {_NEEDED} > 0 "
        f"AND a.settled + a.failed + a.reserved + a.kept + {_NEEDED} > a.cap))"
    )


_WANTED = (
    f"({_willing('c.campaign')} OR EXISTS (SELECT 1 FROM request r WHERE r.check_key = "
    f"c.check_key AND r.campaign <> c.campaign AND {_willing('r.campaign')}))"
)


_LANES: Mapping[bool | None, str] = {
    None: "", True: " AND c.reserve_gpu_seconds > 0", False: " AND c.reserve_gpu_seconds = 0",
}  # fmt: skip
"""SQL: whether a check takes some of a GPU, by what the worker has."""
_URGENT = "AND c.wanted_until > 0 AND c.wanted_until > ? "
"""SQL: a learner waits for it. The first half is that of the index."""


def _ready(connection: Connection, wish: Wish, now: float, limit: int) -> dict[bytes, int]:
    """Queued checks in the order of their priority; those parked only if they are affordable.

    They are not read yet, for their candidates may be long: only how many bytes each has.
    """
    clause, values = where(
        ("c.tier", wish.tiers),
        ("c.digest", None if wish.verifier is None else [wish.verifier]),
        asked=wish.campaigns,
    )  # fmt: skip
    ready = (
        f"SELECT c.check_key, length(c.payload) FROM check_queue c {clause or 'WHERE true'} "
        "AND c.state = 0 AND c.not_before <= ? "
        f"AND {_WANTED}{_LANES[wish.gpu]} "
    )
    order = "ORDER BY c.priority DESC, c.not_before, c.id LIMIT ?" + dialect_of(connection).skipped
    urgent = connection.exec_driver_sql(f"{ready}{_URGENT}{order}", (*values, now, now, limit))
    found = {key: int(bytes_) for key, bytes_ in urgent}
    if len(found) < limit:
        rest = connection.exec_driver_sql(ready + order, (*values, now, limit))
        found |= {key: int(bytes_) for key, bytes_ in rest if key not in found}
    return found


def _rows(connection: Connection, keys: Sequence[bytes]) -> list[CheckRow]:
    """Checks in the order of their keys."""
    rows: dict[bytes, CheckRow] = {}
    for part in chunks(list(keys)):
        clause = f"WHERE c.check_key IN ({marks(len(part))})"
        rows |= {row.check_key: row for row in check_rows(connection, clause, tuple(part))}
    return [rows[key] for key in keys]


def _lease(
    connection: Connection,
    chosen: Sequence[tuple[CheckRow, Payer, Amounts]],
    owner: str,
    now: float,
    until: float,
    *,
    in_turn: bool,
) -> list[Claim]:
    count = len(chosen)
    reserved = zip(*(amounts for _, _, amounts in chosen), strict=True)
    change(
        connection, [row.check_key for row, _, _ in chosen],
        "state = 1, fence = fence + 1, attempt = attempt + 1, note = ''",
        owner=[owner] * count, lease_until=[until] * count, claimed_at=[now] * count,
        seen_at=[now] * count,
        begun_at=[0.0 if in_turn and place else now for place in range(count)],
        campaign=[payer.campaign for _, payer, _ in chosen],
        run=[payer.run for _, payer, _ in chosen],
        **dict(zip(RESERVED, reserved, strict=False)),
    )  # fmt: skip
    leased = [
        row._replace(
            state=CheckState.LEASED, owner=owner, lease_until=until, fence=row.fence + 1,
            attempt=row.attempt + 1, note="", campaign=payer.campaign, run=payer.run,
        )
        for row, payer, _ in chosen
    ]  # fmt: skip
    return [Claim(row, row.fence) for row in leased]
