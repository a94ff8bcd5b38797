"""Random draws that can be replayed."""

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import SampleId
from verifier_ladder.scheduler.draws import uniform

IDS = st.tuples(
    st.binary(max_size=80), st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.integers(-1, 2**40), st.integers(-(2**40), 2**40),
)  # fmt: skip


def draw(seed: bytes, run: str, step: int, position: int) -> float:
    return float(uniform(seed, [SampleId(run, step, position)])[0])


def ids(step: int, positions: Iterable[int]) -> list[SampleId]:
    return [SampleId("run", step, position) for position in positions]


@given(IDS)
def test_the_same_sample_always_gets_the_same_number(
    which: tuple[bytes, str, int, int],
) -> None:
    assert draw(*which) == draw(*which)
    assert 0.0 <= draw(*which) < 1.0


@given(IDS, IDS)
def test_any_other_sample_or_seed_gets_another_number(
    one: tuple[bytes, str, int, int], other: tuple[bytes, str, int, int]
) -> None:
    key = one[0][:64] == other[0][:64]

    assert (key and one[1:] == other[1:]) == (draw(*one) == draw(*other))


def test_each_part_of_the_id_counts() -> None:
    numbers = {
        draw(b"k", "r", 0, 0), draw(b"l", "r", 0, 0), draw(b"k", "s", 0, 0),
        draw(b"k", "r", 1, 0), draw(b"k", "r", 0, 1),
    }  # fmt: skip

    assert 5 == len(numbers)


def test_a_batch_draws_what_its_samples_draw_alone() -> None:
    together = uniform(b"k", ids(3, [5, 0, 7]))

    assert [draw(b"k", "run", 3, p) for p in (5, 0, 7)] == together.tolist()


def test_no_samples_get_no_numbers() -> None:
    assert (0,) == uniform(b"k", []).shape


def test_draws_are_uniform() -> None:
    numbers = uniform(b"secret", ids(0, range(20_000)))
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))

    # Chi-squared with 19 degrees of freedom exceeds 43.8 once in a thousand seeds.
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 43.8


def test_steps_are_independent() -> None:
    numbers = [uniform(b"secret", ids(step, range(20_000))) for step in range(3)]

    assert np.abs(np.corrcoef(numbers) - np.eye(3)).max() < 0.03
