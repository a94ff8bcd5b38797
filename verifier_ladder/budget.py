"""Budgets: how much of each resource a campaign may spend, tier by tier and in all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import Any, Final

from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier, tier_of

TOTAL: Final = -1
"""Stands in the place of a tier for all tiers together."""

Amount = float | str | None
Budget = Mapping[str, Amount | Mapping[str, Amount]]
"""A budget as users write it: tier or `total` → an amount of cpu time, or resource → amount."""
Caps = dict[tuple[int, Resource], float | None]
"""A budget as it is kept: (tier or `TOTAL`, resource) → cap; None for no limit."""

UNLIMITED: Final = "unlimited"
"""An explicit "no limit", for a tier and all its resources, or for one resource of it."""
_EXAMPLE = '{"high_fidelity": "2 h"} or {"total": {"seconds": "10 h", "money": 50}}'


def parse_budget(budget: Budget | None, tiers: Collection[Tier] = tuple(Tier)) -> Caps:
    """Read a budget.

    Args:
        budget: Caps per tier, or for `total`. A bare amount is cpu time; a mapping names the
            resources: `seconds`, `gpu_seconds`, `money`, `person_minutes`. None lifts a cap.
            `"unlimited"` in the place of an amount lifts it too; in the place of a tier's
            amounts it lifts all caps of the tier.
        tiers: The tiers that it may name.

    Raises:
        ConfigError: If it names an unknown tier or resource, or an amount makes no sense.

    Example:
        >>> parse_budget({"total": "10 h", "world": {"person_minutes": 30}})
        {(-1, <Resource.CPU_SECONDS: 0>): 36000.0, (3, <Resource.PERSON_MINUTES: 3>): 30.0}
    """
    if not isinstance(budget, Mapping | None):
        raise ConfigError(f"budget={budget!r}: give an amount for each tier, such as {_EXAMPLE}")
    caps: Caps = {}
    for name, given in (budget or {}).items():
        place = TOTAL if name == "total" else int(tier_of(tiers, name))
        for label, amount in _amounts(given).items():
            resource = Resource.parse(label)
            is_open = amount is None or is_unlimited(amount)
            caps[place, resource] = None if is_open else _amount(amount, resource)
    return caps


def _amounts(given: Any) -> Mapping[str, Any]:
    """What was given for one tier, by resource."""
    if isinstance(given, Mapping):
        return given
    if is_unlimited(given):
        return dict.fromkeys((resource.label for resource in Resource), UNLIMITED)
    return {"seconds": given}


def is_unlimited(amount: object) -> bool:
    """Whether an amount is the word for no limit."""
    return isinstance(amount, str) and amount.strip().lower() == UNLIMITED


def _amount(value: Any, resource: Resource) -> float:
    if resource is Resource.MONEY:
        return _money(value)
    if resource is Resource.PERSON_MINUTES and isinstance(value, str) and not _is_number(value):
        return seconds(value) / 60.0
    return seconds(value)


def _money(value: Any) -> float:
    is_amount = not isinstance(value, bool) and _is_number(value)
    if not is_amount or not 0.0 <= float(value) < inf:
        raise ConfigError(
            f"{value!r} is not an amount of money; write a number, in the campaign's currency"
        )
    return float(value)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def place_label(place: int) -> str:
    """The tier of an account as spelled in tables and configuration; `total` for all.

    Example:
        >>> place_label(TOTAL), place_label(Tier.WORLD)
        ('total', 'world')
    """
    return "total" if place == TOTAL else Tier(place).label


def budget_json(
    caps: Mapping[tuple[int, Resource], float | None],
) -> dict[str, dict[str, float | str]]:
    """A budget as the ledger records it; `parse_budget` reads it."""
    written: dict[str, dict[str, float | str]] = {}
    for (place, resource), cap in caps.items():
        amount = UNLIMITED if cap is None else cap
        written.setdefault(place_label(place), {})[resource.label] = amount
    return written
