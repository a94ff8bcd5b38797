from routing.baselines import FixedTier, RandomDrop
from routing.grpo import train
from routing.learner import Course
from routing.table import Table

COURSE = Course(updates=60, groups=6, rollouts=8)


def test_training_on_the_truth_gains(small: Table) -> None:
    done = train(small, FixedTier(small, 2), COURSE, 0)

    assert done.gain > 0.5
    assert 1.0 == done.world


def test_a_worse_tier_gains_less(small: Table) -> None:
    truth, cheap = (train(small, FixedTier(small, c), COURSE, 0).gain for c in (2, 0))

    assert cheap < truth


def test_the_share_of_world_calls_is_counted(small: Table) -> None:
    done = train(small, RandomDrop(small, 0.25, 0), COURSE, 0)

    assert abs(done.world - 0.25) < 0.02


def test_the_share_of_marked_rows_is_told(small: Table) -> None:
    best = small.arm == 5

    done = train(small, FixedTier(small, 2), COURSE, 0, marked=best)

    assert 1 / 6 < done.marked <= 1.0
