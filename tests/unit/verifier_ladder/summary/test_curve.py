"""The curve of rewards against cost, compared with counting everything again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.summary.curve import MOST_POINTS, Curve
from verifier_ladder.summary.subject import Subject

REWARDS = st.none() | st.floats(-10, 10)
STEPS = st.lists(st.tuples(st.integers(0, 4), st.booleans(), REWARDS), max_size=40)


@given(STEPS)
def test_best_and_mean_are_those_of_all_samples(steps: list[tuple[int, bool, float]]) -> None:
    curve, subjects = Curve(), [Subject(bytes([n])) for n in range(5)]
    for who, is_new, reward in steps:
        if is_new:
            curve.again(subjects[who])
        if subjects[who].samples:
            curve.change(subjects[who], reward, None)
        curve.mark()

    known = [s.reward for s in subjects for _ in range(s.samples) if s.reward is not None]
    last = curve.points()[-1]
    assert last.best == max(known, default=None)
    assert last.mean == (pytest.approx(sum(known) / len(known)) if known else None)


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    curve = Curve()
    for second in range(10_000):
        curve.seconds = float(second)
        curve.mark()

    points = curve.points()

    assert len(points) <= 2 * MOST_POINTS
    assert points[-1].seconds == 9999.0
    assert [p.seconds for p in points] == sorted(p.seconds for p in points)
