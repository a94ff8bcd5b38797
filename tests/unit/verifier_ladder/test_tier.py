"""Tiers."""

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier, tier_of


def test_tiers_are_ordered_from_cheap_to_dear() -> None:
    assert sorted(Tier) == [Tier.FAST, Tier.SIMULATION, Tier.HIGH_FIDELITY, Tier.WORLD]


@pytest.mark.parametrize("tier", Tier)
def test_a_tier_is_read_from_its_own_label(tier: Tier) -> None:
    assert Tier.parse(tier.label) is tier
    assert Tier.parse(tier) is tier


@pytest.mark.parametrize("label", ["fats", "", 0, None, "high-fidelity"])
def test_an_unknown_tier_is_refused_with_the_known_ones(label: str) -> None:
    with pytest.raises(ConfigError, match="fast, simulation, high_fidelity, world"):
        Tier.parse(label)


def test_a_tier_that_a_ladder_lacks_gets_those_it_has() -> None:
    with pytest.raises(ConfigError, match="no tier world; it has fast, simulation"):
        tier_of([Tier.FAST, Tier.SIMULATION], "world")
