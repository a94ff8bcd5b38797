"""Calibrated beliefs: what the target is expected to be, given what tiers said."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf, isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.beliefs import BeliefModel, Beliefs, CalibratedBelief, Seen
from verifier_ladder.scheduler.beliefs.binary import Binary
from verifier_ladder.scheduler.beliefs.declaration import Declaration
from verifier_ladder.scheduler.beliefs.normal import Normal
from verifier_ladder.target import Target

TOP = Declaration("top")
FLOATS = st.floats(allow_nan=False)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
BELIEVED = st.floats(-1e50, 1e50)
SPREADS = st.floats(0, 1e100) | st.just(nan)
PAIRS = st.lists(st.tuples(FLOATS, FLOATS), max_size=30)


def estimate(deviation: float = nan, name: str = "cheap", digest: str = "1") -> Declaration:
    """A tier that estimates the target itself."""
    return Declaration(name, digest, is_same=True, deviation=deviation)


def hint(name: str = "cheap", digest: str = "1") -> Declaration:
    """A tier that declares nothing."""
    return Declaration(name, digest)


def other(name: str = "fold") -> Declaration:
    """A tier that scores in another unit than the target's."""
    return Declaration(name, "1", is_other=True)


def seen(scores: Any, own: Any = None, features: Any = None) -> Seen:
    table = np.array(scores, dtype=float, ndmin=2)
    return Seen(
        table, np.full(table.shape, nan) if own is None else np.array(own, dtype=float, ndmin=2),
        np.empty((len(table), 0)) if features is None else np.array(features, dtype=float),
    )  # fmt: skip


def predict(model: BeliefModel, *scores: float, own: Any = None) -> tuple[float, float]:
    """Mean and deviation of one candidate."""
    beliefs = model.predict(seen(scores, own))
    return float(beliefs.mean[0]), float(beliefs.deviation[0])


def teach(model: CalibratedBelief, lower: Any, target: Any) -> CalibratedBelief:
    """Teach labels with these scores of the lower tiers, all in one call."""
    truth = np.asarray(target, dtype=float)
    table = np.column_stack([np.asarray(lower, dtype=float), truth])
    model.learn(seen(table), truth, np.ones(len(truth), bool))
    return model


def pairs_of(slope: float, count: int = 500, noise: float = 0.5, seed: int = 0) -> Any:
    """Scores, and targets that follow them."""
    random = np.random.default_rng(seed)
    scores = random.normal(0, 3, count)
    return scores, slope * scores + 1.0 + noise * random.normal(size=count)


# ---- Before anything is learnt


@given(BELIEVED, st.sampled_from([nan, 0.0, 2.0]))
def test_the_first_answer_is_the_score_itself(score: float, declared: float) -> None:
    model = CalibratedBelief([estimate(declared), TOP])

    mean, deviation = predict(model, score, nan)

    assert score.hex() == mean.hex()
    assert repr(declared) == repr(deviation)


@given(FINITE, PAIRS)
def test_the_top_tier_keeps_its_own_number_bit_for_bit(score: float, pairs: Any) -> None:
    model = CalibratedBelief([estimate(1.0), estimate(0.5, "top")])
    teach(model, [x for x, _ in pairs], [y for _, y in pairs])

    mean, deviation = predict(model, 3.0, score)

    assert score.hex() == mean.hex()
    assert 0.5 == deviation


@given(FINITE)
def test_one_tier_is_its_own_top(score: float) -> None:
    mean, deviation = predict(CalibratedBelief([TOP]), score)

    assert score.hex() == mean.hex()
    assert isnan(deviation)


def test_the_dearest_tier_that_has_answered_speaks() -> None:
    model = CalibratedBelief([estimate(1.0), estimate(0.5, "relax"), TOP])

    assert (2.0, 0.5) == predict(model, 1.0, 2.0, nan)
    assert (1.0, 1.0) == predict(model, 1.0, nan, nan)


@pytest.mark.parametrize("tiers", range(2, 5))
def test_the_dearest_tier_speaks_first_whatever_the_others_declare(tiers: int) -> None:
    said = [float(10 * column + 1) for column in range(tiers)]
    kinds = [hint(), estimate(2.0), Declaration("same", is_same=True)]
    for chosen in product(kinds, repeat=tiers):
        named = [replace(tier, name=str(column)) for column, tier in enumerate(chosen)]
        for bits in range(1, 1 << tiers):
            seen = [x if bits >> column & 1 else nan for column, x in enumerate(said)]
            dearest = bits.bit_length() - 1
            mean, spread = predict(CalibratedBelief([*named, TOP]), *seen, nan)
            assert mean == said[dearest]
            assert spread == 2.0 if chosen[dearest].deviation == 2.0 else isnan(spread)


@pytest.mark.parametrize("labels", [1, 2, 5, 40])
def test_what_was_learnt_of_a_cheaper_tier_does_not_silence_a_dearer_estimate(labels: int) -> None:
    model = CalibratedBelief([estimate(2.0), estimate(name="relax"), TOP])
    for x in range(labels):
        teach(model, [[float(x), nan]], [x + 1.0])

    assert predict(model, 2.0, 7.0, nan)[0] == 7.0
    assert predict(model, 2.0, nan, nan)[0] < 5.0


def test_a_verdict_knows_its_own_deviation_best() -> None:
    model = CalibratedBelief([estimate(1.0), TOP])

    assert (0.0, 0.25) == predict(model, 0.0, nan, own=[0.25, nan])


def test_before_any_answer_there_is_the_prior() -> None:
    assert (1.0, 2.0) == predict(CalibratedBelief([hint(), TOP], (1.0, 2.0)), nan, nan)
    assert all(map(isnan, predict(CalibratedBelief([hint(), TOP]), nan, nan)))


def test_a_tier_that_declares_nothing_is_as_uncertain_as_the_prior() -> None:
    assert (1.0, 3.0) == predict(CalibratedBelief([hint(), TOP], (0.0, 3.0)), 1.0, nan)


def test_a_number_in_another_unit_is_no_first_answer_where_a_prior_is_declared() -> None:
    model = CalibratedBelief([other(), TOP], prior=(6.0, 1.0))

    assert (6.0, 1.0) == predict(model, 0.5, nan, own=[0.1, nan])
    teach(model, [0.5, 0.7], [8.0, 7.0])
    assert (6.0, 1.0) == predict(model, 0.5, nan)
    teach(model, [0.1, 0.9, 0.3, 0.6, 0.2, 0.4], [5.0, 9.0, 6.0, 7.5, 5.5, 6.5])
    assert 5.0 < predict(model, 0.1, nan)[0] < predict(model, 0.9, nan)[0] < 9.0


def test_a_cheaper_answer_in_the_unit_of_the_target_goes_before_a_dearer_one_in_another() -> None:
    model = CalibratedBelief([estimate(2.0), other(), TOP], prior=(6.0, 1.0))

    assert (4.0, 2.0) == predict(model, 4.0, 0.5, nan)
    assert (6.0, 1.0) == predict(model, nan, 0.5, nan)


def test_without_anything_else_a_number_in_another_unit_is_taken_as_it_is() -> None:
    mean, deviation = predict(CalibratedBelief([other(), TOP]), 0.5, nan, own=[0.1, nan])

    assert 0.5 == mean
    assert isnan(deviation)


def test_without_declarations_the_deviation_is_unknown_until_labels_show_a_spread() -> None:
    model = CalibratedBelief([hint(), TOP])

    for count, is_known in ((1, False), (2, False), (3, True)):
        teach(model, [float(count)], [2.0 * count])
        mean, deviation = predict(model, 1.0, nan)
        assert not isnan(mean)
        assert is_known != isnan(deviation)


def test_every_tier_is_worth_trying_at_first() -> None:
    model = CalibratedBelief([hint(), estimate(1.0, "relax"), TOP], prior=(0.0, 2.0))

    explained = model.predict(seen([[nan, nan, nan], [1.0, nan, nan], [1.0, 1.0, 1.0]])).explained

    assert [[0.5, 0.8, 1.0], [0.0, 0.8, 1.0], [0.0, 0.0, 0.0]] == explained.round(9).tolist()


# ---- What labels teach


@pytest.mark.parametrize("tier", [hint(), estimate(), estimate(0.0), estimate(5.0)], ids=str)
@pytest.mark.parametrize("slope", [-2.0, 0.0, 1.0, 5.0])
def test_slope_offset_and_spread_are_learnt(tier: Declaration, slope: float) -> None:
    model = teach(CalibratedBelief([tier, TOP]), *pairs_of(slope))

    for score in (-3.0, 1.0, 3.0):
        mean, deviation = predict(model, score, nan)
        assert mean == pytest.approx(slope * score + 1.0, abs=0.25)
        assert deviation == pytest.approx(0.5, abs=0.15)


def test_a_bent_relation_and_its_changing_noise_are_learnt() -> None:
    random = np.random.default_rng(0)
    scores = random.uniform(-1, 1, 2000)
    targets = np.maximum(scores, 0) + np.where(scores > 0, 0.5, 0.02) * random.normal(size=2000)
    model = teach(CalibratedBelief([hint(), TOP]), scores, targets)

    low, high = predict(model, -0.7, nan), predict(model, 0.7, nan)

    assert low[0] == pytest.approx(0.0, abs=0.1)
    assert high[0] == pytest.approx(0.7, abs=0.15)
    assert high[1] > 3 * low[1]


def test_tiers_are_combined() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=1000)
    both = truth[:, None] + random.normal(size=(1000, 2))
    model = teach(CalibratedBelief([hint("a"), hint("b"), TOP]), both, truth)

    mean, deviation = predict(model, 1.0, 1.0, nan)

    assert mean == pytest.approx(2 / 3, abs=0.1)
    assert deviation == pytest.approx(sqrt(1 / 3), rel=0.15)


def test_features_help_before_any_tier_has_answered() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(400, 2))
    model = CalibratedBelief([hint(), TOP])
    model.learn(
        seen(np.full((400, 2), nan), features=features), 3.0 * features[:, 0], np.ones(400, bool)
    )

    beliefs = model.predict(seen([[nan, nan]] * 2, features=[[1.0, 0.0], [nan, nan]]))

    assert beliefs.mean == pytest.approx([3.0, 0.0], abs=0.3)


def test_features_of_a_tier_teach_no_pattern_without_it() -> None:
    """Otherwise the pattern would expect a number that nobody has while it speaks."""
    random = np.random.default_rng(0)
    scores, feature = random.normal(size=(2, 400))
    model = CalibratedBelief([hint("a"), hint("b"), TOP], owners=[1])
    table = np.column_stack([scores, scores, feature])
    model.learn(seen(table, features=feature[:, None]), feature, np.ones(400, bool))

    with_tier = model.predict(seen([[0.0, 0.0, nan]], features=[[1.0]]))
    without = model.predict(seen([[0.0, nan, nan]], features=[[1.0]]))

    assert with_tier.mean[0] == pytest.approx(1.0, abs=0.1)
    assert without.mean[0] == pytest.approx(0.0, abs=0.2)
    assert without.deviation[0] == pytest.approx(1.0, abs=0.2)


def test_a_label_teaches_every_part_of_what_was_seen() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(2.0, 1.0, 400)
    both = truth[:, None] + random.normal(0, [0.5, 0.1], (400, 2))
    model = teach(CalibratedBelief([hint("a"), hint("b"), TOP]), both, truth)

    deviations = [
        predict(model, *row)[1]
        for row in ([nan] * 3, [2.0, nan, nan], [nan, 2.0, nan], [2.0, 2.0, nan])
    ]

    assert deviations == pytest.approx([1.0, 0.45, 0.1, 0.1], rel=0.25)


def test_a_dear_tier_with_few_labels_borrows_from_a_cheap_one() -> None:
    scores, targets = pairs_of(2.0)
    lower = np.column_stack([scores, np.full(500, nan)])
    model = teach(CalibratedBelief([hint("a"), hint("b"), TOP]), lower, targets)

    assert predict(model, 1.0, nan, nan) == predict(model, 1.0, 5.0, nan)


def test_labels_that_were_selected_say_less_about_the_others() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=2000)
    cheap, dear = truth + random.normal(size=2000), truth + 0.3 * random.normal(size=2000)
    drawn = random.random(2000) < 0.1
    chosen = drawn | (dear > 1.0)
    lower = np.column_stack([cheap, dear])[chosen]
    told, untold = (CalibratedBelief([hint("a"), hint("b"), TOP]) for _ in range(2))

    table = np.column_stack([lower, truth[chosen]])
    told.learn(seen(table), truth[chosen], drawn[chosen])
    untold.learn(seen(table), truth[chosen], np.ones(chosen.sum(), bool))

    assert 0.0 < predict(told, 0.0, nan, nan)[0] < 0.6 * predict(untold, 0.0, nan, nan)[0]


# ---- What a tier explains


def explained_by_second(noise: float, count: int = 400) -> float:
    """What a second tier is said to explain once the first has answered."""
    random = np.random.default_rng(0)
    truth = random.normal(size=count)
    lower = np.column_stack([truth + random.normal(size=count), truth * (noise < inf)])
    lower[:, 1] += random.normal(size=count) * (noise if noise < inf else 1.0)
    model = teach(CalibratedBelief([hint("a"), hint("b"), TOP]), lower, truth)
    return float(model.predict(seen([0.0, nan, nan])).explained[0, 1])


def test_what_a_tier_explains_is_learnt() -> None:
    """From variance 1/2 after the first tier to 1/(2 + 1/noise²) after the second."""
    assert explained_by_second(0.3) == pytest.approx(1 - 2 / (2 + 1 / 0.09), abs=0.1)
    assert explained_by_second(1.0) == pytest.approx(1 - 2 / 3, abs=0.1)


def test_a_tier_of_pure_noise_explains_nothing() -> None:
    assert explained_by_second(inf) == pytest.approx(0.0, abs=0.03)


def test_a_tier_that_misleads_is_not_listened_to() -> None:
    """Its noise grows while it is learnt from, so predictions with it prove worse."""
    random = np.random.default_rng(0)
    first, truth = pairs_of(1.0, 300, 0.1)
    model = CalibratedBelief([hint("a"), hint("b"), TOP])
    for start in range(0, 300, 10):
        rows = slice(start, start + 10)
        second = random.choice([-1.0, 1.0]) * truth[rows] * 2.0 ** (start / 50)
        teach(model, np.column_stack([first[rows], second]), truth[rows])

    assert predict(model, 1.0, nan, nan) == predict(model, 1.0, 50.0, nan)
    assert 0.0 == model.predict(seen([1.0, nan, nan])).explained[0, 1]


# ---- What can't break it


PRIORS = st.none() | st.tuples(st.floats(-1e100, 1e100), st.floats(0, 1e100))
TIERS = st.just(hint()) | st.builds(estimate, SPREADS)


@settings(max_examples=50)
@given(st.builds(CalibratedBelief, st.tuples(TIERS, st.just(TOP)), PRIORS), PAIRS, FLOATS, SPREADS)
def test_no_labels_can_make_a_belief_meaningless(
    model: CalibratedBelief, pairs: Any, score: float, own: float
) -> None:
    """Huge scores, which a gamed verifier may give, can't break everybody's beliefs."""
    teach(model, [x for x, _ in pairs], [y for _, y in pairs])

    mean, deviation = predict(model, score, nan, own=[own, nan])

    assert abs(mean) < inf
    assert isnan(deviation) or 0.0 <= deviation < inf


@pytest.mark.parametrize("absurd", [1e300, -1e300, inf, 1e9])
def test_one_absurd_answer_leaves_the_others_believable(absurd: float) -> None:
    scores, targets = pairs_of(1.0)
    plain, hurt = (CalibratedBelief([hint(), TOP]) for _ in range(2))
    teach(plain, scores, targets)

    teach(hurt, scores[:100], targets[:100])
    teach(hurt, [1.0, absurd], [absurd, 1.0])
    teach(hurt, scores[100:], targets[100:])

    for score in (-3.0, 0.0, 3.0):
        assert predict(hurt, score, nan) == pytest.approx(predict(plain, score, nan), abs=0.2)


def test_a_score_far_beyond_all_that_was_checked_is_doubted() -> None:
    model = teach(CalibratedBelief([estimate(), TOP]), *pairs_of(1.0))

    mean, deviation = predict(model, 1e6, nan)

    assert mean < 50.0
    assert deviation > 100.0


@pytest.mark.parametrize("tier", [hint(), estimate()], ids=str)
def test_a_constant_tier_says_what_no_tier_says(tier: Declaration) -> None:
    _, targets = pairs_of(1.0)
    model = teach(CalibratedBelief([tier, TOP]), np.full(500, 7.0), targets)

    assert predict(model, 7.0, nan) == pytest.approx(predict(model, nan, nan), rel=0.05)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e-8])
def test_targets_without_variance_are_learnt(value: float) -> None:
    model = teach(CalibratedBelief([hint(), TOP]), pairs_of(1.0)[0], np.full(500, value))

    mean, deviation = predict(model, 1.0, nan)

    assert mean == pytest.approx(value, abs=0.05)
    assert 0.0 <= deviation < 0.2 * (abs(value) or 1.0)


def test_what_is_not_a_number_is_not_given() -> None:
    model = CalibratedBelief([hint(), TOP], prior=(0.0, 1.0))

    model.learn(seen([[1.0, nan], [nan, 2.0]]), np.array([nan, nan]), np.ones(2, bool))

    assert (0.0, 1.0) == predict(model, nan, nan)


def test_nobody_is_no_special_case() -> None:
    model = CalibratedBelief([hint(), TOP])
    nobody = seen(np.empty((0, 2)))

    model.learn(nobody, np.empty(0), np.empty(0, bool))

    assert 0 == len(model.predict(nobody).mean)
    assert 1 == model.version


def test_a_hundred_thousand_labels_are_as_good_as_the_last_ten_thousand() -> None:
    scores, targets = pairs_of(2.0, 100_000)
    all_of_them = teach(CalibratedBelief([hint(), TOP]), scores, targets)
    last = teach(CalibratedBelief([hint(), TOP]), scores[-10_000:], targets[-10_000:])

    for score in (-5.0, 0.0, 5.0):
        assert predict(all_of_them, score, nan) == pytest.approx(
            predict(last, score, nan), rel=0.05
        )


def test_after_a_drift_it_can_forget_sooner() -> None:
    models = [teach(CalibratedBelief([hint(), TOP]), *pairs_of(1.0)) for _ in range(2)]
    models[1].set_forgetting(0, 0.97)
    for model in models:
        teach(model, *pairs_of(-1.0, 300, seed=1))

    usual, alarmed = (abs(predict(model, 3.0, nan)[0] + 2.0) for model in models)

    assert alarmed < 0.6 < usual


# ---- Coverage


@pytest.mark.parametrize("count", [32, 256])
def test_nine_of_ten_truths_lie_where_they_are_expected(count: int) -> None:
    random, inside = np.random.default_rng(0), []
    for _ in range(30):
        scores = random.lognormal(size=count + 200)
        noise = random.standard_t(5, count + 200) * (0.2 + scores / 4)
        truth = np.log(scores) + noise
        model = teach(CalibratedBelief([hint(), TOP]), scores[:count], truth[:count])
        beliefs = model.predict(seen(np.column_stack([scores[count:], np.full(200, nan)])))
        inside += list(np.abs(truth[count:] - beliefs.mean) < 1.645 * beliefs.deviation)

    assert np.mean(inside) == pytest.approx(0.9, abs=0.05)


# ---- Snapshots


def close(one: Beliefs, other: Beliefs) -> None:
    for name in ("mean", "deviation", "explained"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


LABELS = st.lists(
    st.tuples(*[st.floats(-1e3, 1e3) | st.just(nan)] * 2, st.floats(-1e3, 1e3), st.booleans()),
    max_size=40,
)  # fmt: skip


def take(model: CalibratedBelief, labels: Sequence[Any]) -> None:
    table = np.array([row[:3] for row in labels], dtype=float).reshape(-1, 3)
    features = table[:, :1] * table[:, 1:2]
    model.learn(
        seen(table, features=features), table[:, 2], np.array([row[3] for row in labels], bool)
    )


@pytest.mark.parametrize("fit", [Normal, Binary])
@settings(max_examples=40)
@given(before=LABELS, after=LABELS)
def test_a_snapshot_and_the_labels_since_bring_everything_back(
    fit: Any, before: Any, after: Any
) -> None:
    def model() -> CalibratedBelief:
        return CalibratedBelief([hint("a"), estimate(1.0, "b"), TOP], None, [1], fit)

    one, again = model(), model()
    take(one, before)

    again.restore(json.loads(json.dumps(one.snapshot(), allow_nan=False)))
    take(one, after)
    take(again, after)

    table = np.array([[nan] * 3, [1.0, nan, nan], [nan, 2.0, nan], [1.0, 2.0, nan]])
    at = seen(table, features=[[nan], [nan], [1.0], [2.0]])
    assert one.version == again.version
    close(one.predict(at), again.predict(at))


@pytest.mark.parametrize("snapshot", [{}, {"residuals": [[9, 9.0, 9.0]]}])
def test_a_snapshot_of_another_model_teaches_nothing(snapshot: dict[str, Any]) -> None:
    model = teach(CalibratedBelief([hint(), TOP]), *pairs_of(1.0))
    before = model.snapshot()

    model.restore(snapshot)

    assert before == model.snapshot()


def test_a_snapshot_of_another_target_teaches_nothing() -> None:
    model = CalibratedBelief([hint(), Declaration("assay")])

    model.restore(teach(CalibratedBelief([hint(), TOP]), *pairs_of(1.0)).snapshot())

    assert (5.0, nan) == pytest.approx(predict(model, 5.0, nan), nan_ok=True)


def test_a_new_version_starts_from_the_old_one_and_is_less_certain() -> None:
    old = teach(CalibratedBelief([hint(digest="1"), TOP]), *pairs_of(2.0))
    new = CalibratedBelief([hint(digest="2"), TOP])

    new.restore(old.snapshot())

    was, now = predict(old, 3.0, nan), predict(new, 3.0, nan)
    assert now[0] == pytest.approx(was[0], rel=0.05)
    assert 1.05 * was[1] < now[1] < 4.0 * was[1]


def test_a_new_version_takes_over_with_labels_of_its_own() -> None:
    old = teach(CalibratedBelief([hint(digest="1"), TOP]), *pairs_of(2.0))
    new = CalibratedBelief([hint(digest="2"), TOP])
    new.restore(old.snapshot())

    teach(new, *pairs_of(-1.0, 32))

    assert predict(new, 3.0, nan)[0] == pytest.approx(-2.0, abs=0.8)


def test_a_ladder_with_another_tier_between_keeps_what_is_known_of_the_others() -> None:
    old = teach(CalibratedBelief([hint("a"), TOP]), *pairs_of(2.0))
    new = CalibratedBelief([hint("a"), hint("b"), TOP])

    new.restore(old.snapshot())

    assert predict(old, 3.0, nan) == predict(new, 3.0, nan, nan)


# ---- Ladders


def made(name: str, tier: str, **attributes: Any) -> FunctionVerifier:
    return FunctionVerifier(len, name=name, version="1", tier=tier, **attributes)


def test_a_ladder_declares_what_its_primaries_declare() -> None:
    ladder = Ladder(
        "mine", [made("gate", "fast", role="gate"), made("relax", "simulation", deviation=0.5),
                 made("dft", "high_fidelity")], prior=(1.0, 2.0),
    )  # fmt: skip

    model = CalibratedBelief.for_ladder(ladder)

    assert isinstance(model, BeliefModel)
    assert (1.0, 2.0) == predict(model, nan, nan, nan)
    assert (3.0, 0.5) == predict(model, nan, 3.0, nan)
    assert repr((3.0, nan)) == repr(predict(model, nan, 3.0, 3.0))


@pytest.mark.parametrize(("unit", "first"), [("Å", 6.0), ("pKd", 3.0), ("", 3.0)])
def test_a_tier_is_about_something_else_if_its_unit_says_so(unit: str, first: float) -> None:
    binding = Target("affinity", unit="pKd")
    ladder = Ladder(
        "mine", [made("drift", "simulation", unit=unit), made("assay", "world", unit="pKd")],
        target=binding, prior=(6.0, 1.0),
    )  # fmt: skip

    assert (first, 1.0) == predict(CalibratedBelief.for_ladder(ladder), 3.0, nan)


def test_a_ladder_about_yes_and_no_believes_in_probabilities() -> None:
    ladder = Ladder(
        "mine", [made("quick", "fast"), made("slow", "world")], target=Target(scale="binary")
    )
    random = np.random.default_rng(0)
    scores = random.normal(size=400)

    model = teach(CalibratedBelief.for_ladder(ladder), scores, (scores > 0) * 1.0)

    low, high = predict(model, -2.0, nan), predict(model, 2.0, nan)
    assert 0.0 < low[0] < 0.1
    assert 0.9 < high[0] < 1.0
    assert low[1] == pytest.approx(sqrt(low[0] * (1 - low[0])))


def test_the_width_of_good_predictions_is_neither_too_small_nor_too_large() -> None:
    """Rare large errors count for less than they are; the usual ones make up for that."""
    scores, targets = pairs_of(1.0, count=6000, noise=0.5, seed=3)
    model = teach(CalibratedBelief([estimate(0.5), TOP]), scores[:, None], targets)

    spread = np.mean([predict(model, x, nan)[1] for x in np.linspace(-4.0, 4.0, 81)])
    assert float(spread) == pytest.approx(0.5, rel=0.02)
