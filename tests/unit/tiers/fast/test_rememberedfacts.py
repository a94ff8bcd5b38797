"""A fact of one turn is used in a later one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder import Candidate, ConfigError, Outcome, ToolCall, Turn, Verdict
from verifier_ladder.testing.answerkey import Judge
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.rememberedfacts import RememberedFacts

CODE = {"name": "code", "tool": "open", "argument": "code"}
VALUES = {"code": "7341"}
SEEN, HALL = Turn(ToolCall("look"), "The code is 7341."), Turn(ToolCall("walk"), "A hall.")


@dataclass
class Naive:
    """A checker of memory that somebody writes in a hurry."""

    says: Callable[[Candidate, Any], bool]

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        return [self._one(each) for each in candidates]

    def _one(self, candidate: Candidate) -> Verdict:
        values = (candidate.task or {}).get("values", {}).values()
        said = all(self.says(candidate, value) for value in values)
        return Verdict.accept(1.0) if said else Verdict.reject("no")


def told(candidate: Candidate) -> str:
    return str(candidate.content) + str([turn.text for turn in candidate.turns])


def occurs(candidate: Candidate, value: Any) -> bool:
    return str(value) in told(candidate)


def occurs_last(candidate: Candidate, value: Any) -> bool:
    return str(value) in str(candidate.content) + (
        candidate.turns[-1].text if candidate.turns else ""
    )


def any_use(candidate: Candidate, value: Any) -> bool:
    made = (turn.action for turn in candidate.turns if isinstance(turn.action, ToolCall))
    given = (call.arguments for call in made if not isinstance(call.arguments, str))
    return any(value in arguments.values() for arguments in given)


_SUM = "uses.get(each.use.turn, True)"


class TestRememberedFacts(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "the value occurs": Naive(occurs), "it occurs at the end": Naive(occurs_last),
        "some argument is it": Naive(any_use),
    }  # fmt: skip
    mutated = ("verifier_ladder.tiers.fast.rememberedfacts",)
    mutants: Mapping[str, Any] = {"equivalent": [
        # Words, and scores of turns, are no part of a key; the tests below tell them.
        "fact.tool is None -> fact.tool is not None",
        f"{_SUM} and (not each.fault) -> {_SUM} or not each.fault",
        "each.use.turn < count -> each.use.turn >= count",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> RememberedFacts:
        return RememberedFacts()


def judged(*turns: Turn, said: str = "Done.", **fact: Any) -> Verdict:
    return RememberedFacts().judge(
        [Candidate("text", said, {"facts": [{**CODE, **fact}], "values": VALUES}, turns)]
    )[0]


def opened(code: Any) -> Turn:
    return Turn(ToolCall("open", {"code": code}))


def test_feedback_names_the_fact_and_not_its_value() -> None:
    verdict = judged(SEEN, HALL, opened("7314"))

    assert "code: what is used as code of open is not what was shown" in verdict.feedback
    assert "7341" not in verdict.reason + verdict.feedback


def test_each_use_has_a_score_and_each_fact_too() -> None:
    verdict = judged(SEEN, opened("7314"), opened("7341"))

    assert [(1, 0.0)] == [(turn.turn, turn.score) for turn in verdict.turns]
    assert {"code": 0.0} == verdict.scores


def test_a_turn_that_uses_one_fact_rightly_and_one_not_is_wrong() -> None:
    facts = [CODE, {**CODE, "name": "name", "argument": "name"}]
    task = {"facts": facts, "values": {"code": "7341", "name": "Ada"}}
    seen = Turn(ToolCall("look"), "Ada has the code 7341.")
    wrong = [
        Turn(ToolCall("open", {"code": c, "name": n})) for c, n in (("7341", "A"), ("1", "Ada"))
    ]
    given = [Candidate("text", "Done.", task, (seen, use)) for use in wrong]

    verdicts = RememberedFacts().judge(given)

    assert [[(1, 0.0)]] * 2 == [[(t.turn, t.score) for t in v.turns] for v in verdicts]
    assert [{"code": 1.0, "name": 0.0}, {"code": 0.0, "name": 1.0}] == [v.scores for v in verdicts]
    assert [0.5, 0.5] == [verdict.score for verdict in verdicts]


def test_an_answer_is_no_turn_of_its_own() -> None:
    task = {"facts": [{"name": "code"}], "values": VALUES}

    right, wrong = RememberedFacts().judge([
        Candidate("text", said, task, (SEEN,)) for said in ("7341", "7314")
    ])  # fmt: skip

    assert (Outcome.ACCEPT, ()) == (right.outcome, right.turns)
    assert () == wrong.turns
    assert "as the answer is not what was shown" in wrong.feedback


@pytest.mark.parametrize("arguments", ['{"code": "7341"}', {"code": 7341}])
def test_arguments_are_read_as_they_come(arguments: Any) -> None:
    assert Outcome.ACCEPT is judged(SEEN, Turn(ToolCall("open", arguments))).outcome


def test_a_call_may_stand_in_a_turns_text() -> None:
    text = '<tool_call>{"name": "open", "arguments": {"code": "7341"}}</tool_call>'

    assert Outcome.ACCEPT is judged(SEEN, Turn(text)).outcome


def test_of_the_examples_one_is_remembered_and_one_not_known(tmp_path: Path) -> None:
    place = Path(__file__).parents[4] / "examples" / "trajectories" / "remembered-facts.jsonl"

    result = vl.score_file(place, ladder=place.with_suffix(".toml"), ledger=tmp_path / "ledger.db")

    assert [1, 0, 0, 0, None] == [reward.value for reward in result.rewards]


def test_long_trajectories_are_refused() -> None:
    made = RememberedFacts(most_turns=2)

    verdict = made.judge(
        [Candidate("text", "", {"facts": [CODE], "values": VALUES}, (SEEN, HALL, HALL))]
    )[0]

    assert Outcome.REJECT is verdict.outcome
    assert "Act less often." == verdict.feedback


@pytest.mark.parametrize("most", [0, 10_001, "many"])
def test_a_bound_that_makes_no_sense_is_refused(most: Any) -> None:
    with pytest.raises(ConfigError, match="most_turns"):
        RememberedFacts(most_turns=most)


@pytest.mark.parametrize("most", [0, 2_000_001])
def test_a_bound_of_text_that_makes_no_sense_is_refused(most: int) -> None:
    with pytest.raises(ConfigError, match="most_characters"):
        RememberedFacts(most_characters=most)


def test_much_text_is_refused_and_says_so() -> None:
    made = RememberedFacts(most_characters=100)
    task = {"facts": [CODE], "values": VALUES}

    verdicts = [
        made.judge([Candidate("text", "", task, (SEEN, Turn(*long)))])[0]
        for long in (("a" * 100,), ("a", "a" * 100), (ToolCall("a", {"b": "a" * 100}),))
    ]

    assert [Outcome.REJECT] * 3 == [verdict.outcome for verdict in verdicts]
    assert "Write less" in verdicts[0].feedback


def test_a_hundred_facts_are_looked_for_in_text_that_is_read_once() -> None:
    facts = [{"name": f"f{n}", "tool": "open", "argument": f"a{n}"} for n in range(100)]
    values = {f"f{n}": f"v{n}" for n in range(100)}
    turns = (Turn("look", " ".join(values.values())), Turn("Action: x\nAction Input: {" * 2000))
    given = Candidate("text", "Done.", {"facts": facts, "values": values}, turns)
    began = time.process_time()

    verdict = RememberedFacts().judge([given])[0]

    assert Outcome.REJECT is verdict.outcome
    assert time.process_time() - began < 5


def test_a_number_of_too_many_digits_is_another_value() -> None:
    assert Outcome.REJECT is judged(SEEN, opened(10**5000)).outcome


def test_a_fact_that_was_never_shown_has_no_score() -> None:
    facts = [CODE, {"name": "guest"}]
    task = {"facts": facts, "values": {"code": "7341", "guest": "Berg"}}

    verdict, strict = RememberedFacts().judge([
        Candidate("text", "Berg", {**task, **more}, (SEEN, opened("1")))
        for more in ({}, {"never_shown": "reject"})
    ])  # fmt: skip

    assert {"code": 0.0} == verdict.scores
    assert {"code": 0.0, "guest": 0.0} == strict.scores
    assert "guest: it was never shown in an observation" in strict.feedback


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 3))
def test_a_use_passes_if_it_comes_late_enough(least: int, between: int, before: int) -> None:
    verdict = judged(*[HALL] * before, SEEN, *[HALL] * between, opened("7341"), least_gap=least)

    assert (Outcome.ACCEPT if between + 1 >= least else Outcome.REJECT) is verdict.outcome
