"""The work queue in SQL: who may work on which check, and who waits for it.

Every change of a leased check compares its fence first, so a worker that lost its lease can
neither finish nor charge the check a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.accounts import Balances
from verifier_ladder.ledger.asking import check_rows
from verifier_ladder.ledger.cancelling import cancel_unwanted
from verifier_ladder.ledger.claiming import SqlClaiming
from verifier_ladder.ledger.damage import contained
from verifier_ladder.ledger.ending import (
    end,
    end_from_outside,
    end_unpaid,
    end_unwanted,
    give_back,
    queue_again,
    return_untouched,
    take_back,
)
from verifier_ladder.ledger.holding import (
    change,
    hold,
    hold_claims,
    hold_keys,
    reserved,
)
from verifier_ladder.ledger.looking import SqlLooking
from verifier_ladder.ledger.protocol import (
    LONGEST_BACKOFF,
    UNWANTED,
    moved,
    no_such_check,
    refuse_answers,
    refuse_failures,
    since,
    together,
    verdict_row,
)
from verifier_ladder.ledger.records import Answer, Block, CheckState, Claim, Completion
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.schema import RESERVED
from verifier_ladder.ledger.store import marks
from verifier_ladder.ledger.workqueue import NOTHING_BEGUN
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection


class SqlQueue(SqlClaiming, SqlLooking):
    """**Abstract:** the work-queue part of the SQL ledger."""

    @contained
    def heartbeat(
        self,
        claims: Sequence[Claim],
        *,
        lease: float,
        now: float,
        begun: Mapping[bytes, float] = NOTHING_BEGUN,
    ) -> list[Claim]:
        """See `Ledger.heartbeat`."""
        until = now + lease
        with self._writing(tell=False) as connection:
            held = hold_claims(connection, claims)
            keys = [key for key, _ in held]
            change(
                connection, keys, "state = 1", lease_until=[until] * len(keys),
                seen_at=[now] * len(keys),
                begun_at=[row.begun_at or begun.get(row.check_key, 0.0) for row in held.values()],
            )  # fmt: skip
        return [
            Claim(claim.check._replace(lease_until=until), claim.fence)
            for claim in claims
            if _name(claim) in held
        ]

    @contained
    def extend(self, more: Sequence[tuple[Claim, float]]) -> bool:
        """See `Ledger.extend`."""
        wanted = together((_name(claim), moved(seconds)) for claim, seconds in more)
        with self._writing(tell=False) as connection:
            rows = hold_claims(connection, [claim for claim, _ in more])
            cpu = [reserved(row)[0] + wanted[name] for name, row in rows.items()]
            if min(cpu, default=-1) < 0:
                return False
            sums = together(((row.campaign, row.tier), wanted[n]) for n, row in rows.items())
            balances = Balances(connection)
            balances.hold({campaign for campaign, _ in sums})
            if not all(balances.take(*place, (n, 0, 0, 0)) for place, n in sums.items()):
                return False
            change(connection, [key for key, _ in rows], "state = 1", **{RESERVED[0]: cpu})
            balances.write()
        return True

    @contained
    def complete(self, completions: Sequence[Completion], *, now: float) -> list[Completion]:
        """See `Ledger.complete`."""
        refuse_failures([completion.verdict for completion in completions])
        sealed = self.is_sealed
        with self._writing() as connection:
            return end(connection, completions, CheckState.DONE, now, sealed=sealed)

    @contained
    def fail(
        self,
        completions: Sequence[Completion],
        *,
        retry_at: float | None,
        now: float,
        is_lost: bool = False,
    ) -> list[Completion]:
        """See `Ledger.fail`."""
        refuse_answers([completion.verdict for completion in completions])
        state = CheckState.DEAD if retry_at is None else CheckState.QUEUED
        sealed, until = self.is_sealed, retry_at or 0.0
        with self._writing() as connection:
            return end(
                connection, completions, state, now, not_before=until, sealed=sealed,
                is_lost=is_lost,
            )  # fmt: skip

    @contained
    def release(self, claims: Sequence[Claim], *, now: float) -> None:
        """See `Ledger.release`."""
        del now
        with self._writing() as connection:
            held = hold_claims(connection, claims)
            return_untouched(connection, [key for key, _ in held])
            give_back(connection, list(held.values()))

    @contained
    def end_known(self, claims: Sequence[Claim], *, now: float) -> dict[bytes, Verdict]:
        """See `Ledger.end_known`."""
        del now
        known = self.verdicts([claim.check.check_key for claim in claims])
        if known:
            with self._writing() as connection:
                told = [claim for claim in claims if claim.check.check_key in known]
                end_unpaid(connection, hold_claims(connection, told))
        return known

    @contained
    def wait(
        self,
        claims: Sequence[Claim],
        *,
        deadline: float | None,
        now: float,
        ask_at: float | None = None,
        note: str = "",
    ) -> list[Claim]:
        """See `Ledger.wait`."""
        del now
        with self._writing() as connection:
            held = hold_claims(connection, claims)
            unwanted = [row for row in held.values() if row.note == UNWANTED]
            end_unwanted(connection, unwanted)
            keys = [row.check_key for row in held.values() if row.note != UNWANTED]
            change(
                connection, keys, "state = 2, lease_until = 0",
                deadline=[deadline] * len(keys), not_before=[ask_at or 0.0] * len(keys),
                note=[note] * len(keys),
            )  # fmt: skip
        return [claim for claim in claims if _name(claim) in held]

    @contained
    def answers(self, told: Sequence[Answer], *, now: float) -> list[bool]:
        """See `Ledger.answers`."""
        refuse_failures([answer.verdict for answer in told])
        sealed = self.is_sealed
        with self._writing() as connection:
            held = hold_keys(connection, [answer.check_key for answer in told], "true")
            for answer in told:
                if answer.check_key not in held:
                    raise LedgerError(no_such_check(answer.check_key))
            return [_take(connection, answer, now, sealed=sealed) for answer in told]

    @contained
    def reap(self, *, now: float) -> int:
        """See `Ledger.reap`."""
        overdue = (
            "(c.state = 1 AND c.lease_until < ?1 OR c.state = 2 AND c.deadline < ?1 "
            "AND NOT (c.not_before > 0 AND c.not_before <= ?1))"
        )
        if not self._ask(f"SELECT 1 FROM check_queue c WHERE {overdue} LIMIT 1", now):
            return 0
        with self._writing() as connection:
            rows = hold(connection, overdue, (now,), wait=False)
            take_back(connection, rows, now)
        return len(rows)

    @contained
    def queue_due(self, verifiers: Sequence[bytes], *, now: float) -> int:
        """See `Ledger.queue_due`."""
        if not verifiers:
            return 0
        due = (
            "c.state = 2 AND c.not_before > 0 AND c.not_before <= ? "
            f"AND c.digest IN ({marks(len(verifiers))})"
        )
        if not self._ask(f"SELECT 1 FROM check_queue c WHERE {due} LIMIT 1", now, *verifiers):
            return 0
        with self._writing() as connection:
            rows = hold(connection, due, (now, *verifiers), wait=False)
            queue_again(connection, rows)
        return len(rows)

    @contained
    def hasten(self, *, lease: float, now: float) -> int:
        """See `Ledger.hasten`."""
        late = (
            "(c.state = 0 AND c.not_before > ?1 AND c.not_before < 1e300 "
            "OR c.state = 1 AND c.lease_until > ?2)"
        )
        limits = (now + LONGEST_BACKOFF, now + lease)
        if not self._ask(f"SELECT 1 FROM check_queue c WHERE {late} LIMIT 1", *limits):
            return 0
        with self._writing() as connection:
            rows = hold(connection, late, limits, wait=False)
            queued = [row.check_key for row in rows if row.state == CheckState.QUEUED]
            leased = [row.check_key for row in rows if row.state == CheckState.LEASED]
            change(connection, queued, "state = 0", not_before=[now] * len(queued))
            change(connection, leased, "state = 1", lease_until=[limits[1]] * len(leased))
        return len(rows)

    @contained
    def cancel(self, check_keys: Sequence[bytes], *, now: float, at_work: bool = False) -> int:
        """See `Ledger.cancel`."""
        with self._writing() as connection:
            return cancel_unwanted(connection, check_keys, now, at_work=at_work)

    @contained
    def revive(self, check_keys: Sequence[bytes], *, now: float) -> int:
        """See `Ledger.revive`."""
        del now
        with self._writing() as connection:
            held = hold_keys(connection, check_keys, "c.state >= 4")
            change(
                connection, list(held),
                "state = 0, attempt = 0, not_before = 0, note = '', deadline = NULL",
            )  # fmt: skip
        return len(held)


def _take(connection: Connection, answer: Answer, now: float, *, sealed: bool) -> bool:
    """Take a result for a check that is held; whether it is the first answer."""
    key, verdict, source, event = answer
    is_new = connection.exec_driver_sql(
        "INSERT INTO inbox (source, event, received_at) VALUES (?, ?, ?) "
        "ON CONFLICT DO NOTHING RETURNING 1",
        (source, event, now),
    ).first()
    if is_new is None:
        return False
    # As it is now: one that came just before may have been for the same check.
    (row,) = hold(connection, "c.check_key = ?", (key,))
    (check,) = check_rows(connection, "WHERE c.check_key = ?", (key,))
    if check.state is CheckState.DONE:
        return False
    facts = {"source": source, "event": event, "waited": [since(row.asked_at, now)]}
    block = Block("review", check.campaign, verdicts=[verdict_row(check, verdict)], facts=facts)
    write(connection, Draft(block, now, sealed=sealed))
    end_from_outside(connection, check, verdict, reserved(row))
    return True


def _name(claim: Claim) -> tuple[bytes, int]:
    return claim.check.check_key, claim.fence
