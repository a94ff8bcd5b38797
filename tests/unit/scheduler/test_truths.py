"""Truths: spread and best of what the top tier has said."""

from math import isnan
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.truths import Truths

VALUES = st.lists(st.floats(-1e6, 1e6), max_size=40)


def told(values: list[float], sign: float = 1.0) -> Truths:
    truths = Truths(sign)
    for value in values:
        truths.add(value)
    return truths


def test_nothing_is_known_of_a_spread_before_two_answers() -> None:
    assert isnan(told([]).spread)
    assert isnan(told([1.0]).spread)
    assert isnan(told([]).best)


@given(VALUES.filter(lambda values: len(values) > 1))
def test_the_spread_is_the_sample_deviation(values: list[float]) -> None:
    assert told(values).spread == pytest.approx(stdev(values), rel=1e-6, abs=1e-6)


@given(VALUES.filter(bool), st.sampled_from([1.0, -1.0]))
def test_an_improvement_has_to_pass_the_tenth_best(values: list[float], sign: float) -> None:
    best_first = sorted(values, reverse=sign > 0)

    assert best_first[:10][-1] == told(values, sign).best


def test_a_declared_prior_is_worth_two_answers() -> None:
    assert 3.0 == Truths(1.0, (5.0, 3.0)).spread


@given(VALUES)
def test_one_absurd_answer_does_not_overflow(values: list[float]) -> None:
    truths = told([*values, 1e300])

    assert not isinstance(truths.spread, complex)
    assert told(values).spread == pytest.approx(truths.spread, nan_ok=True)


@given(VALUES, VALUES)
def test_it_goes_on_from_a_snapshot(before: list[float], after: list[float]) -> None:
    again = Truths(1.0)
    again.restore(told(before).snapshot())
    for value in after:
        again.add(value)

    assert told([*before, *after]).snapshot() == again.snapshot()
