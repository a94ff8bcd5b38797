"""Budgets on the command line: `--budget TIER=AMOUNT`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from verifier_ladder.errors import ConfigError

Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="TIER=AMOUNT",
        help='A cap: "high_fidelity=5 min", "world.money=50", "world=unlimited"; may be repeated.',
    ),
]


def budgets(given: list[str] | None) -> dict[str, Any] | None:
    """The options as `Campaign.open` takes a budget.

    Raises:
        ConfigError: If one is not TIER=AMOUNT, or says one thing twice.

    Example:
        >>> budgets(["high_fidelity=5 min", "world.money=50"])
        {'high_fidelity': '5 min', 'world': {'money': '50'}}
    """
    made: dict[str, Any] = {}
    for item in given or ():
        place, _, amount = (part.strip() for part in item.partition("="))
        tier, _, resource = place.partition(".")
        if not tier or not amount:
            raise ConfigError(f'--budget {item!r}: write TIER=AMOUNT, such as "world.money=50"')
        here = made.setdefault(tier, {}) if resource else made
        if not isinstance(here, dict) or (resource or tier) in here:
            raise ConfigError(f"--budget {item!r}: a cap of the {tier} tier was given before")
        here[resource or tier] = amount
    return made or None
