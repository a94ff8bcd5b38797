import numpy as np
from routing.baselines import FixedTier, RandomCorrected
from routing.bias import bias, judged
from routing.table import Table

ARMS = np.repeat(np.arange(20), 100)


def test_noise_alone_is_no_bias() -> None:
    chances = [
        judged(np.random.default_rng(seed).normal(size=2000), ARMS).probability
        for seed in range(200)
    ]

    assert 0.02 < np.mean(np.array(chances) < 0.05) < 0.1


def test_a_bias_of_some_arms_is_found() -> None:
    errors = np.random.default_rng(0).normal(size=2000) + 0.5 * (ARMS < 5)

    found = judged(errors, ARMS)

    assert found.probability < 1e-4
    assert found.size > 2 * found.noise
    assert abs(found.shift - 0.125) < 0.1


def test_unknown_rewards_are_left_out() -> None:
    errors = np.where(ARMS == 3, np.nan, 0.1)

    assert abs(judged(errors, ARMS).size - 0.1) < 1e-12


def test_a_cheap_tier_is_biased_and_corrected_rewards_are_not(small: Table) -> None:
    cheap = bias(small, FixedTier(small, 0), 0, passes=5)
    corrected = bias(small, RandomCorrected(small, 0.3, 0), 0, passes=40)

    assert corrected.size < cheap.size
    assert corrected.probability > 1e-3
