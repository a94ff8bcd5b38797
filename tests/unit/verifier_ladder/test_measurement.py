"""Inequalities that stand for results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.measurement import Bound

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
