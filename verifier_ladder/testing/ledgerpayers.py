"""What every ledger promises of totals, of who pays, and of paused tiers."""

from __future__ import annotations

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, Block, Charged
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    NOW,
    amounts,
    check_row,
    claim,
    completion,
    costing,
    enqueue,
    join,
    request,
)
from verifier_ladder.verdict import Verdict


class PayerTests:
    """Who pays for a check, and what holds it up."""

    # -- the total of all tiers ------------------------------------------------------------------

    def test_a_total_caps_all_tiers_together(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 10.0})
        enqueue(
            ledger, check_row("a", reserve=Cost(6.0), tier=1, verifier="one"),
            check_row("b", reserve=Cost(6.0), tier=2, verifier="two"),
        )  # fmt: skip
        assert len(claim(ledger)) + len(claim(ledger)) == 1
        assert amounts(ledger) == {(TOTAL, CPU): 6.0, (1, CPU): 6.0}

    def test_a_total_holds_what_was_spent_before_it(self, ledger: Ledger) -> None:
        charges = {Charged(0): (Cost(3.0), 7), Charged(1): (Cost(1.0, money=9.0), 1)}
        ledger.append(Block("score", CAMPAIGN), charges=charges)
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        (claimed,) = claim(ledger)
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 8.0})
        assert ledger.accounts(CAMPAIGN)[0] == Account(TOTAL, CPU, 8.0, 4.0, 4.0, 0.0, 8)
        ledger.complete([completion(claimed, costing(Verdict.accept(1.0), 2.0))], now=NOW)
        assert ledger.accounts(CAMPAIGN)[0] == Account(TOTAL, CPU, 8.0, 6.0, 0.0, 0.0, 9)

    def test_a_total_that_is_passed_already_stops_further_work(self, ledger: Ledger) -> None:
        ledger.append(Block("score", CAMPAIGN), charges={Charged(0): (Cost(3.0), 7)})
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 2.0})
        enqueue(ledger, check_row("a", reserve=Cost(0.5)))
        assert claim(ledger) == []

    def test_what_a_total_keeps_back_is_not_reserved(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 10.0})
        enqueue(ledger, check_row("a", reserve=Cost(6.0)))
        ledger.keep(CAMPAIGN, Cost(5.0))
        assert (claim(ledger), ledger.parked(CAMPAIGN)) == ([], {1: 1})
        assert ledger.accounts(CAMPAIGN)[0] == Account(TOTAL, CPU, 10.0, 0.0, 0.0, 0.0, 0, 5.0)
        ledger.keep(CAMPAIGN, Cost(4.0))
        (claimed,) = claim(ledger)
        assert not ledger.extend([(claimed, 0.5)])

    def test_what_is_kept_back_is_there_for_what_is_charged(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 10.0})
        ledger.keep(CAMPAIGN, Cost(4.0))
        enqueue(ledger, *(check_row(name, reserve=Cost(3.0)) for name in "abc"))
        assert len(ledger.claim(owner="me", lease=60.0, limit=3, now=NOW)) == 2
        charges = {Charged(0): (Cost(4.0), 9)}
        ledger.append(Block("score", CAMPAIGN), charges=charges, kept=Cost())
        assert ledger.accounts(CAMPAIGN)[0] == Account(TOTAL, CPU, 10.0, 4.0, 6.0, 0.0, 9)

    def test_nothing_is_kept_back_where_no_total_has_a_cap(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
        ledger.keep(CAMPAIGN, Cost(9.0))
        enqueue(ledger, check_row("a", reserve=Cost(6.0)))
        assert len(claim(ledger)) == 1

    def test_a_total_without_a_cap_is_no_account(self, ledger: Ledger) -> None:
        ledger.append(Block("score", CAMPAIGN), charges={Charged(0): (Cost(3.0), 7)})
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 5.0})
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): None})
        assert [row.tier for row in ledger.accounts(CAMPAIGN)] == [0]

    def test_more_may_be_reserved_only_within_the_total(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 5.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        (claimed,) = claim(ledger)
        assert ledger.extend([(claimed, 1.0)])
        assert not ledger.extend([(claimed, 0.5)])
        assert amounts(ledger) == {(TOTAL, CPU): 5.0, (1, CPU): 5.0}

    # -- who pays --------------------------------------------------------------------------------

    def test_a_campaign_that_waits_pays_when_the_payer_cannot(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 1.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        assert claim(ledger) == []
        join(ledger, "another", "a")
        (claimed,) = claim(ledger)
        assert claimed.check.campaign == "another"
        ledger.complete([completion(claimed, costing(Verdict.accept(1.0), 3.0))], now=NOW)
        assert amounts(ledger, "another") == {(1, CPU): 3.0}
        assert [e.campaign for e in ledger.entries(kind="check")] == ["another"]

    def test_the_payer_goes_on_paying_while_it_can(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        join(ledger, "another", "a", priority=9.0)
        assert claim(ledger)[0].check.campaign == CAMPAIGN

    def test_the_first_who_can_takes_over(self, ledger: Ledger) -> None:
        for campaign in (CAMPAIGN, "poor"):
            ledger.set_caps(campaign, {(1, CPU): 1.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        for campaign in ("poor", "rich", "richer"):
            join(ledger, campaign, "a")
        assert claim(ledger)[0].check.campaign == "rich"

    def test_who_no_longer_waits_does_not_pay(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 1.0})
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        join(ledger, "another", "a")
        ledger.append(Block("revision", "another"), answered=[request("a", campaign="another")])
        assert claim(ledger) == []

    # -- paused tiers ----------------------------------------------------------------------------

    def test_a_paused_tier_is_passed_over(self, ledger: Ledger) -> None:
        ledger.pause(CAMPAIGN, 1)
        enqueue(
            ledger, check_row("a", priority=9.0),
            check_row("b", tier=2, verifier="two"), check_row("c", campaign="another"),
        )  # fmt: skip
        found = [claim(ledger, 1) for _ in range(3)]
        assert sorted(c.check.payload["content"] for claims in found for c in claims) == ["b", "c"]
        assert ledger.parked(CAMPAIGN) == {}

    def test_a_resumed_tier_goes_on(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        for _ in range(2):
            ledger.pause(CAMPAIGN, 1)
        assert (ledger.paused(CAMPAIGN), ledger.paused("another")) == ({1}, set())
        assert claim(ledger) == []
        ledger.resume(CAMPAIGN, 1)
        ledger.resume(CAMPAIGN, 2)
        assert (ledger.paused(CAMPAIGN), len(claim(ledger))) == (set(), 1)

    def test_running_checks_of_a_paused_tier_finish(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        claims = claim(ledger)
        ledger.pause(CAMPAIGN, 1)
        assert ledger.extend([(claims[0], 1.0)])
        assert len(ledger.complete([completion(claims[0])], now=NOW)) == 1

    def test_another_campaign_takes_over_what_is_paused(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        join(ledger, "another", "a")
        ledger.pause(CAMPAIGN, 1)
        assert claim(ledger)[0].check.campaign == "another"

    def test_what_cannot_be_paid_is_parked_whatever_is_paused(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 1.0})
        ledger.pause("another", 1)
        enqueue(ledger, check_row("a", reserve=Cost(4.0)))
        join(ledger, "another", "a")
        assert claim(ledger) == []
        assert ledger.parked(CAMPAIGN) == {1: 1}
