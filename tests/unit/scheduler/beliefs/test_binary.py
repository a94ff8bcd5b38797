"""Beliefs about targets that are 0 or 1."""

from math import nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.beliefs.binary import Binary
from verifier_ladder.scheduler.beliefs.calibrated import CalibratedBelief
from verifier_ladder.scheduler.beliefs.declaration import Declaration
from verifier_ladder.scheduler.beliefs.model import Seen

TOP = Declaration("tests")


def model(*tiers: Declaration) -> CalibratedBelief:
    return CalibratedBelief([*(tiers or [Declaration("cheap")]), TOP], fit=Binary)


def seen(scores: Any) -> Seen:
    table = np.array(scores, dtype=float, ndmin=2)
    return Seen(table, np.full(table.shape, nan), np.empty((len(table), 0)))


def teach(one: CalibratedBelief, lower: Any, target: Any) -> CalibratedBelief:
    truth = np.asarray(target, dtype=float)
    one.learn(seen(np.column_stack([lower, truth])), truth, np.ones(len(truth), bool))
    return one


def chance(one: CalibratedBelief, *scores: float) -> float:
    return float(one.predict(seen([*scores, nan])).mean[0])


def outcomes(chances: Any, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).random(len(chances)) < chances).astype(float)


@pytest.mark.parametrize("tier", [Declaration("cheap"), Declaration("cheap", is_same=True)])
@pytest.mark.parametrize(("failed", "passed"), [(0.0, 0.9), (0.3, 0.6), (0.8, 0.2)])
def test_the_chances_of_what_failed_and_passed_a_cheap_test_are_learnt(
    tier: Declaration, failed: float, passed: float
) -> None:
    scores = np.arange(1000) % 2.0

    one = teach(model(tier), scores, outcomes(np.where(scores > 0, passed, failed)))

    assert chance(one, 0.0) == pytest.approx(failed, abs=0.06)
    assert chance(one, 1.0) == pytest.approx(passed, abs=0.06)


def test_chances_follow_a_curve() -> None:
    scores = np.random.default_rng(1).uniform(-3, 3, 3000)
    truth = 1 / (1 + np.exp(-2 * scores))

    one = teach(model(), scores, outcomes(truth))

    for score in (-2.0, 0.0, 1.0):
        assert chance(one, score) == pytest.approx(1 / (1 + np.exp(-2 * score)), abs=0.06)


def test_said_chances_come_true_as_often() -> None:
    random, said, came = np.random.default_rng(2), [], []
    for seed in range(30):
        scores = random.normal(size=232)
        hits = outcomes(1 / (1 + np.exp(-1.5 * scores - 0.5)), seed)
        one = teach(model(), scores[:32], hits[:32])
        said += one.predict(seen([[x, nan] for x in scores[32:]])).mean.tolist()
        came += hits[32:].tolist()
    bins = np.digitize(said, [0.2, 0.4, 0.6, 0.8])

    for number in range(5):
        inside = bins == number
        assert np.mean(np.array(came)[inside]) == pytest.approx(
            np.mean(np.array(said)[inside]), abs=0.07
        )


def test_the_deviation_is_that_of_a_chance() -> None:
    one = teach(model(), np.arange(100) % 2.0, outcomes(np.full(100, 0.5)))

    beliefs = one.predict(seen([[1.0, nan]]))

    p = float(beliefs.mean[0])
    assert beliefs.deviation[0] == pytest.approx(sqrt(p * (1 - p)))


def test_a_tier_that_knows_the_answer_explains_nearly_all_of_the_variance() -> None:
    first, hits = np.arange(600) % 2.0, outcomes(np.full(600, 0.5))

    one = teach(model(Declaration("a"), Declaration("b")), np.column_stack([first, hits]), hits)

    explained = one.predict(seen([1.0, nan, nan])).explained[0]
    assert explained[1] > 0.9
    assert 1.0 == explained[2]


def test_hits_without_exception_are_never_certain() -> None:
    one = teach(model(), np.ones(50), np.ones(50))

    assert 0.9 < chance(one, 1.0) < 1.0


ANY = st.floats(allow_nan=False)


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=30), ANY)
def test_whatever_is_taught_it_says_a_probability(pairs: Any, score: float) -> None:
    one = teach(model(), [x for x, _ in pairs], [y for _, y in pairs])

    beliefs = one.predict(seen([[nan, nan], [score, nan]]))

    assert 0.0 <= beliefs.mean[0] <= 1.0
    assert 0.0 <= beliefs.mean[1] <= 1.0 or len(pairs) < 3
