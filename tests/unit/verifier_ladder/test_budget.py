"""Budgets are read from what users write."""

from typing import Any

import pytest

from verifier_ladder.budget import TOTAL, budget_json, parse_budget
from verifier_ladder.errors import ConfigError
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier

CPU, GPU, MONEY, MINUTES = Resource


def test_a_bare_amount_is_cpu_time() -> None:
    assert {(Tier.HIGH_FIDELITY, CPU): 7200.0} == parse_budget({"high_fidelity": "2 h"})


def test_a_mapping_names_resources() -> None:
    given: dict[str, float | str | None] = {
        "seconds": "2 h",
        "gpu_seconds": 5,
        "money": 50,
        "person_minutes": 30,
    }

    assert parse_budget({"world": given}) == {
        (Tier.WORLD, CPU): 7200.0, (Tier.WORLD, GPU): 5.0, (Tier.WORLD, MONEY): 50.0,
        (Tier.WORLD, MINUTES): 30.0,
    }  # fmt: skip


def test_the_total_stands_in_the_place_of_a_tier() -> None:
    assert {(TOTAL, CPU): 36000.0} == parse_budget({"total": "10 h"})


def test_none_lifts_one_cap() -> None:
    given = {"fast": None, "world": {"money": None}}

    assert {(Tier.FAST, CPU): None, (Tier.WORLD, MONEY): None} == parse_budget(given)


def test_minutes_may_be_written_as_time() -> None:
    assert {(Tier.WORLD, MINUTES): 90.0} == parse_budget({"world": {"person_minutes": "1.5 h"}})


@pytest.mark.parametrize("value", ["30", 30, 30.0])
def test_a_bare_number_counts_units_of_the_resource(value: float | str) -> None:
    assert {(TOTAL, MINUTES): 30.0} == parse_budget({"total": {"person_minutes": value}})


def test_nothing_is_no_budget() -> None:
    assert ({}, {}) == (parse_budget(None), parse_budget({}))


@pytest.mark.parametrize(
    "budget",
    [
        3, "2 h", {"fast": "2 bananas"}, {"fast": {"money": "2 h"}}, {"fast": {"money": -1}},
        {"fast": {"money": True}}, {"fast": {"money": float("inf")}},
        {"fast": {"person_minutes": "soon"}}, {"fast": {"person_minutes": -1}}, {"fast": [1]},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_amount_is_refused(budget: Any) -> None:
    with pytest.raises(ConfigError, match="amount"):
        parse_budget(budget)


def test_an_unknown_tier_or_resource_gets_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="the tiers are fast, simulation"):
        parse_budget({"slow": 1})
    with pytest.raises(ConfigError, match="the resources are cpu_seconds"):
        parse_budget({"fast": {"patience": 1}})


def test_a_tier_that_the_ladder_lacks_is_refused() -> None:
    with pytest.raises(ConfigError, match="the ladder has no tier world; it has fast"):
        parse_budget({"world": 1}, [Tier.FAST])


def test_what_is_written_down_is_read_again() -> None:
    caps = parse_budget({"total": "10 h", "fast": 3, "world": {"money": 50, "seconds": None}})

    assert caps == parse_budget(budget_json(caps))
