"""Canaries of judges: a judge that grades them otherwise has shifted, and is not believed."""

import asyncio
import pickle
from typing import Any

import pytest
from fakejudge import FakeJudge, judged

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.tiers.simulation.canaries import Canary, CanaryWatch, Look, built_in
from verifier_ladder.tiers.simulation.judge import Judge
from verifier_ladder.tiers.simulation.pairwisejudge import PairwiseJudge
from verifier_ladder.verdict import Outcome, Verdict

SUM = {"prompt": "What is 17 + 25?", "reference": "It is 42"}
ALWAYS = 1e-9
"""A period that is over at once."""


def own(wrong: int = 0, **more: Any) -> list[dict[str, Any]]:
    """Twelve sums, of which so many are graded as they are not."""
    grades = [0] * wrong + [10] * (12 - wrong)
    return [
        {"prompt": f"What is {n} + 1?", "output": f"{n + 1}", "grade": grade, **more}
        for n, grade in enumerate(grades)
    ]


def made(fake: FakeJudge, **settings: Any) -> Judge:
    return Judge(**{
        "model": "fake", "url": fake.url, "least": 5.0, "timeout": 300.0, **settings
    })  # fmt: skip


def said(judge: Judge | PairwiseJudge, *outputs: str) -> list[Verdict]:
    return judge.judge([Candidate("text", each, task=SUM) for each in outputs])


@pytest.mark.parametrize("kind", [Judge, PairwiseJudge])
def test_a_judge_that_knows_what_is_right_is_asked_on(fake: FakeJudge, kind: Any) -> None:
    ours = kind(model="fake", url=fake.url, least=0.5, canaries="built-in", timeout=300.0)
    verdicts = said(ours, "42", "43")

    assert ["accept", "reject"] == [each.outcome for each in verdicts]
    assert [0, 0] == [each.evidence["canaries_off"] for each in verdicts]
    assert ours.asks * (12 + 2) == len(fake.asked)


@pytest.mark.parametrize("kind", [Judge, PairwiseJudge])
def test_canaries_that_come_along_are_graded_by_default(fake: FakeJudge, kind: Any) -> None:
    ours = kind(model="fake", url=fake.url, least=0.5, timeout=300.0)
    named = kind(model="fake", url=fake.url, least=0.5, timeout=300.0, canaries="built-in")

    assert 0 == said(ours, "42")[0].evidence["canaries_off"]
    assert ours.asks * (12 + 1) == len(fake.asked)
    assert ours.tools == named.tools


def test_a_judge_that_knows_nothing_is_not_believed(fake: FakeJudge) -> None:
    (verdict,) = said(made(fake, model="contrary"), "43")

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "12 of 12 canaries" in verdict.reason


@pytest.mark.parametrize("settings", [{"canaries": []}, {"criteria": {"correct": "Is it?"}}])
def test_no_canary_is_graded_where_none_comes_along_or_is_wanted(
    fake: FakeJudge, settings: dict[str, Any]
) -> None:
    verdict = said(made(fake, **settings), "42")[0]

    assert 1 == len(fake.asked)
    assert "canaries_off" not in verdict.evidence


def test_canaries_are_graded_again_when_the_period_is_over(fake: FakeJudge) -> None:
    daily, always = made(fake, canaries=own()), made(fake, canaries=own(), canary_period=ALWAYS)
    for judge in (daily, daily, always, always):
        said(judge, "42")

    assert 12 + 2 + 2 * (12 + 1) == len(fake.asked)


def test_a_judge_that_shifts_is_unknown_until_it_is_back(
    fake: FakeJudge, caplog: pytest.LogCaptureFixture
) -> None:
    judge = made(fake, canaries=own(), canary_period=ALWAYS)
    before = said(judge, "42")[0]
    fake.mistaken = {"1", "2", "3"}
    (shifted,) = said(judge, "42")
    fake.mistaken = set()

    assert (Outcome.ABSTAIN, "tool") == (shifted.outcome, shifted.failed_at)
    assert "3 of 12 canaries" in shifted.reason
    assert "ALARM" in caplog.text
    assert [Outcome.ACCEPT] * 2 == [before.outcome, said(judge, "42")[0].outcome]


def test_one_grade_of_twelve_may_be_off(fake: FakeJudge) -> None:
    (one,) = said(made(fake, canaries=own(wrong=1)), "42")
    (two,) = said(made(fake, canaries=own(wrong=2)), "42")

    assert (Outcome.ACCEPT, 1) == (one.outcome, one.evidence["canaries_off"])
    assert "2 of 12 canaries" in two.reason


@pytest.mark.parametrize(("apart", "outcome"), [(0.5, Outcome.ABSTAIN), (1.0, Outcome.ACCEPT)])
def test_how_far_a_grade_may_be_off_is_a_setting(
    fake: FakeJudge, apart: float, outcome: Outcome
) -> None:
    fake.replies = [(200, {}, judged(9))] * 12

    assert outcome is said(made(fake, canaries=own(), canary_apart=apart), "42")[0].outcome


def test_a_canary_of_which_the_judge_has_no_opinion_is_off(fake: FakeJudge) -> None:
    fake.refused = {"1", "2"}

    assert "none for 10, none for 10" in said(made(fake, canaries=own()), "42")[0].reason


def test_a_judge_that_is_away_is_no_shift(fake: FakeJudge) -> None:
    judge = made(fake, canaries=own())
    fake.replies = [(500, {}, {})]
    (away,) = said(judge, "42")

    assert ("tool", True) == (away.failed_at, "500" in away.reason)
    assert Outcome.ACCEPT is said(judge, "42")[0].outcome


def test_a_canary_that_was_graded_is_not_asked_about_again_where_another_one_failed(
    fake: FakeJudge,
) -> None:
    judge = made(fake, canaries=own())
    fake.replies = [(500, {}, {})] * 2
    outcomes = [said(judge, "42")[0].outcome for _ in range(2)]

    assert [Outcome.ABSTAIN, Outcome.ACCEPT] == outcomes
    assert 12 + 2 + 1 == len(fake.asked)


def test_grades_of_now_are_a_new_version(fake: FakeJudge) -> None:
    fake.mistaken = {"1", "2", "3"}
    shifted = made(fake, canaries=own())
    graded = shifted.graded_canaries()
    renewed = made(fake, canaries=graded)

    assert [0.0] * 3 + [10.0] * 9 == [each["grade"] for each in graded]
    assert shifted.digest != renewed.digest
    assert ["tool", None] == [said(each, "42")[0].failed_at for each in (shifted, renewed)]


def test_canaries_are_paid_by_the_check_that_had_them_graded(fake: FakeJudge) -> None:
    judge = made(fake, canaries=own(), prices=[2.5, 10.0])
    costs = [said(judge, "42")[0].cost for _ in range(2)]

    assert [pytest.approx(13 * 0.0035), pytest.approx(0.0035)] == [c and c.money for c in costs]


def test_many_calls_at_once_wait_for_one_grading() -> None:
    graded: list[str] = []

    async def grade(canary: Canary) -> Verdict:
        await asyncio.sleep(0)
        graded.append(canary.output)
        return Verdict.accept(canary.grade)

    async def all_of(watch: CanaryWatch) -> list[Look]:
        return await asyncio.gather(*[watch.look(grade) for _ in range(50)])

    canaries = built_in(0.0, 10.0, compared=False)
    watch = CanaryWatch(canaries, apart=1.0, period=3600.0, at_once=4)
    copied = pickle.loads(pickle.dumps(watch))  # noqa: S301 - our own bytes

    assert {0} == {each.off for each in asyncio.run(all_of(watch))}
    assert 12 == len(graded)
    assert {0} == {each.off for each in asyncio.run(all_of(copied))}
    assert 24 == len(graded)


@pytest.mark.parametrize(
    "settings",
    [{"canaries": "all"}, {"canaries": own()[:11]}, {"canaries": own(grade=11)},
     {"canaries": own(grade="5")}, {"canaries": own(answer="x")}, {"canaries": [{}] * 12},
     {"canaries": "built-in", "instructions": "Be kind."}, {"canary_period": 0},
     {"canaries": "built-in", "criteria": {"short": "?"}}, {"canary_period": "often"},
     {"canaries": own(), "canary_apart": -1.0}],
)  # fmt: skip
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"canar|time"):
        Judge(model="m", **settings)


def test_a_pair_needs_two_answers() -> None:
    with pytest.raises(ConfigError, match="reference"):
        PairwiseJudge(model="m", canaries=own(grade=1))
    assert PairwiseJudge(model="m", canaries=own(grade=1), baseline="0").watch.canaries


def test_grades_of_a_judge_that_is_away_are_an_error(fake: FakeJudge) -> None:
    fake.replies = [(500, {}, {})]

    with pytest.raises(ToolError):
        made(fake, canaries=own()).graded_canaries()
