import numpy as np
import pytest
from routing.backend import Rollouts, Scored
from routing.baselines import Baseline
from routing.coverage import coverage, crps
from routing.table import Table


class Prophet(Baseline):
    """Believes the truth with an error of the size that it says."""

    def __init__(self, table: Table, factor: float) -> None:
        super().__init__(table)
        self.factor = factor

    def score(self, rollouts: Rollouts) -> Scored:
        truth = self.buy(self.top, rollouts.rows)
        spread = np.full(len(truth), 0.2)
        return Scored(truth, truth + self.random.normal(0, 0.2, len(truth)), spread * self.factor)


def found(table: Table, factor: float) -> list[float]:
    some = [coverage(table, Prophet(table, factor), seed) for seed in range(40)]
    return [one.share for one in some if not np.isnan(one.share)]


@pytest.fixture
def large(small: Table) -> Table:
    return small.rows(np.tile(np.arange(72), 5))


def test_honest_beliefs_cover_nine_of_ten(large: Table) -> None:
    assert np.mean(found(large, 1.0)) == pytest.approx(0.9, abs=0.02)


def test_beliefs_that_are_too_sure_cover_less(large: Table) -> None:
    assert np.mean(found(large, 0.5)) < 0.7


def test_nothing_is_judged_before_there_were_labels(small: Table) -> None:
    few = small.rows(np.arange(12))

    assert np.isnan(coverage(few, Prophet(few, 1.0), 0).share)


def test_the_score_of_a_sharp_right_belief_is_small() -> None:
    truth = np.zeros(1)

    sharp, wide, wrong = (
        crps(truth, np.array([mean]), np.array([deviation]))[0]
        for mean, deviation in ((0.0, 0.1), (0.0, 1.0), (2.0, 0.1))
    )

    assert sharp < wide < wrong
    assert wide == pytest.approx(0.2337, abs=1e-3)  # (√2 − 1)/√π
