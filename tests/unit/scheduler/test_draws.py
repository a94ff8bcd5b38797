"""Random draws that can be replayed."""

from collections.abc import Iterable

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from verifier_ladder.candidate import SampleId
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.climb import speaking
from verifier_ladder.scheduler.draws import (
    Spoken,
    drawn_together,
    spoken_facts,
    spoken_in,
    uniform,
)

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


TOGETHER = st.integers(1, 40).flatmap(
    lambda size: st.tuples(
        st.lists(st.floats(0.0, 1.0), min_size=size, max_size=size),
        st.lists(st.floats(0.0, 1.5), min_size=size, max_size=size),
    )
)


@given(TOGETHER, st.binary(max_size=8))
def test_what_is_drawn_together_can_always_be_paid(
    told: tuple[list[float], list[float]], seed: bytes
) -> None:
    wanted, share = np.array(told[0]), np.array(told[1])

    chance, numbers, _ = drawn_together(seed, ids(0, range(len(wanted))), wanted, share)

    assert share[numbers < chance].sum() <= 1.0 + 1e-6
    assert (chance <= wanted).all()
    assert not chance[share > 1.0].any()


def test_each_is_drawn_with_its_own_chance() -> None:
    wanted, share = np.array([0.9, 0.1, 0.4, 0.0, 0.3]), np.array([0.3, 0.02, 0.4, 0.1, 0.02])
    hits = np.zeros(5)
    for step in range(20_000):
        chance, numbers, _ = drawn_together(b"secret", ids(step, range(5)), wanted, share)
        hits += numbers < chance

    assert (chance[[0, 1, 2, 4]] > 0.05).all()
    # Four deviations of a frequency.
    assert (np.abs(hits / 20_000 - chance) <= 4 * np.sqrt(chance * (1 - chance) / 20_000)).all()


def test_chances_that_can_all_be_paid_are_left_as_they_are() -> None:
    wanted = np.array([0.2, 0.3, 0.1])

    chance, _, _ = drawn_together(b"s", ids(0, range(3)), wanted, np.array([0.1, 0.2, 0.3]))

    assert wanted.tolist() == chance.tolist()


REWARDS = st.integers(-20, 20).map(lambda n: n / 2)


@given(
    REWARDS,
    st.lists(st.tuples(REWARDS, st.sampled_from([0.0, 0.25, 1.0, 1.5, 4.0])), max_size=4),
    REWARDS,
)
@example(0.0, [(0.0, 4.0), (2.0, 0.25)], 10.0)  # It speaks for itself alone in the end.
def test_each_cancellation_moves_a_reward_from_where_it_stood(
    first: float, later: list[tuple[float, float]], known: float
) -> None:
    spoken, expected = Spoken(first), known
    for told, times in later:
        spoken, expected = spoken.then(told, times), told + times * (expected - told)

    found = speaking(Reward(known), spoken).value
    assert found is not None
    assert np.isclose(found, expected)
    own = spoken.own(found)
    assert own is None if spoken.factor == 0.0 else np.isclose(own or 0.0, known)


def test_what_cancellations_made_of_rewards_is_kept_by_position() -> None:
    made = {3: Spoken(0.5, 2.0, -1.5), 7: Spoken(0.25, 0.0)}

    assert spoken_in(spoken_facts(made)) == made
    assert spoken_in(spoken_facts({})) == {}
    assert spoken_in({"spoken": [[3, 0.5, 2.0]]}) == {3: Spoken(0.5, 2.0)}  # Earlier versions.
