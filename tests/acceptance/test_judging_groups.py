"""A verifier of groups says how good each member is among the others, and nothing else.

What it has said holds for these members only, in any order: whoever is alone, or comes with
others, is not told it. A group is one check, one draw and one charge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from comparing import SOON, Asked, assert_replays, latest, propensities, ranking, sample

import verifier_ladder as vl
from verifier_ladder.datasets import training_set
from verifier_ladder.ledger import Ledger
from verifier_ladder.resource import Resource
from verifier_ladder.summary import summarise

LONG = 300.0
"""Seconds of a deadline that is not reached."""


@pytest.fixture
def asked() -> Asked:
    return []


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with vl.open_ledger(":memory:") as opened:
        yield opened


@contextmanager
def opened(
    ledger: Ledger, *verifiers: vl.Verifier, policy: Any = None, **options: Any
) -> Iterator[vl.Campaign]:
    ladder = vl.Ladder("ranked", list(verifiers), policy=policy)
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger, **options) as campaign:
        yield campaign


def spent(ledger: Ledger) -> float:
    return sum(one.spent for one in ledger.accounts("c") if one.resource is Resource.MONEY)


def test_who_is_alone_is_not_judged_and_not_from_the_cache_either(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, ranking(asked)) as campaign:
        campaign.score(["a", "aa"], groups=["p"] * 2)
        for alone in (["aa"], ["aa", "a"]):
            rewards = campaign.score(alone, groups=["p", "q"][: len(alone)])
            assert [r.value for r in rewards] == [None] * len(alone)
            assert all("no other member" in r.reason and not r.failed_at for r in rewards)
        (nameless, _) = campaign.score(["aa", "a"])
        assert nameless.value is None

    assert len(asked) == 1


def test_the_same_members_again_cost_nothing_in_any_order(asked: Asked, ledger: Ledger) -> None:
    texts = ["a", "aaa", "a", "aa"]
    with opened(ledger, ranking(asked)) as campaign:
        first = campaign.score(texts, groups=["p"] * 4)
    with opened(ledger, ranking(asked)) as campaign:
        again = campaign.score(texts[::-1], groups=["q"] * 4)
        others = campaign.score(["a", "aaa"], groups=["p"] * 2)

    assert [r.value for r in first] == [r.value for r in again[::-1]]
    assert [r.value for r in others] == [0, 1 / 2]
    assert [len(members) for members in asked] == [4, 2]


def test_those_that_are_there_at_the_deadline_are_judged_and_once_more_when_all_are(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, ranking(asked)) as campaign:
        (alone,) = campaign.score([sample("a", 0, 3)], deadline=SOON)
        (early,) = campaign.score([sample("aaa", 1, 3)], deadline=SOON)
        (last,) = campaign.score([sample("aa", 2, 3)], deadline=SOON)
        revised = {r.position: r for r in campaign.revisions()}

    assert (alone.value, alone.pending) == (None, True)
    assert (early.value, early.pending) == (1 / 2, True)
    assert (last.value, last.pending) == (1 / 3, False)
    assert [r.value for r in latest(ledger)] == pytest.approx([0, 2 / 3, 1 / 3])
    assert not any(r.pending for r in latest(ledger))
    assert (revised[0].previous, revised[1].previous) == (None, 1 / 2)
    assert [len(members) for members in asked] == [2, 3]
    assert_replays(ledger)


def test_a_group_is_one_check_and_one_charge(asked: Asked, ledger: Ledger) -> None:
    paid = ranking(asked, cost=vl.Cost(money=0.5))
    with opened(ledger, paid, budget={"fast": {"money": 10}}) as campaign:
        campaign.score(["a", "aa", "aaa"], groups=["p"] * 3)
        campaign.score(["aaa", "aa", "a"], groups=["p"] * 3)

    assert spent(ledger) == pytest.approx(0.5)
    assert summarise(ledger, "c").checks == 1
    assert {line.checks for line in ledger.spend("c") if line.resource is Resource.MONEY} == {1}


def test_a_budget_draws_groups_and_never_members(asked: Asked, ledger: Ledger) -> None:
    @vl.verifier(name="length", kind="text", version="1", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return len(candidate.content) / 10

    judge = ranking(asked, cost=vl.Cost(money=1.0), tier="simulation")
    budget = {"simulation": {"money": 5.0}}
    with opened(
        ledger, length, judge, policy="value_of_information", budget=budget, run="r", workers=1
    ) as campaign:
        for step in range(8):
            texts = [f"{step}{group}" + "a" * n for group in "pq" for n in range(3)]
            campaign.score(
                texts, groups=[text[:2] for text in texts], deadline=LONG, more=6 * (7 - step)
            )
        campaign.drain(LONG)

    chances = propensities(ledger)
    assert len(chances) == 16
    assert all(len(each) == 1 and 0.0 <= min(each) <= 1.0 for each in chances.values())
    assert min(map(min, chances.values())) < 1.0
    told = {step: [reward.tier for reward in latest(ledger, step)] for step in range(8)}
    of_groups = [set(tiers[n : n + 3]) for tiers in told.values() for n in (0, 3)]
    assert all(len(tiers) == 1 for tiers in of_groups)
    judged = sum(tiers == {vl.Tier.SIMULATION} for tiers in of_groups)
    assert judged == len(asked) == spent(ledger)
    assert 3 <= judged <= 5
    assert_replays(ledger)


def test_its_scores_are_no_best_and_no_training_set(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, ranking(asked)) as campaign:
        campaign.score(["a", "aa"], groups=["p"] * 2)
        report = campaign.import_verdicts([{"content": "a", "rank": 0.5}], source="last year")

    summary = summarise(ledger, "c")
    assert (summary.best, summary.rewards.best) == ((), None)
    assert "judges whole groups" in report.bad_rows[0].reason
    with pytest.raises(vl.ConfigError, match="can't be chosen or paired"):
        training_set(ledger, "preferences", prompts={"p": "?"})
