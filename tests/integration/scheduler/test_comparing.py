"""Groups above the fast tier: one decision, one draw, one check and one charge for each."""

from __future__ import annotations

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from comparing import (
    SOON,
    Asked,
    assert_replays,
    latest,
    propensities,
    ranking,
    ranks,
    sample,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.datasets import training_set
from verifier_ladder.decision import Decisions, Situation
from verifier_ladder.forecast import forecast
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, CheckState, Entry
from verifier_ladder.ledger.values import dumps
from verifier_ladder.resource import Resource
from verifier_ladder.retrying import retry
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.scheduler.withdrawal import Withdrawn
from verifier_ladder.summary import summarise

LONG = 300.0
"""Seconds of a deadline that is not reached."""


@vl.verifier(name="length", kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> vl.Verdict:
    """The fast tier: a tenth of the length; nothing with a `!` passes."""
    text = str(candidate.content)
    return vl.Verdict.reject("no") if "!" in text else vl.Verdict.accept(len(text) / 10)


def judging(asked: Asked, **options: Any) -> FunctionVerifier:
    """A judge above the fast tier."""
    return ranking(asked, **{"cost": vl.Cost(money=1.0), "tier": "simulation", **options})


@pytest.fixture
def asked() -> Asked:
    return []


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:") as made:
        yield made


@contextmanager
def opened(
    ledger: Ledger, *verifiers: vl.Verifier, policy: Any = "all_tiers", money: Any = "unlimited",
    **options: Any,
) -> Iterator[vl.Campaign]:  # fmt: skip
    ladder = vl.Ladder("compared", list(verifiers), policy=policy)
    budget = {"simulation": money if money == "unlimited" else {"money": money}}
    with vl.Campaign.open(
        "c", ladder=ladder, ledger=ledger, run="r", workers=1, budget=budget, **options
    ) as campaign:
        yield campaign


def values(rewards: Sequence[vl.Reward]) -> list[float | None]:
    return [reward.value for reward in rewards]


def spent(ledger: Ledger) -> float:
    (account,) = [
        one for one in ledger.accounts("c") if one.tier == 1 and one.resource is Resource.MONEY
    ]
    assert account.kept == 0
    return account.spent


# -- one of each ------------------------------------------------------------------------------


def test_a_group_is_one_check_and_one_charge_and_each_member_gets_a_revision(
    asked: Asked, ledger: Ledger
) -> None:
    texts, groups = ["a", "aaa", "aa", "aa", "a"], ["p", "p", "p", "q", "q"]
    with opened(ledger, length, judging(asked)) as campaign:
        rewards = campaign.score(texts, groups=groups, deadline=LONG)

    assert values(rewards) == pytest.approx([0, 2 / 3, 1 / 3, 1 / 2, 0])
    assert sorted(map(sorted, asked)) == [["a", "aa"], ["a", "aa", "aaa"]]
    checks = ledger.checks()
    assert [(check.state, check.attempt) for check in checks] == [(CheckState.DONE, 1)] * 2
    assert spent(ledger) == pytest.approx(2.0)
    assert summarise(ledger, "c").checks == 3 + 2  # Three texts, two groups.
    assert_replays(ledger)


def test_a_group_that_is_not_drawn_keeps_what_the_fast_tier_says(
    asked: Asked, ledger: Ledger
) -> None:
    policy = "value_of_information"
    with opened(ledger, length, judging(asked), policy=policy, money=0) as campaign:
        rewards = campaign.score(["a", "aaa"], groups=["p"] * 2, deadline=LONG)

    assert [(r.value, r.pending) for r in rewards] == [(0.1, False), (0.3, False)]
    assert asked == []


def test_the_same_members_again_cost_nothing_in_any_order(asked: Asked, ledger: Ledger) -> None:
    texts = ["a", "aaa", "a", "aa"]
    with opened(ledger, length, judging(asked)) as campaign:
        first = campaign.score(texts, groups=["p"] * 4, deadline=LONG)
    with opened(ledger, length, judging(asked)) as campaign:
        again = campaign.score(texts[::-1], groups=["q"] * 4, deadline=LONG)
        others = campaign.score(["a", "aaa"], groups=["p"] * 2, deadline=LONG)

    assert values(first) == values(again[::-1])
    assert values(others) == [0, 1 / 2]
    assert [len(members) for members in asked] == [4, 2]
    assert_replays(ledger)


def test_who_is_alone_and_who_was_rejected_is_not_compared(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        rewards = campaign.score(
            ["a", "aaa", "aaaa!", "aaaa", "aa!", "aa"], groups=["p", "p", "p", "q", "q", ""],
            deadline=LONG,
        )  # fmt: skip
        alone = campaign.score(["aaa"], groups=["p"], deadline=LONG)

    assert values(rewards) == [0, 1 / 2, 0, 0.4, 0, 0.2]
    assert values(alone) == [0.3]
    told = [(r.tier, r.failed_at, r.pending) for r in (rewards[3], rewards[5], *alone)]
    assert told == [(vl.Tier.FAST, None, False)] * 3
    assert rewards[3].components == {"length": 0.4, "rank": None}
    assert [sorted(members) for members in asked] == [["a", "aaa"]]
    assert_replays(ledger)


def test_members_share_what_they_cost_and_nothing_is_learnt_from_what_they_were_told(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        for step in range(4):
            campaign.score([f"{step}a", f"{step}aa"], groups=["p"] * 2, deadline=LONG)
        late = campaign.score(["b", "b" * 5], groups=["p", "q"], deadline=LONG)

    assert values(late) == [0.1, 0.5]  # As the fast tier says, whatever the judge has said.
    lessons = [ledger.read(entry).facts["lessons"] for entry in ledger.entries(kind="belief")]
    assert not any(row["keys"] for row in lessons)
    summary = summarise(ledger, "c")
    assert (summary.best, summary.rewards.best) == ((), None)
    with pytest.raises(vl.ConfigError, match="can't be chosen or paired"):
        training_set(ledger, "preferences", prompts={"p": "?"})


def test_a_forecast_counts_samples_and_not_the_groups_that_are_asked_about(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        for step in range(3):
            texts = [f"{step}" + "a" * n for n in range(4)]
            campaign.score(texts, groups=["p"] * 4, deadline=LONG)

    ahead = forecast(ledger, "c", samples=24)
    assert [tier.chosen for tier in ahead.tiers] == pytest.approx([24, 24])
    assert ahead.tiers[1].amounts["money"] == pytest.approx(6.0)


def test_what_a_group_takes_is_foretold_from_how_many_are_in_it(ledger: Ledger) -> None:
    def rank(members: list[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.accept(0.5, cost=vl.Cost(1.0)) for _ in members]

    judge = FunctionVerifier(
        rank, name="rank", version="1", scope="group", tier="simulation", isolation="inline"
    )
    with opened(ledger, length, judge) as campaign:
        for size in (2, 32):
            texts = [f"{size:02}{n:02}" for n in range(size)]
            campaign.score(texts, groups=["p"] * size, deadline=LONG)

    facts = [ledger.read(entry).facts["costs"] for entry in ledger.entries(kind="belief")]
    sizes = [
        row[1] for lessons in facts for stored in lessons if stored["verifier"] == "rank"
        for row in stored["columns"][1]
    ]  # fmt: skip
    assert sizes[1] - sizes[0] == pytest.approx(math.log(32 / 2))


def test_no_fast_tier_is_needed(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, judging(asked, tier="simulation")) as campaign:
        rewards = campaign.score(["a", "aa", "aaa"], groups=["p", "p", "q"], deadline=LONG)

    assert values(rewards) == [0, 1 / 2, None]
    assert_replays(ledger)


# -- members that the judge declines ----------------------------------------------------------


def declining(said: Any = None) -> FunctionVerifier:
    """A judge that ranks by length, and says the same of whatever has a `?`."""

    def rank(members: list[vl.Candidate]) -> list[Any]:
        texts = [str(member.content) for member in members]
        return [
            said if "?" in text else rank_ for text, rank_ in zip(texts, ranks(texts), strict=True)
        ]

    return FunctionVerifier(
        rank, name="rank", version="1", scope="group", isolation="inline", tier="simulation",
        cost=vl.Cost(money=1.0),
    )  # fmt: skip


@pytest.mark.parametrize(
    "said", [None, math.nan, vl.Verdict.abstain("away", failed_at="tool"), vl.Verdict.accept()]
)
def test_whom_a_judge_gives_no_score_is_unknown_and_the_others_keep_theirs(
    said: Any, ledger: Ledger
) -> None:
    with opened(ledger, length, declining(said)) as campaign:
        rewards = campaign.score(["a?", "aaa", "aaaa"], groups=["p"] * 3, deadline=LONG)

    assert values(rewards) == [None, 1 / 3, 2 / 3]
    assert (rewards[0].pending, rewards[0].tier) == (False, None)
    assert rewards[0].reason
    assert rewards[0].components == {"length": 0.2, "rank": None}
    assert_replays(ledger)


def test_a_group_in_which_all_are_declined_keeps_what_the_fast_tier_says(ledger: Ledger) -> None:
    forged = vl.Verdict.abstain("no", evidence={"group_judged": True})
    with opened(ledger, length, declining(forged)) as campaign:
        rewards = campaign.score(["a?", "aa?"], groups=["p"] * 2, deadline=LONG)

    assert values(rewards) == [0.2, 0.3]
    assert_replays(ledger)


def test_a_declined_member_is_unknown_where_the_others_were_rejected(ledger: Ledger) -> None:
    def rank(members: list[vl.Candidate]) -> list[bool | None]:
        return [None if "?" in str(member.content) else False for member in members]

    judge = FunctionVerifier(
        rank, name="rank", version="1", scope="group", isolation="inline", tier="simulation"
    )
    with opened(ledger, length, judge) as campaign:
        rewards = campaign.score(["aaa?", "aa", "a!"], groups=["p"] * 3, deadline=LONG)

    assert values(rewards) == [None, 0, 0]
    assert [reward.is_rejected for reward in rewards] == [False, True, True]
    assert_replays(ledger)


def test_an_old_verdict_that_does_not_tell_of_its_group_leaves_what_the_fast_tier_says(
    asked: Asked,
) -> None:
    ladder = vl.Ladder("compared", [length, judging(asked)], policy="all_tiers")
    old = Standing(vl.Candidate("text", "a?"), b"", "a?")
    old.verdicts = {"length": vl.Verdict.accept(0.2), "rank": vl.Verdict.accept()}
    assert not Survey(ladder, old).is_known


def test_equal_members_are_declined_only_together(ledger: Ledger) -> None:
    def rank(members: list[vl.Candidate]) -> list[float | None]:
        seen = [str(member.content) for member in members]
        first = {text: seen.index(text) for text in seen}
        return [None if text == "bb" or n > first[text] else 0.5 for n, text in enumerate(seen)]

    judge = FunctionVerifier(
        rank, name="rank", version="1", scope="group", isolation="inline", tier="simulation"
    )
    with opened(ledger, length, judge) as campaign:
        rewards = campaign.score(["aa", "bb", "bb", "aa"], groups=["p"] * 4, deadline=LONG)

    assert values(rewards) == [0.5, None, None, 0.5]
    assert_replays(ledger)


@pytest.mark.parametrize(
    ("texts", "partial"),
    [(["a?", "aaa", "aaaa"], [None, 1 / 2]), (["a?", "aa?", "aaaa"], [0.2, 0.3])],
)
def test_who_is_declined_follows_from_those_that_were_compared(
    texts: list[str], partial: list[float | None], ledger: Ledger
) -> None:
    for place, text in enumerate(texts):
        with opened(ledger, length, declining()) as campaign:
            campaign.score([sample(text, place, 3)], deadline=SOON)
            campaign.drain(LONG)
            if place == 1:
                assert [(r.value, r.pending) for r in latest(ledger)] == [
                    (value, True) for value in partial
                ]

    expected = [None if "?" in text else n / 3 for text, n in zip(texts, (0, 1, 2), strict=True)]
    assert [(r.value, r.pending) for r in latest(ledger)] == [(one, False) for one in expected]
    assert_replays(ledger)


def test_a_member_that_is_drawn_by_chance_and_declined_keeps_no_estimate(ledger: Ledger) -> None:
    texts = [f"{n}{end}" for n in range(8) for end in ("a?", "aa")]
    policy = "value_of_information"
    with opened(ledger, length, declining(), policy=policy, money=4.0) as campaign:
        campaign.score(texts, groups=[text[0] for text in texts], deadline=LONG)
        campaign.drain(LONG)

    told = values(latest(ledger, 0))
    assert {*zip(told[::2], told[1::2], strict=True)} == {(None, 0.0), (0.3, 0.3)}
    assert all(0.0 < min(chance) < 1.0 for chance in propensities(ledger).values())
    assert_replays(ledger)


# -- a group in several calls -----------------------------------------------------------------


def test_those_that_are_there_at_the_deadline_are_asked_about_and_once_more_when_all_are(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        (alone,) = campaign.score([sample("a", 0, 4)], deadline=SOON)
        campaign.score([sample("aaa", 1, 4)], deadline=SOON)
        campaign.drain(LONG)
        partial = latest(ledger)
        campaign.score([sample("aa", 2, 4)], deadline=SOON)
        campaign.score([sample("aaaa", 3, 4)], deadline=LONG)

    assert (alone.value, alone.pending) == (0.1, True)
    assert [(r.value, r.pending) for r in partial] == [(0, True), (1 / 2, True)]
    assert [(r.value, r.pending) for r in latest(ledger)] == [
        (0, False), (2 / 4, False), (1 / 4, False), (3 / 4, False),
    ]  # fmt: skip
    assert [len(members) for members in asked] == [2, 4]
    assert spent(ledger) == pytest.approx(2.0)
    assert_replays(ledger)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_group_judged_in_part_is_final_once_the_rest_is_rejected(
    *, restarts: bool, asked: Asked, ledger: Ledger
) -> None:
    """What was said of those that are left stands; it is not asked and not paid again."""
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.score([sample("a", 0, 4), sample("aaa", 1, 4)], deadline=SOON)
        campaign.drain(LONG)
        partial = latest(ledger)
        if not restarts:
            campaign.score([sample("!", 2, 4), sample("a!", 3, 4)], deadline=LONG)
    if restarts:
        with opened(ledger, length, judging(asked)) as campaign:
            campaign.score([sample("!", 2, 4)], deadline=SOON)
            campaign.score([sample("a!", 3, 4)])
    with opened(ledger, length, judging(asked)) as campaign:
        revised = {r.position: r.reward for r in campaign.revisions()}

    assert [(r.value, r.pending) for r in partial] == [(0, True), (1 / 2, True)]
    assert [(r.value, r.pending) for r in latest(ledger)] == [
        (0, False), (1 / 2, False), (0, False), (0, False),
    ]  # fmt: skip
    assert [(n, r.value, r.pending) for n, r in revised.items()] == [
        (0, 0, False), (1, 1 / 2, False),
    ]  # fmt: skip
    assert [len(members) for members in asked] == [2]
    assert spent(ledger) == pytest.approx(1.0)
    assert_replays(ledger)


def test_a_group_that_waits_for_its_judge_stays_one_check_when_the_rest_is_rejected(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a", 0, 3), sample("aaa", 1, 3)], deadline=SOON)
        campaign.score([sample("!", 2, 3)], deadline=SOON)
        waiting = latest(ledger)
        campaign.resume("simulation")
        campaign.drain(LONG)

    assert [r.pending for r in waiting] == [True, True, False]
    assert [(r.value, r.pending) for r in latest(ledger)] == [
        (0, False), (1 / 2, False), (0, False),
    ]  # fmt: skip
    assert [len(members) for members in asked] == [2]
    assert spent(ledger) == pytest.approx(1.0)
    assert_replays(ledger)


def test_a_group_that_no_draw_fell_on_is_final_once_the_rest_is_rejected(
    asked: Asked, ledger: Ledger
) -> None:
    policy = "value_of_information"
    with opened(ledger, length, judging(asked), policy=policy, money=0) as campaign:
        campaign.score([sample("a", 0, 3), sample("aaa", 1, 3)], deadline=SOON)
        partial = latest(ledger)
        campaign.score([sample("!", 2, 3)], deadline=SOON)

    assert [r.pending for r in partial] == [True, True]
    assert [(r.value, r.pending) for r in latest(ledger)] == [
        (0.1, False), (0.3, False), (0, False),
    ]  # fmt: skip
    assert asked == []
    assert_replays(ledger)


def test_a_group_is_drawn_once_where_all_that_comes_later_is_rejected(
    asked: Asked, ledger: Ledger
) -> None:
    policy = "value_of_information"
    with opened(ledger, length, judging(asked), policy=policy, money=5.0) as campaign:
        for step in range(16):
            two = [sample(f"{step}" + "a" * n, n, 3, step=step) for n in (0, 1)]
            campaign.score(two, deadline=SOON, more=3 * (15 - step) + 1)
            campaign.score([sample("!", 2, 3, step=step)], more=3 * (15 - step))
        campaign.drain(LONG)

    told = [latest(ledger, step) for step in range(16)]
    judged = sum(rewards[0].tier is vl.Tier.SIMULATION for rewards in told)
    assert judged == len(asked) == spent(ledger)
    assert 0 < judged < 16
    assert not any(reward.pending for rewards in told for reward in rewards)
    blocks = map(ledger.read, ledger.entries(kind="revision"))
    assert sum("decided" in block.facts for block in blocks) == 16
    assert_replays(ledger)


def test_calls_that_wait_for_each_other_share_one_check(asked: Asked, ledger: Ledger) -> None:
    with (
        opened(ledger, length, judging(asked)) as campaign,
        ThreadPoolExecutor(4) as threads,
    ):
        given = [sample("a" * (place + 1), place, 4) for place in range(4)]
        calls = [threads.submit(campaign.score, [one], deadline=LONG) for one in given]
        rewards = [call.result()[0] for call in calls]

    assert values(rewards) == [0, 1 / 4, 1 / 2, 3 / 4]
    assert [len(members) for members in asked] == [4]
    assert len(propensities(ledger)) == 1
    assert_replays(ledger)


TEXTS = st.lists(st.text("ab", min_size=1, max_size=3), min_size=2, max_size=5)


@settings(max_examples=15, deadline=None)
@given(TEXTS, st.data())
def test_however_a_group_comes_it_ends_with_the_rewards_of_the_whole(
    texts: list[str], data: st.DataObject
) -> None:
    """In any order and any parts, with deadlines or none, with a restart between any two calls."""
    order = data.draw(st.permutations(range(len(texts))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(texts) - 1))))
    parts = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(texts)], strict=True)]
    asked: Asked = []
    with open_ledger(":memory:") as ledger:
        rest = list(parts)
        while rest:
            with opened(ledger, length, judging(asked)) as campaign:
                for part in rest[: data.draw(st.integers(1, len(rest)))]:
                    rest.remove(part)
                    deadline = data.draw(st.sampled_from([None, SOON]))
                    given_ = [sample(texts[n], n, len(texts)) for n in part]
                    campaign.score(given_, deadline=deadline)
                campaign.drain(LONG)
        assert values(latest(ledger)) == pytest.approx(ranks(texts))
        assert not any(reward.pending for reward in latest(ledger))
        assert sum(len(members) == len(texts) for members in asked) == 1
        assert len(asked) <= 2
        assert spent(ledger) == len(asked)
        assert_replays(ledger)


class Counted(MemoryLedger):
    """Counts the entries that are read, and those with samples that are listed."""

    read_ = listed = 0

    def read(self, entry: Entry) -> Block:
        self.read_ += 1
        return super().read(entry)

    def entries(self, **options: Any) -> Iterator[Entry]:
        for entry in super().entries(**options):
            self.listed += entry.kind in {"score", "revision"}
            yield entry


def test_deciding_a_group_reads_no_other_group_of_its_step(asked: Asked) -> None:
    costs = []
    with Counted() as ledger, opened(ledger, length, judging(asked)) as campaign:
        for first in range(0, 60, 2):
            before, named = ledger.read_, {"group": str(first)}
            campaign.score([sample("a" * n, first + n, 2, **named) for n in (0, 1)], deadline=LONG)
            costs.append(ledger.read_ - before)

    assert costs[-1] <= max(costs[:3])


def test_a_group_that_comes_again_reads_no_other_group_of_its_step(asked: Asked) -> None:
    groups = [
        [sample(f"{first}" + "a" * n, first + n, 2, group=str(first)) for n in (0, 1)]
        for first in range(0, 60, 2)
    ]
    with Counted() as ledger:
        with opened(ledger, length, judging(asked)) as campaign:
            for group in groups:
                campaign.score(group, deadline=LONG)
        with opened(ledger, length, judging(asked)) as campaign:
            costs = []
            for again in (*groups, groups[0][:1], groups[-1][1:]):
                before = ledger.read_
                campaign.score(again, deadline=LONG)
                costs.append(ledger.read_ - before)
        entries = len(list(ledger.step_entries("c", "r", 1)))

    assert len(asked) == len(groups)
    assert 5 * max(costs) < entries


def test_opening_lists_no_entries_of_groups_that_are_decided(asked: Asked) -> None:
    costs = []
    with Counted() as ledger:
        for step in range(20):
            before = ledger.listed
            with opened(ledger, length, judging(asked)) as campaign:
                costs.append(ledger.listed - before)
                campaign.score(["a", "aa"], groups=["p"] * 2, step=step, deadline=LONG)
                campaign.score([sample("a", 0, 3, step=100 + step)])  # The others never come.

        assert not any(reward.pending for step in range(20) for reward in latest(ledger, step))

    assert costs[-1] <= max(costs[2:8])


def test_cancelling_samples_of_a_step_reads_no_other_step(asked: Asked) -> None:
    with Counted() as ledger, opened(ledger, length, judging(asked)) as campaign:
        costs = []
        for step in range(20):
            before = ledger.read_
            campaign.score([sample("a", 0, 2, step=step)])
            assert campaign.cancel(step=step, positions=[0]) == Withdrawn(1, 0)
            costs.append(ledger.read_ - before)

    assert costs[-1] <= max(costs[:3])


# -- what fails -------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "ranks_"), [("aa", [0, 2 / 3, 1 / 3]), ("!", [0, 1 / 2, 0])])
def test_a_group_that_was_recorded_and_not_decided_is_decided_later(
    last: str, ranks_: list[float], asked: Asked, ledger: Ledger
) -> None:
    class Stumbling(AllTiers):
        falls = True

        def decide(self, situation: Situation) -> Decisions:
            if Stumbling.falls:
                Stumbling.falls = False
                raise RuntimeError("just now")
            return super().decide(situation)

    policy = Stumbling()
    with opened(ledger, length, judging(asked), policy=policy) as campaign:
        campaign.score([sample("a", 0, 3), sample("aaa", 1, 3)])
        with pytest.raises(RuntimeError, match="just now"):
            campaign.score([sample(last, 2, 3)], deadline=LONG)
        assert [r.pending for r in latest(ledger)][:2] == [True, True]
        campaign.score(["b"], step=7, deadline=LONG)
        campaign.drain(LONG)

    assert values(latest(ledger)) == pytest.approx(ranks_)
    assert_replays(ledger)


def test_a_group_that_can_not_be_judged_rejects_nobody_and_is_told_when_it_is_retried(
    ledger: Ledger,
) -> None:
    fails = [True]

    def rank(members: list[vl.Candidate]) -> list[float]:
        if fails[0]:
            raise RuntimeError("the judge is away")
        return ranks([member.content for member in members])

    judge = FunctionVerifier(
        rank, name="rank", version="1", scope="group", tier="simulation", isolation="inline"
    )
    with opened(ledger, length, judge) as campaign:
        campaign.score(["a", "aa"], groups=["p"] * 2, deadline=SOON)
        campaign.drain(LONG)
        assert [check.state for check in ledger.checks()] == [CheckState.DEAD]
        dead = latest(ledger, 0)
        fails[0] = False
        assert campaign.retry().checks == 1
        campaign.drain(LONG)

    assert [(r.value, r.failed_at) for r in dead] == [(0.1, "verifier"), (0.2, "verifier")]
    assert values(latest(ledger, 0)) == [0, 1 / 2]


def test_hidden_values_of_any_member_stand_nowhere(ledger: Ledger) -> None:
    def rank(members: list[vl.Candidate]) -> list[vl.Verdict]:
        said = [f"it is {member.task['answer']}" for member in members]  # type: ignore[index]
        return [
            vl.Verdict.accept(0.5, feedback=one, evidence={"why": " ".join(said)}) for one in said
        ]

    judge = FunctionVerifier(
        rank, name="rank", version="1", scope="group", tier="simulation", isolation="inline",
        task_fields=("answer",), hidden=("answer",),
    )  # fmt: skip
    with opened(ledger, length, judge) as campaign:
        made = [vl.Candidate("text", one, {"answer": one}) for one in ("accept", "Paris", "Rome")]
        rewards = campaign.score(made, groups=["p"] * 3, deadline=LONG)

    assert values(rewards) == [0.5] * 3
    assert {r.feedback for r in rewards} == {"it is [hidden]"}


def test_a_row_whose_members_stand_in_another_order_is_refused(
    asked: Asked, tmp_path: Path
) -> None:
    """What is said of one would else be told to another."""
    place = tmp_path / "ledger.db"
    with open_ledger(place) as ledger:
        with opened(ledger, length, judging(asked)) as campaign:
            campaign.pause("simulation")
            campaign.score(["a", "aa"], groups=["p"] * 2, deadline=SOON)
            (check,) = ledger.checks()
            rows = json.loads(check.payload["content"])
            forged = {**check.payload, "content": json.dumps(rows[::-1])}
            with closing(sqlite3.connect(place)) as connection, connection:
                connection.execute("UPDATE check_queue SET payload = ?", (dumps(forged),))
            campaign.resume("simulation")
            campaign.drain(LONG)
        assert asked == []
        assert {r.failed_at for r in latest(ledger, 0)} == {"ledger"}


# -- who is cancelled -------------------------------------------------------------------------


def test_a_cancelled_member_leaves_before_its_group_is_decided(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.score([sample("a" * n, n, 4) for n in (1, 2, 3)])
        assert campaign.cancel(step=1, positions=[3]) == Withdrawn(1, 0)
        (last,) = campaign.score([sample("", 0, 4)], deadline=LONG)

    assert last.value == 0
    assert [r.reason for r in latest(ledger)][3] == "it was cancelled"
    assert values(latest(ledger)) == pytest.approx([0, 1 / 3, 2 / 3, 0.3])
    assert [sorted(members) for members in asked] == [["", "a", "aa"]]
    assert_replays(ledger)


def test_the_check_of_a_group_is_cancelled_with_the_last_of_its_members(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a" * n, n, 3) for n in range(3)], deadline=SOON)
        assert campaign.cancel(step=1, positions=[0]) == Withdrawn(1, 0)
        assert campaign.cancel(step=1, positions=[1, 2]) == Withdrawn(2, 1)
        campaign.score([sample("a" * n, n, 3, step=2) for n in (2, 1, 0)], deadline=SOON)
        assert campaign.cancel(step=2, positions=[0]) == Withdrawn(1, 0)
        campaign.resume("simulation")
        campaign.drain(LONG)

    assert [r.reason for r in latest(ledger)] == ["it was cancelled"] * 3
    assert values(latest(ledger, 2)) == pytest.approx([0, 1 / 3, 2 / 3])
    assert_replays(ledger)


def test_a_member_that_waits_for_its_judge_and_for_others_is_cancelled_once(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a" * n, n, 4) for n in range(3)], deadline=SOON)
        assert campaign.cancel(step=1, positions=[2]) == Withdrawn(1, 0)
        told = [r.reward.pending for r in campaign.revisions() if r.position == 2]
        campaign.score([sample("aaaa", 3, 4)], deadline=SOON)
        campaign.resume("simulation")
        campaign.drain(LONG)

    assert told == [True, False]  # It was asked about, and cancelled.
    assert values(latest(ledger)) == pytest.approx([0, 1 / 3, 0.2, 2 / 3])
    assert_replays(ledger)


@pytest.mark.parametrize("is_open", [True, False])
def test_who_was_cancelled_and_asked_about_again_waits_for_no_others(
    asked: Asked, ledger: Ledger, *, is_open: bool
) -> None:
    """Whether the campaign is open when the check is retried, or opened afterwards."""
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a", 0, 3), sample("aa", 1, 3)], deadline=SOON)
        assert campaign.cancel(step=1) == Withdrawn(2, 1)
        campaign.resume("simulation")
        if is_open:
            assert retry(ledger, ledger.checks()).samples == 2
            campaign.drain(LONG)
    if not is_open:
        assert retry(ledger, ledger.checks()).samples == 2
        with opened(ledger, length, judging(asked)) as campaign:
            campaign.drain(LONG)

    assert [(r.value, r.pending) for r in latest(ledger)] == [(0, False), (1 / 2, False)]
    assert_replays(ledger)


# -- workers ----------------------------------------------------------------------------------

SCRIPT = """
import json, os, sys, time
from pathlib import Path
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def cheap(candidate):
    return len(candidate.content) / 10

@vl.verifier(tier="simulation", kind="text", version="1", scope="group", timeout=300,
             cost=vl.Cost(0.01, money=1.0))
def rank(members):
    Path("worker").write_text(str(os.getpid()))
    Path("started").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return [sum(len(a.content) > len(b.content) for b in members) / len(members) for a in members]

ladder = vl.Ladder("l", [cheap, rank], policy="all_tiers")
if __name__ == "__main__":
    with vl.Campaign.open("c", ladder=ladder, ledger=sys.argv[1], run="r", engine=sys.argv[2],
                          budget={"simulation": "unlimited"}, workers=1) as campaign:
        if sys.argv[3:]:
            campaign.score(sys.argv[3:], groups=["p"] * len(sys.argv[3:]), deadline=300)
        campaign.drain(300)
        print(json.dumps([r.reward.value for r in campaign.revisions() if r.reward.revision == 2]))
"""


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Run the script."""
    (folder / "mine.py").write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, "mine.py", *words], cwd=folder, text=True, stdout=subprocess.PIPE
    )


def await_file(file: Path, process: subprocess.Popen[str]) -> None:
    while not file.exists():
        assert process.poll() is None


def test_a_worker_and_a_home_that_are_killed_cost_the_group_attempts_and_no_second_payment(
    tmp_path: Path,
) -> None:
    first = started(tmp_path, "ledger.db", "local", "a", "aaa", "aa")
    await_file(tmp_path / "started", first)
    (tmp_path / "started").unlink()
    os.kill(int((tmp_path / "worker").read_text()), signal.SIGKILL)
    await_file(tmp_path / "started", first)  # Another worker has taken it up.
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=300)
    assert first.stdout is not None
    first.stdout.close()
    (tmp_path / "go").touch()

    second = started(tmp_path, "ledger.db", "local")
    said, _ = second.communicate(timeout=300)
    assert json.loads(said) == pytest.approx([0, 2 / 3, 1 / 3])
    with open_ledger(tmp_path / "ledger.db") as ledger:
        (check,) = ledger.checks()
        assert (check.state, check.attempt >= 2) == (CheckState.DONE, True)
        blocks = [ledger.read(entry) for entry in ledger.entries(kind="check")]
        answers = [row for one in blocks for row in one.verdicts if row.verdict.is_answer]
        assert [row.check_key for row in answers] == [check.check_key]
        # What a lost attempt had reserved is taken as spent; the answer is paid once.
        assert spent(ledger) <= 1.25 * (check.attempt - 1) + 1.0
        assert_replays(ledger)


def test_a_worker_of_the_command_line_takes_a_group_on_postgresql(
    tmp_path: Path, postgresql: str
) -> None:
    campaign = started(tmp_path, postgresql, "workers", "a", "aaa", "aa")
    (tmp_path / "go").touch()
    worker = subprocess.Popen(
        [sys.executable, "-m", "verifier_ladder.cli", "worker", "start", "--import", "mine.py",
         "--ledger", postgresql],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        said, _ = campaign.communicate(timeout=300)
    finally:
        worker.kill()
        worker.wait(timeout=300)
    assert json.loads(said) == pytest.approx([0, 2 / 3, 1 / 3])
    with open_ledger(postgresql) as ledger:
        (check,) = ledger.checks()
        assert (check.state, check.attempt) == (CheckState.DONE, 1)
        assert spent(ledger) == pytest.approx(1.0)


# -- where it may not stand -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "options", "policy", "word"),
    [
        (["fast", "simulation"], {}, "all_tiers", "stands alone in the top tier"),
        (["high_fidelity"], {}, "all_tiers", "stands alone in the top tier"),
        (["fast", "simulation"], {"tier": "high_fidelity"}, "all_tiers", "nothing but the fast"),
        ([], {"role": "gate"}, "all_tiers", 'leave out its role="gate"'),
        ([], {"reads": "raw"}, "all_tiers", 'leave out its reads="raw"'),
        (["fast"], {}, "discovery", "take another policy"),
    ],
)
def test_ladders_in_which_it_can_not_stand_are_refused(
    others: list[str], options: dict[str, Any], policy: str, word: str
) -> None:
    verifiers = [
        FunctionVerifier(lambda _: 1.0, name=tier, version="1", tier=tier, kind="text")
        for tier in others
    ]
    with pytest.raises(vl.ConfigError, match=word):
        vl.Ladder("compared", [*verifiers, judging([], **options)], policy=policy)


def test_no_estimator_corrects_what_no_tier_foretells() -> None:
    with pytest.raises(vl.ConfigError, match="Leave the estimator out"):
        vl.Ladder("compared", [length, judging([])], reward=vl.RewardRule(estimator="unbiased"))
