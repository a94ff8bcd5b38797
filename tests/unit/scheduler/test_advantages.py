"""Advantages."""

from collections import Counter
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.advantages import advantages, changes

REWARDS = st.none() | st.just(nan) | st.floats(-1e6, 1e6)
SAMPLES = st.lists(st.tuples(REWARDS, st.integers(0, 3)), max_size=30)
TWICE = st.lists(st.tuples(REWARDS, REWARDS, st.integers(0, 3)), max_size=30)


def is_known(value: float | None) -> bool:
    return value is not None and not isnan(value)


@given(SAMPLES)
def test_what_is_unknown_stays_unknown_and_nothing_else_does(
    samples: list[tuple[float | None, int]],
) -> None:
    rewards, groups = [r for r, _ in samples], [g for _, g in samples]

    result = advantages(rewards, groups)

    counts = Counter(g for r, g in samples if is_known(r))
    assert [is_known(r) and counts[g] > 1 for r, g in samples] == [is_known(a) for a in result]


@given(SAMPLES)
def test_each_group_sums_to_nothing(samples: list[tuple[float | None, int]]) -> None:
    rewards, groups = [r for r, _ in samples], [g for _, g in samples]

    result = advantages(rewards, groups, floor=1.0)

    for group in set(groups):
        chosen = result[np.array(groups) == group]
        assert np.nansum(chosen) == pytest.approx(0.0, abs=1e-6)


@given(SAMPLES)
def test_an_unknown_reward_has_no_part_in_the_others(
    samples: list[tuple[float | None, int]],
) -> None:
    rewards, groups = [r for r, _ in samples], [g for _, g in samples]
    known = [(r, g) for r, g in samples if is_known(r)]

    alone = advantages([r for r, _ in known], [g for _, g in known])
    together = advantages(rewards, groups)

    chosen = together[[is_known(r) for r in rewards]]
    np.testing.assert_array_equal(alone, chosen)


def test_a_known_group_is_divided_by_its_own_spread() -> None:
    result = advantages([1.0, 3.0, 5.0, 10.0, 30.0], ["a", "a", "a", "b", "b"])

    assert result == pytest.approx([-1.2247449, 0.0, 1.2247449, -1.0, 1.0])


def test_the_spread_is_that_of_the_belief_not_of_the_corrected_rewards() -> None:
    result = advantages(
        [10.0, 0.0, -2.0, 0.0], ["a"] * 4,
        estimates=[0.3, -0.3, 0.3, -0.3], deviations=[0.4] * 4,
    )  # fmt: skip

    assert result == pytest.approx([16.0, -4.0, -8.0, -4.0])


def test_groups_need_no_order() -> None:
    mixed = advantages([1.0, 10.0, 3.0, 30.0], ["a", "b", "a", "b"])

    assert [-1.0, -1.0, 1.0, 1.0] == mixed.tolist()


def test_nothing_at_all_has_no_advantages() -> None:
    assert (0,) == advantages([], []).shape
    assert (0,) == changes([], [], []).shape


def test_a_group_of_one_has_no_advantage() -> None:
    first, *others = advantages([5.0, 2.0, 0.0], [0, 1, 1]).tolist()
    assert isnan(first)
    assert [1.0, -1.0] == others
    assert np.isnan(advantages([5.0, None, None], [0, 0, 0])).all()
    assert np.isnan(changes([4.0], [5.0], [0])).all()
    assert [1.0, -1.0] == changes([4.0, None], [5.0, 3.0], [0, 0]).tolist()


def test_a_group_that_all_abstained_is_unknown() -> None:
    assert np.isnan(advantages([None, None], ["a", "a"])).all()


def test_a_group_without_spread_has_no_advantages() -> None:
    assert [0.0, 0.0] == advantages([0.1, 0.1], ["a", "a"]).tolist()
    assert [0.0] * 4 == advantages([0.1, 0.1, 2.0, 2.0], ["a", "a", "b", "b"]).tolist()


def test_a_group_with_next_to_no_spread_is_held_by_the_floor() -> None:
    rewards, groups = [0.0, 1e-9, 0.0, 2.0], ["a", "a", "b", "b"]

    # The spread of all four is √0.75; 5 % of it is the floor.
    assert advantages(rewards, groups)[1] == pytest.approx(0.5e-9 / (0.05 * 0.75**0.5))
    assert advantages(rewards, groups, floor=1e-3)[1] == pytest.approx(0.5e-6)


@given(TWICE)
def test_a_change_brings_a_learner_to_the_new_advantages(
    samples: list[tuple[float | None, float | None, int]],
) -> None:
    before, after, groups = ([row[i] for row in samples] for i in range(3))
    means = [1.0 * i for i in range(len(samples))]
    used = advantages(before, groups, estimates=means)
    new = advantages(after, groups, estimates=means)

    change = changes(before, after, groups, estimates=means)

    np.testing.assert_allclose(np.nan_to_num(used) + change, new, atol=1e-6)


def test_one_late_answer_changes_its_whole_group_and_no_other() -> None:
    change = changes([0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 2.0, 1.0], ["a", "a", "b", "b"], floor=0.5)

    assert [0.0, 0.0] == change[:2].tolist()
    assert [2.0, -2.0] == change[2:].tolist()


def test_a_sample_that_was_masked_changes_by_its_whole_advantage() -> None:
    change = changes([None, 1.0, 3.0], [2.0, 1.0, 3.0], ["a", "a", "a"], floor=1.0)

    assert [0.0, 0.0, 0.0] == change.tolist()
    assert [1.0, -1.0] == changes([None, 0.0], [6.0, 0.0], ["a", "a"]).tolist()


def test_weights_of_the_estimator_do_not_shrink_the_others() -> None:
    """One corrected reward far out must not make the rest of its group look alike."""
    believed, spread = [0.2, 0.4, 0.6, 0.8], [0.1] * 4

    plain = advantages(believed, [0] * 4, estimates=believed, deviations=spread)
    drawn = advantages([0.2, 0.4, 0.6, 9.0], [0] * 4, estimates=believed, deviations=spread)

    assert np.diff(plain[:3]) == pytest.approx(np.diff(drawn[:3]))


@pytest.mark.parametrize("floor", [0.0, -1.0, nan])
def test_a_floor_that_divides_by_nothing_is_refused(floor: float) -> None:
    with pytest.raises(ConfigError, match="must be positive"):
        advantages([1.0], ["a"], floor=floor)


def test_arguments_of_different_length_are_refused() -> None:
    with pytest.raises(ConfigError, match="rewards has shape"):
        advantages([1.0, 2.0], ["a"])
    with pytest.raises(ConfigError, match="deviations has shape"):
        advantages([1.0], ["a"], deviations=[1.0, 2.0])
