"""Intraclass correlation: what is new in a residual of a group."""

import json

import numpy as np
import pytest

from verifier_ladder.scheduler.intraclass import Intraclass


def residuals(shared: float, groups: int, size: int = 4) -> list[tuple[str, float]]:
    random = np.random.default_rng(1)
    return [
        (str(group), float(shared**0.5 * common + (1.0 - shared) ** 0.5 * own))
        for group, common in enumerate(random.normal(size=groups))
        for own in random.normal(size=size)
    ]


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.8])
def test_what_is_new_is_independent_and_as_large(shared: float) -> None:
    told = Intraclass()
    new = [told.add(group, z) for group, z in residuals(shared, 1000)]

    late = np.array(new[400:]).reshape(-1, 4)
    correlations = np.corrcoef(late.T)[np.triu_indices(4, 1)]
    assert late.std() == pytest.approx(1.0, abs=0.07)
    assert np.abs(correlations).max() < 0.12


def test_without_a_group_all_is_new() -> None:
    told = Intraclass()

    assert [told.add("", z) for z in (1.0, 1.0, -2.0)] == [1.0, 1.0, -2.0]


def test_a_shift_of_all_is_not_taken_for_a_shared_error() -> None:
    told, shifted = Intraclass(), Intraclass()
    for group, z in residuals(0.3, 500):
        told.add(group, z)
        shifted.add(group, z + 2.0)

    assert told.within == pytest.approx(shifted.within)
    assert told.around == pytest.approx(shifted.around)


def test_many_groups_are_not_all_kept() -> None:
    told = Intraclass()
    for number in range(5000):
        told.add(str(number), 1.0)

    assert len(told.groups) < 500
    assert "4999" in told.groups


def test_a_snapshot_brings_everything_back() -> None:
    told = Intraclass()
    for group, z in residuals(0.5, 20):
        told.add(group, z)
    again = Intraclass.restore(json.loads(json.dumps(told.snapshot())))

    assert again.add("19", 1.5) == told.add("19", 1.5)
