"""Canaries of tests: what is compared is another value."""

import ast
import builtins
import math
from random import Random
from typing import Any
from unittest.mock import Mock

import plainvalues
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.tiers.fast.falsify import Falsifiable, Kind, Names

NAMES = Names("seen", "differ", "differing", "distant")


def canary(code: str, kind: Kind) -> str:
    """A canary of a test, drawn by a generator that always draws the first."""
    lowest = Mock(Random, choice=lambda found: found[0], sample=lambda *_: (5, 6))
    lowest.randint.return_value, lowest.randrange.return_value = 5, 0
    made = Falsifiable([], ast.parse(code).body).written(kind, NAMES, lowest)
    return "\n".join(map(ast.unparse, made.body))


def tools(sites: int) -> Names:
    """What is beside a test that was made."""
    space: dict[str, Any] = {"_own": vars(builtins)}
    exec(NAMES.source(sites), space)  # noqa: S102 - our own
    return Names(*(space[name] for name in NAMES))


@given(plainvalues.VALUES)
def test_of_two_equal_values_two_are_made_that_differ(value: Any) -> None:
    differ: Any = tools(0).differ

    assert not any(one == other for one, other in (differ(value, value, own) for own in (0, 1)))


@given(st.integers(0, 99))
def test_another_value_is_none_that_is_compared_and_not_the_same(seed: int) -> None:
    code = "t.assertEqual(f(3), 9)\nassert x not in (8, 10, 11)"
    rng = Random(seed)  # noqa: S311
    made = Falsifiable([], ast.parse(code).body).written(Kind.SURE, NAMES, rng)

    assert not any(f"f(3), {n})" in ast.unparse(made.body[0]) for n in range(8, 12))


def test_of_two_values_the_plain_one_is_changed_or_the_tests_own() -> None:
    odd = object()
    differ: Any = tools(0).differ

    assert ((19, odd), (odd, 19)) == (differ(9, odd), differ(odd, 9))
    assert ([19], [odd]) == differ([9], [odd])
    assert ((9, (odd, {0})), ((odd, {0}), 9)) == (differ(9, odd, 1), differ(odd, 9, 0))


def test_values_that_cannot_be_compared_with_another_one_are_not_equal() -> None:
    class Strict:
        def __eq__(self, other: object) -> bool:
            return bool(other.__dict__ == {})

        def __ne__(self, other: object) -> bool:
            return bool(other.__dict__ != {})

        __hash__ = None  # type: ignore[assignment]

    differing: Any = tools(0).differing

    assert Strict() == Strict()
    assert (False, True) == tuple(
        differing(Strict(), Strict(), 1, wanted) for wanted in (True, False)
    )


@given(st.floats(allow_nan=False), st.integers(3, 9))
def test_a_distant_number_is_close_to_none_that_was_close(value: float, factor: int) -> None:
    distant: Any = tools(0).distant
    other = distant(value, factor)

    assert not math.isclose(value, other, rel_tol=0.1, abs_tol=0.1)
    assert not abs(value - other) < 0.1


def test_a_site_has_held_if_it_has_never_failed() -> None:
    seen: Any = tools(5).record
    for site, said, wanted in (
        (0, True, True), (0, True, True), (1, True, True), (1, False, True), (2, False, False),
        (3, False, True), (3, None, None),
    ):  # fmt: skip
        seen(site, said, wanted)

    assert "12110" == seen()


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("assert f(3) == 9, f(3)[0]", "assert seen(0, f(3) == 8, True)"),
        ("assert [1] == f(3)", "assert seen(0, [0] == f(3), True)"),
        ("assert f() is None", "assert seen(0, f() is True, True)"),
        ("assert not f(3) != 9", "assert not seen(0, f(3) != 8, False)"),
        ("assert f(3) in (9, 81)", "assert seen(0, f(3) in (8, 80), True)"),
        ("assert abs(f(3) - x) < 1e-06",
         "assert seen(0, abs(f(3) - distant(x, 5)) < 1e-06, True)"),
        ("assert isclose(f(3), x)", "assert seen(0, isclose(f(3), distant(x, 5)), True)"),
        ("assert ok and f(3) == 9", "assert ok and seen(0, f(3) == 8, True)"),
        ("if f(3) != 9:\n    raise AssertionError",
         "if seen(0, f(3) != 8, False):\n    raise AssertionError"),
        ("t.assertEqual(f(3), 9, x)",
         "(seen(0, False), t.assertEqual(f(3), 8, x), seen(0, None, None))"),
        ("assert f(3) == g(3)",
         "assert seen(0, differing(f(3), g(3), None, True), True)"),
        ("x = 2\nassert not f(3) != x",
         "x = 2\nassert not seen(0, differing(f(3), x, 1, False), False)"),
        ("from unittest.mock import ANY\nassert ANY == f(3)",
         "from unittest.mock import ANY\nassert seen(0, differing(ANY, f(3), 0, True), True)"),
    ],
)  # fmt: skip
def test_what_is_surely_compared_is_another_value(body: str, made: str) -> None:
    assert made == canary(body, Kind.SURE)


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("for n in x:\n    assert f(n) == 9", "for n in x:\n    assert seen(0, f(n) == 8, True)"),
        ("if x:\n    assert f(3) == 9", "if x:\n    assert seen(0, f(3) == 8, True)"),
        ("with x:\n    assert f(3) == 9\n    assert f(4) == 16",
         "with x:\n    assert seen(0, f(3) == 8, True)\n    assert seen(1, f(4) == 15, True)"),
    ],
)  # fmt: skip
def test_all_nested_asserts_compare_with_other_values(body: str, made: str) -> None:
    assert made == canary(body, Kind.ALL)


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("assert f(3) < 10", "assert not f(3) < 10"),
        ("assert abs(f(3) - x) < 5", "assert not abs(f(3) - x) < 5"),
        ("assert 1 == 1", "assert not 1 == 1"),
        ("f(3)", "f(3)\nassert 5 == 6"),
        ("for n in x:\n    assert f(n) > 9", "for n in x:\n    assert f(n) > 9\nassert 5 == 6"),
    ],
)
def test_where_nothing_is_compared_an_assert_is_negated(body: str, made: str) -> None:
    assert made == canary(body, Kind.NEGATED)


@pytest.mark.parametrize(
    ("body", "canaries"),
    [
        ("assert f(3) == 9", "SURE"),
        ("assert f(3) == 9\nassert f(4) == 16", "SURE"),
        ("if x:\n    assert f(3) == 9", "ALL"),
        ("if x:\n    assert f(3) == 9\nelse:\n    assert f(3) == 8", "ALL ONE"),
        ("assert f(3) == 9\nif x:\n    assert f(4) == 16", "SURE ALL"),
        ("if f(3) == 9:\n    n = 1\nassert n > 0", "NEGATED ALL"),
        ("n = 0\nwhile n != 4:\n    n += 1\nassert f(n) > 9", "NEGATED"),
        ("assert f(3) != 10", "NEGATED"),
        ("from unittest.mock import ANY\nx = [f(3), ANY]\nassert f(3) == x", "NEGATED"),
        ("try:\n    assert f(3) == 9\nexcept Exception:\n    pass", "NEGATED ALL"),
    ],
)
def test_a_test_has_the_canaries_that_its_comparisons_need(body: str, canaries: str) -> None:
    test, *others = Falsifiable([], ast.parse(body).body).kinds

    assert (Kind.TEST, canaries) == (test, " ".join(kind.name for kind in others))
