"""Cancelling in SQL: checks that nobody requests any more, and those that others take over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verifier_ladder.ledger.ending import give_back, lose
from verifier_ladder.ledger.holding import NOTHING_RESERVED, change, hold_keys
from verifier_ladder.ledger.protocol import UNWANTED
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.ledger.store import chunks, marks

if TYPE_CHECKING:
    from sqlalchemy import Connection

_OPEN = "c.state IN (0, 1, 2)"
_CANCELLED = f"state = 5, {NOTHING_RESERVED}, owner = '', lease_until = 0, note = ''"


def cancel_unwanted(
    connection: Connection, check_keys: Sequence[bytes], now: float, *, at_work: bool = False
) -> int:
    """Cancel checks that nobody requests; hand over those that only others than the payer do.

    Those at work go on, unless they are to be taken from their workers, but are not queued again.

    Args:
        connection: The one that writes.
        check_keys: Which checks.
        now: Seconds since 1970.
        at_work: Whether to take those at work from their workers.

    Returns:
        How many were cancelled.
    """
    # Held first, and looked at after: somebody may just be asking for one of them.
    held = hold_keys(connection, check_keys, _OPEN)
    wanted = _requesters(connection, list(held))
    _hand_over(connection, held, wanted)
    unwanted = [row for key, row in held.items() if key not in wanted]
    working = [row for row in unwanted if row.state == CheckState.LEASED]
    resting = [row for row in unwanted if row.state != CheckState.LEASED]
    if not at_work:
        change(connection, [row.check_key for row in working], f"note = '{UNWANTED}'")
        working = []
    change(connection, [row.check_key for row in (*working, *resting)], _CANCELLED)
    lose(connection, working, now)
    give_back(connection, resting)
    return len(working) + len(resting)


def _requesters(
    connection: Connection, keys: Sequence[bytes]
) -> dict[bytes, list[tuple[str, str]]]:
    """Campaign and run of the samples that wait for each check, the first to ask first."""
    found: dict[bytes, list[tuple[str, str]]] = {}
    for part in chunks(keys):
        rows = connection.exec_driver_sql(
            "SELECT check_key, campaign, run FROM request "
            f"WHERE check_key IN ({marks(len(part))}) ORDER BY id",
            tuple(part),
        )
        for key, campaign, run in rows:
            found.setdefault(key, []).append((campaign, run))
    return found


def _hand_over(
    connection: Connection, held: dict[bytes, Any], wanted: dict[bytes, list[tuple[str, str]]]
) -> None:
    """Have queued checks paid by somebody who still waits; the payer and its run come first."""
    heirs: dict[bytes, tuple[str, str]] = {}
    for key, waiting in wanted.items():
        payer = (held[key].campaign, held[key].run)
        ours = [who for who in waiting if who[0] == payer[0]]
        heir = payer if payer in ours else (ours or waiting)[0]
        if held[key].state == CheckState.QUEUED and heir != payer:
            heirs[key] = heir
    change(
        connection, list(heirs), "state = 0", campaign=[name for name, _ in heirs.values()],
        run=[run for _, run in heirs.values()],
    )  # fmt: skip
