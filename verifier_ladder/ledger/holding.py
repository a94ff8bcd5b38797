"""Holding rows of the work queue: those that are about to change, while nobody else changes them.

Rows are held in the order of their keys, so that no two transactions wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verifier_ladder.ledger.damage import check_types
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.protocol import Amounts
from verifier_ladder.ledger.records import Claim
from verifier_ladder.ledger.schema import RESERVED
from verifier_ladder.ledger.store import chunks, marks

if TYPE_CHECKING:
    from sqlalchemy import Connection

NOTHING_RESERVED = ", ".join(f"{name} = 0" for name in RESERVED)
"""SQL: what a check has reserved is given back."""
_COLUMNS = (
    "check_key", "fence", "campaign", "run", "tier", "verifier", "version", "state", "attempt",
    "claimed_at", "seen_at", "begun_at", "asked_at", "lease_until", "note", *RESERVED,
)  # fmt: skip
_SELECT = f"SELECT {', '.join(f'c.{name}' for name in _COLUMNS)} FROM check_queue c"


def hold(
    connection: Connection, condition: str, values: tuple[Any, ...], *, wait: bool = True
) -> list[Any]:
    """Hold the rows of `check_queue c` that fulfil a condition, until the transaction ends.

    Args:
        connection: The one that writes.
        condition: SQL.
        values: Its parameters.
        wait: Whether to wait for rows that others hold; else they are left out.

    Raises:
        DamagedRowError: If a row holds what no check has.
    """
    dialect = dialect_of(connection)
    rows = connection.exec_driver_sql(
        f"{_SELECT} WHERE {condition} ORDER BY c.check_key"
        + (dialect.locked if wait else dialect.skipped),
        values,
    ).all()
    check_types(_COLUMNS, rows)
    return list(rows)


def hold_keys(connection: Connection, keys: Sequence[bytes], condition: str) -> dict[bytes, Any]:
    """Hold the checks of these keys that fulfil a condition; by key."""
    return {
        row.check_key: row
        for part in chunks(sorted(set(keys)))
        for row in hold(
            connection, f"{condition} AND c.check_key IN ({marks(len(part))})", tuple(part)
        )
    }


def hold_claims(connection: Connection, claims: Sequence[Claim]) -> dict[tuple[bytes, int], Any]:
    """Hold the checks whose lease is still the claims'; by key and fence, as the claims stand."""
    rows = hold_keys(connection, [claim.check.check_key for claim in claims], "c.state = 1")
    held = {}
    for claim in claims:
        row = rows.get(claim.check.check_key)
        if row is not None and row.fence == claim.fence:
            held[claim.check.check_key, claim.fence] = row
    return held


def change(
    connection: Connection, keys: Sequence[bytes], fixed: str, **columns: Sequence[Any]
) -> None:
    """Change held checks.

    Args:
        connection: The one that writes.
        keys: Which checks.
        fixed: What changes alike in all of them: SQL for SET.
        columns: New values, one for each key.
    """
    if keys:
        dialect_of(connection).change(connection, fixed, columns, keys)


def reserved(row: Any) -> Amounts:
    """What a held check has reserved."""
    cpu, gpu, money, person = row[-len(RESERVED) :]
    return cpu, gpu, money, person
