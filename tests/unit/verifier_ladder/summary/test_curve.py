"""The curve of what was known against cost, compared with counting everything again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.reward import Reward
from verifier_ladder.summary.curve import MOST_POINTS, Curve
from verifier_ladder.summary.subject import Subject

REWARDS = st.none() | st.floats(-10, 10)
STEPS = st.lists(st.tuples(st.integers(0, 4), REWARDS, REWARDS), max_size=40)


@given(STEPS)
def test_the_best_is_what_is_known_and_the_mean_is_of_the_latest_rewards(
    steps: list[tuple[int, float | None, float | None]],
) -> None:
    curve, subjects = Curve(lambda known: 2 * known), [Subject(bytes([n])) for n in range(5)]
    for who, reward, known in steps:
        curve.rank(subjects[who], known)
        curve.tell("run", 0, who, Reward(reward))
        curve.mark()

    latest = {who: reward for who, reward, _ in steps}
    rewards = [reward for reward in latest.values() if reward is not None]
    last = curve.points()[-1]
    assert last.best == max((2 * s.known for s in subjects if s.known is not None), default=None)
    assert last.mean == (pytest.approx(sum(rewards) / len(rewards)) if rewards else None)


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    curve = Curve(float)
    for second in range(10_000):
        curve.seconds = float(second)
        curve.mark()

    points = curve.points()

    assert len(points) <= 2 * MOST_POINTS
    assert points[-1].seconds == 9999.0
    assert [p.seconds for p in points] == sorted(p.seconds for p in points)
