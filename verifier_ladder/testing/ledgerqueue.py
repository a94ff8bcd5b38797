"""Conformance of a ledger's work queue: claims, leases, ends, the world, requests."""

from __future__ import annotations

import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.protocol import ATTEMPTS, backoff
from verifier_ladder.ledger.records import HELD, Block, CheckState, Claim
from verifier_ladder.rate import Rate
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CRASH,
    NOW,
    check_row,
    claim,
    completion,
    end_as,
    enqueue,
    key,
    only,
    queue_one,
    request,
    verdict_row,
)
from verifier_ladder.verdict import Verdict


class QueueTests:
    """**Abstract:** the work-queue part of the contract."""

    # -- asking ----------------------------------------------------------------------------------

    def test_a_check_that_is_asked_for_is_queued(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        assert only(ledger, "a") == check_row("a")

    def test_asking_again_joins_with_the_larger_priority(self, ledger: Ledger) -> None:
        for priority in (1.0, 3.0, 2.0):
            enqueue(ledger, check_row("a", priority=priority))
        assert [row.priority for row in ledger.checks()] == [3.0]

    def test_a_joined_check_is_still_paid_by_the_first_to_ask(self, ledger: Ledger) -> None:
        for campaign in ("one", "two"):
            enqueue(ledger, check_row("a", campaign=campaign))
        assert only(ledger, "a").campaign == "one"

    def test_asking_for_a_done_check_only_adds_requests(self, ledger: Ledger) -> None:
        ledger.complete([completion(queue_one(ledger))], now=NOW)
        enqueue(ledger, check_row("a", priority=9.0), requests=[request("a", 1)])
        assert only(ledger, "a").state is CheckState.DONE
        assert len(ledger.requests(final=True)) == 2

    def test_a_check_with_a_verdict_is_never_paid_again(self, ledger: Ledger) -> None:
        ledger.append(Block("score", CAMPAIGN, (), [verdict_row("a", Verdict.accept(1.0))]))
        enqueue(ledger, check_row("a"), requests=[request("a")])
        assert only(ledger, "a").state is CheckState.DONE
        assert claim(ledger) == []

    # -- rates -----------------------------------------------------------------------------------

    def test_no_more_checks_are_claimed_than_may_begin(self, ledger: Ledger) -> None:
        enqueue(ledger, *(check_row(word) for word in "abcdefgh"))
        rate = Rate("4/s", "service")
        counts = [len(claim(ledger, now=NOW + later, rate=rate)) for later in (0, 0, 0.25, 60)]
        assert counts == [2, 0, 1, 2]

    def test_what_a_rate_holds_back_keeps_its_attempts(self, ledger: Ledger) -> None:
        enqueue(ledger, *(check_row(word) for word in "ab"))
        (taken,) = claim(ledger, rate=Rate("1/s", "service"))
        (left,) = ledger.checks(states=[CheckState.QUEUED])
        assert (taken.check.attempt, left.attempt) == (1, 0)

    def test_checks_without_the_rate_are_claimed_meanwhile(self, ledger: Ledger) -> None:
        enqueue(ledger, *(check_row(word) for word in "abc"))
        claim(ledger, rate=Rate("1/s", "service"))
        assert len(claim(ledger, rate=Rate("1/s", "other"))) == 1
        assert len(claim(ledger)) == 1

    def test_a_rate_of_one_name_is_one_for_the_queue_and_for_the_first_tier(
        self, ledger: Ledger
    ) -> None:
        enqueue(ledger, check_row("a"))
        rate = Rate("1/s", "service")
        assert ledger.take_tokens(rate, 5, now=NOW) == (1, NOW + 1.0)
        assert claim(ledger, rate=rate) == []
        assert ledger.due(verifier=key("xtb"), rate=rate, now=NOW) == NOW + 1.0
        assert len(claim(ledger, rate=rate, now=NOW + 1.0)) == 1

    def test_a_service_puts_its_rate_off(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        rate = Rate("10/s", "service")
        ledger.put_off(rate, 30.0, now=NOW)
        assert claim(ledger, rate=rate, now=NOW + 29.0) == []
        assert len(claim(ledger, rate=rate, now=NOW + 31.0)) == 1

    def test_a_rate_that_a_clock_ahead_has_put_off_begins_anew(self, ledger: Ledger) -> None:
        rate = Rate("1/s", "service")
        ledger.take_tokens(rate, 1, now=NOW + 1e6)
        assert ledger.take_tokens(rate, 1, now=NOW)[0] == 1

    def test_nothing_is_due_where_nothing_can_be_claimed(self, ledger: Ledger) -> None:
        rate = Rate("1/s", "service")
        assert ledger.due(verifier=key("xtb"), rate=rate, now=NOW) is None
        enqueue(ledger, check_row("a"))
        assert ledger.due(verifier=key("xtb"), rate=None, now=NOW) == NOW
        ledger.pause(CAMPAIGN, 1)
        assert ledger.due(verifier=key("xtb"), rate=rate, now=NOW) is None

    # -- accelerators ----------------------------------------------------------------------------

    @pytest.mark.parametrize(("gpu", "expected"), [(True, "b"), (False, "ac"), (None, "abc")])
    def test_checks_are_claimed_by_whether_they_take_some_of_a_gpu(
        self, ledger: Ledger, *, gpu: bool | None, expected: str
    ) -> None:
        enqueue(ledger, check_row("a"), check_row("b", reserve=Cost(1.0, 2.0)), check_row("c"))
        claims = claim(ledger, gpu=gpu)
        assert "".join(str(each.check.payload["content"]) for each in claims) == expected
        due = ledger.due(verifier=key("xtb"), rate=None, now=NOW, gpu=gpu)
        assert due is None
        left = {group.gpu: group.checks for group in ledger.queued(now=NOW)}
        others = {True: {False: 2}, False: {True: 1}, None: {}}
        assert left == others[gpu]

    def test_a_held_check_goes_to_work_once_it_is_asked_for_without_being_held(
        self, ledger: Ledger
    ) -> None:
        for _ in range(2):
            enqueue(ledger, check_row("a", not_before=HELD))
            assert claim(ledger) == []
            assert only(ledger, "a").not_before == HELD
        enqueue(ledger, check_row("a"))
        assert [claimed.check.check_key for claimed in claim(ledger)] == [key("check a")]

    def test_what_waits_for_a_worker_is_counted(self, ledger: Ledger) -> None:
        assert ledger.queued(now=NOW) == []
        for name, later in (("a", 0.0), ("b", 0.0), ("c", NOW + 1.0), ("d", HELD)):
            enqueue(ledger, check_row(name, not_before=later))
        enqueue(ledger, check_row("e", digest=key("other settings")))
        row = check_row("a")
        found = {group[:3]: group.checks for group in ledger.queued(now=NOW)}
        assert found == {
            (row.verifier, row.version, row.digest): 2,
            (row.verifier, row.version, key("other settings")): 1,
        }
        claim(ledger)
        assert [group.checks for group in ledger.queued(now=NOW)] == [1]

    def test_asking_for_a_check_again_does_not_hold_it(self, ledger: Ledger) -> None:
        for not_before in (0.0, HELD):
            enqueue(ledger, check_row("a", not_before=not_before))
        assert len(claim(ledger)) == 1

    @pytest.mark.parametrize("state", [CheckState.DEAD, CheckState.CANCELLED, CheckState.EXPIRED])
    def test_asking_for_an_ended_check_queues_it_again(
        self, ledger: Ledger, state: CheckState
    ) -> None:
        end_as(ledger, state)
        enqueue(ledger, check_row("a", campaign="two", priority=0.5))
        row = only(ledger, "a")
        assert (row.state, row.attempt, row.note) == (CheckState.QUEUED, 0, "")
        assert (row.campaign, row.priority, row.deadline) == ("two", 0.5, None)

    def test_a_request_comes_back_equal(self, ledger: Ledger) -> None:
        row = request("a", state={"group": "g", "value": 0.25, "task": None, "bad": "\udcff"})
        enqueue(ledger, check_row("a"), requests=[row])
        assert ledger.requests() == [row]

    def test_the_same_request_again_is_one_request(self, ledger: Ledger) -> None:
        for group in ("x", "y"):
            enqueue(ledger, check_row("a"), requests=[request("a", state={"group": group})])
        assert [row.state for row in ledger.requests()] == [{"group": "y"}]

    def test_answered_requests_are_removed(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"), requests=[request("a", 0), request("a", 1)])
        ledger.append(Block("revision", CAMPAIGN), answered=[request("a", 0)])
        assert ledger.requests() == [request("a", 1)]

    def test_requests_go_on_with_another_state(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"), requests=[request("a", 0), request("a", 1)])
        before, row = ledger.checks(), request("a", 0, state={"group": "a", "left": 0.5})
        ledger.append(Block("revision", CAMPAIGN), changed=[row])
        assert ledger.requests() == [row, request("a", 1)]
        assert ledger.checks() == before

    def test_requests_are_chosen(self, ledger: Ledger) -> None:
        rows = [request("a"), request("b"), request("b", campaign="two")]
        enqueue(ledger, check_row("a", priority=2.0), check_row("b"), requests=rows)
        ledger.complete([completion(c) for c in claim(ledger, 1)], now=NOW)
        assert ledger.requests(campaign="two") == [rows[2]]
        assert ledger.requests(check_keys=[key("check b")]) == rows[1:]
        assert ledger.requests(check_keys=[]) == []
        assert ledger.requests(final=True) == [rows[0]]
        assert ledger.requests(final=False, limit=1) == [rows[1]]

    # -- claiming --------------------------------------------------------------------------------

    def test_a_claim_leases_and_counts_an_attempt(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        assert claimed.check == only(ledger, "a")
        assert (claimed.check.state, claimed.check.owner) == (CheckState.LEASED, "worker")
        assert (claimed.check.attempt, claimed.fence) == (1, 1)
        assert claimed.check.lease_until == NOW + 60.0

    def test_a_claimed_check_is_not_claimed_again(self, ledger: Ledger) -> None:
        queue_one(ledger)
        assert claim(ledger) == []

    def test_the_highest_priority_goes_first(self, ledger: Ledger) -> None:
        for word, priority in (("a", 1.0), ("b", 3.0), ("c", 2.0)):
            enqueue(ledger, check_row(word, priority=priority))
        claimed = claim(ledger, 2)
        assert [c.check.payload["content"] for c in claimed] == ["b", "c"]

    def test_long_candidates_are_claimed_as_far_as_there_is_room(self, ledger: Ledger) -> None:
        """A check that has more bytes by itself is claimed alone."""
        for word, length in (("a", 4_000), ("b", 4_000), ("c", 50_000), ("d", 1), ("e", 1)):
            payload = {"kind": "text", "content": word * length}
            enqueue(ledger, check_row(word, payload=payload))
        batches = [
            [c.check.payload["content"][0] for c in claim(ledger, room=15_000)] for _ in "123"
        ]
        assert batches == [["a", "b"], ["c"], ["d", "e"]]

    def test_long_checks_that_are_not_taken_hold_up_no_other(self, ledger: Ledger) -> None:
        rows = [
            check_row(f"{n}", priority=float(n), payload={"content": "x" * 200}) for n in range(70)
        ]
        enqueue(ledger, *rows)

        claimed = claim(ledger, 1, room=100, takes=lambda row: row.priority == 0.0)

        assert [c.check.check_key for c in claimed] == [rows[0].check_key]

    def test_what_a_learner_waits_for_goes_before_all_others(self, ledger: Ledger) -> None:
        for word, priority, until in (("a", 1.0, NOW + 9), ("b", 3.0, 0.0), ("c", 2.0, NOW + 9)):
            enqueue(ledger, check_row(word, priority=priority, wanted_until=until))
        claimed = claim(ledger, 1) + claim(ledger, 2)
        assert [c.check.payload["content"] for c in claimed] == ["c", "a", "b"]

    def test_when_the_learner_waits_no_more_the_priority_counts(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", wanted_until=NOW + 9), check_row("b", priority=2.0))
        assert [c.check.payload["content"] for c in claim(ledger, now=NOW + 9)] == ["b", "a"]

    def test_a_learner_that_joins_hurries_the_check(self, ledger: Ledger) -> None:
        for until in (0.0, NOW + 9, NOW + 5):
            enqueue(ledger, check_row("a", wanted_until=until))
        assert only(ledger, "a").wanted_until == NOW + 9

    def test_a_claim_takes_one_verifier(self, ledger: Ledger) -> None:
        enqueue(
            ledger, check_row("a", priority=3.0),
            check_row("b", verifier="dft", digest=key("dft"), priority=2.0),
            check_row("c"), check_row("d", version="2", digest=key("xtb 2")),
        )  # fmt: skip
        assert [c.check.payload["content"] for c in claim(ledger)] == ["a", "c"]
        assert [c.check.payload["content"] for c in claim(ledger)] == ["b"]

    def test_checks_of_other_settings_do_not_stand_in_the_way(self, ledger: Ledger) -> None:
        others = [check_row(f"a{i}", digest=key("old"), priority=9.0) for i in range(40)]
        enqueue(ledger, *others, check_row("b", digest=key("new")))
        assert [c.check.payload["content"] for c in claim(ledger, verifier=key("new"))] == ["b"]
        assert claim(ledger, verifier=key("new")) == []
        assert len(claim(ledger, 100, verifier=key("old"))) == 40

    def test_a_claim_may_name_verifier_tiers_and_campaigns(self, ledger: Ledger) -> None:
        enqueue(
            ledger, check_row("a"), check_row("b", verifier="dft", tier=2),
            check_row("c", campaign="two"),
        )  # fmt: skip
        assert [c.check.payload["content"] for c in claim(ledger, tiers=[2, 3])] == ["b"]
        assert claim(ledger, verifier=key("xtb 2")) == []
        assert [c.check.payload["content"] for c in claim(ledger, campaigns=["two"])] == ["c"]
        assert claim(ledger, campaigns=[]) == []
        assert len(claim(ledger, verifier=check_row("a").digest)) == 1

    def test_a_campaign_that_joined_may_claim_too(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"), requests=[request("a", campaign="two")])
        assert len(claim(ledger, campaigns=["two"])) == 1

    def test_a_check_is_not_claimed_before_its_time(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a", not_before=NOW + 5))
        assert claim(ledger, now=NOW + 4) == []
        assert len(claim(ledger, now=NOW + 5)) == 1

    def test_a_heartbeat_extends_the_lease(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        (kept,) = ledger.heartbeat([claimed], lease=60.0, now=NOW + 30)
        assert (kept.fence, kept.check.lease_until) == (claimed.fence, NOW + 90)
        assert ledger.reap(now=NOW + 80) == 0

    def test_a_heartbeat_tells_what_was_lost(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        ledger.reap(now=NOW + 61)
        assert ledger.heartbeat([claimed], lease=60.0, now=NOW + 62) == []

    # -- ends ------------------------------------------------------------------------------------

    def test_a_completed_check_is_done_and_answered(self, ledger: Ledger) -> None:
        done = completion(queue_one(ledger), Verdict.accept(7.0))
        assert ledger.complete([done], now=NOW) == [done]
        assert only(ledger, "a").state is CheckState.DONE
        assert ledger.verdicts([key("check a")])[key("check a")].score == 7.0

    def test_a_completion_is_in_the_history(self, ledger: Ledger) -> None:
        ledger.complete([completion(queue_one(ledger))], now=NOW)
        (entry,) = ledger.entries(kind="check", campaign=CAMPAIGN)
        (row,) = ledger.read(entry).verdicts
        assert (row.check_key, row.verifier, row.tier, row.attempt) == (
            key("check a"), "xtb", 1, 1,
        )  # fmt: skip

    def test_a_check_is_completed_at_most_once(self, ledger: Ledger) -> None:
        done = completion(queue_one(ledger))
        ledger.complete([done], now=NOW)
        assert ledger.complete([done], now=NOW) == []
        assert len(list(ledger.entries(kind="check"))) == 1

    def test_a_worker_that_lost_its_lease_is_refused(self, ledger: Ledger) -> None:
        old = queue_one(ledger)
        ledger.reap(now=NOW + 61)
        (new,) = claim(ledger, now=NOW + 100)
        assert ledger.complete([completion(old, Verdict.accept(1.0))], now=NOW + 101) == []
        assert ledger.fail([completion(old, CRASH)], retry_at=None, now=NOW + 101) == []
        assert len(ledger.complete([completion(new, Verdict.accept(2.0))], now=NOW + 102)) == 1
        assert ledger.verdicts([key("check a")])[key("check a")].score == 2.0

    def test_a_failure_completes_nothing(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        with pytest.raises(LedgerError, match="fail"):
            ledger.complete([completion(claimed, CRASH)], now=NOW)
        assert only(ledger, "a").state is CheckState.LEASED

    def test_an_answer_is_no_failure(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        with pytest.raises(LedgerError, match="complete"):
            ledger.fail([completion(claimed)], retry_at=None, now=NOW)

    def test_a_failed_check_is_tried_again_at_its_time(self, ledger: Ledger) -> None:
        ledger.fail([completion(queue_one(ledger), CRASH)], retry_at=NOW + 9, now=NOW)
        row = only(ledger, "a")
        assert (row.state, row.note) == (CheckState.QUEUED, "engine: segmentation fault")
        assert claim(ledger, now=NOW + 8) == []
        (again,) = claim(ledger, now=NOW + 9)
        assert (again.check.attempt, again.fence) == (2, 2)

    def test_a_failed_check_without_another_time_is_dead(self, ledger: Ledger) -> None:
        ledger.fail([completion(queue_one(ledger), CRASH)], retry_at=None, now=NOW)
        assert only(ledger, "a").state is CheckState.DEAD
        assert ledger.verdicts([key("check a")]) == {}
        assert len(list(ledger.entries(kind="check"))) == 1

    def test_a_released_check_counts_no_attempt(self, ledger: Ledger) -> None:
        ledger.release([queue_one(ledger)], now=NOW)
        assert only(ledger, "a") == check_row("a", fence=1, run="run")
        (again,) = claim(ledger)
        assert (again.check.attempt, again.fence) == (1, 2)

    def test_a_lost_lease_is_queued_again_later(self, ledger: Ledger) -> None:
        queue_one(ledger)
        assert ledger.reap(now=NOW + 60) == 0
        assert ledger.reap(now=NOW + 61) == 1
        row = only(ledger, "a")
        assert (row.state, row.attempt) == (CheckState.QUEUED, 1)
        assert row.not_before == NOW + 61 + backoff(1)

    def test_what_a_clock_that_was_ahead_has_put_off_is_brought_forward(
        self, ledger: Ledger
    ) -> None:
        ahead = NOW + 3600
        leased = queue_one(ledger)
        ledger.heartbeat([leased], lease=60.0, now=ahead)
        for name, later in (("far", ahead), ("near", NOW + 300), ("held", HELD)):
            enqueue(ledger, check_row(name, not_before=later))

        assert [ledger.hasten(lease=60.0, now=NOW) for _ in range(2)] == [2, 0]

        assert only(ledger, "a").lease_until == NOW + 60
        assert len(ledger.heartbeat([leased], lease=60.0, now=NOW)) == 1
        times = [only(ledger, name).not_before for name in ("far", "near", "held")]
        assert times == [NOW, NOW + 300, HELD]

    def test_a_check_that_kills_its_workers_is_dead_at_last(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        now = NOW
        for _ in range(ATTEMPTS):
            assert len(claim(ledger, now=now)) == 1
            ledger.reap(now=now + 61)
            now += 1000
        assert only(ledger, "a").state is CheckState.DEAD

    def test_a_check_that_kills_its_workers_ends_alone(self, ledger: Ledger) -> None:
        enqueue(ledger, *(check_row(name, priority=ord(name)) for name in "abcd"))
        now = NOW
        for _ in range(4 * ATTEMPTS):  # Its worker ends with d, whatever else it has claimed.
            claims = claim(ledger, now=now, in_turn=True)
            if key("check d") not in {one.check.check_key for one in claims}:
                ledger.complete([completion(one) for one in claims], now=now)
            ledger.reap(now=now + 61)
            now += 1000
        states = {row.check_key: row.state for row in ledger.checks()}
        assert states.pop(key("check d")) is CheckState.DEAD
        assert set(states.values()) == {CheckState.DONE}

    def test_the_last_checks_that_were_answered_are_found_by_their_verifier(
        self, ledger: Ledger
    ) -> None:
        for name in "abcde":
            enqueue(ledger, check_row(name))
        claims = {one.check.check_key: one for one in claim(ledger)}
        ledger.complete([completion(claims[key(f"check {name}")]) for name in "abc"], now=NOW)
        ledger.fail([completion(claims[key("check d")], CRASH)], retry_at=None, now=NOW)
        found = ledger.answered(key("xtb"), 2)
        assert [row.check_key for row in found] == [key("check b"), key("check c")]
        assert [(row.reserve, row.payload) for row in found] == [(Cost(1.0), {})] * 2
        assert ledger.answered(key("another"), 9) == []

    def test_checks_are_found_without_their_payloads(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        assert ledger.checks(payloads=False) == [check_row("a", payload={})]

    def test_only_unwanted_checks_are_cancelled(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"), check_row("b"), requests=[request("a")])
        assert ledger.cancel([key("check a"), key("check b"), key("nobody")], now=NOW) == 1
        assert only(ledger, "a").state is CheckState.QUEUED
        assert only(ledger, "b").state is CheckState.CANCELLED

    def test_a_check_at_work_is_not_cancelled(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"))
        claim(ledger)
        assert ledger.cancel([key("check a")], now=NOW) == 0

    @pytest.mark.parametrize("how", ["fails", "is given back", "is lost", "opens a case"])
    def test_a_check_at_work_that_nobody_waits_for_any_more_is_not_asked_again(
        self, ledger: Ledger, how: str
    ) -> None:
        claims = [self._leave(ledger)]
        if how == "fails":
            ledger.fail([completion(claims[0], CRASH)], retry_at=NOW + 9, now=NOW + 1)
        elif how == "is given back":
            ledger.release(claims, now=NOW + 1)
        elif how == "is lost":
            ledger.reap(now=NOW + 61)
        else:
            ledger.wait(claims, deadline=None, now=NOW + 1)
        assert only(ledger, "a").state is CheckState.CANCELLED
        assert claim(ledger, now=NOW + 1000) == []
        assert {row.reserved for row in ledger.accounts(CAMPAIGN)} <= {0.0}

    def test_what_it_answers_is_kept(self, ledger: Ledger) -> None:
        ours = self._leave(ledger)
        assert len(ledger.complete([completion(ours)], now=NOW + 1)) == 1
        assert only(ledger, "a").state is CheckState.DONE

    def test_a_check_at_work_that_is_asked_for_again_is_tried_again(self, ledger: Ledger) -> None:
        ours = self._leave(ledger)
        enqueue(ledger, check_row("a"), requests=[request("a")])
        ledger.fail([completion(ours, CRASH)], retry_at=NOW + 9, now=NOW + 1)
        assert only(ledger, "a").state is CheckState.QUEUED
        assert len(claim(ledger, now=NOW + 1000)) == 1

    @staticmethod
    def _leave(ledger: Ledger) -> Claim:
        """Have a check at work, and nobody wait for it any more."""
        ours = queue_one(ledger)
        block = Block("revision", CAMPAIGN)
        ledger.append(block, answered=[request("a")], unwanted=[key("check a")])
        assert only(ledger, "a").state is CheckState.LEASED
        return ours

    def test_a_check_at_work_loses_its_lease_if_that_is_asked_for(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"), check_row("b"), requests=[request("b")])
        first, second = claim(ledger)
        keys = [key("check a"), key("check b")]
        assert ledger.cancel(keys, now=NOW + 5, at_work=True) == 1
        assert ledger.heartbeat([first, second], lease=60.0, now=NOW + 6) == [
            Claim(second.check._replace(lease_until=NOW + 66), second.fence)
        ]
        assert ledger.complete([completion(first)], now=NOW + 7) == []
        assert [row.failed for row in ledger.accounts(CAMPAIGN)] == [1.0]

    def test_what_only_others_wait_for_is_handed_over(self, ledger: Ledger) -> None:
        waiting = [request("a"), request("a", run="later", campaign="two"), request("b", 1)]
        enqueue(ledger, check_row("a"), check_row("b"), requests=waiting)
        gone, keys = [waiting[0], waiting[2]], [key("check a"), key("check b")]
        ledger.append(Block("revision", CAMPAIGN), answered=gone, unwanted=keys)
        taken = only(ledger, "a")
        assert (taken.state, taken.campaign, taken.run) == (CheckState.QUEUED, "two", "later")
        assert only(ledger, "b").state is CheckState.CANCELLED
        assert ledger.requests() == [waiting[1]]

    def test_who_pays_goes_on_paying_while_it_waits(self, ledger: Ledger) -> None:
        waiting = [request("a", run="other", campaign="two"), request("a", 1, run="run")]
        enqueue(ledger, check_row("a"), requests=waiting)
        ledger.append(Block("revision", CAMPAIGN), unwanted=[key("check a")])
        taken = only(ledger, "a")
        assert (taken.campaign, taken.run) == (CAMPAIGN, "run")

    @pytest.mark.parametrize("state", [CheckState.DEAD, CheckState.CANCELLED, CheckState.EXPIRED])
    def test_a_revived_check_starts_afresh(self, ledger: Ledger, state: CheckState) -> None:
        end_as(ledger, state)
        assert ledger.revive([key("check a"), key("nobody")], now=NOW) == 1
        row = only(ledger, "a")
        assert (row.state, row.attempt, row.not_before) == (CheckState.QUEUED, 0, 0.0)

    def test_a_done_check_is_not_revived(self, ledger: Ledger) -> None:
        ledger.complete([completion(queue_one(ledger))], now=NOW)
        assert ledger.revive([key("check a")], now=NOW) == 0
