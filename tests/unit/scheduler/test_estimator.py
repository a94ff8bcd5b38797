"""Estimators: what a drawn truth does to a reward."""

from math import inf, isclose, isfinite, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.estimator import Estimator, corrected, is_biased

CHANCES = st.floats(1e-9, 1.0)
NUMBERS = st.floats(-1e6, 1e6)
SIZES = st.integers(1, 10_000)
MODES = st.sampled_from(["auto", "unbiased", "clipped", "plugin"])


def factor(mode: Any, chance: float, samples: int = 128, limit: float | None = None) -> float:
    return float(Estimator(mode, limit).factors(chance, samples))


def mean_reward(estimate: float, truth: float, chance: float, weight: float) -> float:
    """The expectation over the draw, by adding up its two outcomes."""
    drawn = corrected(estimate, truth, weight)
    assert drawn is not None
    return chance * drawn + (1.0 - chance) * estimate


@given(NUMBERS, NUMBERS, CHANCES, SIZES)
def test_the_unbiased_reward_is_right_in_the_mean_whatever_the_belief_says(
    estimate: float, truth: float, chance: float, samples: int
) -> None:
    mean = mean_reward(estimate, truth, chance, factor("unbiased", chance, samples))

    assert mean == pytest.approx(truth, rel=1e-9, abs=1e-6)


@given(NUMBERS, NUMBERS, CHANCES, SIZES, MODES)
def test_every_mode_leaves_the_share_of_the_error_that_it_says(
    estimate: float, truth: float, chance: float, samples: int, mode: Any
) -> None:
    weight = factor(mode, chance, samples)

    mean = mean_reward(estimate, truth, chance, weight)

    left = 1.0 - chance * weight
    assert mean - truth == pytest.approx(left * (estimate - truth), rel=1e-6, abs=1e-5)
    assert -1e-9 <= left <= 1.0


@given(CHANCES, st.floats(1.0, 1e6))
def test_auto_has_the_least_error_of_all_weights(chance: float, size: float) -> None:
    """`size` samples whose beliefs err alike by 1: the error of their average is the bias squared
    plus the variance of one draw divided by their number."""

    def error(weight: float) -> float:
        kept = chance * weight
        return (1.0 - kept) ** 2 + kept**2 * (1.0 - chance) / chance / size

    best = error(factor("auto", chance, limit=size))

    assert all(best <= error(w) + 1e-12 for w in np.geomspace(1.0, 1.0 / chance, 50))


@given(CHANCES, SIZES)
def test_factors_are_ordered_by_how_much_bias_the_mode_allows(chance: float, samples: int) -> None:
    plugin, auto, unbiased = (
        factor(mode, chance, samples) for mode in ("plugin", "auto", "unbiased")
    )

    assert 1.0 == plugin <= auto * (1 + 1e-12)
    assert auto <= unbiased * (1 + 1e-12)
    assert auto <= max(1.0, samples / 2) * (1 + 1e-12)


@given(MODES, SIZES)
def test_certain_verification_is_the_truth_bit_for_bit(mode: Any, samples: int) -> None:
    weight = factor(mode, 1.0, samples)

    assert 1.0 == weight
    assert (0.1 + 0.2).hex() == float(corrected(0.7, 0.1 + 0.2, weight) or 0.0).hex()


@pytest.mark.parametrize("mode", ["auto", "unbiased", "clipped", "plugin"])
@pytest.mark.parametrize("chance", [0.0, -0.5, 1.5, nan, inf])
def test_what_can_not_have_been_drawn_is_never_corrected(mode: Any, chance: float) -> None:
    assert 0.0 == factor(mode, chance)
    assert 0.25 == corrected(0.25, 1.0, factor(mode, chance))


def test_more_samples_allow_larger_weights() -> None:
    assert [1.0, 8.0, 64.0, 256.0] == [
        pytest.approx(factor("auto", 1e-12, n)) for n in (1, 16, 128, 512)
    ]
    assert [4.0, 4.0, 8.0, 8.0] == [factor("clipped", 1e-12, n) for n in (16, 128, 512, 4096)]


def test_a_limit_replaces_the_one_that_follows_the_update() -> None:
    assert 16.0 == factor("clipped", 1e-9, limit=16.0)
    assert 16.0 == pytest.approx(factor("auto", 1e-12, limit=16.0))


@given(st.floats(5e-324, 1.0), MODES)
def test_the_tiniest_chance_has_a_finite_factor(chance: float, mode: Any) -> None:
    assert isfinite(factor(mode, chance))


def test_factors_keep_the_shape_of_the_chances() -> None:
    assert (0,) == Estimator().factors([], 128).shape
    assert (2, 3) == Estimator().factors(np.full((2, 3), 0.5), 128).shape


@pytest.mark.parametrize("unknown", [None, nan, inf])
def test_without_an_answer_the_reward_stays(unknown: float | None) -> None:
    assert 0.5 == corrected(0.5, unknown, 8.0)


@pytest.mark.parametrize("unknown", [None, nan])
def test_without_an_estimate_there_is_nothing_to_correct(unknown: float | None) -> None:
    assert 2.0 == corrected(unknown, 2.0, 8.0)
    assert corrected(unknown, None, 8.0) is None
    assert corrected(unknown, unknown, 8.0) is None


@given(st.floats(allow_nan=False), st.floats(allow_nan=False), st.floats(0.0, 1e300))
def test_no_numbers_make_a_reward_that_is_none(
    estimate: float, truth: float, weight: float
) -> None:
    reward = corrected(estimate, truth, weight)

    assert (reward is None) == (not isfinite(estimate) and not isfinite(truth))
    assert reward is None or isfinite(reward)


@given(CHANCES, SIZES)
def test_bias_is_told_from_what_the_ledger_holds(chance: float, samples: int) -> None:
    assert not is_biased(chance, factor("unbiased", chance, samples))
    assert bool(is_biased(chance, 1.0)) == (not isclose(chance, 1.0, abs_tol=1e-9))
    assert is_biased(0.0, 0.0)


@pytest.mark.parametrize(
    ("mode", "limit", "said"),
    [("best", None, "choose one of auto"), ("plugin", 4.0, "has no limit"),
     ("unbiased", 4.0, "has no limit"), ("auto", 0.5, "at least 1"),
     ("clipped", nan, "at least 1")],
)  # fmt: skip
def test_what_makes_no_estimator_is_refused(mode: Any, limit: float | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Estimator(mode, limit)


def test_an_estimator_tells_what_it_is() -> None:
    assert {"mode": "clipped", "limit": 4.0} == Estimator("clipped", 4.0).as_json()
