"""Mathematics: its answer key, and what holds of all answers."""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.testing.answerkey import AnswerKey, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.mathematics import Mathematics
from verifier_ladder.tiers.fast.mathnumbers import Evaluator
from verifier_ladder.tiers.fast.mathsets import RealLine
from verifier_ladder.tiers.fast.mathtext import read
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

VERIFIER = Mathematics()
SIGNS = r"""
    1 2 42 0 . , ; : + - * / ^ ! | = < > \le \ne \in ( ) [ ] \{ \} { } x y \pi e i \infty \pm \frac
    \sqrt \sin \log \ln \binom \text{ \overline{ \cup \setminus \mathbb{R} \ldots % \$ & \\ and or
    cm m \circ \begin{pmatrix} \end{pmatrix} \boxed{ 9^9^9 100! 1e400 _
"""
PARTS = st.sampled_from([*SIGNS.split(), " "])
TASKS = st.sampled_from([
    "42", r"\pi", "(1, 2)", "[0, 1)", r"\{1, 2\}", "1:2", "12:30", "x = 5", "y = 2x", r"x > 2",
    r"5 \text{ m}", r"1, 2, \ldots", "no", r"\emptyset", "50\\%",
    r"\begin{pmatrix}1\\2\end{pmatrix}",
])  # fmt: skip


def judged(said: str, answer: object, **task: Any) -> Verdict:
    content = f"\\boxed{{{said}}}"
    return VERIFIER.judge([Candidate("mathematics", content, {"answer": answer, **task})])[0]


@cache
def gold(answer: str) -> list[Any]:
    from math_verify import parse

    return list(parse(f"\\boxed{{{answer}}}", parsing_timeout=None))


def math_verify(content: str, task: Mapping[str, Any]) -> bool:
    """The usual library, plainly called."""
    from math_verify import parse, verify

    said = parse(content, parsing_timeout=None)
    return bool(verify(gold(str(task["answer"])), said, timeout_seconds=None))


def boxed(content: str) -> str:
    found: list[str] = re.findall(r"\\boxed\{(.*)\}|#### (.*)|<answer>(.*)</answer>", content)
    return "".join(found[-1]) if found else content.splitlines()[-1]


def last_number(content: str) -> float:
    found: list[str] = re.findall(r"-?\d+\.?\d*", content)
    return float(found[-1])


TWINS = {
    "math-verify": Twin(math_verify),
    "same text": Twin(lambda content, task: boxed(content) == task["answer"]),
    "contained": Twin(lambda content, task: str(task["answer"]) in content),
    "same float": Twin(lambda content, task: abs(last_number(content) - float(Fraction(task["answer"]))) < 1e-6),  # noqa: E501
    "same digits": Twin(lambda content, task: re.findall(r"\d", boxed(content)) == re.findall(r"\d", str(task["answer"]))),  # noqa: E501
}  # fmt: skip


MODULES = [
    f"verifier_ladder.tiers.fast.{name}"
    for name in (
        "mathunits",
        "mathtokens",
        "mathtext",
        "mathnumbers",
        "mathsets",
        "mathnames",
        "mathanswer",
        "mathboxes",
        "mathematics",
    )
]
EQUAL = (
    "said[0] not in EXPRESSIONS or wanted[0] not in EXPRESSIONS -> "
    "said[0] not in EXPRESSIONS and wanted[0] not in EXPRESSIONS"
)
LIMITS = [
    # Digits and points: others decide as well.
    "10 ** 6 + 3 -> 10 ** 6 - 3",
    "self._reach + self.digits / 2 -> self._reach - self.digits / 2",
    # A reject all the same, for another reason.
    "len(wrong) < len(reasons) -> len(wrong) >= len(reasons)",
    EQUAL,
    # Other points are drawn.
    "1 if at % 3 else 4 -> 1 if not at % 3 else 4",
    "draw.random() < 0.7 -> draw.random() >= 0.7",
    # Both signs are tried, and their order says nothing.
    "self._sign > 0 -> self._sign <= 0",
    "tree[1] == '+-' -> tree[1] != '+-'",
    "(self._sign > 0) == (tree[1] == '+-') -> (self._sign > 0) != (tree[1] == '+-')",
    # Powers of units are negated on both sides.
    "a + power * b -> a - power * b",
]
"""Edits of the verifier that change no verdict."""


class TestMathematics(VerifierTestCase):
    strict = True
    twins = TWINS
    mutated = MODULES
    mutants: Mapping[str, Any] = {"count": 40, "hostile": True, "equivalent": LIMITS}

    @pytest.fixture
    def verifier(self) -> Mathematics:
        return Mathematics()

    @pytest.fixture
    def answer_key(self, request: pytest.FixtureRequest) -> AnswerKey:
        """All of it, and a fifth for the twins: math-verify takes milliseconds a case."""
        key = AnswerKey.named("mathematics")
        step = 5 if "twins" in request.node.name else 1
        return AnswerKey(key.name, key.cases[::step], key.lines[::step])

    @pytest.mark.slow
    def test_the_whole_answer_key_tells_it_from_naive_twins(self) -> None:
        assert not (found := AnswerKey.named("mathematics").weaknesses(TWINS)), found

    @pytest.mark.slow  # Forty mutants, each put to a thousand cases.
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def test_the_key_has_enough_pairs() -> None:
    assert len(AnswerKey.named("mathematics").without_hostile().cases) >= 300


@given(st.lists(PARTS, max_size=25).map("".join), TASKS)
def test_whatever_is_written_gets_a_verdict(said: str, answer: str) -> None:
    verdict = judged(said, answer)

    assert verdict.failed_at is None
    assert verdict.outcome != "abstain"
    assert verdict.outcome == "accept" or verdict.feedback


@given(st.text(max_size=200), TASKS)
def test_any_text_gets_a_verdict(content: str, answer: str) -> None:
    verdict = VERIFIER.judge([Candidate("mathematics", content, {"answer": answer})])[0]

    assert verdict.failed_at is None
    assert verdict.outcome != "abstain"


@given(st.fractions(max_denominator=10**6), st.fractions(max_denominator=10**6))
def test_fractions_are_equal_where_python_says_so(one: Fraction, other: Fraction) -> None:
    said = f"\\frac{{{3 * one.numerator}}}{{{3 * one.denominator}}}"

    assert ("accept" if one == other else "reject") == judged(said, str(other)).outcome
    assert "accept" == judged(said, f"{one.numerator}/{one.denominator}").outcome


@given(st.integers(1, 1500), st.sampled_from(["10^{-%d}", "10^{-1 \\cdot %d}"]))
def test_a_tiny_difference_counts_however_it_is_written(power: int, written: str) -> None:
    tiny = written % power

    assert "reject" == judged(f"\\sqrt{{2}} + {tiny}", "\\sqrt{2}").outcome
    assert "reject" == judged(f"\\sqrt{{2}} \\cdot {tiny}", "0").outcome
    assert "accept" == judged(f"\\sqrt{{2}} + {tiny}", f"{tiny} + \\frac{{2}}{{\\sqrt2}}").outcome


@given(st.integers(10, 400), st.sampled_from(["\\sin(%s)", "\\tan(%s)", "\\ln(1 + %s)"]))
def test_functions_of_small_numbers_are_told_from_those(power: int, function: str) -> None:
    tiny = f"10^{{-{power}}}"
    said = function % tiny

    assert "reject" == judged(said, tiny).outcome
    assert "reject" == judged(f"{said} + \\sqrt{{2}} - \\sqrt{{2}}", tiny).outcome
    assert "accept" == judged(f"\\sqrt{{2}} + {said} - \\sqrt{{2}}", said).outcome


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_a_bend_is_seen_however_the_answer_is_written(spelling: int, bend: int) -> None:
    same = f" + {spelling} - {spelling}"

    assert "reject" == judged(f"x{same}", "|x|").outcome
    assert "reject" == judged(f"{bend} - x{same}", f"|x - {bend}|").outcome
    assert "accept" == judged(f"|{bend} - x|{same}", f"|x - {bend}|").outcome


@given(st.integers(2, 10**30), st.integers(2, 12), st.integers(-1, 1))
def test_a_root_is_whole_where_its_power_says_so(root: int, index: int, off: int) -> None:
    said = f"\\sqrt[{index}]{{{root**index + off}}}"

    assert ("reject" if off else "accept") == judged(said, str(root)).outcome


def test_what_digits_do_not_decide_is_not_accepted() -> None:
    verdict = judged("\\sin(10^{-3900})", "10^{-3900}")

    assert ("reject", True) == (verdict.outcome, "beyond bounds" in str(verdict.reason))


ENDS = st.tuples(
    st.integers(-6, 6), st.integers(-6, 6), st.sampled_from("[("), st.sampled_from("])")
)
UNIONS = st.lists(ENDS.filter(lambda part: part[0] < part[1]), min_size=1, max_size=4)


def union(parts: list[tuple[int, int, str, str]]) -> str:
    return " \\cup ".join(f"{left}{low}, {high}{right}" for low, high, left, right in parts)


def members(parts: list[tuple[int, int, str, str]]) -> list[bool]:
    return [
        any(
            (low < x or (low == x and left == "[")) and (x < high or (x == high and right == "]"))
            for low, high, left, right in parts
        )
        for x in (Fraction(n, 2) for n in range(-14, 15))
    ]


@given(UNIONS, UNIONS)
def test_unions_are_equal_where_their_members_are(
    one: list[tuple[int, int, str, str]], other: list[tuple[int, int, str, str]]
) -> None:
    trees = read(union(one)), read(union(other))
    evaluator = Evaluator()
    line = RealLine(evaluator)

    with evaluator.precision():
        is_same = line.same(line.segments(trees[0]), line.segments(trees[1]))

    assert is_same is (members(one) == members(other))


@pytest.mark.parametrize("said", ["\\boxed{41}", "\\boxed{41 or 43}", "No idea", "\\boxed{1/0}"])
def test_what_is_told_does_not_depend_on_the_expected_answer(said: str) -> None:
    told = {
        (verdict.reason, verdict.feedback, str(verdict.evidence))
        for answer in ("12345", "98765", "\\frac{7}{9}")
        for verdict in VERIFIER.judge([Candidate("mathematics", said, {"answer": answer})])
    }

    assert 1 == len(told)


@pytest.mark.parametrize(("opened", "closed"), [("(", ")"), ("\\sqrt{", "}"), ("\\frac{1}{", "}")])
def test_an_answer_is_read_to_the_promised_depth(opened: str, closed: str) -> None:
    said = [f"{opened * depth}1{closed * depth}" for depth in (23, 60)]

    read, beyond = (judged(text, "1") for text in said)

    assert "accept" == read.outcome, read
    assert ("reject", "nested too deep") == (beyond.outcome, beyond.reason[-15:]), beyond


def test_content_that_is_no_text_is_rejected() -> None:
    verdict = VERIFIER.judge([Candidate("mathematics", b"42", {"answer": "42"})])[0]

    assert "reject" == verdict.outcome


@pytest.mark.parametrize("answer", [7, 0.5, "#### 42", "x", "7", "\\boxed{7}"])
def test_an_answer_in_a_task_may_be_text_or_a_number(answer: object) -> None:
    said = {"x": "x", 0.5: "1/2", "#### 42": "42"}.get(answer, "7")

    assert "accept" == judged(said, answer).outcome
