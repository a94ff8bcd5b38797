"""Terms mean the same here and to z3, whatever they are made of."""

from fractions import Fraction
from typing import Any

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.tiers.fast.prover import _BUILT, Prover, UndecidedError
from verifier_ladder.tiers.fast.terms import (
    DEEPEST,
    OPERATORS,
    Scope,
    TermError,
    evaluated,
    symbols,
)

SCOPE = Scope({
    "p": "Bool", "q": "Bool", "x": "Int", "y": "Int", "r": "Real", "s": "Real",
    "v": "BitVec 8", "w": "BitVec 8", "c": ["red", "green"], "n": [2, 3, 5],
})  # fmt: skip
DECLARED = """
(declare-const p Bool)(declare-const q Bool)(declare-const x Int)(declare-const y Int)
(declare-const r Real)(declare-const s Real)(declare-const v (_ BitVec 8))
(declare-const w (_ BitVec 8))(declare-const n Int)
"""
_BITS = [
    "bvand", "bvor", "bvxor", "bvadd", "bvsub", "bvmul", "bvudiv", "bvurem", "bvshl", "bvlshr",
    "bvashr",
]  # fmt: skip
_ORDERS = ["bvult", "bvule", "bvugt", "bvuge", "bvslt", "bvsle", "bvsgt", "bvsge"]


def _terms() -> dict[str, st.SearchStrategy[str]]:
    """Terms of each sort, of one another; as text."""
    some: dict[str, st.SearchStrategy[str]] = {}

    def deferred(kind: str) -> st.SearchStrategy[str]:
        return st.deferred(lambda: some[kind])

    b, i, r, v = map(deferred, ("b", "i", "r", "v"))

    def of(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda given: form.format(*given))

    def each(names: list[str]) -> st.SearchStrategy[str]:
        return st.sampled_from(names)

    order = each(["<", "<=", ">", ">=", "=", "distinct"])
    divisor = each(["2", "3", "7", "(- 2)", "(- 5)"])
    some["b"] = st.one_of(
        each(["p", "q", "true", "false"]),
        of("(not {})", b),
        of("({} {} {})", each(["and", "or", "xor", "=>", "=", "distinct"]), b, b),
        of("(=> {} {} {})", b, b, b), of("(xor {} {} {})", b, b, b), of("(ite {} {} {})", b, b, b),
        of("({} {} {} {})", order, i, i, i), of("({} {} {})", order, r, r), of("(is_int {})", r),
        of("({} {} {})", each([*_ORDERS, "=", "distinct"]), v, v),
    )  # fmt: skip
    some["i"] = st.one_of(
        each(["x", "y", "n", "0", "12"]), of("({} {} {})", each(["+", "-", "*"]), i, i),
        of("(- {})", i), of("(abs {})", i), of("({} {} {})", each(["div", "mod"]), i, divisor),
        of("(ite {} {} {})", b, i, i), of("(to_int {})", r),
        of("(let ((k {})) (+ k k))", i),
    )  # fmt: skip
    some["r"] = st.one_of(
        each(["r", "s", "0.1", "2.5"]), of("({} {} {})", each(["+", "-", "*"]), r, r),
        of("(/ {} {})", r, divisor), of("(to_real {})", i), of("(ite {} {} {})", b, r, r),
        of("(+ {} {})", i, r),
    )  # fmt: skip
    some["v"] = st.one_of(
        each(["v", "w", "#x81", "#b00000011", "(_ bv200 8)"]), of("({} {} {})", each(_BITS), v, v),
        of("(bvnot {})", v), of("(bvneg {})", v), of("(ite {} {} {})", b, v, v),
        of("(concat ((_ extract 3 0) {}) ((_ extract 7 4) {}))", v, v),
        of("((_ sign_extend 4) ((_ extract 5 2) {}))", v),
        of("((_ zero_extend 7) ((_ extract 6 6) {}))", v),
    )  # fmt: skip
    return some


SOME = _terms()
VALUES = st.fixed_dictionaries({
    "p": st.booleans(), "q": st.booleans(), "x": st.integers(-99, 99), "y": st.integers(-9, 9),
    "r": st.fractions(-9, 9, max_denominator=9), "s": st.fractions(-2, 2, max_denominator=5),
    "v": st.integers(0, 255), "w": st.integers(0, 255), "n": st.sampled_from([2, 3, 5]),
})  # fmt: skip


def _by_z3(text: str, values: dict[str, Any]) -> Any:
    """What z3 makes of a text with values in it; its own parser reads both."""

    def written(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, Fraction):
            top = f"{abs(value.numerator)}.0"
            quotient = f"(/ {top} {value.denominator}.0)"
            return f"(- {quotient})" if value < 0 else quotient
        return str(value) if value >= 0 else f"(- {-value})"

    told = {n: f"(_ bv{v} 8)" if n in {"v", "w"} else written(v) for n, v in values.items()}
    equal = "".join(f"(assert (= {name} {value}))" for name, value in told.items())
    solver = z3.Solver()
    solver.add(z3.parse_smt2_string(f"{DECLARED}{equal}(assert {text})"))
    return str(solver.check()) == "sat"


@given(SOME["b"], VALUES)
def test_a_term_is_evaluated_as_z3_evaluates_it(text: str, values: dict[str, Any]) -> None:
    term = SCOPE.term(text)

    assert evaluated(term, {**values, "c": "red"}) is _by_z3(text, values)


@given(SOME["b"], VALUES)
def test_what_is_built_for_z3_is_the_term(text: str, values: dict[str, Any]) -> None:
    """With all variables fixed there is one solution if it holds, and none if it does not."""
    values = {**values, "c": "green"}
    fixed = [SCOPE.term(f"(= {name} {_written(name, value)})") for name, value in values.items()]
    term = SCOPE.term(text)

    try:
        found = Prover(SCOPE, 10_000_000).solution([*fixed, term])
    except UndecidedError:
        return

    assert found == (values if evaluated(term, values) else None)


def _written(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if name in {"v", "w"}:
        return f"(_ bv{value} 8)"
    if isinstance(value, Fraction):
        return f"(/ (- {-value.numerator}) {value.denominator})" if value < 0 else (
            f"(/ {value.numerator} {value.denominator})"
        )  # fmt: skip
    return str(value) if isinstance(value, str) or value >= 0 else f"(- {-value})"


def test_every_operator_is_known_to_z3() -> None:
    assert OPERATORS.keys() == _BUILT.keys()


@given(st.text(alphabet="()_ px3.#b1=+-;\n", max_size=40))
def test_any_text_is_a_term_within_bounds_or_an_error(text: str) -> None:
    try:
        term = SCOPE.term(text)
    except TermError:
        return

    assert term.depth <= DEEPEST
    assert symbols(text) >= 1


_NAMES = [f"k{place}" for place in range(150)]
_NESTED = " ".join(f"(let (({name} p))" for name in _NAMES) + " k149" + ")" * 150
_BELOW_A_NAME = f"(let ((a {'(not ' * 150}p{')' * 150})) {'(not ' * 60}a{')' * 60})"


@pytest.mark.parametrize(
    "text",
    [
        _NESTED,
        f"(> (* {'x ' * 64}) 0)",
        f"(> x {'1' * 1000})",
        f"{'(not ' * 199}p{')' * 199}",
    ],
)
def test_a_term_within_bounds_is_read(text: str) -> None:
    assert "Bool" == str(SCOPE.term(text).sort)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{'(not ' * 200}p{')' * 200}", "deeper"),
        (_BELOW_A_NAME, "deeper"),
        (f"(> (* {'x ' * 65}) 0)", "multiplies"),
        ("(let ((a (* x x x x x x x x x))) (> (* a a a a a a a a) 0))", "multiplies"),
        (f"(> x {'1' * 1001})", "digits"),
        (f"(and {'p ' * 60_000})", "more than"),
    ],
)
def test_bounds_hold_for_what_names_stand_for_too(text: str, words: str) -> None:
    with pytest.raises(TermError, match=words):
        SCOPE.term(text)
