"""Verdicts."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import AnswerError, VerifierError
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict, plain_verdict, span_of


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_score_is_kept_bit_for_bit(score: float) -> None:
    kept = Verdict.accept(score).score

    assert kept is not None
    assert score.hex() == kept.hex()


@pytest.mark.parametrize("score", [np.float32(0.5), np.float64(0.5), np.array(0.5)])
def test_a_number_of_another_library_becomes_a_plain_one(score: Any) -> None:
    verdict = Verdict.accept(score, uncertainty=score)

    assert float is type(verdict.score) is type(verdict.uncertainty)


@pytest.mark.parametrize(
    "score", [float("nan"), float("inf"), -float("inf"), 10**400, "0.5", b"1", [1.0], object()]
)
def test_a_score_that_is_no_finite_number_is_refused(score: Any) -> None:
    with pytest.raises(VerifierError, match=r"must be finite|must be numbers"):
        Verdict.accept(score)


def test_a_turn_score_that_is_no_finite_number_is_refused() -> None:
    with pytest.raises(VerifierError, match="finite"):
        TurnVerdict(0, float("nan"))


@pytest.mark.parametrize("uncertainty", [-0.5, float("nan"), float("inf"), "wide"])
def test_an_uncertainty_that_is_no_spread_is_refused(uncertainty: Any) -> None:
    with pytest.raises(VerifierError):
        Verdict.accept(1.0, uncertainty=uncertainty)


ODD_TURNS = [[1], [None], {"ab"}, np.zeros(2), np.zeros(0), 0]
ODD_EVIDENCE = [0, "", [], np.zeros(2)]


@pytest.mark.parametrize(
    "field",
    [*({"turns": turns} for turns in ODD_TURNS), *({"evidence": one} for one in ODD_EVIDENCE)],
    ids=str,
)
def test_turns_and_evidence_that_no_ledger_could_keep_are_refused(field: dict[str, Any]) -> None:
    with pytest.raises(VerifierError, match=r"give (a tuple of vl|values by name)"):
        Verdict.accept(1.0, **field)


@pytest.mark.parametrize("span", [(1,), (2, 1), (-1, 2), (0.0, 1), "01", (True, 2), 7])
def test_a_span_that_is_none_is_refused(span: Any) -> None:
    with pytest.raises(AnswerError, match="span"):
        TurnVerdict(0, span=span)


def test_a_span_is_told_only_where_there_is_one() -> None:
    assert {"turn": 0, "score": None, "feedback": ""} == TurnVerdict(0).as_json()
    assert [3, 9] == TurnVerdict(0, span=[3, 9]).as_json()["span"]  # type: ignore[arg-type]
    assert (3, 9) == TurnVerdict(0, span=[3, 9]).span  # type: ignore[arg-type]


def test_steps_of_several_verdicts_stand_where_all_say_so() -> None:
    here, there = TurnVerdict(0, span=(3, 9)), TurnVerdict(0, span=(3, 8))

    assert (3, 9) == span_of([here, here])
    assert None is span_of([here, there]) is span_of([here, TurnVerdict(0)])


def test_turns_may_be_given_as_a_list() -> None:
    assert (TurnVerdict(0),) == Verdict.accept(1.0, turns=[TurnVerdict(0)]).turns  # type: ignore[arg-type]


def test_an_outcome_may_be_given_as_its_word() -> None:
    assert Verdict("reject").outcome is Outcome.REJECT  # type: ignore[arg-type]


def test_an_unknown_outcome_is_refused() -> None:
    with pytest.raises(VerifierError, match="accept, reject, abstain"):
        Verdict("pass")  # type: ignore[arg-type]


def test_an_abstention_has_no_score() -> None:
    assert Verdict.abstain("SCF did not converge").score is None
    with pytest.raises(VerifierError, match="no score"):
        Verdict(Outcome.ABSTAIN, 0.0)


def test_only_a_considered_abstention_is_an_answer() -> None:
    assert Verdict.abstain("not my kind of molecule").is_answer
    assert not Verdict.abstain("killed", failed_at="engine").is_answer
    assert Verdict.accept(1.0).is_answer
    assert Verdict.reject("no").is_answer


def test_verdicts_share_no_evidence() -> None:
    assert Verdict.accept(1.0).evidence is not Verdict.accept(1.0).evidence


@pytest.mark.parametrize("change", ["__setitem__", "setdefault", "update", "__ior__"])
def test_evidence_that_verdicts_share_can_not_be_changed(change: str) -> None:
    evidence: Any = plain_verdict(Outcome.ACCEPT, 1.0, None, "", None).evidence

    with pytest.raises(TypeError, match="can't be changed"):
        getattr(evidence, change)({"a": 1})
    assert {} == evidence == copy.copy(evidence) == (evidence | {})


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_plain_verdict_can_be_sent_to_another_process(protocol: int) -> None:
    verdict = plain_verdict(Outcome.ACCEPT, 0.5, None, "eV", None)

    arrived = pickle.loads(pickle.dumps(verdict, protocol))  # noqa: S301 - it is our own

    assert Verdict.accept(0.5, unit="eV") == verdict == arrived
    with pytest.raises(TypeError):
        arrived.evidence["a"] = 1


@pytest.mark.parametrize(
    "scores",
    [
        {"a b": 1.0}, {"": 1.0}, {"9": 1.0}, {"x" * 65: 1.0}, {"outcome": 1.0}, {"process": 1.0},
        {"a": float("nan")}, {"a": float("inf")}, {"a": "1"}, {"a": None}, {1: 1.0}, [1.0],
        {f"n{n}": 1.0 for n in range(257)},
    ],
)  # fmt: skip
def test_named_scores_are_few_finite_and_called_by_identifiers(scores: Any) -> None:
    with pytest.raises(AnswerError):
        Verdict.accept(1.0, scores=scores)


def test_named_scores_are_plain_numbers() -> None:
    said = Verdict.reject("no", scores={"style": 1, "a.b-c": 0.5})

    assert {"style": 1.0, "a.b-c": 0.5} == said.scores
    assert float is type(said.scores["style"])
    with pytest.raises(AnswerError, match="no scores"):
        Verdict("abstain", scores={"a": 1.0})  # type: ignore[arg-type]
