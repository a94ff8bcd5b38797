"""Beliefs."""

import json
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.decision import Belief
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.beliefs import OffsetBelief

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SPREADS = st.none() | st.floats(0, 1e100)
PAIRS = st.lists(st.tuples(FLOATS, FLOATS), max_size=30)


def taught(model: OffsetBelief, pairs: Any) -> OffsetBelief:
    for score, target in pairs:
        model.learn([score, target], target)
    return model


@given(FLOATS, SPREADS)
def test_the_first_answer_is_the_score_itself(score: float, declared: float | None) -> None:
    model = OffsetBelief([declared, None])

    assert score == model.predict([score, None], [None, None]).mean


@given(FLOATS, PAIRS)
def test_the_top_tier_keeps_its_own_number_bit_for_bit(score: float, pairs: Any) -> None:
    model = taught(OffsetBelief([1.0, 0.5]), pairs)

    belief = model.predict([3.0, score], [None, None])

    assert score.hex() == belief.mean.hex()
    assert 0.5 == belief.deviation


@given(FLOATS)
def test_one_tier_is_its_own_top(score: float) -> None:
    mean, deviation = OffsetBelief([None]).predict([score], [None])

    assert score.hex() == mean.hex()
    assert isnan(deviation)


def test_the_deepest_tier_that_has_answered_speaks() -> None:
    model = OffsetBelief([1.0, 0.5, 0.0])

    assert 2.0 == model.predict([1.0, 2.0, None], [None] * 3).mean
    assert 1.0 == model.predict([1.0, None, None], [None] * 3).mean


def test_a_verdict_knows_its_own_deviation_best() -> None:
    assert 0.25 == OffsetBelief([1.0, None]).predict([0.0, None], [0.25, None]).deviation


def test_before_any_answer_there_is_the_prior() -> None:
    assert Belief(1.0, 2.0) == OffsetBelief([None, None], (1.0, 2.0)).predict(
        [None, None], [None, None]
    )
    assert all(map(isnan, OffsetBelief([None, None]).predict([None, None], [None, None])))


def test_a_tier_that_declares_nothing_is_as_uncertain_as_the_prior() -> None:
    model = OffsetBelief([None, None], (0.0, 3.0))

    assert Belief(1.0, 3.0) == model.predict([1.0, None], [None, None])


def test_without_prior_and_pairs_the_deviation_is_unknown() -> None:
    model = taught(OffsetBelief([None, None]), [(0.0, 1.0)])

    mean, deviation = model.predict([1.0, None], [None, None])

    assert mean == pytest.approx(1.2)
    assert isnan(deviation)


@pytest.mark.parametrize("declared", [None, 0.0, 5.0])
def test_offset_and_spread_are_learnt_from_pairs(declared: float | None) -> None:
    random = np.random.default_rng(0)
    scores = random.normal(0, 3, 5000)
    model = OffsetBelief([declared, 0.0])
    taught(model, zip(scores, scores + random.normal(-2.0, 0.7, 5000), strict=True))

    mean, deviation = model.predict([1.0, None], [None, None])

    assert mean == pytest.approx(-1.0, abs=0.05)
    assert deviation == pytest.approx(0.7, abs=0.05)


def test_more_pairs_make_the_offset_surer() -> None:
    means = [
        taught(OffsetBelief([1.0, 0.0]), [(0.0, 2.0)] * n).predict([0.0, None], [None] * 2).mean
        for n in (0, 1, 4, 1000)
    ]

    assert [0.0, 0.4, 1.0] == means[:3]
    assert means[3] == pytest.approx(2.0, abs=0.01)


@given(PAIRS, FLOATS, SPREADS, SPREADS)
def test_no_pairs_can_make_a_belief_meaningless(
    pairs: Any, score: float, declared: float | None, own: float | None
) -> None:
    """Huge scores, which a gamed verifier may give, can't break everybody's beliefs."""
    mean, deviation = taught(OffsetBelief([declared, 0.0]), pairs).predict(
        [score, None], [own, None]
    )

    assert abs(mean) < float("inf")
    assert isnan(deviation) or 0.0 <= deviation < float("inf")


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(0, 10))
def test_the_spread_is_at_least_that_of_the_pairs_share(
    targets: list[float], declared: float
) -> None:
    model = taught(OffsetBelief([declared, 0.0]), [(0.0, t) for t in targets])

    deviation = model.predict([0.0, None], [None, None]).deviation

    least = sqrt(len(targets) / (len(targets) + 4)) * float(np.std(targets))
    assert deviation >= least * (1 - 1e-6) - 1e-6


@given(PAIRS, FLOATS)
def test_a_snapshot_brings_everything_back(pairs: Any, score: float) -> None:
    model = taught(OffsetBelief([1.0, None, None]), [])
    for low, target in pairs:
        model.learn([low, None, target], target)
    again = OffsetBelief([1.0, None, None])

    again.restore(json.loads(json.dumps(model.snapshot())))

    assert model.snapshot() == again.snapshot()
    given_scores: tuple[list[float | None], list[None]] = ([score, None, None], [None] * 3)
    assert repr(model.predict(*given_scores)) == repr(again.predict(*given_scores))


@pytest.mark.parametrize("snapshot", [{}, {"residuals": []}, {"residuals": [[9, 9.0, 9.0]]}])
def test_a_snapshot_of_another_ladder_is_ignored(snapshot: dict[str, Any]) -> None:
    model = taught(OffsetBelief([1.0, 0.0]), [(0.0, 1.0)])
    before = model.snapshot()

    model.restore(snapshot)

    assert before == model.snapshot()


def test_tiers_that_did_not_answer_learn_nothing() -> None:
    model = OffsetBelief([1.0, 1.0, 0.0])

    model.learn([None, 2.0, 3.0], 3.0)

    assert [[0, 0.0, 0.0], [1, 1.0, 1.0], [0, 0.0, 0.0]] == model.snapshot()["residuals"]


def test_a_ladder_declares_the_deviations_of_its_primaries() -> None:
    def made(name: str, tier: str, **attributes: Any) -> FunctionVerifier:
        return FunctionVerifier(len, name=name, version="1", tier=tier, **attributes)

    ladder = Ladder(
        "mine", [made("gate", "fast", role="gate"), made("relax", "simulation", deviation=0.5),
                 made("dft", "high_fidelity")], prior=(1.0, 2.0),
    )  # fmt: skip

    model = OffsetBelief.for_ladder(ladder)

    assert Belief(1.0, 2.0) == model.predict([None] * 3, [None] * 3)
    assert Belief(3.0, 0.5) == model.predict([None, 3.0, None], [None] * 3)
    assert repr(Belief(3.0, nan)) == repr(model.predict([None, 3.0, 3.0], [None] * 3))
