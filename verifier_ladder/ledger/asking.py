"""Asking for checks in SQL: checks enter the queue or are joined, samples wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.records import CheckRow, CheckState, Request
from verifier_ladder.ledger.schema import RESERVE
from verifier_ladder.ledger.store import marks, prefix
from verifier_ladder.ledger.values import dumps, loads

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ENTER = (
    "INSERT INTO check_queue (check_key, content_key, campaign, verifier, version, tier, state, "
    "priority, payload, not_before, deadline, owner, lease_until, fence, attempt, note, "
    f"{', '.join(RESERVE)}) "
    # Somebody may have answered it since the caller looked: then it is never paid again.
    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN EXISTS (SELECT 1 FROM verdict "
    "WHERE key = ?7 AND check_key = ?1) THEN 3 ELSE 0 END, ?8, ?9, ?10, ?11, '', 0, 0, 0, '', "
    "?12, ?13, ?14, ?15 WHERE true "
    "ON CONFLICT (check_key) DO UPDATE SET "
    "priority = CASE WHEN state >= 4 THEN excluded.priority WHEN state = 3 THEN priority "
    "ELSE max(priority, excluded.priority) END, "
    # 9e999 is infinity: a held check goes to work once it is asked for without being held.
    "not_before = CASE WHEN state >= 4 OR not_before = 9e999 THEN excluded.not_before "
    "ELSE not_before END, "
    # Who asks for a check that has ended without an answer pays for it from now on.
    + ", ".join(
        f"{name} = CASE WHEN state >= 4 THEN excluded.{name} ELSE {name} END"
        for name in ("campaign", *RESERVE, "payload", "deadline", "attempt", "note", "state")
    )
)
_CHECK = (
    "SELECT c.check_key, c.content_key, c.campaign, c.verifier, c.version, c.tier, c.state, "
    f"c.priority, {', '.join(f'c.{name}' for name in RESERVE)}, c.payload, c.not_before, "
    "c.deadline, c.owner, c.lease_until, c.fence, c.attempt, c.note FROM check_queue c "
)
_REQUEST = (
    "SELECT r.check_key, r.campaign, r.run, r.step, r.position, r.content_key, r.state "
    "FROM request r JOIN check_queue c ON c.check_key = r.check_key "
)


def add_requests(
    connection: Connection, enqueue: Sequence[tuple[CheckRow, Sequence[Request]]]
) -> None:
    """Ask for checks, each with the samples that wait for it."""
    checks = [check for check, _ in enqueue]
    requests = [request for _, waiting in enqueue for request in waiting]
    connection.exec_driver_sql(_ENTER, [_check_values(check) for check in checks])
    asked = {(check.check_key, check.campaign) for check in checks}
    asked |= {(request.check_key, request.campaign) for request in requests}
    connection.exec_driver_sql(
        "INSERT INTO asked (check_key, campaign) VALUES (?, ?) ON CONFLICT DO NOTHING",
        sorted(asked),
    )
    if requests:
        connection.exec_driver_sql(
            "INSERT INTO request (check_key, campaign, run, step, position, content_key, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (check_key, campaign, run, step, position) "
            "DO UPDATE SET content_key = excluded.content_key, state = excluded.state",
            [(*request[:6], dumps(dict(request.state))) for request in requests],
        )


def remove_requests(connection: Connection, answered: Sequence[Request]) -> None:
    """Take away requests that are answered."""
    connection.exec_driver_sql(
        "DELETE FROM request WHERE check_key = ? AND campaign = ? AND run = ? AND step = ? "
        "AND position = ?",
        [tuple(request[:5]) for request in answered],
    )


def _check_values(check: CheckRow) -> tuple[Any, ...]:
    return (
        check.check_key, check.content_key, check.campaign, check.verifier, check.version,
        int(check.tier), prefix(check.check_key), check.priority,
        dumps(dict(check.payload)), check.not_before, check.deadline, *check.reserve.amounts,
    )  # fmt: skip


def check_rows(connection: Connection, clause: str, values: tuple[Any, ...]) -> list[CheckRow]:
    """Read checks; the table is called `c` in the clause."""
    found = connection.exec_driver_sql(_CHECK + clause, values).all()
    return [
        CheckRow._make(
            (*row[:6], CheckState(row[6]), row[7], Cost(*row[8:12]), loads(row[12]), *row[13:])
        )
        for row in found
    ]


def request_rows(connection: Connection, clause: str, values: tuple[Any, ...]) -> list[Request]:
    """Read requests; the tables are called `r` and, for their checks, `c` in the clause."""
    found = connection.exec_driver_sql(_REQUEST + clause, values).all()
    return [Request._make((*row[:6], loads(row[6]))) for row in found]


def where(
    *conditions: tuple[str, Sequence[Any] | None], asked: Sequence[str] | None = None
) -> tuple[str, tuple[Any, ...]]:
    """Build a WHERE clause from the conditions that are set.

    Args:
        conditions: Column and the values it may have; None for any.
        asked: Campaigns that asked for the check; None for any.

    Example:
        >>> where(("c.state", [0, 1]), ("c.tier", None))
        ('WHERE c.state IN (?,?)', (0, 1))
    """
    parts, values = [], []
    for column, allowed in conditions:
        if allowed is not None:
            parts.append(f"{column} IN ({marks(len(allowed))})")
            values += [int(v) if isinstance(v, int) else v for v in allowed]
    if asked is not None:
        parts.append(
            "EXISTS (SELECT 1 FROM asked q WHERE q.check_key = c.check_key "
            f"AND q.campaign IN ({marks(len(asked))}))"
        )
        values += asked
    return ("WHERE " + " AND ".join(parts) if parts else ""), tuple(values)
