"""Rolling origins: scores, references, calibration."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.simulation.rolling import (
    Form,
    Quantiles,
    Rolling,
    Samples,
    forecast_of,
    references,
)
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.world.forecast import Normal

number = st.floats(-1e3, 1e3)
numbers = st.lists(number, min_size=1, max_size=12)
LEVELS = [n / 200 for n in range(1, 200)]


def integral(samples: Sequence[float], value: float) -> float:
    """The integral of the square of steps that defines the CRPS."""
    places = sorted({*samples, value})
    share = len(samples)
    return sum(
        (sum(x <= low for x in samples) / share - (value <= low)) ** 2 * (high - low)
        for low, high in pairwise(places)
    )


@given(numbers, number)
def test_samples_cost_the_integral_of_their_steps(samples: list[float], value: float) -> None:
    found = Samples(sorted(samples)).score(value)

    assert found == pytest.approx(integral(samples, value), abs=1e-8)


@given(number, number)
def test_one_sample_costs_what_a_number_costs(sample: float, value: float) -> None:
    assert Normal(sample).score(value) == pytest.approx(Samples([sample]).score(value), abs=1e-9)


@given(st.floats(-3, 3), st.floats(0.1, 5), st.floats(-5, 5))
def test_many_quantiles_cost_nearly_what_their_distribution_costs(
    mean: float, deviation: float, value: float
) -> None:
    bell = NormalDist(mean, deviation)
    quantiles = Quantiles(LEVELS, [bell.inv_cdf(level) for level in LEVELS])

    assert quantiles.score(value) == pytest.approx(
        Normal(mean, deviation).score(value), abs=0.02 * deviation + 0.01 * abs(value - mean)
    )


@given(numbers, st.floats(0.01, 0.99))
def test_a_conformal_quantile_leaves_enough_of_the_samples_inside(
    samples: list[float], level: float
) -> None:
    ordered, size = Samples(sorted(samples)), len(samples)
    found = ordered.quantile(level)

    assert found in samples
    if level >= 0.5:
        assert sum(x <= found for x in samples) >= min(level * (size + 1) - 1e-6, size)
    elif found > ordered.values[0]:
        assert sum(x < found for x in samples) <= level * (size + 1)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("points", 1.0), ("points", 7), ("normals", [1, 0.5]), ("quantiles", [1.0, 1.0, 2.0]),
        ("samples", [3.0]), ("samples", (2.0, 1.0)),
    ],
)  # fmt: skip
def test_what_is_of_its_form_is_read(form: Form, said: Any) -> None:
    assert forecast_of(said, form, [0.1, 0.5, 0.9]).score(1.0) >= 0


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("points", [1.0]), ("points", True), ("points", float("nan")), ("points", 10**400),
        ("points", None), ("points", "1"), ("points", {"p": 1}), ("normals", [1.0, 0.0]),
        ("normals", [1.0]), ("normals", 1.0), ("normals", [1.0, float("inf")]),
        ("quantiles", [1.0, 2.0]), ("quantiles", [2.0, 1.0, 3.0]), ("samples", []),
        ("samples", [1.0] * 1001), ("samples", 1.0), ("samples", [1.0, "2"]),
    ],
)  # fmt: skip
def test_what_is_not_of_its_form_is_refused(form: Form, said: Any) -> None:
    with pytest.raises(CandidateError, match="a step of the forecast is not") as raised:
        forecast_of(said, form, [0.1, 0.5, 0.9])

    assert raised.value.feedback


def noise(size: int, seed: int) -> list[float]:
    found: list[float] = np.random.default_rng(seed).normal(size=size).tolist()
    return found


def shifted(rolling: Rolling, away: float, deviation: float) -> list[list[Normal]]:
    return [
        [Normal(y + away, deviation) for y in rolling.values[t : t + rolling.horizon]]
        for t in rolling.origins
    ]


@pytest.mark.parametrize("form", ["points", "normals", "quantiles"])
def test_references_know_nothing_that_comes_later(form: Form) -> None:
    values = noise(80, 1)
    rolling = Rolling(values, 10, horizon=2, period=4, form=form)
    changed = Rolling([*values[:60], *noise(20, 2)], 10, horizon=2, period=4, form=form)

    untouched = [n for n, t in enumerate(rolling._tested) if t + 2 <= 60]
    for mine, other in zip(rolling._cost_of_references, changed._cost_of_references, strict=True):
        assert [mine[n] for n in untouched] == [other[n] for n in untouched]
    assert [[5.0, 5.0], [2.0, 3.0], [2.0, 2.0]] == references([2.0, 3.0, -2.0, 5.0], 2, 4)


@pytest.mark.parametrize(("form", "levels"), [("normals", (0.1, 0.9)), ("quantiles", (0.2, 0.8))])
def test_a_reference_costs_what_the_distribution_of_its_errors_costs(
    form: Form, levels: tuple[float, float]
) -> None:
    """Neither more, because it knows few errors, nor less."""
    bell = NormalDist()
    quantiles = Quantiles(levels, [bell.inv_cdf(level) for level in levels])
    said: Normal | Quantiles = Normal(0.0, 1.0) if form == "normals" else quantiles
    ratios = []
    for seed in range(60):
        errors = noise(60, seed)
        rolling = Rolling([0.0, *errors], 1, form=form, levels=levels, least=40)
        ratios.append(fmean(rolling._costs(errors)) / fmean(map(said.score, errors[20:])))

    assert fmean(ratios) == pytest.approx(1, abs=0.012)


def test_a_reference_that_is_asked_itself_has_no_skill() -> None:
    values = noise(90, 3)
    rolling = Rolling(values, 10)

    for number in range(3):
        said = [[Normal(references(values[:t], 1, 1)[number][0])] for t in rolling.origins]
        found = rolling.skill(said)
        assert found.low <= found.skill <= 0


def test_the_skill_of_perfect_forecasts_is_one_and_of_wide_ones_less() -> None:
    rolling = Rolling(noise(90, 4), 10, form="normals")
    skills = [rolling.skill(shifted(rolling, 0.0, spread)).skill for spread in (1e-9, 0.3, 1.0)]

    assert skills[0] == pytest.approx(1, abs=1e-6)
    assert skills[0] > skills[1] > skills[2]


def test_intervals_that_are_too_narrow_are_told_and_calibrated() -> None:
    rolling = Rolling(noise(400, 5), 10, form="normals", calibration=100)
    sure = [[Normal(x / 10, 0.2)] for x in noise(len(rolling.origins), 8)]

    found = rolling.skill(sure)

    assert found.coverage < 0.3
    assert found.calibrated == pytest.approx(0.8, abs=0.08)


def test_calibration_uses_no_origin_that_is_judged_by() -> None:
    rolling = Rolling(noise(100, 6), 10, horizon=3, every=2)
    known = rolling._calibrating[-1] + rolling.horizon

    assert min(rolling._tested) >= known
    assert set(rolling._tested).isdisjoint(rolling._calibrating)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"first": 70}, "origins to judge by"), ({"period": 11}, "period"),
        ({"levels": (0.001, 0.999)}, "calibrated"), ({"values": [1.0] * 90}, "never wrong"),
    ],
)  # fmt: skip
def test_origins_that_nobody_can_be_judged_by_are_refused(more: Any, words: str) -> None:
    with pytest.raises(TaskError, match=words):
        Rolling(**{"values": noise(90, 7), "first": 10, **more})
