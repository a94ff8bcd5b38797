"""Random draws that can be replayed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.draws import uniform

IDS = st.tuples(
    st.binary(max_size=80), st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.integers(-1, 2**40), st.integers(-(2**40), 2**40), st.integers(0, 9),
)  # fmt: skip


def draw(seed: bytes, run: str, step: int, position: int, stage: int) -> float:
    return float(uniform(seed, run, step, [position], stage)[0])


@given(IDS)
def test_the_same_sample_and_stage_always_get_the_same_number(
    which: tuple[bytes, str, int, int, int],
) -> None:
    assert draw(*which) == draw(*which)
    assert 0.0 <= draw(*which) < 1.0


@given(IDS, IDS)
def test_any_other_sample_stage_or_seed_gets_another_number(
    one: tuple[bytes, str, int, int, int], other: tuple[bytes, str, int, int, int]
) -> None:
    key = one[0][:64].rstrip(b"\0") == other[0][:64].rstrip(b"\0")

    assert (key and one[1:] == other[1:]) == (draw(*one) == draw(*other))


def test_each_part_of_the_id_counts() -> None:
    numbers = {
        draw(b"k", "r", 0, 0, 0), draw(b"l", "r", 0, 0, 0), draw(b"k", "s", 0, 0, 0),
        draw(b"k", "r", 1, 0, 0), draw(b"k", "r", 0, 1, 0), draw(b"k", "r", 0, 0, 1),
    }  # fmt: skip

    assert 6 == len(numbers)


def test_a_batch_draws_what_its_samples_draw_alone() -> None:
    together = uniform(b"k", "r", 3, [5, 0, 7], 1)

    assert [draw(b"k", "r", 3, p, 1) for p in (5, 0, 7)] == together.tolist()


def test_no_samples_get_no_numbers() -> None:
    assert (0,) == uniform(b"k", "r", 0, [], 0).shape


def test_draws_are_uniform() -> None:
    numbers = uniform(b"secret", "run", 0, range(20_000), 0)
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))

    # Chi-squared with 19 degrees of freedom exceeds 43.8 once in a thousand seeds.
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 43.8


def test_stages_and_steps_are_independent() -> None:
    numbers = [
        uniform(b"secret", "run", step, range(20_000), stage)
        for step, stage in ((0, 0), (0, 1), (1, 0))
    ]

    assert np.abs(np.corrcoef(numbers) - np.eye(3)).max() < 0.03
