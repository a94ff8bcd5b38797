"""Bayesian logistic regression."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from verifier_ladder.scheduler.beliefs.logistic import Logistic

ROWS = hnp.arrays(float, st.tuples(st.integers(0, 12), st.just(2)), elements=st.floats(-10, 10))
SHARES = st.lists(st.floats(0, 1), min_size=12, max_size=12)


def model() -> Logistic:
    return Logistic(mean=[0.0, 0.0], precision=[0.1, 0.1])


def chance(one: Logistic, row: Any = (1.0, 0.0)) -> float:
    return float(one.predict([row])[0])


def test_before_any_label_both_are_as_likely() -> None:
    assert 0.5 == chance(model())


def test_it_finds_the_chances_that_were_there() -> None:
    random = np.random.default_rng(0)
    rows = np.column_stack([np.ones(4000), random.normal(size=4000)])
    one = model()

    one.add(rows, random.random(4000) < 1 / (1 + np.exp(-(rows @ [0.5, -1.0]))))

    for x in (-2.0, 0.0, 2.0):
        assert chance(one, (1.0, x)) == pytest.approx(1 / (1 + np.exp(x - 0.5)), abs=0.03)


def test_runs_come_close_to_all_at_once() -> None:
    random = np.random.default_rng(1)
    rows = np.column_stack([np.ones(400), random.normal(size=400)])
    hits = (random.random(400) < 1 / (1 + np.exp(-2.0 * rows[:, 1]))).astype(float)
    together, runs = model(), model()

    together.add(rows, hits)
    for start in range(0, 400, 20):
        runs.add(rows[start : start + 20], hits[start : start + 20])

    at = np.column_stack([np.ones(9), np.linspace(-2, 2, 9)])
    np.testing.assert_allclose(together.predict(at), runs.predict(at), atol=0.02)


def test_labels_without_exception_are_never_certain() -> None:
    one = model()

    one.add([[1.0, 0.0]] * 30, [1.0] * 30)

    assert 0.9 < chance(one) < 1.0


def test_what_is_far_from_all_labels_is_less_sure() -> None:
    one = model()
    one.add([[1.0, -1.0], [1.0, 1.0]] * 5, [0.0, 1.0] * 5)

    exact = 1 / (1 + np.exp(-8.0 * np.diff(np.log(1 / one.predict([[1, 0.0], [1, 1.0]]) - 1))))

    assert chance(one, (1.0, 8.0)) < 1 - exact[0]


def test_a_weight_of_two_is_the_row_twice() -> None:
    once, twice = model(), model()

    once.add([[1.0, 2.0]], [1.0], weights=[2.0])
    twice.add([[1.0, 2.0]] * 2, [1.0] * 2)

    assert chance(once) == pytest.approx(chance(twice), abs=1e-9)


def test_an_offset_is_part_of_the_logit() -> None:
    assert float(model().predict([[0.0, 0.0]], [2.0])[0]) == pytest.approx(0.8808, abs=1e-4)


def test_forgetting_lets_new_labels_win() -> None:
    keeps, forgets = model(), model()
    for one, forgetting in ((keeps, 1.0), (forgets, 0.9)):
        one.add([[1.0, 0.0]] * 200, [1.0] * 160 + [0.0] * 40, forgetting=forgetting)
        for _ in range(60):
            one.add([[1.0, 0.0]], [0.0], forgetting=forgetting)

    assert chance(forgets) < 0.1
    assert chance(keeps) > 0.5


@given(ROWS, SHARES, st.floats(0, 50))
def test_every_answer_is_a_probability(rows: Any, shares: list[float], offset: float) -> None:
    one = model()

    one.add(rows, shares[: len(rows)], np.full(len(rows), offset))

    assert (np.abs(one.predict(np.eye(2) * 30.0) - 0.5) <= 0.5).all()


@given(ROWS, SHARES)
def test_a_snapshot_brings_everything_back(rows: Any, shares: list[float]) -> None:
    one, again = model(), model()
    one.add(rows, shares[: len(rows)])

    again.restore(json.loads(json.dumps(one.snapshot())))

    np.testing.assert_allclose(one.predict(np.eye(2)), again.predict(np.eye(2)), rtol=1e-12)


def test_fading_takes_certainty() -> None:
    one = model()
    one.add([[1.0, 0.0]] * 100, [1.0] * 80 + [0.0] * 20)
    before = chance(one)

    one.fade(0.05)

    assert 0.5 < chance(one) < before
