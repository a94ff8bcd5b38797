"""Conformance of a ledger's counters: what they add up, entry by entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.counting import ALL_STEPS, BEFORE_TIERS, StepCount
from verifier_ladder.ledger.records import Block, Sealing
from verifier_ladder.reward import CANONICAL, Reward
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CRASH,
    NOW,
    candidate_row,
    completion,
    queue_one,
    samples,
    score_block,
    verdict_row,
)
from verifier_ladder.verdict import Verdict


def told(ledger: Ledger, campaign: str = CAMPAIGN) -> dict[tuple[object, ...], int]:
    """How many checks ended how, by all that tells them apart but the version."""
    rows = ledger.verdict_counts(campaign)
    return {(row.tier, row.verifier, row.outcome, row.boundary): row.checks for row in rows}


def whole(ledger: Ledger, campaign: str = CAMPAIGN) -> StepCount:
    """The sums of the only run."""
    (row,) = ledger.step_counts(campaign, whole_runs=True)
    return row


def rewarded(values: Sequence[float | None], *, pending: bool = False, step: int = 0) -> Block:
    """A call whose samples earn this."""
    words = [f"w{n}" for n in range(len(values))]
    rewards = [Reward(value, pending=pending) for value in values]
    return Block("score", CAMPAIGN, samples=samples(words, step=step), rewards=rewards)


def revised(
    values: Sequence[float | None], before: Sequence[float | None], *, step: int = 0
) -> Block:
    """Revisions of such samples, the first ones."""
    block = rewarded(values, step=step)
    return replace(block, kind="revision", facts={"previous": list(before)})


class CountTests:
    """**Abstract:** counters follow from the entries, and are there as soon as they are."""

    @pytest.fixture
    def ledger(self) -> Ledger:
        """Give an empty ledger: override this."""
        raise NotImplementedError("override the fixture `ledger`")

    def test_a_campaign_that_is_not_there_has_counted_nothing(self, ledger: Ledger) -> None:
        assert ledger.verdict_counts("nobody") == []
        assert ledger.step_counts("nobody") == ledger.step_counts("nobody", whole_runs=True) == []
        assert ledger.extent("nobody") == (0, 0, 0.0)

    def test_the_extent_of_a_campaign_is_that_of_its_own_entries(self, ledger: Ledger) -> None:
        for name in (CAMPAIGN, "another", CAMPAIGN, "another"):
            ledger.append(Block("retry", name, facts={}))
        third = ledger.entry(3)
        assert third is not None
        assert ledger.extent(CAMPAIGN) == (2, 3, third.recorded_at)
        ledger.append(Block("retry", CAMPAIGN, facts={}))
        assert ledger.extent(CAMPAIGN)[:2] == (3, 5)

    def test_checks_are_counted_by_how_they_ended(self, ledger: Ledger) -> None:
        said = {
            "a": Verdict.accept(1.0), "b": Verdict.reject("no"), "c": Verdict.abstain("no idea"),
            "d": CRASH, "e": Verdict.abstain("no licence", failed_at="tool"),
        }  # fmt: skip
        rows = [verdict_row(word, verdict) for word, verdict in said.items()]
        ledger.append(Block("score", CAMPAIGN, (), rows))
        ledger.append(Block("check", CAMPAIGN, (), [verdict_row("f", CRASH, tier=1)]))
        ledger.append(Block("score", "another", (), rows[:1]))
        ledger.append(Block("score", CAMPAIGN, (), [verdict_row("g", Verdict.accept())]))
        assert told(ledger) == {
            (0, "length", "accept", ""): 2, (0, "length", "reject", ""): 1,
            (0, "length", "abstain", ""): 1, (0, "length", "failed", "engine"): 1,
            (0, "length", "failed", "tool"): 1, (1, "length", "failed", "engine"): 1,
        }  # fmt: skip
        assert told(ledger, "another") == {(0, "length", "accept", ""): 1}

    def test_an_opened_case_and_a_group_are_no_answers(self, ledger: Ledger) -> None:
        said = [
            Verdict.abstain("asked", evidence={"waiting": True}),
            Verdict.accept(evidence={"members": [{"outcome": "accept"}]}),
        ]
        rows = [verdict_row(f"w{n}", verdict) for n, verdict in enumerate(said)]
        ledger.append(Block("score", CAMPAIGN, (), rows))
        assert told(ledger) == {(0, "length", "open", ""): 1, (0, "length", "group", ""): 1}

    def test_what_has_no_canonical_form_is_counted_before_all_tiers(self, ledger: Ledger) -> None:
        rows = [candidate_row("a"), candidate_row("b", verdict=Verdict.reject("no molecule"))]
        ledger.append(Block("score", CAMPAIGN, rows))
        assert told(ledger) == {(BEFORE_TIERS, CANONICAL, "reject", ""): 1}

    def test_what_was_asked_for_elsewhere_is_not_counted(self, ledger: Ledger) -> None:
        for kind in ("import", "merge"):
            ledger.append(Block(kind, CAMPAIGN, (), [verdict_row("a", Verdict.accept(1.0))]))
        assert told(ledger) == {}

    def test_a_worker_s_answers_are_counted(self, ledger: Ledger) -> None:
        claimed = queue_one(ledger)
        ledger.complete([completion(claimed)], now=NOW)
        ledger.complete([completion(claimed)], now=NOW)  # It holds no lease any more.
        assert told(ledger) == {(1, "xtb", "accept", ""): 1}

    def test_samples_are_counted_by_step_and_by_run(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a", "bb", "ccc"]))
        ledger.append(score_block(["a", "dddd"], step=1))
        assert whole(ledger) == (
            "run", ALL_STEPS, 5, 0, 5, 0, 11, 0, 0, 5, 0,
        )  # fmt: skip
        assert [(row.step, row.samples, row.mean) for row in ledger.step_counts(CAMPAIGN)] == [
            (0, 3, 2.0), (1, 2, 2.5),
        ]  # fmt: skip

    def test_what_a_call_finds_in_the_ledger_is_reused(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a", "b"]))
        block = score_block(["a", "b", "c"], step=1)
        ledger.append(replace(block, verdicts=block.verdicts[2:]))
        assert (whole(ledger).checks, whole(ledger).reused) == (3, 2)

    def test_a_step_that_nobody_counts_stands_in_its_run_alone(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a"], step=2**40))
        assert ledger.step_counts(CAMPAIGN) == []
        assert whole(ledger).samples == 1

    def test_rewards_are_summed_as_they_stand(self, ledger: Ledger) -> None:
        ledger.append(rewarded([0.5, 1.0, None], pending=True))
        assert (whole(ledger).known, whole(ledger).waiting, whole(ledger).mean) == (2, 1, 0.75)
        ledger.append(revised([-0.25, None], [0.5, 1.0]))
        assert (whole(ledger).known, whole(ledger).revised, whole(ledger).mean) == (1, 2, -0.25)
        ledger.append(revised([0.75], [-0.25]))
        ledger.append(replace(revised([2.25], [None]), samples=samples(["w2"], first=2)))
        assert (whole(ledger).known, whole(ledger).waiting, whole(ledger).mean) == (2, 0, 1.5)
        assert ledger.step_counts(CAMPAIGN)[0].mean == 1.5
        assert ledger.step_counts(CAMPAIGN, since=1) == ledger.step_counts(CAMPAIGN)[1:]

    def test_a_sum_carries_what_is_more_than_one(self, ledger: Ledger) -> None:
        for step in range(3):
            ledger.append(rewarded([0.75], step=step))
        assert (whole(ledger).whole, whole(ledger).part) == (2, 2**38)

    def test_who_was_told_that_nothing_would_come_did_not_wait_for_it(
        self, ledger: Ledger
    ) -> None:
        ledger.append(rewarded([None, None]))
        block = revised([0.5], [None])
        ledger.append(replace(block, facts={**block.facts, "ended": [0]}))
        assert (whole(ledger).known, whole(ledger).waiting) == (1, 0)

    def test_what_is_not_known_is_no_zero(self, ledger: Ledger) -> None:
        ledger.append(rewarded([None, None]))
        assert (whole(ledger).known, whole(ledger).waiting, whole(ledger).mean) == (0, 0, None)

    def test_a_mean_is_the_same_in_whatever_order_rewards_come(self, ledger: Ledger) -> None:
        values = [0.1, 1e6 / 3, -0.7, 1e-9, -1e6 / 3]
        for name, order in (("there", values), ("back", values[::-1])):
            for step, value in enumerate(order):
                ledger.append(replace(rewarded([value], step=step), campaign=name))
        assert whole(ledger, "there") == whole(ledger, "back")
        assert whole(ledger, "there").mean == pytest.approx(sum(values) / 5, abs=1e-11)

    @pytest.mark.parametrize("value", [1e300, -1e13])
    def test_a_sum_that_is_too_large_to_be_kept_is_not_known(
        self, ledger: Ledger, value: float
    ) -> None:
        ledger.append(rewarded([value, 1.0]))
        ledger.append(rewarded([1.0], step=1))
        assert (whole(ledger).unsummed, whole(ledger).mean) == (2, None)
        assert [row.mean for row in ledger.step_counts(CAMPAIGN)] == [None, 1.0]

    def test_a_revision_that_does_not_tell_what_it_replaces_leaves_the_mean_unknown(
        self, ledger: Ledger
    ) -> None:
        ledger.append(score_block(["a", "b"]))
        ledger.append(score_block(["a"], kind="revision", revision=1))
        assert (whole(ledger).revised, whole(ledger).mean) == (1, None)

    def test_an_entry_that_is_refused_adds_nothing(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a"]))
        with pytest.raises(LedgerError):
            ledger.append(score_block(["b"]), sealing=Sealing(0.0, 0.0))
        assert (whole(ledger).samples, sum(told(ledger).values())) == (1, 1)
