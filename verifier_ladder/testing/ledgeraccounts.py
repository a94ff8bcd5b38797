"""Conformance of a ledger's accounts: money is reserved before work and settled after."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, Block
from verifier_ladder.testing.records import (
    CAMPAIGN,
    NOW,
    check_row,
    claim,
    completion,
    enqueue,
    key,
)
from verifier_ladder.verdict import Verdict

CRASH = Verdict.abstain("segmentation fault", failed_at="engine")


def costing(verdict: Verdict, seconds: float) -> Verdict:
    """The verdict with a measured cost."""
    return replace(verdict, cost=Cost(seconds))


def account(ledger: Ledger, tier: int = 1) -> Account:
    """The account of a tier."""
    return next(row for row in ledger.accounts(CAMPAIGN) if row.tier == tier)


class AccountTests:
    """**Abstract:** the budget part of the contract."""

    def test_a_campaign_begins_without_accounts(self, ledger: Ledger) -> None:
        assert ledger.accounts(CAMPAIGN) == []

    def test_a_cap_opens_an_account(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0, 2: None})
        assert ledger.accounts(CAMPAIGN) == [Account(1, 10.0, 0.0, 0.0, 0.0, 0)]
        assert ledger.accounts("another") == []

    def test_a_claim_reserves(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        enqueue(ledger, check_row("a", reserve=4.0))
        claim(ledger)
        assert account(ledger).reserved == 4.0

    def test_a_completion_settles_what_was_measured(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        verdict = costing(Verdict.accept(1.0), 1.25)
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        assert account(ledger) == Account(1, None, 1.25, 0.0, 0.0, 1)

    def test_no_more_is_settled_than_was_reserved(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        verdict = costing(Verdict.accept(1.0), 100.0)
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        assert account(ledger).settled == 4.0

    def test_what_nobody_measured_is_the_time_since_the_claim(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        ledger.complete([completion(claim(ledger)[0])], now=NOW + 3)
        assert account(ledger).settled == 3.0

    def test_failed_attempts_are_another_line(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        ended = completion(claim(ledger)[0], costing(CRASH, 2.0))
        ledger.fail([ended], retry_at=None, now=NOW)
        assert account(ledger) == Account(1, None, 0.0, 0.0, 2.0, 0)

    def test_a_release_frees_the_money(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        ledger.release(claim(ledger), now=NOW)
        assert ledger.accounts(CAMPAIGN) == []

    def test_a_lost_attempt_is_charged_until_its_lease_ended(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=400.0))
        claim(ledger)
        ledger.reap(now=NOW + 1000)
        assert account(ledger) == Account(1, None, 0.0, 0.0, 60.0, 0)

    def test_a_lost_attempt_costs_no_more_than_was_reserved(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        claim(ledger)
        ledger.reap(now=NOW + 1000)
        assert account(ledger).failed == 4.0

    def test_a_zombie_is_charged_once(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        (lost,) = claim(ledger)
        ledger.reap(now=NOW + 61)
        ledger.complete([completion(lost, costing(Verdict.accept(1.0), 4.0))], now=NOW + 62)
        assert account(ledger) == Account(1, None, 0.0, 0.0, 4.0, 0)

    def test_what_cannot_be_paid_stays_queued(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        enqueue(ledger, check_row("a", reserve=11.0))
        assert claim(ledger) == []
        assert [row.note for row in ledger.checks()] == ["budget"]
        assert (ledger.parked(CAMPAIGN), ledger.parked("another")) == ({1: 1}, {})
        assert account(ledger).reserved == 0.0

    def test_a_dear_check_does_not_block_cheaper_ones(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        enqueue(
            ledger, check_row("a", reserve=11.0, priority=9.0, verifier="dear"),
            *(check_row(f"b{i}", reserve=4.0, priority=5.0 - i) for i in range(4)),
        )  # fmt: skip
        assert [c.check.payload["content"] for c in claim(ledger)] == ["b0", "b1"]
        assert claim(ledger) == []
        assert len([row for row in ledger.checks() if row.note == "budget"]) == 3

    def test_many_dear_checks_do_not_block_a_cheaper_one(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        dear = [check_row(f"a{i}", reserve=11.0, priority=9.0) for i in range(60)]
        enqueue(ledger, *dear, check_row("b", reserve=1.0))
        assert [c.check.payload["content"] for c in claim(ledger, 1)] == ["b"]

    def test_the_whole_cap_may_be_spent(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 0.3})
        enqueue(ledger, *(check_row(f"b{i}", reserve=0.1) for i in range(4)))
        assert len(claim(ledger)) == 3

    def test_a_higher_cap_frees_what_was_parked(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        enqueue(ledger, check_row("a", reserve=11.0))
        claim(ledger)
        ledger.set_caps(CAMPAIGN, {1: 11.0})
        (claimed,) = claim(ledger)
        assert claimed.check.note == ""

    def test_lifting_the_cap_keeps_the_spend(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        enqueue(ledger, check_row("a", reserve=4.0))
        verdict = costing(Verdict.accept(1.0), 3.0)
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        ledger.set_caps(CAMPAIGN, {1: None})
        assert account(ledger) == Account(1, None, 3.0, 0.0, 0.0, 1)

    def test_a_cap_below_the_spend_stops_further_work(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        enqueue(ledger, check_row("a", reserve=4.0), check_row("b", reserve=0.0))
        verdict = costing(Verdict.accept(1.0), 3.0)
        ledger.complete([completion(claim(ledger, 1)[0], verdict)], now=NOW)
        ledger.set_caps(CAMPAIGN, {1: 1.0})
        assert claim(ledger) == []
        assert account(ledger).settled == 3.0

    def test_more_may_be_reserved_within_the_cap(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 10.0})
        enqueue(ledger, check_row("a", reserve=4.0))
        (claimed,) = claim(ledger)
        assert ledger.extend(claimed, 6.0)
        assert not ledger.extend(claimed, 0.001)
        assert account(ledger).reserved == 10.0
        ledger.complete([completion(claimed, costing(Verdict.accept(1.0), 9.0))], now=NOW)
        assert account(ledger).settled == 9.0

    def test_a_lost_claim_reserves_no_more(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        (claimed,) = claim(ledger)
        ledger.release([claimed], now=NOW)
        assert not ledger.extend(claimed, 1.0)

    def test_a_waiting_case_keeps_its_reservation(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        ledger.wait(claim(ledger), deadline=NOW + 10, now=NOW)
        assert account(ledger).reserved == 4.0
        ledger.reap(now=NOW + 11)
        assert ledger.accounts(CAMPAIGN) == []

    def test_an_answer_settles_its_cost(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        ledger.wait(claim(ledger), deadline=None, now=NOW)
        verdict = costing(Verdict.accept(1.0), 1.0)
        for event in ("1", "2"):
            ledger.answer(key("check a"), verdict, source="lab", event=event, now=NOW)
        assert account(ledger) == Account(1, None, 1.0, 0.0, 0.0, 1)

    def test_a_cancelled_case_frees_the_money(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=4.0))
        ledger.wait(claim(ledger), deadline=None, now=NOW)
        assert ledger.cancel([key("check a")], now=NOW) == 1
        assert ledger.accounts(CAMPAIGN) == []

    def test_charges_are_spent_without_a_reservation(self, ledger: Ledger) -> None:
        for _ in range(2):
            ledger.append(Block("score", CAMPAIGN), charges={0: (0.5, 100)})
        assert ledger.accounts(CAMPAIGN) == [Account(0, None, 1.0, 0.0, 0.0, 200)]

    def test_charges_may_pass_the_cap_for_they_are_spent(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {1: 1.0})
        ledger.append(Block("score", CAMPAIGN), charges={1: (1.5, 1)})
        assert account(ledger).settled == 1.5
        enqueue(ledger, check_row("a", reserve=0.1))
        assert claim(ledger) == []

    @pytest.mark.parametrize("amount", [-1.0, nan, inf])
    def test_nonsense_amounts_are_refused(self, ledger: Ledger, amount: float) -> None:
        with pytest.raises(LedgerError, match="cpu-seconds"):
            ledger.set_caps(CAMPAIGN, {1: amount})
        with pytest.raises(LedgerError, match="cpu-seconds"):
            ledger.append(Block("score", CAMPAIGN), charges={1: (amount, 1)})
        assert ledger.newest() == 0
