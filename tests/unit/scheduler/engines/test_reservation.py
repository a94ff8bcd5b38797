"""What a batch may spend follows what is reserved for its checks, while they end one by one."""

from __future__ import annotations

from dataclasses import replace
from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.scheduler.engines.reservation import Reservation
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    NOW,
    check_row,
    claim,
    completion,
    enqueue,
)
from verifier_ladder.verdict import Verdict

CAP = 30.0
STEPS = st.lists(st.none() | st.tuples(st.integers(0, 4), st.integers(0, 8)), max_size=12)


@given(STEPS)
def test_the_batch_may_spend_what_was_taken_and_what_is_reserved(
    steps: list[tuple[int, int] | None],
) -> None:
    with MemoryLedger() as ledger:
        enqueue(ledger, *(check_row(f"c{n}", reserve=Cost(2.0)) for n in range(5)))
        ledger.set_caps(CAMPAIGN, {(1, CPU): CAP})
        claims = claim(ledger)
        limit, open_, taken = Reservation(ledger, claims), dict(enumerate(claims)), 0.0
        for step in steps:
            if step is None:
                limit.extend()
            elif (done := open_.pop(step[0], None)) is not None:
                took = float(step[1])
                limit.settle(done, took)
                said = replace(Verdict.accept(1.0), cost=Cost(took))
                ledger.complete([completion(done, said)], now=NOW)
                taken += took
            (account,) = [row for row in ledger.accounts(CAMPAIGN) if row[:2] == (1, CPU)]
            assert isclose(limit.seconds, account.reserved + taken, abs_tol=1e-6)


def test_a_batch_whose_checks_have_all_ended_asks_for_nothing() -> None:
    with MemoryLedger() as ledger:
        enqueue(ledger, check_row("one", reserve=Cost(2.0)))
        (only,) = claim(ledger)
        limit = Reservation(ledger, [only])

        limit.settle(only, 1.0)
        limit.settle(only, 1.0)

        assert (True, 1.0) == (limit.extend(), limit.seconds)
