"""How many labels are learnt at once."""

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.beliefs.steps import SETTLED, steps

COUNTS = st.integers(0, 5000)


@given(COUNTS, COUNTS)
def test_runs_cover_all_labels_in_order(count: int, size: int) -> None:
    rows = [row for run in steps(count, size) for row in range(size)[run]]

    assert list(range(size)) == rows


@given(COUNTS, COUNTS)
def test_no_run_passes_a_count_at_which_scales_are_taken_anew(count: int, size: int) -> None:
    due = [1 << power for power in range(SETTLED.bit_length())]

    for run in steps(count, size):
        assert not any(count + run.start < number < count + run.stop for number in due)


@given(COUNTS, COUNTS)
def test_a_run_is_no_more_than_an_eighth_of_what_is_known(count: int, size: int) -> None:
    for run in steps(count, size):
        assert run.stop - run.start <= (count + run.start) / 8 + 1
