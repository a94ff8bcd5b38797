"""Amounts in words."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.summary.amounts import duration, fixed, number, percent, plural, share


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),  # unknown is not zero
        (0.0, "0 s"),
        (2e-5, "20 µs"),
        (0.35, "350 ms"),
        (98.2, "98 s"),
        (413.0, "6.9 min"),
        (7200.0, "2 h"),
        (1e6, "12 d"),
    ],
)
def test_durations_read_well(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "uncertainty", "text"),
    [
        (None, None, "–"),
        (-4.731, None, "−4.73"),
        (-4.731, 0.62, "−4.7 ± 0.6"),
        (-4.731, 1.24, "−4.7 ± 1.2"),  # a leading 1 or 2 keeps a second digit
        (123.4, 31.0, "123 ± 31"),
        (1.0, 0.0, "1.00"),
        (0.0042, None, "0.0042"),  # something is not told as nothing
        (-3.1e-6, None, "−3.1e−06"),
        (-1e-17, None, "0.00"),  # and what rounding has left is
        (-0.0004, 0.02, "0.000 ± 0.020"),
        (1.0, 1e-17, "1.00"),
        (nan, 0.1, "–"),
        (-inf, None, "−∞"),
    ],
)
def test_numbers_have_the_digits_their_uncertainty_allows(
    value: float | None, uncertainty: float | None, text: str
) -> None:
    assert number(value, uncertainty) == text


@given(st.floats(0, 1e12), st.floats(-1e12, 1e12), st.floats(0, 1e12))
def test_no_amount_fails(seconds: float, value: float, uncertainty: float) -> None:
    assert duration(seconds)
    assert number(value, uncertainty)
    assert share(seconds, uncertainty)


@pytest.mark.parametrize(
    ("part", "digits", "text"),
    [(None, 0, "–"), (0.0, 0, "0 %"), (0.0024, 0, "< 1 %"), (0.9996, 1, "> 99.9 %"),
     (1.0, 0, "100 %"), (0.126, 1, "12.6 %")],
)  # fmt: skip
def test_more_than_nothing_is_not_told_as_nothing_and_less_than_all_not_as_all(
    part: float | None, digits: int, text: str
) -> None:
    assert percent(part, digits) == text


def test_nothing_has_no_sign() -> None:
    assert (fixed(-0.001, 2), fixed(-0.001, 2, "+"), fixed(0.26, 1, "+")) == (
        "0.00",
        "0.00",
        "+0.3",
    )


def test_counts_agree_with_their_noun() -> None:
    assert plural(1, "entry", "entries") == "1 entry"
    assert plural(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize(("value", "spread"), [
    (1e300, None), (-1e300, 1e299), (1.0, inf), (inf, None), (nan, 1.0), (1.0, nan), (2.5, 1e300),
])  # fmt: skip
def test_what_is_hardly_a_number_is_told_in_a_few_letters(
    value: float, spread: float | None
) -> None:
    assert len(number(value, spread)) < 20
