import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing.learner import Course, Learner
from routing.table import Table

COURSE = Course(updates=1, groups=4, rollouts=8, rate=1.0, kl=0.0)


def test_a_learner_starts_uniform(small: Table) -> None:
    learner = Learner(small, COURSE, 0)

    assert np.allclose(learner.policy, 1 / 6)
    assert learner.expected(small.value) == pytest.approx(small.value.mean())


def test_rollouts_are_of_the_groups_that_were_chosen(small: Table) -> None:
    rollouts = Learner(small, COURSE, 0).propose()

    assert 32 == len(rollouts.rows)
    assert [8] * 4 == np.bincount(rollouts.group).tolist()
    for number in range(4):
        assert 1 == len(set(small.group[rollouts.rows[rollouts.group == number]]))


def test_the_same_seed_draws_the_same(small: Table) -> None:
    first, second = (Learner(small, COURSE, 7).propose().rows for _ in range(2))

    assert np.array_equal(first, second)


def test_what_is_better_becomes_likelier(small: Table) -> None:
    learner = Learner(small, COURSE, 0)
    before = learner.expected(small.value)

    for _ in range(30):
        rollouts = learner.propose()
        value = small.value[rollouts.rows]
        middle = np.bincount(rollouts.group, value) / 8
        learner.update(value - middle[rollouts.group], np.ones(32, dtype=bool))

    assert learner.expected(small.value) > before


def test_unknown_rewards_change_nothing(small: Table) -> None:
    learner = Learner(small, COURSE, 0)
    learner.propose()

    learner.update(np.zeros(32), np.zeros(32, dtype=bool))

    assert np.allclose(learner.policy, 1 / 6)


def test_the_divergence_pulls_back_to_uniform(small: Table) -> None:
    course = COURSE._replace(groups=12, kl=1.0)
    learner = Learner(small, course, 0)
    learner.propose()
    learner.update(np.random.default_rng(0).normal(size=96), np.ones(96, dtype=bool))
    away = np.abs(learner.policy - 1 / 6).sum()

    for _ in range(20):
        learner.propose()
        learner.update(np.zeros(96), np.ones(96, dtype=bool))

    assert np.abs(learner.policy - 1 / 6).sum() < 0.1 * away


@given(st.lists(st.floats(-50, 50), min_size=32, max_size=32))
def test_policies_stay_policies(table: Table, advantages: list[float]) -> None:
    learner = Learner(table, COURSE, 0)
    for _ in range(3):
        rollouts = learner.propose()
        learner.update(np.array(advantages), np.ones(32, dtype=bool))

    assert np.allclose(learner.policy.sum(axis=1), 1.0)
    assert rollouts.weight is not None
    assert np.all((rollouts.weight >= 0) & (rollouts.weight <= np.sqrt(2)))


def test_groups_of_different_sizes_share_no_rows(small: Table) -> None:
    uneven = small.rows(np.array([0, 1, 2, 6, 7, 12, 13, 14, 15, 18]))
    learner = Learner(uneven, Course(updates=1, groups=4, rollouts=50), 0)

    rollouts = learner.propose()

    assert set(range(10)) == set(rollouts.rows.tolist())
    assert [1 / 3, 1 / 2, 1 / 4, 1.0] == learner.policy.max(axis=1).tolist()
