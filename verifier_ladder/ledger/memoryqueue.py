"""The work queue and the accounts in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from operator import attrgetter
from time import time
from typing import TYPE_CHECKING

from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.memorylooking import MemoryLooking, Work
from verifier_ladder.ledger.protocol import (
    ATTEMPTS,
    LONGEST_BACKOFF,
    NOTHING,
    PARKED,
    UNWANTED,
    Amounts,
    Ended,
    asked_by,
    backoff,
    blocks_of,
    micros,
    moved,
    no_such_check,
    note_of,
    refuse_answers,
    refuse_failures,
    since,
    spent,
    state_after,
    together,
    verdict_row,
)
from verifier_ladder.ledger.records import (
    HELD,
    Answer,
    Block,
    CheckRow,
    CheckState,
    Claim,
    Completion,
    Request,
    VerdictRow,
)
from verifier_ladder.ledger.values import dumps, loads
from verifier_ladder.ledger.workqueue import NOTHING_BEGUN, any_check
from verifier_ladder.memory import weigh, written
from verifier_ladder.rate import Rate
from verifier_ladder.verdict import Verdict


class MemoryQueue(MemoryLooking):
    """**Abstract:** the work-queue part of the memory ledger."""

    if TYPE_CHECKING:
        _verdicts: dict[bytes, tuple[VerdictRow, int]]

        def _record(self, block: Block, now: float, body: bytes | None = None) -> int: ...

    # -- asking ----------------------------------------------------------------------------------

    def _add_requests(self, enqueue: Sequence[tuple[CheckRow, Sequence[Request]]]) -> None:
        for check in sorted((asked_by(*each) for each in enqueue), key=attrgetter("check_key")):
            self._enter(check)
        for check, waiting in enqueue:
            self._asked.setdefault(check.campaign, {})[check.check_key] = None
            for request in waiting:
                self._asked.setdefault(request.campaign, {})[request.check_key] = None
            self._write_requests(waiting)

    def _write_requests(self, requests: Iterable[Request]) -> None:
        for request in requests:
            kept = request._replace(state=loads(dumps(dict(request.state))))
            self._requests[_identity(request)] = kept

    def _enter(self, check: CheckRow) -> None:
        work = self._work.get(check.check_key)
        if work is None:
            work = Work(check, len(self._work))
            self._work[check.check_key] = work
        elif not work.row.state.is_final:
            row = work.row
            work.row = row._replace(
                priority=max(row.priority, check.priority),
                wanted_until=max(row.wanted_until, check.wanted_until),
                not_before=check.not_before if row.not_before == HELD else row.not_before,
                note="" if row.note == UNWANTED else row.note,
            )
            return
        elif work.row.state is CheckState.DONE:
            until = max(work.row.wanted_until, check.wanted_until)
            work.row = work.row._replace(wanted_until=until)
            return
        known = check.check_key in self._verdicts
        self._open[check.check_key] = work
        work.asked_at = time()
        work.row = check._replace(
            state=CheckState.DONE if known else CheckState.QUEUED,
            payload=loads(dumps(dict(check.payload))),
            owner="", lease_until=0.0, fence=work.row.fence if work.row is not check else 0,
            attempt=0, note="",
        )  # fmt: skip

    def _remove_requests(self, answered: Iterable[Request]) -> None:
        for request in answered:
            self._requests.pop(_identity(request), None)

    # -- working ---------------------------------------------------------------------------------

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
        claims: list[Claim] = []
        with self._held(tell=True):
            if rate is not None:
                limit = min(limit, rate.tokens(self._full_at(rate), now))
            wanted = self._wanted()
            for work in self._ready(now):
                row = work.row
                if len(claims) >= limit:
                    break
                is_alone = in_turn and row.attempt > 0
                if claims and is_alone:
                    continue
                if verifier not in {None, row.digest} or not (
                    (tiers is None or row.tier in tiers)
                    and (campaigns is None or self._is_asked(row.check_key, campaigns))
                    and gpu in {None, row.reserve.gpu_seconds > 0}
                    and takes(row)
                ):
                    continue
                if claims and weigh(row.payload, written) > room:
                    break
                payers = self._payers(row, wanted.get(row.check_key, {}))
                amounts = micros(reserve(row))
                payer = next(
                    (name for name in payers if self._take(name, row.tier, amounts)), None
                )
                if payer is None:
                    work.row = row._replace(note=PARKED if payers else row.note)
                    continue
                verifier = row.digest
                limit = 1 if is_alone else limit
                work.claimed_at, work.seen_at, work.reserved = now, now, amounts
                work.begun_at = 0.0 if in_turn and claims else now
                work.row = row._replace(
                    state=CheckState.LEASED, owner=owner, lease_until=now + lease,
                    fence=row.fence + 1, attempt=row.attempt + 1, note="", campaign=payer,
                    run=payers[payer],
                )  # fmt: skip
                claims.append(Claim(work.row, work.row.fence))
                room -= weigh(row.payload, written)
            if rate is not None and claims:
                self._rates[rate.name] = rate.taken(self._full_at(rate), now, len(claims))
        return claims

    def due(
        self, *, verifier: bytes, rate: Rate | None, now: float, gpu: bool | None = None
    ) -> float | None:
        """See `Ledger.due`."""
        with self._held():
            wanted = self._wanted()
            if not any(
                work.row.digest == verifier
                and gpu in {None, work.row.reserve.gpu_seconds > 0}
                and self._can_be_claimed(work.row, wanted.get(work.row.check_key, {}))
                for work in self._ready(now)
            ):
                return None
            return now if rate is None else max(now, rate.due(self._full_at(rate), now))

    def take_tokens(self, rate: Rate, wanted: int, *, now: float) -> tuple[int, float]:
        """See `Ledger.take_tokens`."""
        with self._held():
            full_at = self._full_at(rate)
            count = min(wanted, rate.tokens(full_at, now))
            full_at = self._rates[rate.name] = rate.taken(full_at, now, count)
            return count, rate.due(full_at, now)

    def put_off(self, rate: Rate, seconds: float, *, now: float) -> None:
        """See `Ledger.put_off`."""
        with self._held():
            self._rates[rate.name] = rate.put_off(self._full_at(rate), now, seconds)

    def _can_be_claimed(self, row: CheckRow, wanted: Mapping[str, str]) -> bool:
        """Whether somebody wants a check, and can pay for it if it is parked."""
        amounts = micros(row.reserve)
        return any(
            row.note != PARKED or self._can_take(name, row.tier, amounts)
            for name in self._payers(row, wanted)
        )

    def _full_at(self, rate: Rate) -> float:
        return self._rates.get(rate.name, 0.0)

    def _wanted(self) -> dict[bytes, dict[str, str]]:
        """The campaigns that want each check, with the run of each that asked first."""
        wanted: dict[bytes, dict[str, str]] = {}
        for request in self._requests.values():
            wanted.setdefault(request.check_key, {}).setdefault(request.campaign, request.run)
        return wanted

    def _payers(self, row: CheckRow, wanted: Mapping[str, str]) -> dict[str, str]:
        """The campaigns that want a check, unless they have paused its tier; the payer first."""
        names = {row.campaign: row.run}
        for name, run in wanted.items():
            names.setdefault(name, run)
        return {name: run for name, run in names.items() if (name, row.tier) not in self._paused}

    def _ours(self, claim: Claim) -> Work | None:
        work = self._work.get(claim.check.check_key)
        if work is None or work.row.state is not CheckState.LEASED:
            return None
        return work if work.row.fence == claim.fence else None

    def heartbeat(
        self,
        claims: Sequence[Claim],
        *,
        lease: float,
        now: float,
        begun: Mapping[bytes, float] = NOTHING_BEGUN,
    ) -> list[Claim]:
        """See `Ledger.heartbeat`."""
        ours = []
        with self._held():
            for claim in claims:
                work = self._ours(claim)
                if work is not None:
                    work.row = work.row._replace(lease_until=now + lease)
                    work.seen_at = now
                    work.begun_at = work.begun_at or begun.get(claim.check.check_key, 0.0)
                    check = claim.check._replace(lease_until=now + lease)
                    ours.append(Claim(check, claim.fence))
        return ours

    def extend(self, more: Sequence[tuple[Claim, float]]) -> bool:
        """See `Ledger.extend`."""
        wanted = together((claim.check.check_key, moved(n)) for claim, n in more)
        with self._held():
            ours = {claim.check.check_key: self._ours(claim) for claim, _ in more}
            changes = [(work, wanted[key]) for key, work in ours.items() if work is not None]
            if min((work.reserved[0] + n for work, n in changes), default=-1) < 0:
                return False
            sums = together(((work.row.campaign, work.row.tier), n) for work, n in changes)
            for done, (place, amount) in enumerate(sums.items()):
                if not self._take(*place, (amount, 0, 0, 0)):
                    for other, taken in list(sums.items())[:done]:
                        self._put_back(*other, (taken, 0, 0, 0))
                    return False
            for work, amount in changes:
                work.reserved = (work.reserved[0] + amount, *work.reserved[1:])
            return True

    def complete(self, completions: Sequence[Completion], *, now: float) -> list[Completion]:
        """See `Ledger.complete`."""
        refuse_failures([completion.verdict for completion in completions])
        return self._end(completions, CheckState.DONE, 0.0, now)

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
        return self._end(completions, state, retry_at or 0.0, now, is_lost=is_lost)

    def _end(
        self,
        completions: Sequence[Completion],
        state: CheckState,
        not_before: float,
        now: float,
        *,
        is_lost: bool = False,
    ) -> list[Completion]:
        ours: list[Completion] = []
        ended: list[Ended] = []
        failed = state is not CheckState.DONE
        with self._held(tell=True):
            for completion in completions:
                work = self._ours(completion.claim)
                if work is None:
                    continue
                if is_lost and not work.begun_at:
                    self._return_untouched(work)
                    continue
                worked = work.seen_at - work.begun_at if is_lost else now - work.claimed_at
                cost = spent(completion.verdict, work.reserved, worked)
                self._settle(work, cost, failed=failed)
                ended.append(Ended(completion, work.asked_at, work.claimed_at, cost))
                note = note_of(completion.verdict) if failed else ""
                after = state_after(state, work.row.note)
                _close(work, after, note=note, not_before=not_before)
                ours.append(completion)
            for block in blocks_of(ended, now):
                self._record(block, now)
        return ours

    def release(self, claims: Sequence[Claim], *, now: float) -> None:
        """See `Ledger.release`."""
        del now
        with self._held(tell=True):
            for claim in claims:
                work = self._ours(claim)
                if work is not None:
                    self._return_untouched(work)

    def _return_untouched(self, work: Work) -> None:
        """Queue a claim again as it was, or end it if nobody waits for it any more."""
        self._free(work)
        row = work.row
        work.row = row._replace(
            state=state_after(CheckState.QUEUED, row.note), owner="", lease_until=0.0, note="",
            attempt=row.attempt - 1,
        )  # fmt: skip

    def end_known(self, claims: Sequence[Claim], *, now: float) -> dict[bytes, Verdict]:
        """See `Ledger.end_known`."""
        del now
        with self._held(tell=True):
            keys = [claim.check.check_key for claim in claims]
            known = {key: self._verdicts[key][0].verdict for key in keys if key in self._verdicts}
            for claim in claims:
                work = self._ours(claim)
                if work is not None and claim.check.check_key in known:
                    self._free(work)
                    _close(work, CheckState.DONE)
        return known

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
        ours = []
        with self._held(tell=True):
            for claim in claims:
                work = self._ours(claim)
                if work is not None and work.row.note == UNWANTED:
                    self._free(work)
                    _close(work, CheckState.CANCELLED)
                    ours.append(claim)
                elif work is not None:
                    work.row = work.row._replace(
                        state=CheckState.WAITING,
                        deadline=deadline,
                        lease_until=0.0,
                        not_before=ask_at or 0.0,
                        note=note,
                    )
                    ours.append(claim)
        return ours

    def answers(self, told: Sequence[Answer], *, now: float) -> list[bool]:
        """See `Ledger.answers`."""
        refuse_failures([answer.verdict for answer in told])
        with self._held(tell=True):
            for answer in told:
                if answer.check_key not in self._work:
                    raise LedgerError(no_such_check(answer.check_key))
            return [self._hear(answer, now) for answer in told]

    def _hear(self, answer: Answer, now: float) -> bool:
        """Take one result of the world; whether it is the first answer."""
        key, verdict, source, event = answer
        if (source, event) in self._inbox:
            return False
        self._inbox.add((source, event))
        work = self._work[key]
        row = work.row
        if row.state is CheckState.DONE:
            return False
        if row.state in {CheckState.LEASED, CheckState.WAITING}:
            self._settle(work, spent(verdict, work.reserved, 0.0), failed=False)
        _close(work, CheckState.DONE)
        if row.state is CheckState.LEASED:
            work.row = work.row._replace(fence=row.fence + 1)
        waited = [since(work.asked_at, now)]
        facts = {"source": source, "event": event, "waited": waited}
        block = Block("review", row.campaign, verdicts=[verdict_row(row, verdict)], facts=facts)
        self._record(block, now)
        return True

    def reap(self, *, now: float) -> int:
        """See `Ledger.reap`."""
        count = 0
        with self._held(tell=True):
            for work in self._work.values():
                count += self._take_back(work, now)
        return count

    def queue_due(self, verifiers: Sequence[bytes], *, now: float) -> int:
        """See `Ledger.queue_due`."""
        count = 0
        with self._held(tell=True):
            for work in self._work.values():
                if work.row.digest in verifiers and _is_due(work.row, now):
                    self._free(work)
                    work.row = work.row._replace(state=CheckState.QUEUED, attempt=0)
                    count += 1
        return count

    def hasten(self, *, lease: float, now: float) -> int:
        """See `Ledger.hasten`."""
        count = 0
        with self._held(tell=True):
            for work in self._work.values():
                row = work.row
                if (
                    row.state is CheckState.QUEUED
                    and now + LONGEST_BACKOFF < row.not_before < HELD
                ):
                    work.row = row._replace(not_before=now)
                elif row.state is CheckState.LEASED and row.lease_until > now + lease:
                    work.row = row._replace(lease_until=now + lease)
                else:
                    continue
                count += 1
        return count

    def _take_back(self, work: Work, now: float) -> bool:
        row = work.row
        if row.state is CheckState.LEASED and row.lease_until < now:
            if not work.begun_at:
                self._return_untouched(work)
                return True
            cost = spent(None, work.reserved, work.seen_at - work.begun_at)
            self._settle(work, cost, failed=True)
            state = CheckState.DEAD if row.attempt >= ATTEMPTS else CheckState.QUEUED
            note = f"lease ran out (attempt {row.attempt})"
            _close(
                work,
                state_after(state, row.note),
                note=note,
                not_before=now + backoff(row.attempt),
            )
            return True
        if _is_due(row, now):
            return False
        if row.state is CheckState.WAITING and row.deadline is not None and row.deadline < now:
            self._free(work)
            _close(work, CheckState.EXPIRED, note="no answer before the deadline")
            return True
        return False

    def cancel(self, check_keys: Sequence[bytes], *, now: float, at_work: bool = False) -> int:
        """See `Ledger.cancel`."""
        with self._held(tell=True):
            return self._cancel(check_keys, now, at_work=at_work)

    def _cancel(self, check_keys: Sequence[bytes], now: float, *, at_work: bool = False) -> int:
        count = 0
        waiting: dict[bytes, list[tuple[str, str]]] = {key: [] for key in check_keys}
        for request in self._requests.values() if waiting else ():
            if request.check_key in waiting:
                waiting[request.check_key].append(request[1:3])
        for key, others in waiting.items():
            work = self._work.get(key)
            if work is None or work.row.state.is_final:
                continue
            if others:
                _hand_over(work, others)
                continue
            if work.row.state is CheckState.LEASED and not at_work:
                work.row = work.row._replace(note=UNWANTED)
                continue
            if work.row.state is CheckState.LEASED:
                until = now if work.row.lease_until >= now else work.seen_at
                begun, reserved = work.begun_at, work.reserved
                cost = spent(None, reserved, until - begun) if begun else NOTHING
                self._settle(work, cost, failed=True)
            else:
                self._free(work)
            _close(work, CheckState.CANCELLED, not_before=work.row.not_before)
            count += 1
        return count

    def revive(self, check_keys: Sequence[bytes], *, now: float) -> int:
        """See `Ledger.revive`."""
        del now
        count = 0
        with self._held(tell=True):
            for key in dict.fromkeys(check_keys):
                work = self._work.get(key)
                if work is not None and work.row.state > CheckState.DONE:
                    work.row = work.row._replace(
                        state=CheckState.QUEUED, attempt=0, not_before=0.0, note="",
                        deadline=None,
                    )  # fmt: skip
                    self._open[key] = work
                    count += 1
        return count

    def _settle(self, work: Work, cost: Amounts, *, failed: bool) -> None:
        self._spend(work.row, work.reserved, cost, failed=failed)
        work.reserved = NOTHING

    def _free(self, work: Work) -> None:
        self._put_back(work.row.campaign, work.row.tier, work.reserved)
        work.reserved = NOTHING


def _hand_over(work: Work, waiting: Sequence[tuple[str, str]]) -> None:
    """Have a queued check paid by somebody who still waits; the payer and its run come first."""
    row = work.row
    payer = (row.campaign, row.run)
    ours = [who for who in waiting if who[0] == payer[0]]
    heir = payer if payer in ours else (ours or waiting)[0]
    if row.state is CheckState.QUEUED:
        work.row = row._replace(campaign=heir[0], run=heir[1])


def _is_due(row: CheckRow, now: float) -> bool:
    """Whether an open case is due to be asked about."""
    return row.state is CheckState.WAITING and 0 < row.not_before <= now


def _close(work: Work, state: CheckState, *, note: str = "", not_before: float = 0.0) -> None:
    """Take a check out of its worker's hands."""
    work.row = work.row._replace(
        state=state, owner="", lease_until=0.0, note=note, not_before=not_before
    )


def _identity(request: Request) -> tuple[bytes, str, str, int, int]:
    return request[:5]
