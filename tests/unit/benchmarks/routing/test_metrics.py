import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing.backend import Scored
from routing.metrics import Interval, correlation, cosine, floor_of, interval, learnt_from

NUMBERS = st.floats(-1e3, 1e3)


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_the_mean_lies_in_its_interval(values: list[float]) -> None:
    found = interval(values)

    assert min(values) - 1e-9 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= max(values) + 1e-9


def test_more_runs_make_an_interval_narrower() -> None:
    values = np.random.default_rng(0).normal(size=200)

    few, many = interval(values[:10].tolist()), interval(values.tolist())

    assert many.high - many.low < few.high - few.low


def test_unknown_numbers_are_left_out_of_a_mean() -> None:
    assert 2.0 == interval([1.0, float("nan"), 3.0]).mean
    assert np.isnan(interval([]).mean)


def test_a_search_that_never_ends_has_no_mean() -> None:
    assert np.isinf(interval([1.0, float("inf")]).mean)


def test_an_interval_shows_its_ends_only_if_it_has_some() -> None:
    assert "0.5" == str(Interval(0.5, 0.5, 0.5))
    assert "0.5 (0.25–0.75)" == str(Interval(0.5, 0.25, 0.75))


def test_a_correlation_knows_direction_and_no_scale() -> None:
    values = np.array([1.0, 2.0, 4.0])

    assert 1.0 == pytest.approx(correlation(values, 3 * values + 7))
    assert -1.0 == pytest.approx(correlation(values, -values))
    assert np.isnan(correlation(values, np.ones(3)))


def test_the_cosine_looks_at_arms_not_at_samples() -> None:
    arm = np.array([0, 0, 1, 1])
    truth = np.array([1.0, 0.0, -1.0, 0.0])

    assert 1.0 == pytest.approx(cosine(truth, np.array([0.0, 2.0, 0.0, -2.0]), arm))
    assert -1.0 == pytest.approx(cosine(truth, -truth, arm))


def test_a_learner_makes_nothing_of_an_unknown_reward() -> None:
    rewards = np.array([1.0, np.nan, 3.0])

    made = learnt_from(Scored.plain(rewards), np.zeros(3, dtype=np.int64), 0.1)

    assert [-1.0, 0.0, 1.0] == made.tolist()


def test_what_is_believed_of_the_spread_divides_corrected_rewards() -> None:
    rewards = np.array([10.0, 0.0])
    scored = Scored(rewards, np.array([1.0, 0.0]), np.zeros(2))

    assert [10.0, -10.0] == learnt_from(scored, np.zeros(2, dtype=np.int64), 0.1).tolist()


def test_a_table_without_spread_still_has_a_floor() -> None:
    assert floor_of(np.ones(5)) > 0
