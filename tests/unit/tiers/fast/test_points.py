"""A difference is shown by values, of every sort, before a proof is tried."""

from fractions import Fraction
from typing import Any

import pytest

from verifier_ladder.tiers.fast.points import differing
from verifier_ladder.tiers.fast.terms import Scope, evaluated


@pytest.mark.parametrize(
    ("sort", "one", "other"),
    [
        ("Bool", "x", "true"),
        ("Bool", "x", "false"),
        ("Int", "(* x x)", "x"),
        ("Int", "(* x x x)", "x"),
        ("Real", "(to_real (to_int x))", "x"),
        ("BitVec 1", "x", "#b1"),
        ("BitVec 8", "(bvslt x #x00)", "false"),
        ("BitVec 8", "(= x #x7f)", "false"),
        ("BitVec 256", "(bvadd x (_ bv1 256))", f"(bvmul {'x ' * 60})"),
        (["red", "green"], "(= x red)", "true"),
        ([2, 3], "(= x 2)", "true"),
    ],
)
def test_what_differs_at_plain_values_is_found(sort: Any, one: str, other: str) -> None:
    scope = Scope({"x": sort})
    first, second = scope.term(one), scope.term(other)

    values = differing(scope, [], first, second)

    assert values is not None
    assert evaluated(first, values) != evaluated(second, values)


def test_values_keep_to_what_is_assumed() -> None:
    scope = Scope({"x": "Int", "y": "Int"})
    one, other = scope.term("(+ x y)"), scope.term("0")

    assert differing(scope, [scope.term("(= x (- y))")], one, other) is None
    assert differing(scope, [scope.term("(= x 1)")], one, other) == {"x": 1, "y": 1}


def test_numbers_that_grow_too_long_are_left_to_the_proof() -> None:
    scope = Scope({"x": "Real"})
    parts = " ".join(f"(/ 1.0 {10**999 + n})" for n in range(60))
    long = scope.term(f"(let ((a (+ {parts}))) (* {'a ' * 60}))")

    assert differing(scope, [], long, scope.term("x")) is None
    assert differing(scope, [], scope.term("0.5"), scope.term("x")) == {"x": Fraction(0)}
