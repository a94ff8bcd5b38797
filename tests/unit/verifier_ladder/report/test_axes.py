"""Ticks are round, few, and cover the data."""

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.report.charts import Frame, label, ticks

NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda x: round(x, 6))


@given(NUMBERS, NUMBERS)
def test_ticks_cover_the_range_with_few_steps(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)

    made = ticks(low, high)

    assert 2 <= len(made) <= 9
    width = made[-1] - made[0]
    assert made[0] <= low + 1e-6 * width
    assert made[-1] >= high - 1e-6 * width
    assert made == sorted(set(made))


@given(NUMBERS, NUMBERS)
def test_labels_tell_ticks_apart(one: float, other: float) -> None:
    made = ticks(min(one, other), max(one, other))

    texts = [label(value, made[1] - made[0]) for value in made]

    assert len(set(texts)) == len(texts) or made[1] - made[0] < 1e-6


def test_a_step_of_a_quarter_keeps_its_digits() -> None:
    assert [label(value, 0.025) for value in (0.0, 0.025, 0.05)] == ["0.000", "0.025", "0.050"]


def test_the_frame_puts_the_ends_on_its_edges() -> None:
    frame = Frame([0.0, 10.0], [0.0, 1.0], "x", "y")

    assert (frame.x(0.0), frame.x(10.0)) == (58.0, 396.0)
    assert frame.y(0.0) > frame.y(1.0)
