"""A judge that compares two answers: a real server on this machine, which plays it."""

from collections.abc import Mapping
from typing import Any

import pytest
from fakejudge import FakeJudge, completion, is_taken_in, sections

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.summary import summarise
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.mutants import LEAST_CAUGHT, mutation_test
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.simulation.chatendpoint import URL
from verifier_ladder.tiers.simulation.pairwisejudge import PairwiseJudge
from verifier_ladder.verdict import Outcome, Verdict

FROZEN = "cfde8d8ba783ca749f64a6a78998dbd225144c0ca9ca307a09800fa1ba1ec13a"
SUM = {"prompt": "What is 17 + 25?", "reference": "It is 42"}


def said(fake: FakeJudge, output: str = "42", task: Any = SUM, **settings: Any) -> Verdict:
    ours = PairwiseJudge(**{
        "model": "fake", "url": fake.url, "timeout": 300.0, "canaries": [], **settings
    })  # fmt: skip
    return ours.judge([Candidate("text", output, task=task)])[0]


def shown(fake: FakeJudge) -> list[dict[str, str]]:
    return [sections(message["messages"][1]["content"]) for _, message in fake.asked]


class TestPairwiseJudge(VerifierTestCase):
    strict = True
    cost_factor = 100.0
    twins: Mapping[str, Judge] = {
        "says what the reference says": Twin(
            lambda text, task: text[-1] == task["reference"][-1]
        ),
        "longer than the reference": Twin(lambda text, task: len(text) > len(task["reference"])),
    }  # fmt: skip

    @pytest.fixture
    def verifier(self, steady: FakeJudge, monkeypatch: pytest.MonkeyPatch) -> PairwiseJudge:
        monkeypatch.setenv(URL, steady.url)
        return PairwiseJudge(model="fake", canaries=[])


@pytest.mark.slow  # Each mutant asks the endpoint about all of the key.
def test_the_answer_key_notices_edits_of_what_is_about_pairs(
    fake: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, fake.url)
    key, settings = AnswerKey.named("pairwise-judge"), {"model": "fake", "canaries": []}
    found = mutation_test(key, PairwiseJudge, settings=settings)

    assert len(found.caught) >= 10
    assert found.share_caught >= LEAST_CAUGHT, found.survived


def test_the_answer_key_is_the_frozen_one() -> None:
    key = AnswerKey.named("pairwise-judge")

    assert FROZEN == key.frozen(190)
    assert sum(case.hostile for case in key.cases) >= 60


def test_nothing_of_a_hostile_output_leaves_its_quotation(fake: FakeJudge) -> None:
    hostile = [case for case in AnswerKey.named("pairwise-judge").cases if case.hostile]
    ours = PairwiseJudge(model="fake", url=fake.url, canaries=[])
    found = ours.judge([case.as_candidate("text") for case in hostile])

    assert len(fake.asked) > 120
    assert not [message for _, message in fake.asked if is_taken_in(message)]
    assert {Outcome.REJECT, Outcome.ACCEPT} == {verdict.outcome for verdict in found}


def test_both_orders_are_asked_about(fake: FakeJudge) -> None:
    verdict = said(fake, "43")

    assert (Outcome.REJECT, 0.0) == (verdict.outcome, verdict.score)
    assert [("43", "It is 42"), ("It is 42", "43")] == [
        (texts["first"], texts["second"]) for texts in shown(fake)
    ]
    assert "Add it up again." == verdict.feedback


@pytest.mark.parametrize("preferred", ["first", "second"])
def test_an_opinion_that_changes_with_the_order_is_none_and_kept(
    fake: FakeJudge, preferred: str
) -> None:
    fake.preferred = preferred
    verdict = said(fake, "42")

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert [preferred, preferred] == verdict.evidence["orders"]


@pytest.mark.parametrize(
    ("least", "outcome"), [(0.5, Outcome.ACCEPT), (1.0, Outcome.REJECT), (None, Outcome.ACCEPT)]
)
def test_as_good_is_half_a_win(fake: FakeJudge, least: Any, outcome: Outcome) -> None:
    verdict = said(fake, "42", least=least)

    assert (outcome, 0.5) == (verdict.outcome, verdict.score)


def test_a_baseline_stands_in_for_a_reference(fake: FakeJudge) -> None:
    verdict = said(fake, task={"prompt": "What is 17 + 25?"}, baseline="41")

    assert 1.0 == verdict.score
    assert "41" == shown(fake)[0]["second"]


@pytest.mark.parametrize(
    "content",
    ['{"first_comment": "", "second_comment": "", "better": "First"}',
     '{"first_comment": "", "second_comment": "", "better": "both"}',
     '{"first_comment": "", "second_comment": "", "better": 1}',
     '{"first_comment": 1, "second_comment": "", "better": "first"}',
     '{"better": "first"}', "first", ""],
)  # fmt: skip
def test_what_is_not_the_answer_that_was_asked_for_is_unknown(
    fake: FakeJudge, content: str
) -> None:
    fake.replies = [(200, {}, completion(content))]
    verdict = said(fake)

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)


def test_an_order_without_an_answer_is_unknown(fake: FakeJudge) -> None:
    good = '{"first_comment": "", "second_comment": "", "better": "first"}'
    fake.replies = [(200, {}, completion(good)), (500, {}, {})]

    assert "tool" == said(fake).failed_at


def test_two_judges_that_agree_are_one_verdict(fake: FakeJudge, other: FakeJudge) -> None:
    other.fingerprint = "fp_2"
    second = {"model": "o", "url": other.url, "prices": [1.0, 10.0]}
    verdict = said(fake, "43", second=second, prices=[2.5, 10.0])

    assert (Outcome.REJECT, 0.0) == (verdict.outcome, verdict.score)
    assert "fake-2026 fp_2" == verdict.evidence["second"]["fingerprint"]
    assert verdict.cost is not None
    assert pytest.approx(2 * 0.0035 + 2 * 0.002) == verdict.cost.money


def test_two_judges_that_disagree_abstain_and_that_is_kept(
    fake: FakeJudge, other: FakeJudge
) -> None:
    other.mistaken = {"43", "It is 42"}
    verdict = said(fake, "43", second={"model": "o", "url": other.url})

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert [0.0, 1.0] == verdict.evidence["disagreement"]


def test_a_second_judge_is_asked_only_about_what_the_first_has_an_opinion_of(
    fake: FakeJudge, other: FakeJudge
) -> None:
    fake.preferred = "first"
    said(fake, "42", second={"model": "o", "url": other.url})

    assert [] == other.asked


def test_a_second_judge_that_is_away_is_unknown(fake: FakeJudge, other: FakeJudge) -> None:
    other.replies = [(500, {}, {})]

    assert "tool" == said(fake, second={"model": "o", "url": other.url}).failed_at


def test_a_refusal_that_repeats_is_kept_where_the_control_is_judged(fake: FakeJudge) -> None:
    fake.refused = {"42"}
    verdict = said(fake, "42")

    assert (Outcome.ABSTAIN, None, 2) == (
        verdict.outcome, verdict.failed_at, verdict.evidence["refusals"],
    )  # fmt: skip


@pytest.mark.parametrize("settings", [{"least": 2.0}, {"second": {"url": "http://a"}}])
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        PairwiseJudge(model="m", **settings)


def test_abstentions_are_kept_and_counted(fake: FakeJudge) -> None:
    fake.preferred, fake.refused = "first", {"4711"}
    ours = PairwiseJudge(model="fake", url=fake.url, canaries=[])
    samples = [Candidate("text", text, task=SUM) for text in ("42", "4711", "43")]
    ledger = vl.open_ledger(":memory:")
    with vl.Campaign.open("pairs", ladder=vl.Ladder("pairs", [ours]), ledger=ledger) as campaign:
        campaign.score(samples)
        campaign.drain("5 min")
        asked = len(fake.asked)
        again = campaign.score(samples)
        counted = {each.text: each.count for each in summarise(ledger, "pairs").abstentions}

    assert [None, None, 0.0] == [reward.value for reward in again]
    assert asked == len(fake.asked)
    assert counted == {
        "the judge's opinion changes with the order": 1,
        "the judge refuses this output, and judges a harmless one": 1,
    }
