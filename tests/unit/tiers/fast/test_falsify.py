"""Canaries of tests: what is compared is another value."""

import ast
import re
from random import Random
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.tiers.fast.asking import AMONG, NEAR, SAME, Names
from verifier_ladder.tiers.fast.falsify import Falsifiable, Kind, Written
from verifier_ladder.tiers.fast.rewriting import rewritten

NAMES = Names("ask", "told", "one", "two", "bound", "call")


def made(code: str, kind: Kind) -> Written:
    """A test or a canary of it, drawn by a generator that always draws the first."""
    lowest = Mock(Random, choice=lambda found: found[0], sample=lambda *_: (5, 6))
    lowest.getrandbits.return_value, lowest.randrange.return_value = 5, 0
    return Falsifiable([], ast.parse(code).body).written(kind, NAMES, lowest)


def canary(code: str, kind: Kind) -> str:
    return "\n".join(map(ast.unparse, made(code, kind).body))


def ask(
    check: str, one: str, two: str, *, site: int = 0, how: int = SAME, bound: str = "None",
    own: int | None = 1, asked: int = 3, wanted: bool | None = True, call: str = "",
) -> str:  # fmt: skip
    """How a site is asked."""
    parameters = f"one, two, bound, call={call}" if call else "one, two, bound"
    return (
        f"ask({site}, lambda {parameters}: {check}, {how}, {one}, {two}, {bound}, {own}, "
        f"{asked}, {wanted})"
    )


@given(st.integers(0, 99))
def test_another_value_is_none_that_is_compared_and_not_the_same(seed: int) -> None:
    code = "t.assertEqual(f(3), 9)\nassert x not in (8, 10, 11)"
    rng = Random(seed)  # noqa: S311
    made = Falsifiable([], ast.parse(code).body).written(Kind.SURE, NAMES, rng)

    assert not any(f"f(3), {n})" in ast.unparse(made.body[0]) for n in range(8, 12))


EQUAL, OTHER = "one == two", "one != two"
FAR = "abs(one - two) < bound"


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("assert f(3) == 9, f(3)[0]", f"assert {ask(EQUAL, 'f(3)', '0')}"),
        ("assert [1] == f(3)", f"assert {ask(EQUAL, '[0]', 'f(3)', own=0)}"),
        ("assert f() is None", f"assert {ask('one is two', 'f()', 'True')}"),
        ("assert not f(3) != 9", f"assert not {ask(OTHER, 'f(3)', '0', wanted=False)}"),
        ("assert f(3) in (9, 81)", f"assert {ask('one in two', 'f(3)', '(0, 0)', how=AMONG)}"),
        ("assert abs(f(3) - 9) < 0.5",
         f"assert {ask(FAR, 'f(3)', '-81', how=NEAR, bound='0.5')}"),
        ("assert ok and f(3) == 9", f"assert ok and {ask(EQUAL, 'f(3)', '0')}"),
        ("if f(3) != 9:\n    raise AssertionError",
         f"if {ask(OTHER, 'f(3)', '0', wanted=False)}:\n    raise AssertionError"),
        ("t.assertEqual(f(3), 9, x)",
         ask("call(one, two, x)", "f(3)", "0", wanted=None, call="t.assertEqual")),
        ("t.assertIn(f(3), [9])",
         ask("call(one, two)", "f(3)", "[0]", how=AMONG, wanted=None, call="t.assertIn")),
    ],
)  # fmt: skip
def test_what_a_test_writes_down_and_surely_compares_is_another_value(
    body: str, made: str
) -> None:
    assert made == canary(body, Kind.SURE)


@given(st.integers(0, 99))
def test_a_value_is_another_one_wherever_it_is_written_down(seed: int) -> None:
    code = "assert f(3) == 9 == f(-3)\nassert 9 == g(0)\nassert f(4) == 16"
    rng = Random(seed)  # noqa: S311
    made = Falsifiable([], rewritten(ast.parse(code).body)).written(Kind.SURE, NAMES, rng)
    text = ast.unparse(ast.Module(made.body, []))
    ((one,), (two,), (three,)) = (
        re.findall(found, text) for found in (r"f\(3\), (\d+)", r"(\d+), f\(-3\)", r"(\d+), g")
    )

    assert one == two == three
    assert made.false == ({3} if one == "9" else {0, 1, 2})


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("assert f(3) == g(3)", ask(EQUAL, "f(3)", "g(3)", own=None)),
        ("assert not f(3) != x", ask(OTHER, "f(3)", "x", own=None, wanted=False)),
        ("assert f(3) in {9: 1}", ask("one in two", "f(3)", "{9: 1}", how=AMONG)),
        ("assert 9 in f(3)", ask("one in two", "9", "f(3)", how=AMONG, own=0)),
        ("assert isclose(f(3), x)",
         ask("call(one, two)", "f(3)", "x", how=NEAR, own=None, bound="0", call="isclose")),
        ("assert most >= abs(f(3) - 9)",
         ask("bound >= abs(one - two)", "f(3)", "9", how=NEAR, bound="most")),
        ("t.assertAlmostEqual(f(3), 9, delta=x)",
         ask("call(one, two, delta=bound)", "f(3)", "9", how=NEAR, bound="x", wanted=None,
             call="t.assertAlmostEqual")),
    ],
)  # fmt: skip
def test_what_it_does_not_write_down_looks_the_same_in_a_canary(body: str, told: str) -> None:
    test, false = (made(body, kind) for kind in (Kind.TEST, Kind.SURE))

    assert ast.unparse(test.body[0]) == ast.unparse(false.body[0])
    assert told in ast.unparse(test.body[0])
    assert "['tools'](1, [], 5, 0)" in test.tools
    assert "['tools'](1, [0], 5, 0)" in false.tools


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("for n in x:\n    assert f(n) == 9",
         f"for n in x:\n    assert {ask(EQUAL, 'f(n)', '0')}"),
        ("if x:\n    assert f(3) == 9", f"if x:\n    assert {ask(EQUAL, 'f(3)', '0')}"),
        ("with x:\n    assert f(3) == 9\n    assert f(4) == 16",
         "with x:\n    assert {}\n    assert {}".format(
             ask(EQUAL, "f(3)", "0"), ask(EQUAL, "f(4)", "0", site=1))),
    ],
)  # fmt: skip
def test_all_nested_asserts_compare_with_other_values(body: str, made: str) -> None:
    assert made == canary(body, Kind.ALL)


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("assert f(3) < 10", "assert not f(3) < 10"),
        ("assert x(f(3))", "assert not x(f(3))"),
        ("assert 1 == 1", "assert not 1 == 1"),
        ("f(3)", "f(3)\nassert 5 == 6"),
        ("for n in x:\n    assert f(n) > 9", "for n in x:\n    assert f(n) > 9\nassert 5 == 6"),
    ],
)
def test_where_nothing_is_compared_an_assert_is_negated(body: str, made: str) -> None:
    assert made == canary(body, Kind.NEGATED)


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("assert f(3) != 10", ask(OTHER, "f(3)", "10", wanted=False)),
        ("while f(n) != 9:\n    n += 1", ask(OTHER, "f(n)", "9", wanted=False)),
        ("assert f'{f(3) == 9}'", ask(EQUAL, "f(3)", "9")),
        ("from unittest.mock import ANY\nx = [f(3), ANY]\nassert f(3) == x",
         ask(EQUAL, "f(3)", "x", own=None, asked=1)),
    ],
)  # fmt: skip
def test_what_a_canary_leaves_alone_is_asked_all_the_same(body: str, asked: str) -> None:
    assert asked in canary(body, Kind.NEGATED)


@pytest.mark.parametrize(
    ("body", "canaries"),
    [
        ("assert f(3) == 9", "SURE"),
        ("assert f(3) == 9\nassert f(4) == 16", "SURE"),
        ("if x:\n    assert f(3) == 9", "ALL"),
        ("if x:\n    assert f(3) == 9\nelse:\n    assert f(3) == 8", "ALL"),
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
