"""Asking for checks in SQL: checks enter the queue or are joined, samples wait for them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.damage import check_types
from verifier_ladder.ledger.dialect import Columns, dialect_of
from verifier_ladder.ledger.protocol import UNWANTED, asked_by
from verifier_ladder.ledger.records import CheckRow, CheckState, Request
from verifier_ladder.ledger.schema import RESERVE
from verifier_ladder.ledger.store import marks
from verifier_ladder.ledger.values import dumps, read_object
from verifier_ladder.memory import PIECE, cuts, share, weigh, written

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LOG = logging.getLogger("verifier_ladder")
ALL = 2**62
"""More rows than there are."""
_LONG = 256
"""Characters from which on a text is worth looking for its like."""
_FIRST_PAGE = 16
"""Requests that are read together before it is known how long they are."""
_OF_WHO_ASKS = (
    "content_key", "verifier", "version", "digest", "tier", "campaign", "run", "asked_at",
    *RESERVE, "payload", "deadline", "attempt", "state",
)  # fmt: skip
_JOIN = (
    "ON CONFLICT (check_key) DO UPDATE SET "
    "priority = CASE WHEN check_queue.state >= 4 OR "
    "check_queue.state < 3 AND excluded.priority > check_queue.priority "
    "THEN excluded.priority ELSE check_queue.priority END, "
    "wanted_until = CASE WHEN check_queue.state >= 4 OR "
    "excluded.wanted_until > check_queue.wanted_until "
    "THEN excluded.wanted_until ELSE check_queue.wanted_until END, "
    # Beyond 1e300 is infinity: a held check goes to work once it is asked for and not held.
    "not_before = CASE WHEN check_queue.state >= 4 OR check_queue.not_before > 1e300 "
    "THEN excluded.not_before ELSE check_queue.not_before END, "
    # Somebody waits for it again.
    f"note = CASE WHEN check_queue.state >= 4 OR check_queue.note = '{UNWANTED}' "
    "THEN excluded.note ELSE check_queue.note END, "
    # Who asks for a check that has ended without an answer pays for it from now on.
    + ", ".join(
        f"{name} = CASE WHEN check_queue.state >= 4 THEN excluded.{name} "
        f"ELSE check_queue.{name} END"
        for name in _OF_WHO_ASKS
    )
)
_COLUMNS = (
    "check_key", "content_key", "campaign", "verifier", "version", "tier", "state", "priority",
    *RESERVE, "payload", "not_before", "deadline", "owner", "lease_until", "fence", "attempt",
    "note", "run", "wanted_until", "digest",
)  # fmt: skip
_CHECK = f"SELECT {', '.join(f'c.{name}' for name in _COLUMNS)} FROM check_queue c "
_BARE_CHECK = _CHECK.replace("c.payload", "coalesce(?, c.payload)")
"""The first value stands for all payloads: candidates may be long."""
_REQUEST = (
    "SELECT r.id, r.check_key, r.campaign, r.run, r.step, r.position, r.content_key, r.state "
    "FROM request r JOIN check_queue c ON c.check_key = r.check_key "
)


def add_requests(
    connection: Connection, enqueue: Sequence[tuple[CheckRow, Sequence[Request]]]
) -> None:
    """Ask for checks, each with the samples that wait for it."""
    dialect, most = dialect_of(connection), share(PIECE)
    for apart in _apart([asked_by(*each) for each in enqueue]):
        for part in cuts([weigh(check.payload, written) for check in apart], most):
            columns = _check_columns(connection, apart[part])
            dialect.insert(connection, "check_queue", columns, _JOIN)
    requests = {request[:5]: request for _, waiting in enqueue for request in waiting}
    asked = {(check.check_key, check.campaign) for check, _ in enqueue}
    asked |= {(request.check_key, request.campaign) for request in requests.values()}
    keys, campaigns = zip(*asked, strict=True)
    names = {"check_key": keys, "campaign": campaigns}
    dialect.insert(connection, "asked", names, "ON CONFLICT DO NOTHING")
    if requests:
        write_requests(connection, list(requests.values()))


def write_requests(connection: Connection, requests: Sequence[Request]) -> None:
    """Write requests for checks that are asked for, or others over them."""
    dialect = dialect_of(connection)
    for part in cuts([weigh(request.state, written) for request in requests], share(PIECE)):
        columns = _request_columns(requests[part])
        dialect.bound(connection, columns["state"])
        dialect.insert(
            connection, "request", columns,
            "ON CONFLICT (check_key, campaign, run, step, position) "
            "DO UPDATE SET content_key = excluded.content_key, state = excluded.state",
            keep_order=True,
        )  # fmt: skip


def _apart(checks: Sequence[CheckRow]) -> Iterator[list[CheckRow]]:
    """Checks in groups that hold none twice; a check that is asked for again joins the first."""
    while checks:
        first = {check.check_key: check for check in reversed(checks)}
        yield list(first.values())
        checks = [check for check in checks if first[check.check_key] is not check]


def _check_columns(connection: Connection, checks: Sequence[CheckRow]) -> Columns:
    dialect, keys = dialect_of(connection), [check.check_key for check in checks]
    found = connection.exec_driver_sql(
        f"SELECT v.check_key {dialect.matching('verdict', 'v')}", (dialect.keys(keys),)
    )
    # Somebody may have answered it since the caller looked: then it is never paid again.
    told = {key for (key,) in found}
    count = len(checks)
    payloads = [dumps(dict(check.payload)) for check in checks]
    dialect.bound(connection, payloads)
    reserves = zip(*(check.reserve.amounts for check in checks), strict=True)
    return {
        "check_key": keys, "content_key": [check.content_key for check in checks],
        "campaign": [check.campaign for check in checks],
        "verifier": [check.verifier for check in checks],
        "version": [check.version for check in checks],
        "tier": [int(check.tier) for check in checks],
        "state": [int(CheckState.DONE if key in told else CheckState.QUEUED) for key in keys],
        "priority": [check.priority for check in checks],
        "payload": payloads,
        "not_before": [check.not_before for check in checks],
        "deadline": [check.deadline for check in checks],
        **dict(zip(RESERVE, map(list, reserves), strict=True)),
        "owner": [""] * count, "lease_until": [0.0] * count, "fence": [0] * count,
        "attempt": [0] * count, "note": [""] * count, "run": [check.run for check in checks],
        "wanted_until": [check.wanted_until for check in checks], "asked_at": [time()] * count,
        "digest": [check.digest for check in checks],
    }  # fmt: skip


def _request_columns(requests: Sequence[Request]) -> Columns:
    names = ("check_key", "campaign", "run", "step", "position", "content_key")
    columns: dict[str, Sequence[Any]] = {
        name: [getattr(request, name) for request in requests] for name in names
    }
    return {**columns, "state": [dumps(dict(request.state)) for request in requests]}


def remove_requests(connection: Connection, answered: Sequence[Request]) -> None:
    """Take away requests that are answered."""
    connection.exec_driver_sql(
        "DELETE FROM request WHERE check_key = ? AND campaign = ? AND run = ? AND step = ? "
        "AND position = ?",
        sorted(tuple(request[:5]) for request in answered),
    )


def check_rows(
    connection: Connection, clause: str, values: tuple[Any, ...], *, payloads: bool = True
) -> list[CheckRow]:
    """Read checks; the table is called `c` in the clause. Payloads may be left out: they are {}.

    Raises:
        DamagedRowError: If a row holds what no check has.
    """
    select, values = (_CHECK, values) if payloads else (_BARE_CHECK, (dumps({}), *values))
    found = connection.exec_driver_sql(select + clause, values).all()
    check_types(_COLUMNS, found)
    return [
        CheckRow._make(
            (
                *row[:6],
                CheckState(row[6]),
                row[7],
                Cost(*row[8:12]),
                read_object(row[12]),
                *row[13:],
            )
        )
        for row in found
    ]


def request_rows(
    connection: Connection, clause: str, values: tuple[Any, ...], limit: int = ALL
) -> list[Request]:
    """Read requests in their order; the tables are called `r` and, for checks, `c` in the clause.

    Where a driver holds all rows of a statement, they are read in pages, by how long they are.
    What equals what an earlier one tells of its candidate is the same object.
    """
    # The plus keeps the order's index from being chosen before that of the clause.
    after = f"{clause} {'AND' if clause else 'WHERE'} +r.id > ? ORDER BY r.id LIMIT ?"
    found, known, last = list[Request](), dict[Any, Any](), -1
    size = _FIRST_PAGE if dialect_of(connection).holds_rows else limit
    while limit > 0:
        size, count, longest = min(size, limit), 0, 1
        for row in connection.exec_driver_sql(_REQUEST + after, (*values, last, size)):
            count, last, longest = count + 1, row[0], max(longest, _length(row))
            if _is_one(row[1:]):
                state = _with_shared(read_object(row[7]), known)
                found.append(Request._make((*row[1:7], state)))
        if count < size:
            break
        limit -= count
        size = max(1, min(4 * size, share(PIECE) // longest))
    return found


def _length(row: Sequence[Any]) -> int:
    state = row[7]
    return len(state) if isinstance(state, (bytes, str)) else 1


def _with_shared(state: Any, known: dict[Any, Any]) -> Any:
    """The same data, in which candidates that are equal are one object, and long texts likewise.

    Args:
        state: What a request tells.
        known: Candidates by their digests, and texts; filled in.
    """
    candidate = state.get("candidate") if isinstance(state, dict) else None
    if candidate is None:
        return _with_shared_texts(state, known)
    name = blake2b(dumps(candidate), digest_size=16).digest()
    if name not in known:
        known[name] = _with_shared_texts(candidate, known)
    rest = {key: value for key, value in state.items() if key != "candidate"}
    return {**_with_shared_texts(rest, known), "candidate": known[name]}


def _with_shared_texts(value: Any, known: dict[Any, Any]) -> Any:
    if isinstance(value, (str, bytes)):
        return known.setdefault(value, value) if len(value) >= _LONG else value
    if isinstance(value, dict):
        return {name: _with_shared_texts(each, known) for name, each in value.items()}
    return (
        [_with_shared_texts(each, known) for each in value] if isinstance(value, list) else value
    )


def _is_one(row: Sequence[Any]) -> bool:
    """Whether a row holds what its columns are for; any type fits into a column of SQLite."""
    if tuple(map(type, row)) == (bytes, str, str, int, int, bytes, bytes):
        return True
    _LOG.warning(
        "a row of table request is left out: it holds values of types that no program writes; "
        "find out who else can write to the ledger"
    )
    return False


class Place(NamedTuple):
    """Where a check stands in the queue, by what it is ordered by."""

    priority: float
    not_before: float
    id: int


_BEHIND = (
    "(c.priority < ? OR c.priority = ? AND (c.not_before > ? OR c.not_before = ? AND c.id > ?))"
)
_KEY_DIGITS = 64


def where(
    *conditions: tuple[str, Sequence[Any] | None], asked: Sequence[str] | None = None,
    prefix: str = "", place: Place | None = None,
) -> tuple[str, tuple[Any, ...]]:  # fmt: skip
    """Build a WHERE clause from the conditions that are set.

    Args:
        conditions: Column and the values it may have; None for any.
        asked: Campaigns that asked for the check; None for any.
        prefix: What the check's key begins with, in hexadecimal.
        place: A place in the queue; only checks behind it.

    Example:
        >>> where(("c.state", [0, 1]), ("c.tier", None))
        ('WHERE c.state IN (?,?)', (0, 1))
    """
    parts, values = [], []
    for column, allowed in conditions:
        if allowed is not None:
            parts.append(_among(column, allowed))
            values += [int(v) if isinstance(v, int) else v for v in allowed]
    if asked is not None:
        among = _among("q.campaign", asked)
        parts.append(f"EXISTS (SELECT 1 FROM asked q WHERE q.check_key = c.check_key AND {among})")
        values += asked
    if prefix:
        parts.append("c.check_key BETWEEN ? AND ?")
        values += [bytes.fromhex(prefix.ljust(_KEY_DIGITS, digit)) for digit in "0f"]
    if place is not None:
        parts.append(_BEHIND)
        values += [place.priority, *place[:2], *place[1:]]
    return ("WHERE " + " AND ".join(parts) if parts else ""), tuple(values)


def _among(column: str, allowed: Sequence[Any]) -> str:
    return f"{column} IN ({marks(len(allowed))})" if allowed else "false"
