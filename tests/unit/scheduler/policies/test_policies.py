"""Policies by name, as a ladder's TOML gives them."""

from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies import POLICIES, create_policy


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_made_by_its_own_name(name: str) -> None:
    assert name == create_policy(name, {}).name
    assert name == create_policy(name, {}).as_json()["name"]


@pytest.mark.parametrize("name", POLICIES)
def test_audits_are_the_ladders_own(name: str) -> None:
    with pytest.raises(ConfigError, match="does not take these settings"):
        create_policy(name, {"audit": 0.5})


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("bandit", {}, "all_tiers, best_of_n, discovery, thresholds, value_of"),
        ("thresholds", {"limits": {}}, "does not take these settings"),
        ("all_tiers", {"thresholds": {}}, "does not take these settings"),
    ],
)
def test_what_can_not_be_made_is_explained(name: str, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        create_policy(name, settings)
