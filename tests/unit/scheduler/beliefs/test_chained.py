"""Chained beliefs: what a tier would say first, and from that the target."""

import json
from math import isfinite, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.beliefs import (
    Beliefs,
    CalibratedBelief,
    ChainedBelief,
    Seen,
    create_model,
)
from verifier_ladder.scheduler.beliefs.declaration import Declaration
from verifier_ladder.scheduler.policies import Discovery, ValueOfInformation
from verifier_ladder.target import Target

FAST, MID, TOP = Declaration("fast"), Declaration("mid", "1", is_same=True), Declaration("top")
THREE = [FAST, MID, TOP]
SCORES = st.floats(-1e6, 1e6) | st.just(nan)


def model(tiers: Any = THREE, features: int = 1) -> ChainedBelief:
    return ChainedBelief(CalibratedBelief(tiers, owners=[-1] * features), tiers)


def seen(scores: Any, features: Any) -> Seen:
    table = np.array(scores, dtype=float, ndmin=2)
    return Seen(table, np.full(table.shape, nan), np.array(features, dtype=float, ndmin=2))


def hear(belief: ChainedBelief, scores: Any, features: Any) -> None:
    """Tell what the dearest tier in each row has said."""
    rows = seen(scores, features)
    belief.learn(rows, np.full(len(rows), nan), np.zeros(len(rows), bool))


def label(belief: ChainedBelief, scores: Any, features: Any, target: Any) -> None:
    truth = np.array(target, dtype=float)
    belief.learn(seen(scores, features), truth, np.zeros(len(truth), bool))


def a_search(size: int = 60, labels: int = 12) -> tuple[ChainedBelief, np.ndarray, np.ndarray]:
    """A belief that was told of many candidates, and of the best few what they are worth.

    The feature tells half of the variance of what the middle tier says, and that nearly all of
    the target's.
    """
    rng = np.random.default_rng(1)
    feature = rng.normal(size=size)
    said = feature + rng.normal(size=size)
    truth = said + 0.1 * rng.normal(size=size)
    belief = model()
    rows = np.column_stack([np.zeros(size), said, np.full(size, nan)])
    hear(belief, rows, feature[:, None])
    best = np.argsort(-said)[:labels]
    label(belief, rows[best], feature[best, None], truth[best])
    return belief, feature, truth


def unseen(belief: ChainedBelief, *features: float) -> Beliefs:
    """What is believed of candidates of which only the lowest tier has spoken."""
    rows = np.column_stack([np.zeros(len(features)), np.full((len(features), 2), nan)])
    return belief.predict(seen(rows, np.array(features)[:, None]))


def test_labels_chosen_for_what_a_tier_said_do_not_mislead_about_the_others() -> None:
    belief, feature, truth = a_search()

    beliefs = unseen(belief, *feature)

    assert abs(beliefs.mean.mean() - truth.mean()) < 0.25  # The labelled ones are 2 above.
    assert 0.6 < np.corrcoef(beliefs.mean, feature)[0, 1]


def test_what_lies_between_the_answers_of_a_tier_is_what_it_explains() -> None:
    belief, _, _ = a_search()

    beliefs = unseen(belief, 0.0)

    assert 0.5 < beliefs.explained[0, 1] <= 1.0
    assert 1.0 == beliefs.explained[0, 2]
    assert 0.6 < beliefs.deviation[0] < 1.3


def test_where_the_next_tier_has_answered_the_other_model_speaks() -> None:
    belief, _, _ = a_search()
    plain = CalibratedBelief(THREE, owners=[-1])
    snapshot = belief.snapshot()
    plain.restore(snapshot["target"])
    rows = seen([[0.0, 1.5, nan], [0.0, -1.0, 0.5], [nan, 1.0, nan]], [[1.0], [0.0], [0.0]])

    mine, theirs = belief.predict(rows), plain.predict(rows)

    for name in ("mean", "deviation", "explained"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(mine, name))


def changed_by(answers: int) -> bool:
    """Whether so many answers of a tier change what is believed of the unseen."""
    belief = model()
    label(belief, [[0.0, 1.0, nan]] * 3, [[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    before = unseen(belief, 0.5)
    rows = [[0.0, 5.0 + number, nan] for number in range(answers)]
    hear(belief, rows, [[0.0]] * answers)
    return bool(before.mean[0] != unseen(belief, 0.5).mean[0])


def test_a_few_answers_of_a_tier_promise_nothing() -> None:
    assert not changed_by(7)
    assert changed_by(8)


def test_a_chain_of_two_tiers_is_followed_to_its_end() -> None:
    tiers = [FAST, Declaration("low", is_same=True), MID, TOP]
    belief = model(tiers)
    rng = np.random.default_rng(2)
    feature = rng.normal(size=40)
    low = feature + rng.normal(size=40)
    mid = low + 0.5 * rng.normal(size=40)
    nothing = np.full(40, nan)
    hear(belief, np.column_stack([0 * low, low, nothing, nothing]), feature[:, None])
    rows = np.column_stack([0 * low, low, mid, nothing])
    hear(belief, rows, feature[:, None])
    label(belief, rows[:10], feature[:10, None], mid[:10])

    beliefs = belief.predict(seen([[0.0, nan, nan, nan]], [[1.0]]))

    assert 0.3 < beliefs.mean[0] < 1.7
    low_share, mid_share = beliefs.explained[0, 1], beliefs.explained[0, 2]
    assert 0.5 < low_share < mid_share <= 1.0


def test_a_row_without_a_target_teaches_nothing_of_the_target() -> None:
    belief = model()

    hear(belief, [[0.0, 1.0, nan]] * 5, [[0.0]] * 5)

    assert [] == belief.snapshot()["target"]["patterns"]["calibrators"]


@settings(max_examples=30)
@given(st.lists(st.tuples(SCORES, SCORES, SCORES, st.floats(-1e6, 1e6)), min_size=1, max_size=20))
def test_whatever_was_said_beliefs_are_numbers_or_unknown(rows: list[tuple[float, ...]]) -> None:
    belief = model()
    table = np.array(rows)
    scores, feature = table[:, :3].copy(), table[:, 3:]
    target = scores[:, 2].copy()
    scores[:, 2] = nan
    belief.learn(seen(scores, feature), target, np.zeros(len(table), bool))

    beliefs = belief.predict(seen(scores, feature))

    assert not np.isinf(beliefs.mean).any()
    assert (np.isnan(beliefs.deviation) | (beliefs.deviation >= 0)).all()
    assert ((beliefs.explained >= 0) & (beliefs.explained <= 1)).all()


@settings(max_examples=20)
@given(st.integers(0, 30))
def test_what_comes_back_from_a_snapshot_predicts_and_learns_the_same(labels: int) -> None:
    belief, feature, truth = a_search(40, labels)
    again = model()

    again.restore(json.loads(json.dumps(belief.snapshot())))
    for one in (belief, again):
        hear(one, [[0.0, 1.0, nan]], [[0.5]])
        label(one, [[0.0, 1.0, nan]], [[0.5]], [truth[0]])

    mine, theirs = unseen(belief, *feature), unseen(again, *feature)
    np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-9)
    np.testing.assert_allclose(mine.deviation, theirs.deviation, rtol=1e-9)
    assert belief.version == again.version


def test_what_an_earlier_version_of_a_tier_said_is_forgotten() -> None:
    belief, _, _ = a_search()
    newer = model([FAST, Declaration("mid", "2", is_same=True), TOP])

    newer.restore(belief.snapshot())

    stages = newer.snapshot()["stages"]
    assert [0, 0] == [stage["count"] for stage in stages]
    assert isfinite(newer.predict(seen([[0.0, 1.0, nan]], [[0.0]])).mean[0])


def test_a_snapshot_of_another_model_teaches_nothing() -> None:
    belief = model()

    belief.restore(CalibratedBelief(THREE).snapshot())

    assert model().snapshot() == belief.snapshot()


def test_after_a_drift_what_the_tier_says_is_forgotten_sooner() -> None:
    steady, alarmed = a_search()[0], a_search()[0]

    alarmed.set_forgetting(1, 0.9)
    for belief in (steady, alarmed):
        hear(belief, [[0.0, 9.0, nan]] * 40, [[0.0]] * 40)

    assert unseen(steady, 0.0).mean[0] + 1.0 < unseen(alarmed, 0.0).mean[0]


@pytest.mark.parametrize(
    ("policy", "scale", "kind"),
    [
        (Discovery(), "real", ChainedBelief),
        (Discovery(), "binary", CalibratedBelief),
        (ValueOfInformation(), "real", CalibratedBelief),
    ],
)
def test_a_search_believes_in_chains(policy: Any, scale: Any, kind: type) -> None:
    tiers = [
        vl.verifier(name=tier, tier=tier, version="1", kind="text")(lambda _: 1.0)
        for tier in ("fast", "simulation", "world")
    ]
    ladder = Ladder("mine", tiers, policy=policy, target=Target("y", scale=scale))

    assert type(create_model(ladder)) is kind
