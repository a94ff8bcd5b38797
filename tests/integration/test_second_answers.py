"""A case has one answer: whoever gives another is told so, at every door."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.world.expert import ExpertCase

pytestmark = pytest.mark.usefixtures("forked_workers")


@vl.verifier(name="guess-2nd", kind="text", version="1", isolation="inline")
def guess(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


def ladder() -> vl.Ladder:
    expert = ExpertCase(kind="text", low=0, high=10)
    return vl.Ladder("asked", [guess, expert], budget={"world": "unlimited"})


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[vl.Campaign]:
    with vl.Campaign.open(
        "asked", ladder=ladder(), ledger=tmp_path / "l.db", workers=1
    ) as campaign:
        campaign.score(["one", "second", "the third"])
        assert campaign.drain("300 s")
        yield campaign


def revised(campaign: vl.Campaign) -> list[float | None]:
    assert campaign.drain("300 s")
    return [revision.reward.value for revision in campaign.revisions()]


def test_a_case_its_key_and_its_key_as_text_name_the_same(campaign: vl.Campaign) -> None:
    one, two, three = campaign.cases()

    assert campaign.answer(one, 1, source="lab")
    assert campaign.answer(two.check_key, 2, source="lab")
    assert campaign.answer(three.check_key.hex(), 3, source="lab")

    assert sorted(v for v in revised(campaign) if v is not None) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("case", [None, 7, "no key", b"", vl.Candidate("text", "one")])
def test_what_is_no_case_is_refused_in_words(campaign: vl.Campaign, case: Any) -> None:
    with pytest.raises(vl.ConfigError, match="case"):
        campaign.answer(case, 1, source="lab")
    assert len(campaign.cases()) == 3


def test_yes_and_no_answer_a_case_that_takes_them(tmp_path: Path) -> None:
    stable = ExpertCase(ask="Is it stable?", kind="text", low=0, high=1)
    yes_no = vl.Ladder("yes-no", [stable], budget={"world": "unlimited"})
    with vl.Campaign.open("yes-no", ladder=yes_no, ledger=tmp_path / "l.db") as campaign:
        campaign.score(["one", "two", "three", "four"])
        assert campaign.drain("300 s")
        one, two, three, four = campaign.cases()
        assert "(yes, no, or a number from 0 to 1)" in one.question

        for case, said in ((one, True), (two, False)):
            assert campaign.answer(case, said, source="me")
        both: dict[bytes, Any] = {three.check_key: True, four.check_key: np.bool_(0)}
        assert 2 == campaign.answer_all(both, source="me")

        assert sorted(v for v in revised(campaign) if v is not None) == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("first", [5, None, vl.Verdict.reject("spoilt")])
@pytest.mark.parametrize("second", [6, None, vl.Verdict.accept(5.0, uncertainty=2.0)])
@pytest.mark.parametrize("event", [None, "mail-1"])
def test_a_second_answer_is_taken_for_nothing_if_it_says_the_same_and_refused_if_not(
    campaign: vl.Campaign, first: Any, second: Any, event: str | None
) -> None:
    case = campaign.cases()[0]
    assert campaign.answer(case, first, source="lab", event=event)
    before = (revised(campaign), campaign.cursor)

    assert not campaign.answer(case, first, source="lab", event=event)
    assert not campaign.answer(case, first, source="somebody else")
    if second is not first:
        with pytest.raises(vl.ConfigError, match="was answered before with"):
            campaign.answer(case, second, source="lab", event=event)
        with pytest.raises(vl.ConfigError, match="somebody else says"):
            campaign.answer(case, second, source="somebody else")

    assert before == (revised(campaign), campaign.cursor)


def test_of_a_plate_with_one_contradiction_nothing_is_taken(campaign: vl.Campaign) -> None:
    one, two, three = (case.check_key for case in campaign.cases())
    assert campaign.answer(one, 1, source="lab")

    with pytest.raises(vl.ConfigError, match="answered before"):
        campaign.answer_all({two: 2, one: 9, three: 3}, source="lab", event="plate")

    assert {two, three} == {case.check_key for case in campaign.cases()}
    assert campaign.answer_all({two: 2, one: 1, three: 3}, source="lab", event="plate") == 2


def test_a_delivery_that_was_taken_for_another_case_is_not_lost_in_silence(
    campaign: vl.Campaign,
) -> None:
    one, two, _ = campaign.cases()
    assert campaign.answer(one, 1, source="lab", event="plate 12")

    with pytest.raises(vl.ConfigError, match="its own event"):
        campaign.answer(two, 2, source="lab", event="plate 12")


@pytest.mark.parametrize("text", ["7", "7.0", "1e0", "seven", b"7"])
def test_text_is_no_number(campaign: vl.Campaign, text: Any) -> None:
    with pytest.raises(vl.ConfigError, match="finite number"):
        campaign.answer(campaign.cases()[0], text, source="lab")
    assert len(campaign.cases()) == 3


def test_of_people_who_answer_at_once_one_is_heard_and_the_others_are_told(
    campaign: vl.Campaign,
) -> None:
    case, told = campaign.cases()[0], list[object]()

    def answer(value: int) -> None:
        try:
            told.append(campaign.answer(case, value, source=f"person {value}"))
        except vl.ConfigError as error:
            told.append(str(error))

    people = [threading.Thread(target=answer, args=(value,)) for value in range(4)]
    for person in people:
        person.start()
    for person in people:
        person.join(300)

    assert told.count(True) == 1
    assert sum("answered before" in str(one) for one in told) == 3
    assert len([value for value in revised(campaign) if value is not None]) == 1


def test_the_protocol_of_policies_is_at_hand() -> None:
    assert isinstance(ladder().policy, vl.EscalationPolicy)
    assert "EscalationPolicy" in dir(vl)
