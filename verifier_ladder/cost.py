"""Costs: what a check is expected to take, and what it took."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from verifier_ladder.errors import ConfigError

LARGEST = 2**53 / 1e6
"""Amounts are below it: ledgers count exactly, in millionths."""
Amounts = tuple[float, float, float, float]
"""One amount for each `Resource`, in its order."""

_UNITS = {
    "us": 1e-6, "ms": 1e-3,
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "cpu-second": 1.0, "cpu-seconds": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
    "w": 604800.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip
_QUANTITY = re.compile(
    r"\s*([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|\.[0-9]+)\s*([a-z-]*)\s*", re.IGNORECASE
)


def seconds(value: float | str) -> float:
    """Read a duration or an amount of cpu time, in seconds.

    Args:
        value: Seconds as a number, or text such as `"2 h"`, `"100 cpu-seconds"`, `"15 min"`.

    Raises:
        ConfigError: If the text is not a number and a known unit, or is negative.

    Example:
        >>> seconds("2 h")
        7200.0
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        amount, unit = value, "s"
    else:
        match = _QUANTITY.fullmatch(str(value))
        amount, unit = (float(match[1]), match[2].lower() or "s") if match else (-1.0, "")
    total = _float(amount) * _UNITS.get(unit, nan)
    if not 0.0 <= total < LARGEST:
        raise ConfigError(
            f"{value!r:.200} is not an amount of time; write a number and a unit, "
            'such as "90 s", "15 min", "2 h" or "3 d", below 280 years'
        )
    return total


def _float(value: Any) -> float:
    """The number as a float; NaN for what is none, or is too large."""
    try:
        return float(value) if not isinstance(value, (str, bytes, bool)) else nan
    except (TypeError, ValueError, OverflowError):
        return nan


@dataclass(frozen=True, slots=True)
class Cost:
    """What one check takes, resource by resource; declared beforehand or measured afterwards.

    Example:
        >>> Cost(seconds=2e-5)
        Cost(seconds=2e-05, gpu_seconds=0.0, money=0.0, person_minutes=0.0)
    """

    seconds: float = 0.0
    """Seconds of one cpu core."""
    gpu_seconds: float = 0.0
    """Seconds of one accelerator."""
    money: float = 0.0
    """Money, in the campaign's currency."""
    person_minutes: float = 0.0
    """Minutes of somebody's attention."""

    def __post_init__(self) -> None:
        """Refuse costs that no ledger could count."""
        for name in ("seconds", "gpu_seconds", "money", "person_minutes"):
            value = getattr(self, name)
            if not 0.0 <= (value if type(value) is float else _float(value)) < LARGEST:
                raise ConfigError(
                    f"Cost({name}={value!r}): give a number of at least 0 and below {LARGEST:,.0f}"
                )

    @property
    def amounts(self) -> Amounts:
        """What it takes of each `Resource`, in their order."""
        return self.seconds, self.gpu_seconds, self.money, self.person_minutes

    def __add__(self, other: Cost) -> Cost:
        """What both take together."""
        return Cost(*map(sum, zip(self.amounts, other.amounts, strict=True)))

    def times(self, factor: float) -> Cost:
        """So many times the cost, at least 0.

        Example:
            >>> Cost(money=2.0).times(1.5).money
            3.0
        """
        if not 0.0 <= _float(factor) < inf:
            raise ConfigError(f"Cost.times: factor={factor!r}: give a finite number of at least 0")
        return Cost(*(amount * factor for amount in self.amounts))
