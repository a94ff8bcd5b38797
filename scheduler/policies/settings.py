"""Settings of policies: numbers as a person wrote them."""

from __future__ import annotations

from math import inf, isfinite

from verifier_ladder.errors import ConfigError


def number(name: str, value: object, least: float = -inf, most: float = inf) -> float:
    """A finite number between two limits.

    Raises:
        ConfigError: If it is none.

    Example:
        >>> number("floor of value_of_information", 0.1, least=0.0)
        0.1
    """
    if isinstance(value, (int, float)) and isfinite(value) and least <= value <= most:
        return float(value)
    limits = [f"at least {least:g}"] * (least > -inf) + [f"at most {most:g}"] * (most < inf)
    raise ConfigError(f"{name} is {value!r}; give a finite number {' and '.join(limits)}".rstrip())
