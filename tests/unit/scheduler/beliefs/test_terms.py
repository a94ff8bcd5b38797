"""Terms of a calibration."""

import json
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.beliefs.answers import Answers
from verifier_ladder.scheduler.beliefs.declaration import Declaration, Declared
from verifier_ladder.scheduler.beliefs.terms import LARGEST, Terms

ANY = st.floats(-LARGEST, LARGEST)
FOREIGN, SAME = Declared((Declaration("a"),)), Declared((Declaration("a", is_same=True),))


def answers(scores: Any, features: Any = None) -> Answers:
    table = np.asarray(scores, dtype=float)
    table = table.reshape(len(table), -1)
    size = len(table)
    given = np.empty((size, 0)) if features is None else np.asarray(features, dtype=float)
    return Answers(table, np.full(size, nan), given)


def spread(count: int = 100, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=count)


def test_scores_are_standardised_and_bent_at_their_quintiles() -> None:
    scores = 1e6 + 10.0 * spread(1000)

    rows, guess, excess = Terms.of(FOREIGN, answers(scores), spread(1000, 1)).rows(answers(scores))

    assert (1000, 6) == rows.shape
    assert [1.0, 1.0] == [rows[:, 0].min(), rows[:, 0].max()]
    assert rows[:, 1].std() == pytest.approx(1.0, abs=0.1)
    assert (rows[:, 2:] > 0).mean(axis=0) == pytest.approx([0.8, 0.6, 0.4, 0.2], abs=0.01)
    assert 1 == len(set(guess))
    assert not excess.any()


def test_few_labels_bend_nothing() -> None:
    scores = answers(spread(7))

    assert (7, 2) == Terms.of(FOREIGN, scores, spread(7)).rows(scores)[0].shape


def test_a_constant_tier_bends_nothing() -> None:
    scores = answers(np.full(50, 3.0))

    rows, _, _ = Terms.of(FOREIGN, scores, spread(50)).rows(scores)

    assert (50, 2) == rows.shape
    assert not rows[:, 1].any()


def test_one_absurd_score_does_not_set_the_scale() -> None:
    scores = spread(99)
    plain = Terms.of(FOREIGN, answers(scores), spread(99, 1))
    absurd = Terms.of(FOREIGN, answers([*scores, LARGEST]), spread(100, 1))

    assert absurd.scales[0] == pytest.approx(plain.scales[0], rel=0.1)
    assert absurd.unit == pytest.approx(plain.unit, rel=0.1)


def test_the_first_guess_is_the_score_of_a_tier_that_estimates_the_target() -> None:
    terms = Terms.of(SAME, answers([1.0]), np.array([2.0]))

    assert [1e9] == terms.rows(answers([1e9]))[1].tolist()


def test_what_lies_beyond_the_range_is_not_believed_and_is_doubted() -> None:
    scores = answers(np.linspace(0.0, 10.0, 50))
    terms = Terms.of(SAME, scores, np.linspace(0.0, 10.0, 50))

    _, guess, excess = terms.rows(answers([5.0, 1000.0, LARGEST]))

    assert 5.0 == pytest.approx(guess[0])
    assert 10.0 < guess[1] == guess[2] < 40.0
    assert 0.0 == excess[0]
    assert excess[1] == pytest.approx(min(1000.0 - guess[1], 100.0 * terms.unit))
    assert excess[2] == pytest.approx(100.0 * terms.unit)


def test_labels_widen_the_range_by_one_deviation_each() -> None:
    scores = answers(np.linspace(0.0, 10.0, 50))
    terms = Terms.of(SAME, scores, np.linspace(0.0, 10.0, 50))
    high = float(terms.high[0])

    terms.widen(answers([LARGEST]))
    assert high + 1.0 == terms.high[0]
    terms.widen(answers([5.0]))
    assert high + 1.0 == terms.high[0]


def test_a_missing_feature_counts_as_its_mean() -> None:
    table = [[1.0, nan], [3.0, nan], [nan, nan]]
    scores = answers([1.0, 2.0, 3.0], table)

    rows, _, _ = Terms.of(FOREIGN, scores, spread(3)).rows(scores)

    assert [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]] == rows[:, 2:].tolist()


def test_a_declared_prior_is_the_scale_until_there_are_labels_enough() -> None:
    declared = Declared((Declaration("a"),), prior=(5.0, 2.0))

    few = Terms.of(declared, answers(spread(3)), spread(3))
    many = Terms.of(declared, answers(spread(100)), spread(100))

    assert (5.0, 2.0) == (few.centre, few.unit)
    assert many.unit == pytest.approx(1.0, abs=0.2)


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=20), st.lists(ANY, min_size=1))
def test_all_terms_are_finite_and_their_squares_too(
    labels: list[tuple[float, float]], scores: list[float]
) -> None:
    for declared in (FOREIGN, SAME):
        terms = Terms.of(
            declared, answers([x for x, _ in labels]), np.array([y for _, y in labels])
        )

        for part in terms.rows(answers(scores)):
            assert np.isfinite(part**2).all()
        assert terms.unit > 0


def test_terms_come_back_from_json() -> None:
    scores = answers(spread(), np.column_stack([spread(), np.full(100, nan)]))
    terms = Terms.of(SAME, scores, spread(100, 1))

    again = Terms.from_json(json.loads(json.dumps(terms.as_json())))

    for mine, theirs in zip(terms.rows(scores), again.rows(scores), strict=True):
        np.testing.assert_array_equal(mine, theirs)
