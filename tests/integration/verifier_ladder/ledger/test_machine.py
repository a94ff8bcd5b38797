"""The queue and its accounts under any sequence of calls and crashes.

A Hypothesis state machine drives a ledger and, as its oracle, the one in memory. Any call may be
cut off at its n-th SQL statement or at its commit: the ledger is then opened anew, and nothing of
the call may be seen.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import event

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, Charged, CheckState, Claim
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.rate import Rate
from verifier_ladder.resource import Resource
from verifier_ladder.testing.records import CPU, NOW, check_row, completion, key, request
from verifier_ladder.verdict import Outcome, Verdict

RATES = [Rate("3/min", "slow"), Rate("10/s", "quick")]
WORDS = [f"w{n}" for n in range(6)]
CAMPAIGNS = ["one", "two"]
CAP = 20.0
TOTAL_CAP = 25.0
SECONDS = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 7.25, 30.0])
COSTS = st.builds(
    Cost, SECONDS, st.sampled_from([0.0, 0.0, 4.0]), st.sampled_from([0.0, 0.0, 2.5, 30.0])
)
ACCOUNTS = st.tuples(st.sampled_from([TOTAL, 1, 2]), st.sampled_from([CPU, Resource.MONEY]))
CHECK_KEYS = [key(f"check {word}") for word in WORDS]
CRASHES = st.none() | st.integers(0, 9)
"""At which statement of a call the process dies, if it does."""
ENDS = st.sampled_from(
    ["complete", "retry", "lost", "die", "release", "wait", "extend", "heartbeat"]
)

Call = Callable[[Ledger], Any]


class Crash(BaseException):
    """The process dies here."""


class LedgerMachine(RuleBasedStateMachine):
    """Does the same to both ledgers and compares all that can be seen."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place
        self.sql = self._open()
        self.oracle = MemoryLedger()
        self.now = NOW
        self.claims: list[Claim] = []

    def _open(self) -> SqlLedger:
        opened = open_ledger(self.place)
        assert isinstance(opened, SqlLedger)
        return opened

    def teardown(self) -> None:
        self.sql.close()

    # -- doing the same to both, with a crash now and then ---------------------------------------

    def both(self, call: Call, crash: int | None = None) -> Any:
        found = self._with_crash(call, crash)
        expected = call(self.oracle)
        assert found == expected
        return expected

    def _with_crash(self, call: Call, crash: int | None) -> Any:
        if crash is None:
            return call(self.sql)
        left = crash

        def strike(*_: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Crash

        engine = self.sql._database.engine
        event.listen(engine, "before_cursor_execute", strike)
        event.listen(engine, "commit", strike)
        try:
            return call(self.sql)
        except Crash:
            self._reopen()
            self.nothing_differs()
            return call(self.sql)
        finally:
            event.remove(engine, "before_cursor_execute", strike)
            event.remove(engine, "commit", strike)

    def _reopen(self) -> None:
        """Leave it as a dead process would: nothing is closed in order."""
        self.sql._database.close()
        self.sql = self._open()

    # -- rules -----------------------------------------------------------------------------------

    @initialize(capped=st.sampled_from(CAMPAIGNS))
    def cap(self, capped: str) -> None:
        self.both(lambda ledger: ledger.set_caps(capped, {(1, CPU): CAP}))

    @rule(
        campaign=st.sampled_from(CAMPAIGNS), place=ACCOUNTS,
        cap=st.sampled_from([None, 0.0, CAP, TOTAL_CAP]), crash=CRASHES,
    )  # fmt: skip
    def change_the_budget(
        self, campaign: str, place: tuple[int, Resource], cap: float | None, crash: int | None
    ) -> None:
        self.both(lambda ledger: ledger.set_caps(campaign, {place: cap}), crash)

    @rule(campaign=st.sampled_from(CAMPAIGNS), tier=st.sampled_from([1, 2]), crash=CRASHES)
    def pause(self, campaign: str, tier: int, crash: int | None) -> None:
        self.both(lambda ledger: ledger.pause(campaign, tier), crash)

    @rule(campaign=st.sampled_from(CAMPAIGNS), tier=st.sampled_from([1, 2]), crash=CRASHES)
    def resume(self, campaign: str, tier: int, crash: int | None) -> None:
        self.both(lambda ledger: ledger.resume(campaign, tier), crash)

    @rule(campaign=st.sampled_from(CAMPAIGNS), tier=st.sampled_from([0, 1]), cost=COSTS)
    def spend_at_once(self, campaign: str, tier: int, cost: Cost) -> None:
        self.both(
            lambda ledger: write(
                ledger, Block("score", campaign), charges={Charged(tier): (cost, 2)}
            )
        )

    @rule(seconds=st.sampled_from([1.0, 10.0, 45.0, 100.0, 1000.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(
        words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True),
        campaign=st.sampled_from(CAMPAIGNS), position=st.none() | st.integers(0, 2),
        priority=st.sampled_from([0.0, 1.0, 2.0]), patience=st.sampled_from([None, 5.0, 200.0]),
        reserve=COSTS, crash=CRASHES,
    )  # fmt: skip
    def ask(  # noqa: PLR0917 - Hypothesis gives them by name
        self, words: list[str], campaign: str, position: int | None, priority: float,
        patience: float | None, reserve: Cost, crash: int | None,
    ) -> None:  # fmt: skip
        enqueue = []
        until = 0.0 if patience is None else self.now + patience
        for word in words:
            tier = 1 + WORDS.index(word) % 2  # A check key stands for one verifier.
            row = check_row(
                word, campaign=campaign, priority=priority, reserve=reserve, tier=tier,
                verifier=f"v{tier}", wanted_until=until, digest=key(f"v{tier}"),
            )  # fmt: skip
            waiting = [] if position is None else [request(word, position, campaign=campaign)]
            enqueue.append((row, waiting))
        self.both(lambda ledger: write(ledger, Block("score", campaign), enqueue=enqueue), crash)

    @rule(
        limit=st.integers(1, 4), tiers=st.sampled_from([None, [1], [2], [1, 2]]),
        campaigns=st.sampled_from([None, None, ["one"], ["two"]]),
        how=ENDS, cost=st.none() | COSTS, crash=CRASHES, in_turn=st.booleans(),
        rate=st.sampled_from([None, *RATES]), gpu=st.sampled_from([None, None, True, False]),
    )  # fmt: skip
    def work(  # noqa: PLR0917 - Hypothesis gives them by name
        self, limit: int, tiers: list[int] | None, campaigns: list[str] | None, how: str,
        cost: Cost | None, crash: int | None, *, in_turn: bool, rate: Rate | None,
        gpu: bool | None,
    ) -> None:  # fmt: skip
        claims = self.both(
            lambda ledger: ledger.claim(
                tiers=tiers,
                campaigns=campaigns,
                owner="w",
                lease=60.0,
                limit=limit,
                now=self.now,
                in_turn=in_turn,
                rate=rate,
                gpu=gpu,
            ),
            crash,
        )
        self.claims += claims
        self._do(how, claims[: max(1, limit - 1)], cost, crash)

    @rule(rate=st.sampled_from(RATES), wanted=st.integers(1, 9), crash=CRASHES)
    def take_tokens(self, rate: Rate, wanted: int, crash: int | None) -> None:
        self.both(lambda ledger: ledger.take_tokens(rate, wanted, now=self.now), crash)

    @rule(rate=st.sampled_from(RATES), seconds=st.sampled_from([0.0, 7.0, 1e9]), crash=CRASHES)
    def put_off(self, rate: Rate, seconds: float, crash: int | None) -> None:
        self.both(lambda ledger: ledger.put_off(rate, seconds, now=self.now), crash)

    @rule(
        verifier=st.sampled_from(["v1", "v2", "v3"]), rate=st.sampled_from([None, *RATES]),
        gpu=st.sampled_from([None, True, False]),
    )  # fmt: skip
    def due(self, verifier: str, rate: Rate | None, *, gpu: bool | None) -> None:
        digest = key(verifier)
        self.both(lambda ledger: ledger.due(verifier=digest, rate=rate, now=self.now, gpu=gpu))
        self.both(
            lambda ledger: {(q.digest, q.gpu): q.checks for q in ledger.queued(now=self.now)}
        )

    @rule(data=st.data(), how=ENDS, cost=st.none() | COSTS, crash=CRASHES)
    def work_with_old_claims(
        self, data: st.DataObject, how: str, cost: Cost | None, crash: int | None
    ) -> None:
        """Claims of any age; most are lost, and must be refused."""
        if self.claims:
            some = st.lists(st.sampled_from(self.claims[-12:]), max_size=3, unique_by=id)
            self._do(how, data.draw(some), cost, crash)

    def _do(self, how: str, claims: list[Claim], cost: Cost | None, crash: int | None) -> None:
        said = Verdict(Outcome.ACCEPT, 1.0, cost=cost)
        failed = Verdict(Outcome.ABSTAIN, failed_at="engine", reason="crash", cost=cost)
        now, more = self.now, (cost.seconds if cost else 0.0) or 0.25
        retry = now + more if how in {"retry", "lost"} else None
        done = [completion(claimed, said) for claimed in claims]
        lost = [completion(claimed, failed) for claimed in claims]
        begun = {claimed.check.check_key: now for claimed in claims[:2]}
        calls: dict[str, Call] = {
            "complete": lambda ledger: ledger.complete(done, now=now),
            "retry": lambda ledger: ledger.fail(lost, retry_at=retry, now=now),
            "lost": lambda ledger: ledger.fail(lost, retry_at=retry, now=now, is_lost=True),
            "die": lambda ledger: ledger.fail(lost, retry_at=None, now=now),
            "release": lambda ledger: ledger.release(claims, now=now),
            "wait": lambda ledger: ledger.wait(claims, deadline=now + more, now=now),
            "extend": lambda ledger: ledger.extend(list(zip(claims, (more, -more), strict=False))),
            "heartbeat": lambda ledger: ledger.heartbeat(claims, lease=more, now=now, begun=begun),
        }
        self.both(calls[how], crash)

    @rule(
        word=st.sampled_from(WORDS), event_id=st.integers(0, 3), score=st.floats(0, 1),
        crash=CRASHES,
    )  # fmt: skip
    def answer(self, word: str, event_id: int, score: float, crash: int | None) -> None:
        known = self.oracle.checks(keys=[key(f"check {word}")])
        if known:
            verdict = Verdict.accept(score)
            self.both(
                lambda ledger: ledger.answer(
                    key(f"check {word}"), verdict, source="lab", event=f"{event_id}", now=self.now
                ),
                crash,
            )

    @rule(crash=CRASHES, later=st.sampled_from([0.0, 50.0, 61.0]))
    def reap(self, crash: int | None, later: float) -> None:
        self.now += later
        self.both(lambda ledger: ledger.reap(now=self.now), crash)

    @rule(
        keys=st.lists(st.sampled_from(CHECK_KEYS), min_size=1), at_work=st.booleans(),
        crash=CRASHES,
    )  # fmt: skip
    def cancel(self, keys: list[bytes], at_work: bool, crash: int | None) -> None:  # noqa: FBT001
        self.both(lambda ledger: ledger.cancel(keys, now=self.now, at_work=at_work), crash)

    @rule(campaign=st.sampled_from(CAMPAIGNS), count=st.integers(1, 4), crash=CRASHES)
    def withdraw(self, campaign: str, count: int, crash: int | None) -> None:
        waiting = self.oracle.requests(campaign=campaign, final=False)
        gone, left = waiting[:count], waiting[count:]
        keys = [request.check_key for request in gone]
        changed = [row._replace(state={**row.state, "left": len(left)}) for row in left]
        self.both(
            lambda ledger: write(
                ledger, Block("revision", campaign), answered=gone, changed=changed, unwanted=keys
            ),
            crash,
        )

    @rule(keys=st.lists(st.sampled_from(CHECK_KEYS), min_size=1), crash=CRASHES)
    def revive(self, keys: list[bytes], crash: int | None) -> None:
        self.both(lambda ledger: ledger.revive(keys, now=self.now), crash)

    @rule(count=st.integers(1, 3))
    def answered(self, count: int) -> None:
        gone = self.oracle.requests(final=True)[:count]
        self.both(lambda ledger: write(ledger, Block("revision", "one"), answered=gone))

    # -- what must hold --------------------------------------------------------------------------

    @invariant()
    def nothing_differs(self) -> None:
        found, expected = seen(self.sql), seen(self.oracle)
        for name, value in expected.items():
            assert found[name] == value, name

    @invariant()
    def caps_hold(self) -> None:
        """What is reserved never passes a cap; spend without reservation and lower caps may."""
        for campaign in CAMPAIGNS:
            for row in self.sql.accounts(campaign):
                assert min(row.settled, row.failed, row.reserved) >= 0
            with self.sql._reading() as connection:
                passed = connection.exec_driver_sql(
                    "SELECT * FROM account WHERE settled + failed + reserved > cap + excess"
                )
                assert passed.all() == []

    @invariant()
    def a_total_is_the_sum_of_its_tiers(self) -> None:
        for campaign in CAMPAIGNS:
            rows = self.sql.accounts(campaign)
            for total in (row for row in rows if row.tier == TOTAL):
                parts = [r for r in rows if r.tier != TOTAL and r.resource == total.resource]
                for name in ("settled", "reserved", "failed"):
                    found = sum(round(getattr(part, name) * 1e6) for part in parts)
                    assert found == round(getattr(total, name) * 1e6)

    @invariant()
    def spend_is_that_of_the_accounts(self) -> None:
        for campaign in CAMPAIGNS:
            spend = self.sql.spend(campaign)
            for row in (row for row in self.sql.accounts(campaign) if row.tier != TOTAL):
                parts = [
                    s for s in spend if (s.charged.tier, s.resource) == (row.tier, row.resource)
                ]
                for name in ("settled", "failed"):
                    found = sum(round(getattr(part, name) * 1e6) for part in parts)
                    assert found == round(getattr(row, name) * 1e6)
                assert sum(part.checks for part in parts) == row.checks

    @invariant()
    def what_is_done_is_answered(self) -> None:
        done = [row.check_key for row in self.sql.checks(states=[CheckState.DONE])]
        assert set(self.sql.verdicts(done)) == set(done)

    @invariant()
    def no_check_is_completed_twice(self) -> None:
        paid = [
            row.check_key
            for entry in self.sql.entries(kind="check")
            for row in self.sql.read(entry).verdicts
            if row.verdict.is_answer
        ]
        assert len(paid) == len(set(paid))


def write(ledger: Ledger, block: Block, **more: Any) -> None:
    """Append; PostgreSQL leaves out the ids of calls that failed, so they are not compared."""
    ledger.append(block, **more)


def seen(ledger: Ledger) -> dict[str, Any]:
    """All that a ledger shows of its queue and accounts."""
    return {
        "checks": ledger.checks(),
        "requests": ledger.requests(),
        "accounts": [ledger.accounts(campaign) for campaign in CAMPAIGNS],
        "spend": ledger.spend(),
        "paused": [ledger.paused(campaign) for campaign in CAMPAIGNS],
        "counts": [ledger.counts(campaign) for campaign in CAMPAIGNS],
        "verdicts": ledger.verdicts(CHECK_KEYS),
        "entries": [(e.kind, e.campaign) for e in ledger.entries()],
    }


PROFILE = settings.get_profile(settings.get_current_profile_name())


def run(place: Callable[[], str], *, examples: int, steps: int) -> None:
    """Run the machine; each example in a place of its own."""

    class Machine(LedgerMachine):
        def __init__(self) -> None:
            super().__init__(place())

    chosen = settings(PROFILE, max_examples=examples, stateful_step_count=steps)
    run_state_machine_as_test(Machine, settings=chosen)


@pytest.mark.hypothesis
def test_a_file_does_what_the_oracle_does(tmp_path: Path) -> None:
    names = count()
    run(
        lambda: str(tmp_path / f"{next(names)}.db"),
        examples=max(25, PROFILE.max_examples // 4), steps=40,
    )  # fmt: skip


@pytest.mark.hypothesis
def test_postgresql_does_what_the_oracle_does(
    postgresql: str, empty_postgresql: Callable[[], None]
) -> None:
    def place() -> str:
        empty_postgresql()
        return postgresql

    run(place, examples=max(8, PROFILE.max_examples // 10), steps=30)
