"""Verifiers, and how their answers become verdicts."""

import errno
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import (
    CandidateError,
    ConfigError,
    LadderError,
    ToolError,
    VerifierError,
)
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier, as_verdict, failure

TWO = [Candidate("text", "a"), Candidate("text", "b")]


class Fake(Verifier):
    """Answers what it is told."""

    name, version = "fake", "1"

    def __init__(self, answers: Any = None, **settings: Any) -> None:
        self.result = answers
        super().__init__(**settings)

    def verify(self, candidates: Sequence[Candidate]) -> Any:
        del candidates
        return self.result


class Anything:
    """What is no answer at all."""

    def __repr__(self) -> str:
        return "Anything()"


class TorchLike:
    """What a tensor without dimensions looks like."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"TorchLike{self.values}"

    def item(self) -> float:
        if len(self.values) != 1:
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
        return self.values[0]


# ---- One answer


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_an_accept_with_exactly_that_score(answer: float) -> None:
    verdict = as_verdict(answer, unit="kcal/mol")

    assert verdict.outcome is Outcome.ACCEPT
    assert verdict.score is not None
    assert answer.hex() == verdict.score.hex()
    assert "kcal/mol" == verdict.unit


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (3, 3.0),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.float16(0.5), 0.5),
        (np.int64(2), 2.0),
        (np.array(2.5), 2.5),
        (np.array([2.5]), 2.5),
        (TorchLike(0.25), 0.25),
        (Fraction(1, 4), 0.25),
    ],
    ids=repr,
)
def test_numbers_of_other_libraries_are_numbers(answer: Any, score: float) -> None:
    verdict = as_verdict(answer)

    assert verdict.outcome is Outcome.ACCEPT
    assert score == verdict.score
    assert float is type(verdict.score)


@pytest.mark.parametrize("no", [False, np.False_, TorchLike(*[False])])
def test_false_is_a_reject_with_score_0(no: Any) -> None:
    verdict = as_verdict(no)

    assert verdict.outcome is Outcome.REJECT
    assert 0.0 == verdict.score


@pytest.mark.parametrize("yes", [True, np.True_, TorchLike(*[True])])
def test_true_is_an_accept_with_score_1(yes: Any) -> None:
    verdict = as_verdict(yes)

    assert verdict.outcome is Outcome.ACCEPT
    assert 1.0 == verdict.score


def test_none_is_a_considered_abstention() -> None:
    verdict = as_verdict(None)

    assert verdict.outcome is Outcome.ABSTAIN
    assert verdict.score is None
    assert verdict.is_answer


def test_a_verdict_passes_unchanged() -> None:
    verdict = Verdict.reject("too long")

    assert as_verdict(verdict, unit="m") is verdict


NONSENSE = [
    float("nan"), float("inf"), np.float32("nan"), TorchLike(float("nan")), TorchLike(1.0, 2.0),
    np.array([1.0, 2.0]), np.array([]), "1.0", b"1", [1.0], (1.0,), {"score": 1.0}, Anything(), 1j,
    10**400, Decimal("0.5"), TorchLike(Anything()),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize("answer", NONSENSE, ids=repr)
def test_nonsense_is_an_abstention_of_its_own_candidate(answer: Any) -> None:
    bad, good = Fake([answer, 1.0]).judge(TWO)

    assert bad.outcome is Outcome.ABSTAIN
    assert "verifier" == bad.failed_at
    assert bad.score is None
    assert 1.0 == good.score


# ---- A batch of answers


@pytest.mark.parametrize("answers", [[], [1.0], [1.0] * 3, np.zeros(3)], ids=repr)
def test_a_wrong_number_of_answers_is_refused(answers: Any) -> None:
    with pytest.raises(VerifierError, match=rf"{len(answers)} verdicts for 2 candidates"):
        Fake(answers).judge(TWO)


def test_answers_are_counted_by_the_candidates_that_were_given() -> None:
    class Shortening(Fake):
        def verify(self, candidates: Sequence[Candidate]) -> Any:
            candidates.pop()  # type: ignore[attr-defined]
            return super().verify(candidates)

    with pytest.raises(VerifierError, match="1 verdicts for 2 candidates"):
        Shortening([1.0]).judge(list(TWO))


@pytest.mark.parametrize(
    "answers",
    [None, 1.0, "ab", b"ab", {0.1, 0.2}, {"a": 0.1, "b": 0.2}, np.array(1.0)],
    ids=repr,
)
def test_answers_without_an_order_are_refused(answers: Any) -> None:
    with pytest.raises(VerifierError, match="return a list"):
        Fake(answers).judge(TWO)


@pytest.mark.parametrize(
    "answers", [(0.5, True), np.array([0.5, 1.0]), [np.float32(0.5), TorchLike(1.0)]], ids=repr
)
def test_answers_come_in_order(answers: Any) -> None:
    assert [0.5, 1.0] == [verdict.score for verdict in Fake(answers).judge(TWO)]


class Yielding(Fake):
    """Yields what it is told to say."""

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Any]:
        yield from super().verify(candidates)


def test_answers_may_be_yielded() -> None:
    assert [0.5, 1.0] == [verdict.score for verdict in Yielding([0.5, True]).judge(TWO)]


@pytest.mark.parametrize(
    ("answers", "count"), [([], "0"), ([1.0], "1"), ([1.0] * 3, "more than 2")]
)
def test_a_wrong_number_of_yielded_answers_is_refused(answers: list[float], count: str) -> None:
    with pytest.raises(VerifierError, match=f"returned {count} verdicts for 2 candidates"):
        Yielding(answers).judge(TWO)


def test_a_class_without_a_verify_method_says_so() -> None:
    class Empty(Verifier):
        name, version = "empty", "1"

    with pytest.raises(TypeError, match="no verify method"):
        Empty().judge(TWO)


# ---- Errors


def test_only_a_candidate_error_is_a_reject() -> None:
    verdict = failure(CandidateError("no such element"))

    assert verdict.outcome is Outcome.REJECT
    assert "no such element" == verdict.reason


@pytest.mark.parametrize(
    ("error", "boundary"),
    [
        (ToolError("SCF did not converge"), "tool"),
        (VerifierError(), "verifier"),
        (ValueError("x"), "verifier"),
        (KeyError("x"), "verifier"),
        (MemoryError(), "engine"),
        (LadderError(), "ladder"),
    ],
    ids=repr,
)
def test_every_other_error_is_an_abstention_at_its_boundary(
    error: Exception, boundary: str
) -> None:
    verdict = failure(error)

    assert verdict.outcome is Outcome.ABSTAIN
    assert boundary == verdict.failed_at
    assert verdict.reason


def test_a_failure_at_an_unknown_boundary_is_an_abstention_that_says_so() -> None:
    (said,) = Fake([Verdict.abstain("no answer", failed_at="nope")]).judge(TWO[:1])

    assert (Outcome.ABSTAIN, "verifier") == (said.outcome, said.failed_at)
    assert "no answer (failed_at='nope' is none of " in said.reason


def test_a_control_of_another_kind_is_refused() -> None:
    class Controlled(Fake):
        control = Candidate("molecule", "CCO")

    with pytest.raises(ConfigError, match="its control is a molecule"):
        Controlled()


def test_trouble_of_the_host_is_found_in_groups_and_in_causes_that_are_a_circle() -> None:
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    group = ExceptionGroup("some", [ValueError("x"), refused])
    refused.__cause__ = group

    assert "host" == failure(group).evidence["cause"]


# ---- What a verifier declares


@pytest.mark.parametrize(("name", "version"), [("", "1"), ("a", ""), ("a", 1), (None, "1")])
def test_a_verifier_needs_a_name_and_a_version(name: Any, version: Any) -> None:
    with pytest.raises(ConfigError, match="needs a name and a version"):
        type("Unnamed", (Fake,), {"name": name, "version": version})()


@pytest.mark.parametrize(
    "attribute",
    [
        {"role": "guard"},
        {"isolation": "inlin"},
        {"reads": "Raw"},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "1 min"},
        {"timeout": None},
        {"batch_size": 0},
        {"replicates": 0},
        {"memory": -1},
        {"deviation": -1.0},
        {"tier": "fats"},
    ],
    ids=repr,
)
def test_an_attribute_without_a_meaning_is_refused(attribute: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        type("Odd", (Fake,), attribute)()


@pytest.mark.parametrize("setting", [float("nan"), {1}, object(), 2**60])
def test_a_setting_that_can_not_be_part_of_a_key_is_refused_at_once(setting: Any) -> None:
    with pytest.raises(ConfigError, match="key"):
        Fake(limit=setting)


def test_one_task_field_may_be_named_without_a_list() -> None:
    made = type("One", (Fake,), {"task_fields": "answer"})()

    assert ("answer",) == made.task_fields


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"}, {"version": "2"}, {"settings": {"limit": 2}},
        {"tools": {"rdkit": "2"}}, {"reads": "raw"},
    ],
)  # fmt: skip
def test_what_affects_results_affects_the_digest(change: dict[str, Any]) -> None:
    settings = change.pop("settings", {"limit": 1})

    assert Fake(limit=1).digest != type("Other", (Fake,), change)(**settings).digest


@pytest.mark.parametrize(
    "change",
    [
        {"timeout": 5.0}, {"memory": 1}, {"batch_size": 2}, {"cost": Cost(1.0)},
        {"isolation": "inline"}, {"tier": Tier.WORLD}, {"role": "gate"},
    ],
)  # fmt: skip
def test_how_and_where_it_runs_does_not_affect_the_digest(change: dict[str, Any]) -> None:
    assert Fake(limit=1).digest == type("Other", (Fake,), change)(limit=1).digest


def test_the_digest_changes_with_no_order_of_settings() -> None:
    assert Fake(a=1, b=2).digest == Fake(b=2, a=1).digest


def test_the_source_is_known_of_a_class_in_a_file() -> None:
    assert Fake().source_digest


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 1, True, False, 0.5, None])))
def test_a_batch_says_what_each_answer_alone_would(answers: list[Any]) -> None:
    found = Fake(answers).judge([TWO[0]] * len(answers))
    alone = [as_verdict(answer) for answer in answers]
    assert found == alone
    assert [str(verdict.score) for verdict in found] == [str(verdict.score) for verdict in alone]


def test_what_stands_for_a_missing_number_is_no_number() -> None:
    with pytest.raises(VerifierError, match="answer None where nothing is known"):
        as_verdict(np.ma.masked)
