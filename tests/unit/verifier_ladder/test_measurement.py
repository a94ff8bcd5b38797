"""Inequalities that stand for results."""

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.measurement import BOUND, Bound, bound_of

BOUNDS = st.builds(Bound, st.sampled_from(["<", "<=", ">", ">="]), st.integers(-2, 2).map(float))
NUMBERS = [step / 2 for step in range(-8, 9)]
"""All that bounds at whole numbers from -2 to 2 can tell apart."""


@given(BOUNDS, BOUNDS)
def test_what_bounds_say_of_each_other_is_what_they_say_of_numbers(one: Bound, two: Bound) -> None:
    mine = {number for number in NUMBERS if one.allows(number)}
    theirs = {number for number in NUMBERS if two.allows(number)}

    assert one.within(two) is (mine <= theirs)
    assert one.excludes(two) is mine.isdisjoint(theirs)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("<0.1", Bound("<", 0.1)),
        (" ≤ 1e3 ", Bound("<=", 1000.0)),
        (">-2", Bound(">", -2.0)),
        (">=  5", Bound(">=", 5.0)),
        ("≥5", Bound(">=", 5.0)),
    ],
)
def test_a_bound_is_read_as_people_write_it(text: str, bound: Bound) -> None:
    assert bound == Bound.read(text)
    assert bound == Bound.read(str(bound))


@pytest.mark.parametrize(
    "text",
    ["", "<", "0.1", "< x", "<< 1", "< 1 2", "< nan", "> inf", "= 1", "<1e999", "1 <"],
)
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no bound"):
        Bound.read(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_digit_of_a_bound_is_lost_where_it_is_written(value: float) -> None:
    assert value == Bound.read(str(Bound("<", value))).value


@pytest.mark.parametrize(("sign", "relation"), [("≤", "<="), ("≥", ">="), ("<", "<")])
def test_a_bound_has_one_spelling_of_its_relation(sign: str, relation: str) -> None:
    assert relation == Bound(sign, 1).relation


NO_BOUNDS: list[tuple[Any, Any]] = [
    ("=", 1.0), ("", 1.0), (None, 1.0), ("<", nan), (">", inf), ("<", "x"), ("<", None),
    ("<", 10**400),
]  # fmt: skip


@pytest.mark.parametrize(("relation", "value"), NO_BOUNDS)
def test_a_bound_is_an_inequality_with_a_finite_number(relation: Any, value: Any) -> None:
    with pytest.raises(ConfigError, match="is no bound; give <"):
        Bound(relation, value)
    assert bound_of({BOUND: {"relation": relation, "value": value}}) is None


@pytest.mark.parametrize("told", [{"relation": "<"}, {"relation": ["<"], "value": 1}, "< 1", None])
def test_evidence_that_is_called_a_bound_need_not_be_one(told: Any) -> None:
    assert bound_of({BOUND: told}) is None
