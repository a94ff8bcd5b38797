"""Members that wait for their group are cancelled: they leave, and the rest goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import Any

import pytest
from comparing import SOON, Asked, assert_replays, latest, ranking, ranks, sample
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.cancellations import cancel_from_afar
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn

LONG = 600.0
"""Seconds of a deadline that is not reached."""
WHY = "it was cancelled"


@contextmanager
def opened(ledger: Ledger | str, asked: Asked) -> Iterator[vl.Campaign]:
    ladder = vl.Ladder("ranked", [ranking(asked)])
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger, run="r") as campaign:
        yield campaign


def cancelled(cancel: Callable[[], Any], count: int) -> None:
    """Cancel until so many samples are: they are there when their calls have come."""
    until, done = monotonic() + 120.0, 0
    while done < count and monotonic() < until:
        try:
            done += cancel().samples
        except vl.ConfigError:  # The campaign does not hold them yet.
            Event().wait(0.005)
    assert done == count


def test_the_call_of_a_cancelled_member_returns(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, asked) as campaign, ThreadPoolExecutor(1) as thread:
        call = thread.submit(campaign.score, [sample("a", 0, 3)], deadline=LONG)
        cancelled(lambda: campaign.cancel(step=1, positions=[0]), 1)
        (reward,) = call.result()

    assert (reward.value, reward.pending, reward.reason, reward.failed_at) == (
        None, False, WHY, "lease",
    )  # fmt: skip
    assert latest(ledger) == [reward]
    assert asked == []
    assert_replays(ledger)


def test_the_group_is_judged_without_it_where_two_remain(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, asked) as campaign, ThreadPoolExecutor(3) as threads:
        first, gone = (
            threads.submit(campaign.score, [sample("a" * n, n, 3)], deadline=LONG) for n in (2, 0)
        )
        cancelled(lambda: campaign.cancel(positions=[0], step=1), 1)
        last = threads.submit(campaign.score, [sample("a", 1, 3)], deadline=LONG)
        rewards = [call.result()[0] for call in (first, gone, last)]

    assert [(r.value, r.pending) for r in rewards] == [(1 / 2, False), (None, False), (0, False)]
    assert [sorted(one) for one in asked] == [["a", "aa"]]
    assert_replays(ledger)


def test_who_remains_alone_is_told_so(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, asked) as campaign, ThreadPoolExecutor(2) as threads:
        gone = threads.submit(campaign.score, [sample("a", 0, 2)], deadline=LONG)
        cancelled(lambda: campaign.cancel(step=1, positions=[0]), 1)
        alone = threads.submit(campaign.score, [sample("a", 1, 2)], deadline=LONG)
        rewards = [gone.result()[0], alone.result()[0]]

    assert rewards[0].reason == WHY
    assert "no other member of its group" in rewards[1].reason
    assert [(r.value, r.pending) for r in rewards] == [(None, False)] * 2
    assert asked == []
    assert_replays(ledger)


def test_a_run_is_cancelled_with_all_that_waits_for_a_group(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, asked) as campaign, ThreadPoolExecutor(2) as threads:
        calls = [
            threads.submit(campaign.score, [sample("a", n, 4, step=n)], deadline=LONG)
            for n in (0, 1)
        ]  # fmt: skip
        campaign.score([sample("a", n, 3, step=2) for n in (0, 1)], deadline=SOON)
        cancelled(campaign.cancel, 4)
        reasons = {call.result()[0].reason for call in calls}
        revised = [(r.step, r.reward.value, r.reward.reason) for r in campaign.revisions()]

    assert reasons == {WHY}
    assert revised == [(2, 0.0, WHY)] * 2
    assert_replays(ledger)


def test_who_was_cancelled_comes_again_as_recorded(asked: Asked, ledger: Ledger) -> None:
    whole = [sample("a" * n, n, 4) for n in range(4)]
    with opened(ledger, asked) as campaign:
        campaign.score(whole[:2])
        assert campaign.cancel(step=1, positions=[0]).samples == 1
        campaign.score(whole[2:])
        judged = latest(ledger)
        assert campaign.score(whole) == judged
    with opened(ledger, asked) as campaign:
        assert campaign.score(whole) == judged

    assert [r.value for r in judged] == pytest.approx([None, 0, 1 / 3, 2 / 3])
    assert latest(ledger) == judged


def test_nobody_is_cancelled_who_has_been_judged(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, asked) as campaign:
        campaign.score([sample("a" * n, n, 2) for n in range(2)])
        assert campaign.cancel().samples == 0
        assert campaign.cancel(step=1, positions=[0]).samples == 0

    assert [r.value for r in latest(ledger)] == [0, 1 / 2]


def test_one_who_asks_from_afar_reaches_them(asked: Asked, postgresql: str) -> None:
    with opened(postgresql, asked) as campaign, open_ledger(postgresql) as afar:
        campaign.score([sample("a" * n, n, 4) for n in range(3)], deadline=SOON)
        done = cancel_from_afar(afar, "c", Wanted("r", 1, frozenset([0])), at_work=False)
        assert done == Withdrawn(1, 0)
        campaign.score([sample("aaa", 3, 4)])
        assert_replays(afar)
        assert [r.value for r in latest(afar)] == pytest.approx([0, 0, 1 / 3, 2 / 3])


TEXTS = st.lists(st.text("ab", min_size=1, max_size=3), min_size=2, max_size=5)


@settings(max_examples=15, deadline=None)
@given(TEXTS, st.data())
def test_whoever_leaves_the_others_end_with_the_rewards_of_those_that_remain(
    texts: list[str], data: st.DataObject
) -> None:
    """In any order, with deadlines or none, with a restart between any two calls."""
    order = data.draw(st.permutations(range(len(texts))))
    chosen = data.draw(st.sets(st.sampled_from(order[:-1])))
    pause = data.draw(st.integers(1, len(order) - 1))
    asked: Asked = []
    with open_ledger(":memory:") as ledger:
        for part in (order[:pause], order[pause:]):
            with opened(ledger, asked) as campaign:
                for place in part:
                    deadline = data.draw(st.sampled_from([None, SOON]))
                    campaign.score([sample(texts[place], place, len(texts))], deadline=deadline)
            with opened(ledger, asked) as campaign:
                waits = chosen & {*part} if order[-1] not in part else set()
                if waits:
                    done = campaign.cancel(step=1, positions=waits)
                    assert done.samples == len(waits)
        rewards = latest(ledger)
        assert not any(r.pending for r in rewards)
        left = chosen & {*order[:pause]}
        rest = [n for n in range(len(texts)) if n not in left]
        values = [None] if len(rest) == 1 else ranks([texts[n] for n in rest])
        assert [rewards[n].value for n in rest] == pytest.approx(values)
        assert {rewards[n].reason for n in left} <= {WHY}
        assert_replays(ledger)
