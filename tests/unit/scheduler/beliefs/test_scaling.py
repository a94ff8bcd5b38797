"""Scaling of predicted variances."""

import json

import numpy as np
import pytest

from verifier_ladder.scheduler.beliefs.scaling import Scaling


def test_a_bin_without_checked_predictions_is_left_as_it_is() -> None:
    scaling = Scaling(bins=3)

    scaling.add(np.array([1] * 100), np.full(100, 4.0))

    assert 1.0 == scaling.factors[0] == scaling.factors[2]
    assert scaling.factors[1] == pytest.approx(4.0, abs=0.3)


def test_predictions_that_come_true_as_wide_as_said_change_nothing() -> None:
    scaling = Scaling(bins=1)

    scaling.add(np.zeros(50, dtype=int), np.ones(50))

    assert [1.0] == scaling.factors.tolist()


def test_what_is_forgotten_lets_the_factor_go_back() -> None:
    scaling = Scaling(bins=2)
    scaling.add(np.zeros(50, dtype=int), np.full(50, 9.0))

    scaling.add(np.ones(500, dtype=int), np.ones(500), forgetting=0.97)

    assert scaling.factors[0] == pytest.approx(1.0, abs=0.01)


def test_a_snapshot_brings_the_factors_back() -> None:
    scaling, again = Scaling(bins=2), Scaling(bins=2)
    scaling.add(np.array([0, 1, 1]), np.array([4.0, 0.0, 2.0]))

    again.restore(json.loads(json.dumps(scaling.snapshot())))

    assert scaling.factors.tolist() == again.factors.tolist()
