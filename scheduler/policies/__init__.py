"""Escalation policies, one per module, found by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from verifier_ladder.decision import EscalationPolicy
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.scheduler.policies.bestofn import BestOfN
from verifier_ladder.scheduler.policies.discovery import Discovery
from verifier_ladder.scheduler.policies.thresholds import Thresholds
from verifier_ladder.scheduler.policies.valueofinformation import ValueOfInformation

__all__ = [
    "POLICIES", "AllTiers", "BestOfN", "Discovery", "Thresholds", "ValueOfInformation",
    "create_policy",
]  # fmt: skip

POLICIES: dict[str, Callable[..., EscalationPolicy]] = {
    "all_tiers": AllTiers,
    "best_of_n": BestOfN,
    "discovery": Discovery,
    "thresholds": Thresholds,
    "value_of_information": ValueOfInformation,
}


def create_policy(name: str, settings: Mapping[str, Any]) -> EscalationPolicy:
    """Make a policy from its name and settings, as a ladder's TOML gives them.

    Raises:
        ConfigError: If the policy is unknown or does not take these settings.

    Example:
        >>> create_policy("all_tiers", {}).name
        'all_tiers'
    """
    if name not in POLICIES:
        raise ConfigError(f"no policy is called {name!r}; there is {', '.join(POLICIES)}")
    try:
        return POLICIES[name](**settings)
    except TypeError as error:
        raise ConfigError(f"policy {name} does not take these settings: {error}") from None
