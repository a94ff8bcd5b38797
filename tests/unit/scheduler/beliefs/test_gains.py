"""Gains of tiers."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.beliefs.gains import Gain

SQUARES = st.lists(st.tuples(st.floats(0, 1e99), st.floats(0, 1e99)), max_size=20)


def measured(with_tier: float, without: float, count: int = 1000) -> Gain:
    gain = Gain()
    gain.add(np.full(count, with_tier), np.full(count, without))
    return gain


def test_before_anything_is_measured_the_gain_is_the_expected_one() -> None:
    assert 0.5 == Gain().explained(0.5)


def test_what_is_measured_takes_over() -> None:
    assert measured(1.0, 4.0).explained(0.1) == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("with_tier", [1.0, 2.0])
def test_a_tier_that_adds_nothing_or_misleads_explains_nothing(with_tier: float) -> None:
    assert measured(with_tier, 1.0).explained(0.9) == pytest.approx(0.0, abs=0.01)


def test_a_few_unlucky_labels_do_not_rule_a_tier_out() -> None:
    assert measured(1.5, 1.0, count=4).explained(0.5) > 0.1


def test_a_tier_that_was_ruled_out_is_tried_again_after_many_other_labels() -> None:
    gain = measured(2.0, 1.0, count=100)
    assert 0.0 == gain.explained(0.5)

    gain.fade(1000)

    assert gain.explained(0.5) > 0.3


def test_truths_without_variance_leave_the_gain_unknown() -> None:
    assert 1.0 == measured(0.0, 0.0).ratio


@given(SQUARES, st.floats(0, 1))
def test_the_gain_is_a_share(squares: list[tuple[float, float]], expected: float) -> None:
    gain = Gain()
    gain.add(np.array([a for a, _ in squares]), np.array([b for _, b in squares]))

    assert 0.0 <= float(gain.explained(expected)) <= 1.0


def test_a_snapshot_can_be_worth_less() -> None:
    gain = measured(1.0, 4.0, count=100)

    same, faded = (
        Gain.from_json(json.loads(json.dumps(gain.as_json())), most) for most in (np.inf, 8.0)
    )

    assert gain.as_json() == same.as_json()
    assert (8.0, 0.25) == (faded.count, faded.ratio)
