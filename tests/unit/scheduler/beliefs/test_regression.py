"""Bayesian linear regression."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.beliefs.regression import Regression

ROWS = hnp.arrays(float, st.tuples(st.integers(0, 12), st.just(3)), elements=st.floats(-10, 10))


def line(size: int = 2, **changes: Any) -> Regression:
    settings: dict[str, Any] = {
        "mean": [0.0] * size, "precision": [1.0] * size, "shape": 2.0, "rate": 1.0,
    }  # fmt: skip
    return Regression(**(settings | changes))


def same(one: Regression, other: Regression, rows: Any) -> None:
    mine, theirs = one.predict(rows), other.predict(rows)
    np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mine.scale, theirs.scale, rtol=1e-9)
    assert mine.degrees == pytest.approx(theirs.degrees)


def test_before_any_label_the_prior_speaks() -> None:
    predictive = line(mean=[1.0, 2.0]).predict([[1.0, 3.0]])

    assert [7.0] == predictive.mean.tolist()
    assert 4.0 == predictive.degrees
    assert predictive.scale[0] == pytest.approx(np.sqrt(0.5 * (1 + 1 + 9)))


def test_it_is_the_posterior_of_the_textbook() -> None:
    """Against the formulas of Murphy (2012), section 7.6.3, in their plain form."""
    random = np.random.default_rng(0)
    rows, targets = random.normal(size=(20, 3)), random.normal(size=20)
    prior, mean = np.diag([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 0.0])
    model = Regression(mean.tolist(), np.diag(prior).tolist(), shape=2.5, rate=0.7)

    model.add(rows, targets)

    precision = prior + rows.T @ rows
    centre = np.linalg.solve(precision, prior @ mean + rows.T @ targets)
    rate = 0.7 + (targets @ targets + mean @ prior @ mean - centre @ precision @ centre) / 2
    row = np.array([1.0, 2.0, -1.0])
    leverage = row @ np.linalg.solve(precision, row)
    predictive = model.predict(row[None])
    assert predictive.mean[0] == pytest.approx(row @ centre)
    assert predictive.scale[0] == pytest.approx(np.sqrt(rate / 12.5 * (1 + leverage)))
    assert 25.0 == predictive.degrees
    assert model.variance == pytest.approx(rate / 11.5)
    assert model.coefficients == pytest.approx(centre)


@given(ROWS, st.floats(0.5, 1.0), st.integers(0, 12))
def test_rows_learnt_together_are_as_good_as_one_by_one(
    rows: Any, forgetting: float, cut: int
) -> None:
    targets = rows.sum(axis=1)
    together, parted, single = (line(3, forgetting=forgetting) for _ in range(3))

    together.add(rows, targets)
    parted.add(rows[:cut], targets[:cut])
    parted.add(rows[cut:], targets[cut:])
    for row, target in zip(rows, targets, strict=True):
        single.add([row], [target])

    same(together, parted, np.eye(3))
    same(together, single, np.eye(3))


@given(ROWS, ROWS)
def test_a_snapshot_brings_everything_back(before: Any, after: Any) -> None:
    model, again = line(3, forgetting=0.9), line(3)
    model.add(before, before.sum(axis=1))

    again.restore(json.loads(json.dumps(model.snapshot())))
    for one in (model, again):
        one.add(after, after.prod(axis=1))

    same(model, again, np.eye(3))


def test_a_weight_of_two_is_the_row_twice() -> None:
    once, twice = line(), line()

    once.add([[1.0, 2.0]], [3.0], weights=[2.0])
    twice.add([[1.0, 2.0]] * 2, [3.0] * 2)

    same(once, twice, np.eye(2))


def test_without_new_rows_of_a_kind_the_prior_returns() -> None:
    model = line(forgetting=0.9, mean=[0.0, 1.0])
    model.add([[0.0, 1.0]] * 50, [5.0] * 50)

    model.add([[1.0, 0.0]] * 1000, [2.0] * 1000)

    assert model.coefficients == pytest.approx([2.0 * 10 / 11, 1.0], abs=0.01)


def test_a_large_offset_costs_no_accuracy() -> None:
    random = np.random.default_rng(1)
    rows = np.column_stack([np.ones(400), random.normal(size=400)])
    model = line(mean=[1e9, 1.0], rate=1e-4)

    model.add(rows, 1e9 + rows[:, 1] + 1e-2 * random.normal(size=400))

    assert np.sqrt(model.variance) == pytest.approx(1e-2, rel=0.2)
    assert model.coefficients[1] == pytest.approx(1.0, abs=0.01)


def test_a_hundred_thousand_rows_leave_no_drift() -> None:
    random = np.random.default_rng(2)
    rows = np.column_stack([np.ones(100_000), random.normal(size=100_000)])
    targets = rows @ [1.0, -2.0] + 0.5 * random.normal(size=100_000)
    model, recent = line(forgetting=0.999), line(forgetting=0.999)

    for start in range(0, 100_000, 250):
        model.add(rows[start : start + 250], targets[start : start + 250])
    recent.add(rows[-20_000:], targets[-20_000:])

    assert model.count == pytest.approx(1000.0)
    assert np.sqrt(model.variance) == pytest.approx(0.5, abs=0.03)
    np.testing.assert_allclose(model.coefficients, recent.coefficients, rtol=1e-6)


def test_a_column_of_zeros_and_twin_columns_are_no_special_case() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=200)
    model = line(4)

    model.add(np.column_stack([np.ones(200), np.zeros(200), x, x]), 3.0 * x)

    assert model.predict([[1.0, 9.0, 1.0, 1.0]]).mean[0] == pytest.approx(3.0, abs=0.05)


def test_fading_leaves_the_line_and_takes_its_certainty() -> None:
    random = np.random.default_rng(4)
    rows = np.column_stack([np.ones(500), random.normal(size=500)])
    model = line(precision=[1e-3, 1e-3])
    model.add(rows, rows @ [1.0, 2.0] + random.normal(size=500))
    before = model.predict([[1.0, 1.0]])

    model.fade(8.0)

    after = model.predict([[1.0, 1.0]])
    assert 8.0 == model.count
    assert after.mean[0] == pytest.approx(before.mean[0], abs=0.01)
    assert after.scale[0] > before.scale[0]
    model.fade(100.0)
    assert 8.0 == model.count


def test_two_degrees_of_freedom_have_no_deviation() -> None:
    assert [np.inf] == line(shape=1.0).predict([[1.0, 0.0]]).deviation.tolist()
    assert np.inf == line(shape=1.0).variance


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_learnt(bad: float) -> None:
    for rows, targets in (([[1.0, bad]], [1.0]), ([[1.0, 1.0]], [bad])):
        with pytest.raises(ConfigError, match="finite"):
            line().add(rows, targets)


@pytest.mark.parametrize(
    "wrong",
    [{"precision": [1.0]}, {"precision": [1.0, 0.0]}, {"rate": 0.0}, {"mean": [0.0, np.nan]},
     {"forgetting": 0.0}, {"forgetting": 1.5}, {"shape": -1.0}],
    ids=str,
)  # fmt: skip
def test_a_prior_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        line(**wrong)


def test_a_snapshot_of_other_features_is_refused() -> None:
    with pytest.raises(ConfigError, match="3 features"):
        line(2).restore(line(3).snapshot())
