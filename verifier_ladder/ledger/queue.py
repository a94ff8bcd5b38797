"""The work queue in SQL: who may work on which check, and who waits for it.

Every change of a leased check compares its fence first, so a worker that lost its lease can
neither finish nor charge the check a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.accounts import Balances, Bill, free, settle
from verifier_ladder.ledger.asking import check_rows
from verifier_ladder.ledger.claiming import SqlClaiming
from verifier_ladder.ledger.looking import SqlLooking
from verifier_ladder.ledger.protocol import (
    ATTEMPTS,
    Amounts,
    backoff,
    blocks_of,
    micro,
    no_such_check,
    note_of,
    refuse_answers,
    refuse_failures,
    spent,
    verdict_row,
)
from verifier_ladder.ledger.records import (
    Block,
    CheckRow,
    CheckState,
    Claim,
    Completion,
)
from verifier_ladder.ledger.rows import draft, write
from verifier_ladder.ledger.schema import RESERVED
from verifier_ladder.ledger.store import chunks, marks
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection


class SqlQueue(SqlClaiming, SqlLooking):
    """**Abstract:** the work-queue part of the SQL ledger."""

    def heartbeat(self, claims: Sequence[Claim], *, lease: float, now: float) -> list[Claim]:
        """See `Ledger.heartbeat`."""
        with self._writing(tell=False) as connection:
            return [
                Claim(claim.check._replace(lease_until=now + lease), claim.fence)
                for claim in claims
                if connection.exec_driver_sql(
                    f"UPDATE check_queue SET lease_until = ? WHERE {_OURS} RETURNING 1",
                    (now + lease, claim.check.check_key, claim.fence),
                ).first()
            ]

    def extend(self, claim: Claim, seconds: float) -> bool:
        """See `Ledger.extend`."""
        amount = micro(seconds)
        check = claim.check
        with self._writing(tell=False) as connection:
            payer = connection.exec_driver_sql(
                f"SELECT campaign FROM check_queue WHERE {_OURS}", (check.check_key, claim.fence)
            ).scalar()
            balances = Balances(connection)
            if payer is None or not balances.take(payer, check.tier, (amount, 0, 0, 0)):
                return False
            balances.write()
            cpu = RESERVED[0]
            connection.exec_driver_sql(
                f"UPDATE check_queue SET {cpu} = {cpu} + ? WHERE check_key = ?",
                (amount, check.check_key),
            )
        return True

    def complete(self, completions: Sequence[Completion], *, now: float) -> list[Completion]:
        """See `Ledger.complete`."""
        refuse_failures([completion.verdict for completion in completions])
        with self._writing() as connection:
            return _end(connection, completions, CheckState.DONE, now)

    def fail(
        self, completions: Sequence[Completion], *, retry_at: float | None, now: float
    ) -> list[Completion]:
        """See `Ledger.fail`."""
        refuse_answers([completion.verdict for completion in completions])
        state = CheckState.DEAD if retry_at is None else CheckState.QUEUED
        with self._writing() as connection:
            return _end(connection, completions, state, now, not_before=retry_at or 0.0)

    def release(self, claims: Sequence[Claim], *, now: float) -> None:
        """See `Ledger.release`."""
        del now
        with self._writing() as connection:
            for claim in claims:
                held = connection.exec_driver_sql(
                    f"SELECT campaign, tier, {_RESERVED} FROM check_queue WHERE {_OURS}",
                    (claim.check.check_key, claim.fence),
                ).first()
                if held is not None:
                    free(connection, held.campaign, held.tier, _reserved(held))
                    connection.exec_driver_sql(
                        f"UPDATE check_queue SET state = 0, {_FREE}, owner = '', "
                        "lease_until = 0, attempt = attempt - 1 WHERE check_key = ?",
                        (claim.check.check_key,),
                    )

    def wait(self, claims: Sequence[Claim], *, deadline: float | None, now: float) -> list[Claim]:
        """See `Ledger.wait`."""
        del now
        with self._writing() as connection:
            return [
                claim
                for claim in claims
                if connection.exec_driver_sql(
                    "UPDATE check_queue SET state = 2, deadline = ?, lease_until = 0 "
                    f"WHERE {_OURS} RETURNING 1",
                    (deadline, claim.check.check_key, claim.fence),
                ).first()
            ]

    def answer(
        self, check_key: bytes, verdict: Verdict, *, source: str, event: str, now: float
    ) -> bool:
        """See `Ledger.answer`."""
        refuse_failures([verdict])
        with self._writing() as connection:
            check = check_rows(connection, "WHERE c.check_key = ?", (check_key,))
            if not check:
                raise LedgerError(no_such_check(check_key))
            fresh = connection.exec_driver_sql(
                "INSERT INTO inbox (source, event, received_at) VALUES (?, ?, ?) "
                "ON CONFLICT DO NOTHING RETURNING 1",
                (source, event, now),
            ).first()
            if fresh is None:
                return False
            self._finish(connection, check[0], verdict)
            row = verdict_row(check[0], verdict)
            facts = {"source": source, "event": event}
            block = Block("review", check[0].campaign, verdicts=[row], facts=facts)
            write(connection, draft(block, now))
        return True

    def _finish(self, connection: Connection, check: CheckRow, verdict: Verdict) -> None:
        """Close a check whose answer came from outside; a worker on it loses its lease."""
        held = connection.exec_driver_sql(
            f"SELECT {_RESERVED} FROM check_queue WHERE check_key = ?", (check.check_key,)
        ).one()
        if check.state in {CheckState.LEASED, CheckState.WAITING}:
            bill = Bill()
            bill.add(_reserved(held), spent(verdict, _reserved(held), 0.0))
            settle(connection, check.campaign, check.tier, bill, failed=False)
        connection.exec_driver_sql(
            f"UPDATE check_queue SET state = 3, fence = fence + (state = 1), {_FREE}, "
            "not_before = 0, owner = '', lease_until = 0, note = '' WHERE check_key = ?",
            (check.check_key,),
        )

    def reap(self, *, now: float) -> int:
        """See `Ledger.reap`."""
        overdue = "(state = 1 AND lease_until < ?1) OR (state = 2 AND deadline < ?1)"
        with self._reading() as connection:
            found = connection.exec_driver_sql(
                f"SELECT 1 FROM check_queue WHERE {overdue} LIMIT 1", (now,)
            ).first()
        if found is None:
            return 0
        with self._writing() as connection:
            rows = connection.exec_driver_sql(
                "SELECT check_key, campaign, tier, state, attempt, claimed_at, lease_until, "
                f"{_RESERVED} FROM check_queue WHERE {overdue}",
                (now,),
            ).all()
            for row in rows:
                _take_back(connection, row, now)
        return len(rows)

    def cancel(self, check_keys: Sequence[bytes], *, now: float) -> int:
        """See `Ledger.cancel`."""
        del now
        count = 0
        with self._writing() as connection:
            for key in dict.fromkeys(check_keys):
                held = connection.exec_driver_sql(
                    f"SELECT campaign, tier, {_RESERVED} FROM check_queue c "
                    "WHERE check_key = ? AND state IN (0, 2) AND NOT EXISTS "
                    "(SELECT 1 FROM request r WHERE r.check_key = c.check_key)",
                    (key,),
                ).first()
                if held is None:
                    continue
                free(connection, held.campaign, held.tier, _reserved(held))
                connection.exec_driver_sql(
                    f"UPDATE check_queue SET state = 5, {_FREE}, owner = '', note = '' "
                    "WHERE check_key = ?",
                    (key,),
                )
                count += 1
        return count

    def revive(self, check_keys: Sequence[bytes], *, now: float) -> int:
        """See `Ledger.revive`."""
        del now
        with self._writing() as connection:
            return sum(
                connection.exec_driver_sql(
                    "UPDATE check_queue SET state = 0, attempt = 0, not_before = 0, note = '', "
                    "deadline = NULL WHERE check_key = ? AND state >= 4 RETURNING 1",
                    (key,),
                ).first()
                is not None
                for key in dict.fromkeys(check_keys)
            )


_OURS = "check_key = ? AND fence = ? AND state = 1"
_RESERVED = ", ".join(RESERVED)
_FREE = ", ".join(f"{name} = 0" for name in RESERVED)


def _reserved(row: Any) -> Amounts:
    """What a check has reserved; the last columns of its row."""
    cpu, gpu, money, person = row[-len(RESERVED) :]
    return cpu, gpu, money, person


def _take_back(connection: Connection, row: Any, now: float) -> None:
    """End a lease that ran out, or a world case past its deadline."""
    if row.state == CheckState.WAITING:
        free(connection, row.campaign, row.tier, _reserved(row))
        state, later, note = CheckState.EXPIRED, 0.0, "no answer before the deadline"
    else:
        # Nobody knows what the lost attempt took; it can have worked until its lease ended.
        bill = Bill()
        bill.add(_reserved(row), spent(None, _reserved(row), row.lease_until - row.claimed_at))
        settle(connection, row.campaign, row.tier, bill, failed=True)
        dead = row.attempt >= ATTEMPTS
        state = CheckState.DEAD if dead else CheckState.QUEUED
        later, note = now + backoff(row.attempt), f"lease ran out (attempt {row.attempt})"
    connection.exec_driver_sql(
        f"UPDATE check_queue SET state = ?, {_FREE}, owner = '', lease_until = 0, "
        "not_before = ?, note = ? WHERE check_key = ?",
        (int(state), later, note, row.check_key),
    )


def _end(
    connection: Connection,
    completions: Sequence[Completion],
    state: CheckState,
    now: float,
    *,
    not_before: float = 0.0,
) -> list[Completion]:
    """Move claimed checks on, settle their money, record what was said; those still ours."""
    failed = state is not CheckState.DONE
    held = _held(connection, completions)
    ours: list[Completion] = []
    bills: dict[tuple[str, int], Bill] = {}
    for completion in completions:
        claim = completion.claim
        row = held.pop((claim.check.check_key, claim.fence), None)
        if row is None:  # Lost, or told twice.
            continue
        cost = spent(completion.verdict, _reserved(row), now - row.claimed_at)
        bills.setdefault((row.campaign, row.tier), Bill()).add(_reserved(row), cost)
        ours.append(completion)
    if ours:
        connection.exec_driver_sql(
            f"UPDATE check_queue SET state = ?, {_FREE}, owner = '', lease_until = 0, "
            "not_before = ?, note = ? WHERE check_key = ?",
            [
                (int(state), not_before, note_of(verdict) if failed else "", claim.check.check_key)
                for claim, verdict, _ in ours
            ],
        )
    for (campaign, tier), bill in bills.items():
        settle(connection, campaign, tier, bill, failed=failed)
    for block in blocks_of(ours):
        write(connection, draft(block, now))
    return ours


def _held(connection: Connection, completions: Sequence[Completion]) -> dict[Any, Any]:
    """The leased ones of the checks, by key and fence."""
    keys = [completion.claim.check.check_key for completion in completions]
    return {
        (row.check_key, row.fence): row
        for part in chunks(keys)
        for row in connection.exec_driver_sql(
            f"SELECT check_key, fence, campaign, tier, claimed_at, {_RESERVED} FROM check_queue "
            f"WHERE state = 1 AND check_key IN ({marks(len(part))})",
            tuple(part),
        ).all()
    }
