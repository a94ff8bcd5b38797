"""Groups above the fast tier that come in several calls: decided in parts, and as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from comparing import (
    LONG,
    SOON,
    Asked,
    assert_replays,
    judging,
    latest,
    length,
    opened,
    propensities,
    ranks,
    sample,
    spent,
    values,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, Entry
from verifier_ladder.scheduler.withdrawal import Withdrawn


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
