"""How checks leave a worker's hands: answered, failed, lost; and what becomes of the money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from verifier_ladder.ledger.accounts import Bill, free, settle
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.holding import NOTHING_RESERVED, change, hold_claims, reserved
from verifier_ladder.ledger.protocol import (
    ATTEMPTS,
    NOTHING,
    UNWANTED,
    Amounts,
    Ended,
    backoff,
    blocks_of,
    note_of,
    spent,
    state_after,
)
from verifier_ladder.ledger.records import Charged, CheckRow, CheckState, Completion
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection

_GONE = f"{NOTHING_RESERVED}, owner = '', lease_until = 0"
Bills = dict[tuple[str, str, Charged], Bill]
"""What is to be settled, by who pays, whose run asked, and whom."""


def end(
    connection: Connection,
    completions: Sequence[Completion],
    state: CheckState,
    now: float,
    *,
    not_before: float = 0.0,
    sealed: bool = False,
    is_lost: bool = False,
) -> list[Completion]:
    """Move claimed checks on, record what was said, settle their money; those still ours."""
    failed = state is not CheckState.DONE
    held = hold_claims(connection, [completion.claim for completion in completions])
    ours: list[Completion] = []
    states: list[int] = []
    ended: list[Ended] = []
    bills: Bills = {}
    untouched: list[bytes] = []
    for completion in completions:
        claim = completion.claim
        row = held.pop((claim.check.check_key, claim.fence), None)
        if row is None:  # Lost, or told twice.
            continue
        if is_lost and not row.begun_at:
            bills.setdefault(_to(row), Bill()).add(reserved(row), NOTHING)
            untouched.append(row.check_key)
            continue
        worked = row.seen_at - row.begun_at if is_lost else now - row.claimed_at
        cost = spent(completion.verdict, reserved(row), worked)
        bills.setdefault(_to(row), Bill()).add(reserved(row), cost)
        ours.append(completion)
        states.append(int(state_after(state, row.note)))
        ended.append(Ended(completion, row.asked_at, row.claimed_at, cost))
    change(
        connection, [claim.check.check_key for claim, _, _ in ours],
        _GONE, state=states, not_before=[not_before] * len(ours),
        note=[note_of(verdict) if failed else "" for _, verdict, _ in ours],
    )  # fmt: skip
    return_untouched(connection, untouched)
    for block in blocks_of(ended, now):
        write(connection, Draft(block, now, sealed=sealed))
    _settle(connection, bills, failed=failed)
    return ours


def return_untouched(connection: Connection, keys: Sequence[bytes]) -> None:
    """Queue held claims again as they were, or end them if nobody waits for them any more.

    What they have reserved is freed by the caller.
    """
    state = f"CASE WHEN note = '{UNWANTED}' THEN {CheckState.CANCELLED:d} ELSE 0 END"
    change(connection, keys, f"state = {state}, note = '', attempt = attempt - 1, {_GONE}")


def end_from_outside(
    connection: Connection, check: CheckRow, verdict: Verdict, amounts: Amounts
) -> None:
    """Close a check whose answer came from outside; a worker on it loses its lease.

    Args:
        connection: The one that writes; it holds the check.
        check: The check as it was.
        verdict: The answer.
        amounts: What the check has reserved.
    """
    change(
        connection, [check.check_key],
        f"state = 3, fence = CASE WHEN state = 1 THEN fence + 1 ELSE fence END, {_GONE}, "
        "not_before = 0, note = ''",
    )  # fmt: skip
    if check.state in {CheckState.LEASED, CheckState.WAITING}:
        bill = Bill()
        bill.add(amounts, spent(verdict, amounts, 0.0))
        _settle(connection, {_to(check): bill}, failed=False)


def end_unpaid(connection: Connection, held: Mapping[tuple[bytes, int], Any]) -> None:
    """Close claimed checks that nobody has to work on; they are held."""
    change(connection, [key for key, _ in held], f"state = 3, {_GONE}, not_before = 0, note = ''")
    give_back(connection, list(held.values()))


def take_back(connection: Connection, rows: Sequence[Any], now: float) -> None:
    """End leases that ran out, and world cases past their deadline; the rows are held.

    Checks on which nobody had begun go back untouched.
    """
    bills: Bills = {}
    untouched = [row for row in rows if row.state == CheckState.LEASED and not row.begun_at]
    for row in untouched:
        bills.setdefault(_to(row), Bill()).add(reserved(row), NOTHING)
    return_untouched(connection, [row.check_key for row in untouched])
    rows = [row for row in rows if row.state != CheckState.LEASED or row.begun_at]
    lost = [_lost(row, now) for row in rows]
    for row, (cost, *_) in zip(rows, lost, strict=True):
        bills.setdefault(_to(row), Bill()).add(reserved(row), cost)
    change(
        connection, [row.check_key for row in rows], _GONE,
        state=[int(state) for _, state, _, _ in lost], not_before=[at for _, _, at, _ in lost],
        note=[note for *_, note in lost],
    )  # fmt: skip
    _settle(connection, bills, failed=True)


def _lost(row: Any, now: float) -> tuple[Amounts, CheckState, float, str]:
    """What a lost attempt cost, and where its check stands now: state, not before, note."""
    if row.state == CheckState.WAITING:
        return NOTHING, CheckState.EXPIRED, 0.0, "no answer before the deadline"
    # Nobody knows what the attempt took; its worker was last heard of then.
    cost = spent(None, reserved(row), row.seen_at - row.begun_at)
    state = CheckState.DEAD if row.attempt >= ATTEMPTS else CheckState.QUEUED
    note = f"lease ran out (attempt {row.attempt})"
    return cost, state_after(state, row.note), now + backoff(row.attempt), note


def end_unwanted(connection: Connection, rows: Sequence[Any]) -> None:
    """End checks that nobody waits for any more, at no cost; the rows are held."""
    change(
        connection, [row.check_key for row in rows],
        f"state = {CheckState.CANCELLED:d}, {_GONE}, note = ''",
    )  # fmt: skip
    give_back(connection, rows)


def queue_again(connection: Connection, rows: Sequence[Any]) -> None:
    """Queue open cases, so that their verifier is asked about them; the rows are held."""
    change(connection, [row.check_key for row in rows], f"state = 0, attempt = 0, {_GONE}")
    give_back(connection, rows)


def lose(connection: Connection, rows: Sequence[Any], now: float) -> None:
    """Charge leased checks that are cancelled for their time so far; the rows are held."""
    bills: Bills = {}
    for row in rows:
        until = now if row.lease_until >= now else row.seen_at
        cost = spent(None, reserved(row), until - row.begun_at) if row.begun_at else NOTHING
        bills.setdefault(_to(row), Bill()).add(reserved(row), cost)
    _settle(connection, bills, failed=True)


def give_back(connection: Connection, rows: Sequence[Any]) -> None:
    """Free what held checks have reserved."""
    dialect_of(connection).hold_accounts(connection, {row.campaign for row in rows})
    for row in rows:
        free(connection, row.campaign, row.tier, reserved(row))


def _settle(connection: Connection, bills: Bills, *, failed: bool) -> None:
    dialect_of(connection).hold_accounts(connection, {campaign for campaign, _, _ in bills})
    for (campaign, run, charged), bill in sorted(bills.items(), key=itemgetter(0)):
        settle(connection, campaign, run, charged, bill, failed=failed)


def _to(row: Any) -> tuple[str, str, Charged]:
    """Whose bill a check goes on."""
    return row.campaign, row.run, Charged(row.tier, row.verifier, row.version)
