"""Tiers: the four cost classes a candidate climbs through."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from verifier_ladder.errors import ConfigError


class Tier(IntEnum):
    """A cost class with its own queue, budget and deadline; ordered from cheap to dear.

    Example:
        >>> Tier.parse("high_fidelity") > Tier.FAST
        True
        >>> Tier.WORLD.label
        'world'
    """

    FAST = 0
    """Microseconds to a second: parsers, rules, estimates."""
    SIMULATION = 1
    """Seconds: force fields, semi-empirical methods, predictors."""
    HIGH_FIDELITY = 2
    """Minutes to days: DFT, molecular dynamics."""
    WORLD = 3
    """A laboratory, an expert, a market: hours to weeks, never simulated."""

    @property
    def label(self) -> str:
        """The tier's name as spelled in tables, pages and configuration."""
        return self.name.lower()

    @classmethod
    def parse(cls, value: Tier | str) -> Tier:
        """Read a tier from its label.

        Raises:
            ConfigError: If there is no such tier.
        """
        if isinstance(value, Tier):
            return value
        try:
            return cls[str(value).upper()]
        except KeyError:
            known = ", ".join(tier.label for tier in cls)
            raise ConfigError(f"unknown tier {value!r}; the tiers are {known}") from None


def tier_of(tiers: Collection[Tier], value: Tier | str) -> Tier:
    """One of a ladder's tiers, by its label.

    Raises:
        ConfigError: If it is none of them.

    Example:
        >>> tier_of([Tier.FAST, Tier.WORLD], "world").label
        'world'
    """
    tier = Tier.parse(value)
    if tier not in tiers:
        has = ", ".join(one.label for one in tiers)
        raise ConfigError(f"the ladder has no tier {tier.label}; it has {has}")
    return tier
