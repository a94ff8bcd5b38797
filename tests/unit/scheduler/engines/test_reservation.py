"""What a batch may spend follows what is reserved for its checks, while they end one by one."""

from __future__ import annotations

from math import isclose
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.budget import TOTAL
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, Claim
from verifier_ladder.scheduler.engines.inline import answered_inline
from verifier_ladder.scheduler.engines.reservation import Reservation
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    NOW,
    account,
    check_row,
    claim,
    completion,
    costing,
    enqueue,
)
from verifier_ladder.verdict import Verdict

CAP = 30.0


def end(ledger: MemoryLedger, limit: Reservation, *took: tuple[Claim, float]) -> None:
    """Checks that took so much are paid, and written."""
    limit.settle(took)
    said = [completion(c, costing(Verdict.accept(1.0), each)) for c, each in took]
    ledger.complete(said, now=NOW)


def batch(ledger: MemoryLedger, *campaigns: str, cap: float) -> list[Claim]:
    """Checks of these campaigns, each with its cap, that reserve a quarter of a second."""
    for name in campaigns:
        ledger.set_caps(name, {(1, CPU): cap})
    for n, name in enumerate(campaigns):
        row = check_row(f"c{n}", campaign=name, reserve=Cost(0.25))
        ledger.append(Block("score", name), enqueue=[(row, [])])
    return claim(ledger)


def spent(ledger: MemoryLedger, campaign: str = CAMPAIGN) -> float:
    return sum(row.settled for row in ledger.accounts(campaign))


STEPS = st.lists(st.none() | st.tuples(st.integers(0, 4), st.integers(0, 8)), max_size=12)


@given(STEPS)
def test_the_batch_may_spend_what_is_charged_and_what_is_reserved(
    steps: list[tuple[int, int] | None],
) -> None:
    with MemoryLedger() as ledger:
        enqueue(ledger, *(check_row(f"c{n}", reserve=Cost(2.0)) for n in range(5)))
        ledger.set_caps(CAMPAIGN, {(1, CPU): CAP})
        claims = claim(ledger)
        limit, open_ = Reservation(ledger, claims), dict(enumerate(claims))
        for step in steps:
            if step is None:
                limit.extend()
            elif (done := open_.pop(step[0], None)) is not None:
                end(ledger, limit, (done, float(step[1])))
            assert isclose(limit.seconds, spent(ledger) + account(ledger).reserved)


def test_a_batch_whose_checks_have_all_ended_asks_for_nothing() -> None:
    with MemoryLedger() as ledger:
        enqueue(ledger, check_row("one", reserve=Cost(2.0)))
        (only,) = claim(ledger)
        limit = Reservation(ledger, [only])

        limit.settle([(only, 1.0)])
        limit.settle([(only, 1.0)])

        assert (True, 1.0) == (limit.extend(), limit.seconds)


@given(st.permutations([0.9, 0.04, 0.06, 0.0]), st.integers(0, 3))
def test_one_that_took_more_than_its_part_is_charged_what_it_took(
    took: list[float], early: int
) -> None:
    with MemoryLedger() as ledger:
        claims = batch(ledger, *[CAMPAIGN] * 4, cap=1.0)
        limit = Reservation(ledger, claims)

        dear_first = sorted(zip(claims, took, strict=True), key=itemgetter(1), reverse=True)
        end(ledger, limit, *dear_first[:early])
        end(ledger, limit, *dear_first[early:])

        assert 1.0 == account(ledger).settled


def test_what_a_batch_has_not_reserved_is_asked_of_the_budget() -> None:
    with MemoryLedger() as ledger:
        claims = batch(ledger, CAMPAIGN, CAMPAIGN, cap=1.0)
        limit = Reservation(ledger, claims)

        end(ledger, limit, (claims[0], 0.9), (claims[1], 0.1))

        assert (1.0, 1.0) == (account(ledger).settled, limit.seconds)


@pytest.mark.parametrize("tier", [1, TOTAL])
def test_what_a_budget_does_not_have_is_neither_charged_nor_let_others_spend_more(
    tier: int,
) -> None:
    with MemoryLedger() as ledger:
        claims = batch(ledger, CAMPAIGN, CAMPAIGN, cap=9.0)
        ledger.set_caps(CAMPAIGN, {(tier, CPU): 0.6})
        limit = Reservation(ledger, claims)

        end(ledger, limit, (claims[0], 0.9))

        (reached,) = [row for row in ledger.accounts(CAMPAIGN) if row.cap == 0.6]
        assert (0.6, 0.0, 0.6) == (reached.settled, reached.reserved, limit.seconds)


@pytest.mark.parametrize("took", [0.5, 0.9])
def test_what_an_answer_in_this_process_took_is_charged_as_far_as_the_budget_goes(
    took: float,
) -> None:
    def said(_: Candidate) -> Verdict:
        return costing(Verdict.accept(1.0), took)

    verifier = FunctionVerifier(said, name="said", version="1", isolation="inline")
    with MemoryLedger() as ledger:
        (one,) = batch(ledger, CAMPAIGN, cap=0.6)
        limit = Reservation(ledger, [one])

        asked = [Candidate("text", "a")]
        (verdict,) = answered_inline(verifier, asked, [(one, limit)], [Cost()]).result().verdicts

        assert (took > 0.6) == (verdict.failed_at == "budget")
        assert verdict.cost == Cost(seconds=min(took, 0.6))
        assert min(took, 0.6) == account(ledger).reserved


def test_no_campaign_pays_with_what_another_has_reserved() -> None:
    with MemoryLedger() as ledger:
        claims = batch(ledger, "another", CAMPAIGN, CAMPAIGN, cap=0.5)
        by_payer = sorted(claims, key=lambda one: one.check.campaign != "another")

        end(ledger, Reservation(ledger, by_payer), *zip(by_payer, [0.0, 0.5, 0.0], strict=True))

        assert (0.0, 0.5) == (spent(ledger, "another"), spent(ledger))


def test_a_check_that_was_lost_does_not_keep_others_from_being_charged() -> None:
    with MemoryLedger() as ledger:
        claims = batch(ledger, *[CAMPAIGN] * 3, cap=1.0)
        limit = Reservation(ledger, claims)
        ledger.release(claims[1:2], now=NOW)

        end(ledger, limit, *zip(claims, [0.9, 0.0, 0.1], strict=True))

        assert 1.0 == account(ledger).settled
