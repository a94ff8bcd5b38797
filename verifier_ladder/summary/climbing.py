"""Climbing everything: what it would have taken to have every tier judge every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifier_ladder.cost import Cost
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier


def declared(ladder: Mapping[str, Any], tier: Tier) -> list[float]:
    """What one candidate was declared to take on a tier, by the ladder as it is recorded."""
    whole = [0.0] * len(Resource)
    for verifier in ladder.get("verifiers", ()):
        if verifier["tier"] == tier.label:
            checks = verifier.get("replicates", 1)
            for place, name in enumerate(Cost.__dataclass_fields__):
                whole[place] += checks * verifier.get("cost", {}).get(name, 0.0)
    return whole


def if_all_climbed(
    tier: Tier,
    candidates: int,
    *,
    settled: Sequence[float],
    judged: int,
    expected: Sequence[float],
) -> dict[Resource, float | None]:
    """What a tier would have taken, resource by resource.

    Args:
        tier: The tier.
        candidates: How many candidates would have climbed.
        settled: What its answers took, without those that only declined to judge: they are
            cheap, and say nothing of what judging takes.
        judged: How many candidates those are.
        expected: What one is declared to take, for a tier that has judged none.

    Returns:
        None for the cpu time of a tier that has measured none and declares none.
    """
    made: dict[Resource, float | None] = {}
    for resource in Resource:
        # No answer takes no cpu time at all: nothing recorded is not known.
        is_measured = judged and (resource is not Resource.CPU_SECONDS or settled[resource] > 0.0)
        mean = settled[resource] / judged if is_measured else expected[resource]
        is_known = mean > 0.0 or resource is not Resource.CPU_SECONDS or tier is Tier.WORLD
        made[resource] = candidates * mean if is_known else None
    return made
