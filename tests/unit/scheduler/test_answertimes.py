"""Answer times."""

import json
from math import exp, inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.answertimes import AnswerTimes

SECONDS = st.floats(0.0, 1e12)
ENDED = st.lists(st.none() | SECONDS, max_size=30)
AGES = st.lists(SECONDS, max_size=10)


def taught(ended: list[float | None], expected: float | None = None) -> AnswerTimes:
    times = AnswerTimes(expected)
    for seconds in ended:
        times.add(seconds)
    return times


@given(ENDED, AGES, st.lists(SECONDS, min_size=2, max_size=8))
def test_more_time_never_makes_an_answer_less_likely(
    ended: list[float | None], ages: list[float], left: list[float]
) -> None:
    times = taught(ended)

    chances = [times.within(seconds, ages) for seconds in [*sorted(left), inf]]

    assert all(0.0 <= chance <= 1.0 for chance in chances)
    assert chances == sorted(chances)


@given(ENDED, st.floats(1e-9, 1e9))
def test_there_is_always_some_chance_while_there_is_time(
    ended: list[float | None], left: float
) -> None:
    """A propensity of 0 would say that an answer which did come can not have come."""
    assert taught(ended).within(left) > 0.0


@pytest.mark.parametrize("left", [0.0, -1.0, -inf, nan])
def test_no_time_left_is_no_chance(left: float) -> None:
    assert 0.0 == taught([1.0, 2.0]).within(left)


def test_the_curve_is_learnt_from_answers() -> None:
    random = np.random.default_rng(0)
    times = taught(random.exponential(100.0, 3000).tolist())

    for seconds in (10.0, 50.0, 100.0, 300.0):
        assert times.within(seconds) == pytest.approx(1.0 - exp(-seconds / 100.0), abs=0.03)


def test_checks_that_are_still_out_speak_for_the_slow_ones() -> None:
    """Half of the checks take a week; after an hour only the quick half has answered."""
    times = taught([60.0] * 200)

    assert times.within(3600.0) > 0.95
    assert times.within(3600.0, waiting=[3600.0] * 200) == pytest.approx(0.5, abs=0.05)


def test_a_failed_check_never_answers() -> None:
    times = taught([60.0, None] * 200)

    assert times.within(inf) == pytest.approx(0.5, abs=0.05)


def test_without_failures_every_check_answers_at_last() -> None:
    assert 1.0 == AnswerTimes().within(inf) == taught([1.0, 1e12]).within(inf)


def test_before_any_answer_the_expected_time_speaks() -> None:
    assert AnswerTimes(60.0).within(60.0) == pytest.approx(0.5, abs=0.05)
    assert AnswerTimes(60.0).within(1.0) < 0.01
    assert AnswerTimes(60.0).within(3600.0) > 0.99
    assert 0.1 < AnswerTimes().within(60.0) < 0.9


@pytest.mark.parametrize("seconds", [-5.0, nan, -inf])
def test_a_clock_that_jumps_says_nothing(seconds: float) -> None:
    times = taught([60.0] * 5)
    before = times.snapshot()

    times.add(seconds)

    assert before == times.snapshot()
    assert times.within(50.0) == times.within(50.0, waiting=[seconds])


def test_old_answers_are_forgotten() -> None:
    times = taught([1.0] * 1000)

    for _ in range(10_000):
        times.add(1000.0)

    assert times.within(100.0) < 0.01


@given(ENDED, AGES, SECONDS)
def test_a_snapshot_brings_everything_back(
    ended: list[float | None], ages: list[float], left: float
) -> None:
    times, again = taught(ended, 10.0), AnswerTimes(10.0)

    again.restore(json.loads(json.dumps(times.snapshot())))

    assert times.within(left, ages) == again.within(left, ages)


@pytest.mark.parametrize("snapshot", [{}, {"answered": [1.0], "lost": 0.0}])
def test_a_snapshot_of_other_bins_is_ignored(snapshot: dict[str, list[float]]) -> None:
    times = taught([1.0])
    before = times.snapshot()

    times.restore(snapshot)

    assert before == times.snapshot()


@pytest.mark.parametrize("expected", [0.0, -1.0, nan, inf])
def test_an_expected_time_that_is_none_is_refused(expected: float) -> None:
    with pytest.raises(ConfigError, match="positive seconds"):
        AnswerTimes(expected)
