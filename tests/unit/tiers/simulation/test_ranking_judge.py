"""A judge that ranks the answers of a group: a real server on this machine, which plays it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from fakejudge import FakeJudge, completion, is_taken_in, sections

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.mutants import LEAST_CAUGHT, mutation_test
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.simulation.chatendpoint import URL
from verifier_ladder.tiers.simulation.rankingjudge import RankingJudge
from verifier_ladder.verdict import Outcome, Verdict

FROZEN = "aba3f7300f685a45668a1e6c7e3d42690cd3cbcbc96312cdd06359d3573970e8"
SUM = {"prompt": "What is 17 + 25?", "reference": "It is 42"}
EQUIVALENT = [  # How long a check may take; `test_a_check_may_take_as_long_as_a_refusal_does`.
    "ANSWERS + 1 -> ANSWERS - 1",
    "most / self.concurrency -> most * self.concurrency",
    "self.asks + ceil(most / self.concurrency) -> self.asks - ceil(most / self.concurrency)",
    (
        "(ANSWERS + 1) * (self.asks + ceil(most / self.concurrency)) -> "
        "(ANSWERS + 1) / (self.asks + ceil(most / self.concurrency))"
    ),
    "settings.get('timeout', 60.0) * again -> settings.get('timeout', 60.0) / again",
]


def made(fake: FakeJudge, **settings: Any) -> RankingJudge:
    return RankingJudge(**{
        "model": "fake", "url": fake.url, "timeout": 300.0, "canaries": [], **settings
    })  # fmt: skip


def said(
    fake: FakeJudge, *outputs: str | bytes, task: Any = SUM, **settings: Any
) -> Sequence[Verdict]:
    return made(fake, **settings).judge([Candidate("text", each, task=task) for each in outputs])


class Naive:
    """A checker of groups in a hurry: each is worth the share of the others that it beats."""

    def __init__(self, worth: Callable[[str, Sequence[str]], float]) -> None:
        self.worth = worth

    def judge(self, members: Sequence[Candidate], /) -> list[Verdict]:
        texts = [str(member.content) for member in members]
        worths = [self.worth(text, texts) for text in texts]
        return [
            Verdict.accept(sum(one > other for other in worths) / max(1, len(worths) - 1))
            for one in worths
        ]


def last_number(text: str) -> int:
    return int((re.findall(r"\d+", text) or ["0"])[-1])


class TestRankingJudge(VerifierTestCase):
    strict = True
    cost_factor = 100.0
    twins: Mapping[str, Judge] = {
        "the longest is best": Naive(lambda text, _: len(text)),
        "the shortest is best": Naive(lambda text, _: -len(text)),
        "the largest number is best": Naive(lambda text, _: last_number(text)),
        "what most say is right": Naive(
            lambda text, texts: [last_number(each) for each in texts].count(last_number(text))
        ),
        "ends in a digit": Twin(lambda text, _: text[-1].isdigit()),
        "has the last digit right": Twin(lambda text, task: text[-1] == str(
            sum(int(n) for n in re.findall(r"\d+", task["prompt"])))[-1]),
    }  # fmt: skip

    @pytest.fixture
    def verifier(self, steady: FakeJudge, monkeypatch: pytest.MonkeyPatch) -> RankingJudge:
        monkeypatch.setenv(URL, steady.url)
        return RankingJudge(model="fake", canaries=[])

    @pytest.fixture
    def candidates(self) -> list[Candidate]:
        return [Candidate("text", text, task=SUM) for text in ("42", "43", "It is 42")]


@pytest.mark.slow  # Each mutant asks the endpoint about all of the key.
def test_the_answer_key_notices_edits_of_what_is_about_ranks(
    fake: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, fake.url)
    key, settings = AnswerKey.named("ranking-judge"), {"model": "fake", "canaries": []}
    found = mutation_test(key, RankingJudge, settings=settings, equivalent=EQUIVALENT)

    assert len(found.caught) >= 10
    assert found.share_caught >= LEAST_CAUGHT, found.survived


def test_the_answer_key_is_the_frozen_one() -> None:
    key = AnswerKey.named("ranking-judge")

    assert FROZEN == key.frozen(213)
    assert sum(case.hostile for case in key.cases) >= 60


def test_the_score_is_the_share_of_others_that_it_is_better_than(fake: FakeJudge) -> None:
    verdicts = said(fake, "43", "42", "It is 42", "44", "45")

    assert [0.25, 0.875, 0.875, 0.25, 0.25] == [each.score for each in verdicts]
    assert {"Add it up again."} == {each.feedback for each in verdicts}
    assert 2 == len(fake.asked)


def test_both_orders_are_asked_about(fake: FakeJudge) -> None:
    said(fake, "1", "2", "3")
    shown = [sections(message["messages"][1]["content"]) for _, message in fake.asked]

    assert ["1", "2", "3"] == [shown[0][f"answer_{n}"] for n in (1, 2, 3)]
    assert ["3", "2", "1"] == [shown[1][f"answer_{n}"] for n in (1, 2, 3)]
    assert {"It is 42"} == {each["reference"] for each in shown}


@pytest.mark.parametrize("preferred", ["first", "second"])
def test_an_opinion_that_changes_with_the_order_is_none_and_kept(
    fake: FakeJudge, preferred: str
) -> None:
    fake.preferred = preferred
    verdicts = said(fake, "43", "44", "45")

    assert [(Outcome.ABSTAIN, None)] * 3 == [(each.outcome, each.failed_at) for each in verdicts]
    assert {0} == {each.evidence["compared"] for each in verdicts}


def test_what_both_orders_agree_about_counts(fake: FakeJudge) -> None:
    fake.preferred = "first"
    verdicts = said(fake, "42", "43", "44")

    assert [1.0, 0.0, 0.0] == [each.score for each in verdicts]
    assert [2, 1, 1] == [each.evidence["compared"] for each in verdicts]


def test_equal_outputs_are_shown_once(fake: FakeJudge) -> None:
    verdicts = said(fake, "42", "43", "42")

    assert [1.0, 0.0, 1.0] == [each.score for each in verdicts]
    assert "answer_3" not in sections(fake.asked[0][1]["messages"][1]["content"])


def test_outputs_that_are_all_the_same_cost_nothing(fake: FakeJudge) -> None:
    verdicts = said(fake, "42", "42")

    assert {(Outcome.ABSTAIN, None)} == {(each.outcome, each.failed_at) for each in verdicts}
    assert [] == fake.asked


def test_a_member_that_is_no_text_is_rejected_and_the_others_are_ranked(fake: FakeJudge) -> None:
    outcomes = [each.outcome for each in said(fake, "42", b"\xff\xfe", "43", "x" * 99,
                                              max_characters=50)]  # fmt: skip

    assert ["accept", "reject", "accept", "reject"] == outcomes


def test_a_group_too_large_is_not_ranked(fake: FakeJudge) -> None:
    verdicts = said(fake, "1", "2", "3", most=2)

    assert ["the group has more than 2 different outputs"] * 3 == [v.reason for v in verdicts]
    assert [] == fake.asked


def test_members_have_one_task(fake: FakeJudge) -> None:
    group = [Candidate("text", str(n), task={"prompt": f"What is {n} + 1?"}) for n in range(2)]

    assert {"the members of the group have different tasks"} == {
        each.reason for each in made(fake).judge(group)
    }
    assert {"the task has no prompt"} == {each.reason for each in said(fake, "1", "2", task={})}


@pytest.mark.parametrize("reply", [(500, {}, {}), (200, {}, {"choices": []})])
def test_a_judge_that_fails_is_unknown_and_never_zero(fake: FakeJudge, reply: Any) -> None:
    fake.replies = [reply]
    verdicts = said(fake, "42", "43")

    assert {(Outcome.ABSTAIN, "tool")} == {(each.outcome, each.failed_at) for each in verdicts}


def test_outputs_too_long_together_are_ranked_without_the_longest(fake: FakeJudge) -> None:
    long, hidden = "x" * 40, "\u200b" * 9  # Each of the latter is quoted with eight characters.
    verdicts = said(fake, long, "42", "43", hidden, max_group_characters=60)

    assert [None, 1.0, 0.0, None] == [each.score for each in verdicts]
    assert {"at most 60 characters are sent at once"} == {
        each.reason.rpartition("; ")[2] for each in verdicts if each.score is None
    }
    assert 2 == len(fake.asked)
    assert not [1 for _, message in fake.asked if long in message["messages"][1]["content"]]


def test_an_output_that_leaves_no_room_for_another_is_not_shown(fake: FakeJudge) -> None:
    verdicts = said(fake, "42", "43", max_group_characters=27)

    assert {(Outcome.ABSTAIN, None)} == {(each.outcome, each.failed_at) for each in verdicts}
    assert [] == fake.asked


def test_a_member_that_is_refused_alone_abstains_and_the_others_are_ranked(
    fake: FakeJudge,
) -> None:
    fake.refused = {"44"}
    verdicts = said(fake, "42", "43", "44")

    assert [1.0, 0.0, None] == [each.score for each in verdicts]
    assert (Outcome.ABSTAIN, None, 2) == (
        verdicts[2].outcome, verdicts[2].failed_at, verdicts[2].evidence["refusals"],
    )  # fmt: skip


def test_a_group_is_unjudged_where_no_member_is_refused_alone(fake: FakeJudge) -> None:
    verdicts = said(fake, "42", "43", "44", model="refuses-three")

    assert {(Outcome.ABSTAIN, None, 2)} == {
        (each.outcome, each.failed_at, each.evidence["refusals"]) for each in verdicts
    }


def test_who_is_left_by_refusals_alone_has_no_other_to_be_ranked_with(fake: FakeJudge) -> None:
    fake.refused = {"42"}
    refused, left = said(fake, "42", "43")

    assert 2 == refused.evidence["refusals"]
    assert (Outcome.ABSTAIN, "there is no other output to rank") == (left.outcome, left.reason)


def test_a_check_may_take_as_long_as_a_refusal_does(fake: FakeJudge) -> None:
    assert 60.0 * (2 * 3 + 1 + 3 * (2 + 2)) == made(fake, timeout=60.0).timeout
    assert 60.0 * (2 * 3 + 1 + 3 * (2 + 3)) == made(fake, timeout=60.0, concurrency=6).timeout


def test_nothing_of_a_hostile_member_leaves_its_quotation(fake: FakeJudge) -> None:
    keys = AnswerKey.named("judge"), AnswerKey.named("pairwise-judge")
    texts = {case.content for key in keys for case in key.cases if case.hostile}
    hostile = [text for text in texts if isinstance(text, str) and text.endswith("43")]
    for start in range(0, len(hostile), 10):
        verdicts = said(fake, "42", *hostile[start : start + 10])
        assert [1.0] + [0.45] * (len(verdicts) - 1) == pytest.approx(
            [each.score for each in verdicts], abs=0.06
        )

    assert len(hostile) > 60
    assert not [message for _, message in fake.asked if is_taken_in(message)]


def test_a_group_is_paid_for_once(fake: FakeJudge) -> None:
    costs = [each.cost for each in said(fake, "42", "43", "44", prices=[2.5, 10.0])]

    assert pytest.approx(2 * 0.0035) == sum(each.money for each in costs if each is not None)


def test_groups_of_a_campaign_are_ranked_and_kept(fake: FakeJudge) -> None:
    samples = [Candidate("text", each, task=SUM) for each in ("42", "43", "44", "42")]
    ladder = vl.Ladder("ranked", [made(fake)])
    with vl.Campaign.open("ranked", ladder=ladder, ledger=":memory:") as campaign:
        first = campaign.score(samples, groups=["a", "a", "a", "b"])
        asked = len(fake.asked)
        again = campaign.score(samples[::-1], groups=["b", "a", "a", "a"])

    assert [1.0, 0.25, 0.25, None] == [each.value for each in first]
    assert [None, 0.25, 0.25, 1.0] == [each.value for each in again]
    assert asked == len(fake.asked) == 2


def test_a_refusal_is_paid_for(fake: FakeJudge) -> None:
    fake.refused = {"42"}
    costs = [each.cost for each in said(fake, "42", "43", prices=[2.5, 10.0])]

    assert 3 + 3 + 1 == len(fake.asked)  # Together, then alone: twice, and a harmless one.
    assert pytest.approx(7 * 0.0035) == sum(each.money for each in costs if each is not None)


# ---- Replies that are no answer


RANKED = {"comment_1": "a", "comment_2": "b", "rank_1": 1, "rank_2": 2}


@pytest.mark.parametrize(
    "told",
    [{**RANKED, "rank_1": 0}, {**RANKED, "rank_1": 3}, {**RANKED, "rank_2": "2"},
     {**RANKED, "rank_2": None}, {**RANKED, "rank_2": True}, {**RANKED, "comment_1": 1},
     {**RANKED, "comment_1": "\ud800"}, {**RANKED, "rank_3": 3}, {"rank_1": 1, "rank_2": 2},
     [1, 2], "1", None],
)  # fmt: skip
def test_what_is_not_the_answer_that_was_asked_for_is_unknown(fake: FakeJudge, told: Any) -> None:
    fake.replies = [(200, {}, completion(json.dumps(told)))]
    verdicts = said(fake, "42", "43")

    assert {(Outcome.ABSTAIN, "tool", None)} == {
        (each.outcome, each.failed_at, each.score) for each in verdicts
    }


class Stumbles(RankingJudge):
    """Can't deal with what the model said."""

    isolation = "inline"

    @staticmethod
    def _verdicts(*_: Any) -> Any:
        raise KeyError("rank_3")


def test_a_judge_that_stumbles_over_a_reply_is_unknown_with_its_boundary(fake: FakeJudge) -> None:
    samples = [Candidate("text", each, task=SUM) for each in ("42", "43")]
    judge = Stumbles(model="fake", url=fake.url, timeout=300.0, canaries=[])
    ladder = vl.Ladder("stumbles", [judge])
    with vl.Campaign.open("stumbles", ladder=ladder, ledger=":memory:") as campaign:
        rewards = campaign.score(samples, groups=["a", "a"])

    assert [(None, "verifier")] * 2 == [(each.value, each.failed_at) for each in rewards]


@pytest.mark.parametrize("comment", ["\x00\x1b[2J", "x" * 9000])
def test_no_comment_of_a_model_costs_a_member_its_verdict(fake: FakeJudge, comment: str) -> None:
    told = {**RANKED, "comment_1": comment, "comment_2": comment}
    fake.replies = [(200, {}, completion(json.dumps({**told, "rank_1": rank, "rank_2": 3 - rank})))
                    for rank in (1, 2)]  # fmt: skip
    samples = [Candidate("text", each, task=SUM) for each in ("42", "43")]
    ladder = vl.Ladder("ranked", [made(fake)])
    with vl.Campaign.open("ranked", ladder=ladder, ledger=":memory:") as campaign:
        rewards = campaign.score(samples, groups=["a", "a"])

    assert [0.0, 1.0] == sorted(each.value for each in rewards if each.value is not None)
    assert all(len(each.feedback or "") <= 1000 for each in rewards)


# ---- Canaries


def test_a_judge_that_knows_what_is_right_is_asked_on(fake: FakeJudge) -> None:
    verdicts = said(fake, "42", "43", canaries="built-in", prices=[2.5, 10.0])

    assert [(1.0, 0), (0.0, 0)] == [(v.score, v.evidence["canaries_off"]) for v in verdicts]
    assert 2 * (12 + 1) == len(fake.asked)
    assert pytest.approx(26 * 0.0035) == sum(v.cost.money for v in verdicts if v.cost is not None)


def test_a_judge_that_shifts_is_unknown(fake: FakeJudge) -> None:
    canaries = [
        {"prompt": f"What is {n} + 1?", "output": f"{n + 1}", "reference": "none", "grade": 1}
        for n in range(12)
    ]
    fake.mistaken = {"1", "2", "3"}
    verdicts = said(fake, "42", "43", canaries=canaries)

    assert {(Outcome.ABSTAIN, "tool")} == {(v.outcome, v.failed_at) for v in verdicts}
    assert "3 of 12 canaries" in verdicts[0].reason
    assert [0.5] * 3 + [1.0] * 9 == [
        each["grade"] for each in made(fake, canaries=canaries).graded_canaries()
    ]


def test_outputs_that_are_not_ranked_have_no_canary_graded(fake: FakeJudge) -> None:
    said(fake, "42", "42", canaries="built-in")

    assert [] == fake.asked


@pytest.mark.parametrize("other", [{}, {"reference": "1"}])
def test_a_canary_is_ranked_beside_another_answer(other: dict[str, str]) -> None:
    canary = {"prompt": "What is 0 + 1?", "output": "1", "grade": 1, **other}
    with pytest.raises(ConfigError, match="give each a reference"):
        RankingJudge(model="m", canaries=[canary] * 12)


@pytest.mark.parametrize("settings", [{"most": 1}, {"api_key": "sk-1"}, {"sampling": {"n": 2}}])
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        RankingJudge(model="m", **settings)
