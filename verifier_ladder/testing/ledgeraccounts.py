"""Conformance of a ledger's accounts: money is reserved before work and settled after."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, Block, Charged, Spend
from verifier_ladder.resource import Resource
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    CRASH,
    NOW,
    account,
    amounts,
    check_row,
    claim,
    completion,
    costing,
    enqueue,
    key,
    request,
    score_block,
)
from verifier_ladder.verdict import Verdict

MONEY, MINUTES = Resource.MONEY, Resource.PERSON_MINUTES


class AccountTests:
    """**Abstract:** the budget part of the contract."""

    def test_a_campaign_begins_without_accounts(self, ledger: Ledger) -> None:
        assert ledger.accounts(CAMPAIGN) == []

    def test_a_cap_opens_an_account(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0, (2, CPU): None})
        assert ledger.accounts(CAMPAIGN) == [Account(1, CPU, 10.0, 0.0, 0.0, 0.0, 0)]
        assert ledger.accounts("another") == []

    def test_a_claim_reserves(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        claim(ledger)
        assert account(ledger).reserved == 4.0

    def test_a_claim_may_reserve_more_than_was_expected(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(ledger, *(check_row(f"b{i}", reserve=Cost(1.0)) for i in range(4)))
        claims = ledger.claim(
            owner="me", lease=60.0, limit=4, now=NOW,
            reserve=lambda check: check.reserve.times(4.0),
        )  # fmt: skip
        assert (len(claims), account(ledger).reserved) == (2, 8.0)
        assert all(claim.check.reserve == Cost(1.0) for claim in claims)
        ledger.complete([completion(claims[0], costing(Verdict.accept(1.0), 3.5))], now=NOW)
        assert (account(ledger).settled, account(ledger).reserved) == (3.5, 4.0)

    def test_a_completion_settles_what_was_measured(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        verdict = costing(Verdict.accept(1.0), 1.25)
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        assert account(ledger) == Account(1, CPU, None, 1.25, 0.0, 0.0, 1)

    def test_no_more_is_settled_than_was_reserved(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        verdict = costing(Verdict.accept(1.0), 100.0)
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        assert account(ledger).settled == 4.0

    def test_what_nobody_measured_is_the_time_since_the_claim(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        ledger.complete([completion(claim(ledger)[0])], now=NOW + 3)
        assert account(ledger).settled == 3.0

    def test_failed_attempts_are_another_line(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        ended = completion(claim(ledger)[0], costing(CRASH, 2.0))
        ledger.fail([ended], retry_at=None, now=NOW)
        assert account(ledger) == Account(1, CPU, None, 0.0, 0.0, 2.0, 0)

    def test_a_release_frees_the_money(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        ledger.release(claim(ledger), now=NOW)
        assert ledger.accounts(CAMPAIGN) == []

    @pytest.mark.parametrize("beats", [(), (7.0,), (7.0, 21.0)])
    @pytest.mark.parametrize("end", ["reaped", "found dead", "cancelled too late"])
    def test_a_lost_attempt_is_charged_until_its_worker_was_last_heard_of(
        self, ledger: Ledger, beats: tuple[float, ...], end: str
    ) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(400.0)))
        claimed = claim(ledger)
        for after in beats:
            ledger.heartbeat(claimed, lease=60.0, now=NOW + after)
        if end == "reaped":
            ledger.reap(now=NOW + 1000)
        elif end == "found dead":
            ledger.fail([completion(claimed[0], CRASH)], retry_at=None, now=NOW + 50, is_lost=True)
        else:
            ledger.cancel([claimed[0].check.check_key], now=NOW + 1000, at_work=True)
        worked = max(beats, default=0.0)
        lines = ledger.accounts(CAMPAIGN)
        assert sum(line.failed for line in lines) == worked
        assert sum(line.settled + line.reserved for line in lines) == 0.0

    @pytest.mark.parametrize("end", ["reaped", "found dead", "cancelled too late"])
    def test_of_a_lost_batch_only_what_was_begun_is_charged_and_counted(
        self, ledger: Ledger, end: str
    ) -> None:
        enqueue(ledger, *(check_row(name, reserve=Cost(400.0)) for name in "abcd"))
        first, second, *rest = claimed = claim(ledger, in_turn=True)
        begun = {second.check.check_key: NOW + 6}
        ledger.heartbeat(claimed, lease=60.0, now=NOW + 10, begun=begun)
        keys = [one.check.check_key for one in claimed]
        if end == "reaped":
            assert ledger.reap(now=NOW + 1000) == 4
        elif end == "found dead":
            lost = [completion(one, CRASH) for one in claimed]
            ended = ledger.fail(lost, retry_at=NOW + 50, now=NOW + 50, is_lost=True)
            assert [one.claim for one in ended] == [first, second]
        else:
            ledger.cancel(keys, now=NOW + 1000, at_work=True)
        lines = ledger.accounts(CAMPAIGN)
        assert sum(line.failed for line in lines) == 10.0 + 4.0
        assert sum(line.settled + line.reserved for line in lines) == 0.0
        if end != "cancelled too late":
            attempts = {row.check_key: row.attempt for row in ledger.checks()}
            assert [attempts[key] for key in keys] == [1, 1, 0, 0]
            again = claim(ledger, now=NOW + 1000 if end == "found dead" else NOW + 1000.5)
            assert {one.check.check_key for one in rest} <= {one.check.check_key for one in again}

    def test_a_lost_attempt_costs_no_more_than_was_reserved(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        ledger.heartbeat(claim(ledger), lease=60.0, now=NOW + 30)
        ledger.reap(now=NOW + 1000)
        assert account(ledger).failed == 4.0

    def test_a_zombie_is_charged_once(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        (lost,) = claim(ledger)
        ledger.heartbeat([lost], lease=60.0, now=NOW + 30)
        ledger.reap(now=NOW + 91)
        ledger.complete([completion(lost, costing(Verdict.accept(1.0), 4.0))], now=NOW + 62)
        assert account(ledger) == Account(1, CPU, None, 0.0, 0.0, 4.0, 0)

    def test_what_cannot_be_paid_stays_queued(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(ledger, check_row("a", reserve=Cost(11.0)))
        assert claim(ledger) == []
        assert [row.note for row in ledger.checks()] == ["budget"]
        assert (ledger.parked(CAMPAIGN), ledger.parked("another")) == ({1: 1}, {})
        assert ledger.queued(now=NOW) == []
        assert account(ledger).reserved == 0.0

    def test_a_dear_check_does_not_block_cheaper_ones(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(
            ledger,
            check_row(
                "a", reserve=Cost(11.0), priority=9.0, verifier="dear", digest=key("dear")
            ),
            *(check_row(f"b{i}", reserve=Cost(4.0), priority=5.0 - i) for i in range(4)),
        )  # fmt: skip
        assert [c.check.payload["content"] for c in claim(ledger)] == ["b0", "b1"]
        assert claim(ledger) == []
        assert len([row for row in ledger.checks() if row.note == "budget"]) == 3

    def test_many_dear_checks_do_not_block_a_cheaper_one(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        dear = [check_row(f"a{i}", reserve=Cost(11.0), priority=9.0) for i in range(60)]
        enqueue(ledger, *dear, check_row("b", reserve=Cost(1.0)))
        assert [c.check.payload["content"] for c in claim(ledger, 1)] == ["b"]

    def test_the_whole_cap_may_be_spent(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 0.3})
        enqueue(ledger, *(check_row(f"b{i}", reserve=Cost(0.1)) for i in range(4)))
        assert len(claim(ledger)) == 3

    def test_a_higher_cap_frees_what_was_parked(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(ledger, check_row("a", reserve=Cost(11.0)))
        claim(ledger)
        ledger.set_caps(CAMPAIGN, {(1, CPU): 11.0})
        (claimed,) = claim(ledger)
        assert claimed.check.note == ""

    def test_lifting_the_cap_keeps_the_spend(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        verdict = costing(Verdict.accept(1.0), 3.0)
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        ledger.set_caps(CAMPAIGN, {(1, CPU): None})
        assert account(ledger) == Account(1, CPU, None, 3.0, 0.0, 0.0, 1)

    def test_a_cap_below_the_spend_stops_further_work(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)), check_row("b", reserve=Cost(0.1)))
        verdict = costing(Verdict.accept(1.0), 3.0)
        ledger.complete([completion(claim(ledger, 1)[0], verdict)], now=NOW)
        ledger.set_caps(CAMPAIGN, {(1, CPU): 1.0})
        assert claim(ledger) == []
        assert account(ledger).settled == 3.0

    def test_more_may_be_reserved_within_the_cap(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        (claimed,) = claim(ledger)
        assert ledger.extend([(claimed, 6.0)])
        assert not ledger.extend([(claimed, 0.001)])
        assert account(ledger).reserved == 10.0
        ledger.complete([completion(claimed, costing(Verdict.accept(1.0), 9.0))], now=NOW)
        assert account(ledger).settled == 9.0

    def test_what_is_reserved_may_be_moved_though_the_cap_is_reached(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 8.0})
        enqueue(ledger, *(check_row(name, reserve=Cost(4.0)) for name in "ab"))
        first, second = claim(ledger)
        assert not ledger.extend([(first, 4.5), (second, -4.5)])
        assert not ledger.extend([(first, 3.0), (second, -2.0)])
        assert ledger.extend([(first, 3.0), (second, -3.0)])
        assert account(ledger).reserved == 8.0
        ledger.complete([completion(first, costing(Verdict.accept(1.0), 9.0))], now=NOW)
        assert account(ledger)[3:5] == (7.0, 1.0)

    def test_a_lost_claim_reserves_no_more(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        (claimed,) = claim(ledger)
        ledger.release([claimed], now=NOW)
        assert not ledger.extend([(claimed, 1.0)])

    def test_a_lost_claim_does_not_keep_others_from_reserving(self, ledger: Ledger) -> None:
        enqueue(ledger, *(check_row(name, reserve=Cost(4.0)) for name in "ab"))
        lost, ours = claim(ledger)
        ledger.release([lost], now=NOW)
        assert ledger.extend([(lost, -1.0), (ours, 3.0)])
        assert account(ledger).reserved == 7.0

    def test_a_check_that_is_named_twice_reserves_both(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        (claimed,) = claim(ledger)
        assert not ledger.extend([(claimed, -3.0), (claimed, -3.0)])
        assert ledger.extend([(claimed, 2.0), (claimed, -1.0)])
        assert account(ledger).reserved == 5.0

    def test_a_waiting_case_keeps_its_reservation(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        ledger.wait(claim(ledger), deadline=NOW + 10, now=NOW)
        assert account(ledger).reserved == 4.0
        ledger.reap(now=NOW + 11)
        assert ledger.accounts(CAMPAIGN) == []

    def test_a_case_that_is_asked_about_reserves_once(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        (opened,) = claim(ledger)
        ledger.wait([opened], deadline=None, ask_at=NOW + 5, now=NOW)
        ledger.queue_due([opened.check.digest], now=NOW + 5)
        assert ledger.accounts(CAMPAIGN) == []
        (again,) = claim(ledger, now=NOW + 5)
        assert account(ledger).reserved == 4.0
        ledger.wait([again], deadline=None, ask_at=NOW + 9, now=NOW + 6)
        ledger.cancel([key("check a")], now=NOW + 7)
        assert ledger.accounts(CAMPAIGN) == []

    def test_an_answer_settles_its_cost(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        ledger.wait(claim(ledger), deadline=None, now=NOW)
        verdict = costing(Verdict.accept(1.0), 1.0)
        for event in ("1", "2"):
            ledger.answer(key("check a"), verdict, source="lab", event=event, now=NOW)
        assert account(ledger) == Account(1, CPU, None, 1.0, 0.0, 0.0, 1)

    def test_a_cancelled_case_frees_the_money(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        ledger.wait(claim(ledger), deadline=None, now=NOW)
        assert ledger.cancel([key("check a")], now=NOW) == 1
        assert ledger.accounts(CAMPAIGN) == []

    def test_charges_are_spent_without_a_reservation(self, ledger: Ledger) -> None:
        for _ in range(2):
            ledger.append(Block("score", CAMPAIGN), charges={Charged(0): (Cost(0.5), 100)})
        assert ledger.accounts(CAMPAIGN) == [Account(0, CPU, None, 1.0, 0.0, 0.0, 200)]

    def test_charges_may_pass_the_cap_for_they_are_spent(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 1.0})
        ledger.append(Block("score", CAMPAIGN), charges={Charged(1): (Cost(1.5), 1)})
        assert account(ledger).settled == 1.5
        enqueue(ledger, check_row("a", reserve=Cost(0.1)))
        assert claim(ledger) == []

    @pytest.mark.parametrize("amount", [-1.0, nan, inf])
    def test_nonsense_caps_are_refused(self, ledger: Ledger, amount: float) -> None:
        with pytest.raises(LedgerError, match="cpu-seconds"):
            ledger.set_caps(CAMPAIGN, {(1, CPU): amount})
        with pytest.raises(LedgerError, match="person-minutes"):
            ledger.set_caps(CAMPAIGN, {(3, Resource.PERSON_MINUTES): amount})
        assert ledger.accounts(CAMPAIGN) == []

    def test_caps_of_no_tier_or_resource_are_refused(self, ledger: Ledger) -> None:
        places: list[Any] = [
            "simulation", 1, (1,), (1, CPU, 1), (9, CPU), (1, 99), ("1", CPU), (1, "cpu"), None,
        ]  # fmt: skip
        wrong: list[Any] = [{place: 1.0} for place in places]
        for caps in [*wrong, {(1, CPU): "1"}, {(1, CPU): True}]:
            with pytest.raises(ConfigError, match=r"Ledger\.set_caps: caps=.*: give"):
                ledger.set_caps(CAMPAIGN, caps)
        assert ledger.accounts(CAMPAIGN) == []

    # -- several resources -----------------------------------------------------------------------

    def test_every_resource_has_an_account(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0, 3.0, 2.0, 1.0)))
        verdict = replace(Verdict.accept(1.0), cost=Cost(1.0, 0.5, 2.0, 0.25))
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        spent = (1.0, 0.5, 2.0, 0.25)
        assert ledger.accounts(CAMPAIGN) == [
            Account(1, resource, None, cost, 0.0, 0.0, 1)
            for resource, cost in zip(Resource, spent, strict=True)
        ]

    def test_a_reservation_is_all_or_nothing(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0, (1, MONEY): 1.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0, money=2.0)))
        assert claim(ledger) == []
        assert amounts(ledger) == {(1, CPU): 0.0, (1, MONEY): 0.0}
        assert ledger.parked(CAMPAIGN) == {1: 1}

    def test_what_a_check_does_not_use_does_not_hold_it_up(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, MONEY): 1.0})
        ledger.append(Block("score", CAMPAIGN), charges={Charged(1): (Cost(money=2.0), 1)})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        assert len(claim(ledger)) == 1

    def test_a_higher_cap_of_the_resource_that_lacked_frees_what_was_parked(
        self, ledger: Ledger
    ) -> None:
        ledger.set_caps(CAMPAIGN, {(1, MONEY): 1.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0, money=2.0)))
        claim(ledger)
        ledger.set_caps(CAMPAIGN, {(1, CPU): 100.0})
        assert claim(ledger) == []
        ledger.set_caps(CAMPAIGN, {(1, MONEY): 2.0})
        assert len(claim(ledger)) == 1

    def test_what_nobody_can_measure_is_settled_as_reserved(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0, money=2.0, person_minutes=5.0)))
        ledger.complete([completion(claim(ledger)[0])], now=NOW + 3)
        assert list(amounts(ledger).values()) == [3.0, 2.0, 5.0]

    def test_a_lost_attempt_may_have_paid(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0, money=2.0)))
        ledger.heartbeat(claim(ledger), lease=60.0, now=NOW + 30)
        ledger.reap(now=NOW + 1000)
        assert ledger.accounts(CAMPAIGN)[1] == Account(1, MONEY, None, 0.0, 0.0, 2.0, 0)

    def test_a_release_frees_every_resource(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(TOTAL, MONEY): 2.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0, 3.0, 2.0, 1.0)))
        ledger.release(claim(ledger), now=NOW)
        assert amounts(ledger) == {(TOTAL, MONEY): 0.0}

    def test_a_waiting_case_keeps_somebodys_minutes(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, MINUTES): 7.0})
        asked = Cost(person_minutes=5.0)
        enqueue(ledger, check_row("a", reserve=asked), check_row("b", reserve=asked))
        ledger.wait(claim(ledger), deadline=None, now=NOW)
        assert ledger.parked(CAMPAIGN) == {1: 1}
        ledger.answer(key("check a"), Verdict.accept(1.0), source="lab", event="1", now=NOW)
        assert amounts(ledger)[1, MINUTES] == 5.0

    # -- who asked, and whom it was paid to ------------------------------------------------------

    def test_spend_is_told_apart_by_run_and_verifier(self, ledger: Ledger) -> None:
        gate, size = Charged(0, "gate", "1"), Charged(0, "size", "2")
        charges = {gate: (Cost(0.5), 3), size: (Cost(0.25), 2)}
        for step in (0, 1):
            ledger.append(score_block(["a"], step=step), charges=charges)
        assert ledger.spend(CAMPAIGN) == [
            Spend(CAMPAIGN, "run", gate, CPU, 1.0, 0.0, 6),
            Spend(CAMPAIGN, "run", size, CPU, 0.5, 0.0, 4),
        ]

    def test_the_run_that_asked_first_has_spent_it(self, ledger: Ledger) -> None:
        for run in ("early", "late"):
            waiting = [request("a", run=run), request("a", 1, run="third")]
            enqueue(ledger, check_row("a", reserve=Cost(4.0, money=2.0)), requests=waiting)
        verdict = replace(Verdict.accept(1.0), cost=Cost(3.0, money=0.5))
        ledger.complete([completion(claim(ledger)[0], verdict)], now=NOW)
        charged = Charged(1, "xtb", "1")
        assert ledger.spend() == [
            Spend(CAMPAIGN, "early", charged, CPU, 3.0, 0.0, 1),
            Spend(CAMPAIGN, "early", charged, MONEY, 0.5, 0.0, 1),
        ]

    def test_failed_attempts_are_spend_too(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)), requests=[request("a")])
        (first,) = claim(ledger)
        ledger.fail([completion(first, costing(CRASH, 1.0))], retry_at=NOW, now=NOW)
        ledger.heartbeat(claim(ledger), lease=60.0, now=NOW + 30)
        ledger.reap(now=NOW + 91)
        assert ledger.spend() == [Spend(CAMPAIGN, "run", Charged(1, "xtb", "1"), CPU, 0.0, 5.0, 0)]

    def test_who_takes_over_as_payer_has_spent_it(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 1.0})
        waiting = [request("a"), request("a", campaign="two", run="other")]
        enqueue(ledger, check_row("a", reserve=Cost(4.0)), requests=waiting)
        (claimed,) = claim(ledger)
        assert (claimed.check.campaign, claimed.check.run) == ("two", "other")
        ledger.complete([completion(claimed, costing(Verdict.accept(1.0), 2.0))], now=NOW)
        assert [(row.campaign, row.run, row.settled) for row in ledger.spend()] == [
            ("two", "other", 2.0)
        ]
        assert ledger.spend(CAMPAIGN) == []

    def test_a_check_that_is_asked_for_anew_is_paid_by_who_asks(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"), requests=[request("a")])
        ledger.fail([completion(claim(ledger)[0], CRASH)], retry_at=None, now=NOW)
        enqueue(ledger, check_row("a"), requests=[request("a", run="second")])
        (claimed,) = claim(ledger)
        assert claimed.check.run == "second"
