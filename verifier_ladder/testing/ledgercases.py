"""What every ledger promises of cases of the world, and of looking at the queue."""

from __future__ import annotations

from time import time

import pytest

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import (
    HELD,
    Answer,
    Block,
    CheckState,
    LateError,
    Sealing,
    Vitals,
)
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
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


class CaseTests:
    """Cases that wait for the world, and what the queue tells of itself."""

    # -- the world -------------------------------------------------------------------------------

    def test_a_world_case_waits_without_a_lease(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        assert ledger.wait([claimed], deadline=NOW + 1000, now=NOW) == [claimed]
        assert ledger.reap(now=NOW + 999) == 0
        row = only(ledger, "a")
        assert (row.state, row.deadline) == (CheckState.WAITING, NOW + 1000)

    def test_a_lost_claim_opens_no_case(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        ledger.reap(now=NOW + 61)
        assert ledger.wait([claimed], deadline=None, now=NOW + 62) == []

    def test_a_case_expires_at_its_deadline(self, ledger: Ledger) -> None:
        ledger.wait([queue_one(ledger)], deadline=NOW + 10, now=NOW)
        assert ledger.reap(now=NOW + 11) == 1
        assert only(ledger, "a").state is CheckState.EXPIRED
        assert len(ledger.requests(final=True)) == 1

    def test_a_case_without_a_deadline_stays_open(self, ledger: Ledger) -> None:
        ledger.wait([queue_one(ledger)], deadline=None, now=NOW)
        assert ledger.reap(now=NOW + 1e9) == 0

    def test_a_case_is_queued_when_its_verifier_is_to_be_asked_about_it(
        self, ledger: Ledger
    ) -> None:
        opened = queue_one(ledger)
        mine = [opened.check.digest]
        ledger.wait([opened], deadline=None, ask_at=NOW + 100, note="too early", now=NOW)
        assert ledger.queue_due(mine, now=NOW + 99) == 0
        assert ledger.queue_due([bytes(32)], now=NOW + 100) == 0
        assert ledger.queue_due([], now=NOW + 100) == 0
        waiting = only(ledger, "a")
        assert (waiting.state, waiting.note) == (CheckState.WAITING, "too early")
        assert ledger.queue_due([bytes(32), *mine], now=NOW + 100) == 1
        assert ledger.queue_due(mine, now=NOW + 100) == 0
        asked = only(ledger, "a")
        assert (asked.state, asked.attempt) == (CheckState.QUEUED, 0)
        (again,) = claim(ledger, now=NOW + 100)
        assert again.fence == opened.fence + 1

    def test_a_case_that_is_due_is_asked_about_before_it_expires(self, ledger: Ledger) -> None:
        opened = queue_one(ledger)
        ledger.wait([opened], deadline=NOW + 10, ask_at=NOW + 5, now=NOW)
        assert ledger.reap(now=NOW + 11) == 0
        assert ledger.queue_due([opened.check.digest], now=NOW + 11) == 1
        (again,) = claim(ledger, now=NOW + 11)
        ledger.wait([again], deadline=NOW + 10, ask_at=NOW + 71, now=NOW + 11)
        assert ledger.reap(now=NOW + 12) == 1
        assert only(ledger, "a").state is CheckState.EXPIRED

    def test_a_case_that_failed_before_it_opened_is_not_taken_for_due(
        self, ledger: Ledger
    ) -> None:
        failed = queue_one(ledger)
        ledger.fail([completion(failed, CRASH)], retry_at=NOW + 5, now=NOW)
        (again,) = claim(ledger, now=NOW + 5)
        ledger.wait([again], deadline=None, now=NOW + 5)
        assert ledger.queue_due([again.check.digest], now=NOW + 1000) == 0

    # -- seals -----------------------------------------------------------------------------------

    def test_a_sealed_entry_is_never_earlier_than_what_the_ledger_has_told(
        self, ledger: Ledger
    ) -> None:
        told = ledger.clock() + 1000.0
        entry = ledger.append(
            Block("retry", CAMPAIGN, facts={"n": 1}), sealing=Sealing(told, told + 1000.0)
        )
        sealed = ledger.entry(entry)
        assert sealed is not None
        assert sealed.recorded_at == told
        assert ledger.latest() == (entry, told)
        assert ledger.latest(entry) == (entry, 0.0)

    @pytest.mark.parametrize("ahead", [0.0, 1000.0])
    def test_an_entry_that_comes_too_late_for_its_seal_is_not_written(
        self, ledger: Ledger, ahead: float
    ) -> None:
        now = ledger.clock()
        with pytest.raises(LateError):
            ledger.append(
                Block("retry", CAMPAIGN, facts={"n": 1}),
                sealing=Sealing(now + ahead, now + ahead),
            )
        assert ledger.newest() == 0
        assert ledger.latest() == (0, 0.0)

    # -- answers ---------------------------------------------------------------------------------

    def test_the_world_answers_a_waiting_case(self, ledger: Ledger) -> None:
        ledger.wait([queue_one(ledger)], deadline=None, now=NOW)
        assert answer(ledger, 5.0)
        assert only(ledger, "a").state is CheckState.DONE
        assert ledger.verdicts([key("check a")])[key("check a")].score == 5.0
        assert len(list(ledger.entries(kind="review"))) == 1

    def test_a_second_delivery_changes_nothing(self, ledger: Ledger) -> None:
        ledger.wait([queue_one(ledger)], deadline=None, now=NOW)
        assert answer(ledger, 5.0)
        assert not answer(ledger, 6.0)
        assert ledger.verdicts([key("check a")])[key("check a")].score == 5.0

    def test_a_result_after_done_changes_nothing(self, ledger: Ledger) -> None:
        ledger.complete([completion(queue_one(ledger))], now=NOW)
        before = ledger.verdicts([key("check a")])
        assert not answer(ledger, 5.0)
        assert ledger.verdicts([key("check a")]) == before
        assert not list(ledger.entries(kind="review"))
        assert only(ledger, "a").state is CheckState.DONE

    @pytest.mark.parametrize("state", [CheckState.EXPIRED, CheckState.DEAD])
    def test_a_late_result_is_taken(self, ledger: Ledger, state: CheckState) -> None:
        end_as(ledger, state)
        assert answer(ledger, 5.0)
        assert only(ledger, "a").state is CheckState.DONE

    def test_an_answer_from_outside_ends_the_work(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        assert answer(ledger, 5.0)
        assert ledger.complete([completion(claimed)], now=NOW) == []

    def test_an_answer_to_nothing_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match="ever asked"):
            answer(ledger, 5.0)

    def test_claims_on_checks_answered_elsewhere_end_unpaid(self, ledger: Ledger) -> None:
        ledger.set_caps(CAMPAIGN, {(1, CPU): 100.0})
        enqueue(ledger, check_row("a"), check_row("b"))
        claims = claim(ledger, limit=2)
        ledger.append(Block("score", CAMPAIGN, verdicts=[verdict_row("a", Verdict.accept(5.0))]))
        assert ledger.end_known(claims, now=NOW) == {key("check a"): Verdict.accept(5.0)}
        assert only(ledger, "a").state is CheckState.DONE
        assert only(ledger, "b").state is CheckState.LEASED
        (account,) = ledger.accounts(CAMPAIGN)
        assert (account.settled, account.reserved) == (0.0, 1.0)
        assert ledger.end_known(claims[1:], now=NOW) == {}

    def test_many_results_are_taken_at_once(self, ledger: Ledger) -> None:
        enqueue(ledger, check_row("a"), check_row("b"))
        ledger.wait(claim(ledger, limit=2), deadline=None, now=NOW)
        told = [
            Answer(key("check a"), Verdict.accept(1.0), "lab", "event 1"),
            Answer(key("check b"), Verdict.accept(2.0), "lab", "event 2"),
            Answer(key("check a"), Verdict.accept(3.0), "lab", "event 1"),
            Answer(key("check a"), Verdict.accept(4.0), "lab", "event 3"),
        ]
        assert ledger.answers(told, now=NOW) == [True, True, False, False]
        current = ledger.verdicts([key("check a"), key("check b")])
        assert [verdict.score for verdict in current.values()] == [1.0, 2.0]
        assert len(list(ledger.entries(kind="review"))) == 2

    def test_of_results_with_one_to_nothing_none_is_taken(self, ledger: Ledger) -> None:
        ledger.wait([queue_one(ledger)], deadline=None, now=NOW)
        told = [Answer(key(f"check {name}"), Verdict.accept(1.0), "lab", name) for name in "ab"]
        with pytest.raises(LedgerError, match="ever asked"):
            ledger.answers(told, now=NOW)
        assert only(ledger, "a").state is CheckState.WAITING
        assert not list(ledger.entries(kind="review"))

    # -- looking ---------------------------------------------------------------------------------

    def test_checks_are_chosen(self, ledger: Ledger) -> None:
        enqueue(
            ledger, check_row("a", priority=2.0), check_row("b", campaign="two"),
            check_row("c", priority=3.0, verifier="dft"),
        )  # fmt: skip
        claim(ledger, 1)
        words = [row.payload["content"] for row in ledger.checks()]
        assert words == ["c", "a", "b"]
        assert len(ledger.checks(states=[CheckState.QUEUED])) == 2
        assert len(ledger.checks(states=[])) == 0
        assert [row.campaign for row in ledger.checks(campaign="two")] == ["two"]
        assert len(ledger.checks(keys=[key("check a"), key("nobody")])) == 1
        assert len(ledger.checks(limit=2)) == 2

    def test_checks_are_read_part_by_part(self, ledger: Ledger) -> None:
        enqueue(
            ledger, check_row("a", priority=2.0), check_row("b", priority=2.0, not_before=1.0),
            check_row("d", priority=2.0), check_row("c", priority=3.0),
        )  # fmt: skip
        whole = ledger.checks()
        assert [whole[place].payload["content"] for place in (0, -1)] == ["c", "b"]
        for place, row in enumerate(whole, 1):
            assert ledger.checks(after=row.check_key) == whole[place:]
        assert ledger.checks(after=whole[0].check_key, limit=1) == whole[1:2]
        assert ledger.checks(after=key("nobody")) == []

    def test_checks_are_named_by_the_start_of_their_keys(self, ledger: Ledger) -> None:
        enqueue(ledger, *(check_row(f"{number}") for number in range(20)))
        for row in ledger.checks():
            digits = row.check_key.hex()
            for length in (1, 2, 7, 64):
                found = ledger.checks(prefix=digits[:length])
                assert found == [
                    each for each in ledger.checks()
                    if each.check_key.hex().startswith(digits[:length])
                ]  # fmt: skip

    def test_checks_are_chosen_by_verifier_and_tier(self, ledger: Ledger) -> None:
        enqueue(
            ledger, check_row("a"), check_row("b", verifier="dft", tier=2),
            check_row("c", verifier="dft", version="2", tier=3),
        )  # fmt: skip
        words = {row.payload["content"] for row in ledger.checks(verifier="dft")}
        assert words == {"b", "c"}
        assert [row.tier for row in ledger.checks(verifier="dft", tiers=[1, 2])] == [2]
        assert ledger.checks(verifier="nobody") == ledger.checks(tiers=[]) == []

    def test_vitals_tell_what_waits_for_how_long_and_what_is_dead(self, ledger: Ledger) -> None:
        assert ledger.vitals(now=NOW) == Vitals({}, {}, 0, 0.0)
        enqueue(
            ledger, check_row("a"), check_row("b"), check_row("d", not_before=HELD),
            check_row("c", verifier="dft", digest=key("dft")),
        )  # fmt: skip
        (claimed,) = claim(ledger, verifier=key("dft"))
        ledger.fail([completion(claimed, CRASH)], retry_at=None, now=NOW)
        found = ledger.vitals(now=time() + 100)
        assert found.dead == {("dft", "1"): 1}
        ((name, waiting),) = found.waiting.items()
        assert (name, waiting.checks) == (("xtb", "1"), 2)
        assert 100 <= waiting.longest < 200

    def test_counts_tell_where_a_campaigns_checks_stand(self, ledger: Ledger) -> None:
        enqueue(
            ledger, check_row("a", priority=2.0), check_row("b"), check_row("c", tier=2),
            requests=[request("c", campaign="two")],
        )  # fmt: skip
        ledger.complete([completion(c) for c in claim(ledger, 1)], now=NOW)
        expected = {1: {CheckState.DONE: 1, CheckState.QUEUED: 1}, 2: {CheckState.QUEUED: 1}}
        assert ledger.counts(CAMPAIGN) == expected
        assert ledger.counts("two") == {2: {CheckState.QUEUED: 1}}
        assert ledger.counts("three") == {}

    def test_answered_requests_stay_in_the_counts(self, ledger: Ledger) -> None:
        ledger.complete([completion(queue_one(ledger))], now=NOW)
        ledger.append(Block("revision", CAMPAIGN), answered=[request("a")])
        assert ledger.counts(CAMPAIGN) == {1: {CheckState.DONE: 1}}


def answer(ledger: Ledger, score: float) -> bool:
    """One delivery from the laboratory."""
    return ledger.answer(
        key("check a"), Verdict.accept(score), source="lab", event="event 1", now=NOW
    )
