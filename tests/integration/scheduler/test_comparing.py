"""Groups above the fast tier: one decision, one draw, one check and one charge for each."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path
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

import verifier_ladder as vl
from verifier_ladder.datasets import training_set
from verifier_ladder.decision import Decisions, Situation
from verifier_ladder.forecast import forecast
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.ledger.values import dumps
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.summary import summarise

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
