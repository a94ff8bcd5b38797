"""Units: a value brought from the unit that was written to the one that is wanted."""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError

_LONGEST = 40
_PLAIN = re.compile(
    r"[A-Za-zµμΩÅ°%]+(?:\^-?\d|\*\*-?\d|⁻?[¹²³⁴])?"
    r"(?:\s*[*/·⋅ ]\s*[A-Za-zµμΩÅ°%]+(?:\^-?\d|\*\*-?\d|⁻?[¹²³⁴])?)*"
)
"""Names of units, small powers, products and quotients. Nothing else reaches pint, whose
expressions can hold numbers and powers without end."""
_OPINIONS = frozenset({"point", "points", "pt", "count", "counts", "bit", "bits"})
"""Units of scores and of tallies, which pint takes for lengths of print, for nothing, or for
information."""
_DIGITS = 15


class Converted(NamedTuple):
    """A value in another unit."""

    value: float
    uncertainty: float | None


def convert(value: float, uncertainty: float | None, unit: str, wanted: str) -> Converted:
    """Bring a value and its standard deviation to another unit.

    The signs µ and μ and the letter u are one prefix; m and M are two. What the conversion adds in
    the sixteenth digit is taken away, so that 7 mg and 7000 µg are one value.

    Args:
        value: A number in `unit`.
        uncertainty: Its standard deviation in `unit`, if it is known.
        unit: The unit that was written.
        wanted: The unit that is wanted.

    Raises:
        ConfigError: If pint is not installed, does not know one of the units, or they measure
            different things; or if the result is not finite.

    Example:
        >>> convert(0.5, 0.1, "nM", "µmol/L")
        Converted(value=0.0005, uncertainty=0.0001)
        >>> convert(20, 1, "°C", "K")
        Converted(value=293.15, uncertainty=1.0)
    """
    pint, registry = _pint()
    given, target = _parsed(registry, unit), _parsed(registry, wanted)
    try:
        made = registry.Quantity(float(value), given).to(target).magnitude
        spread = None if uncertainty is None else _step(registry, uncertainty, given, target)
    except pint.DimensionalityError:
        raise ConfigError(f"{unit!r} and {wanted!r} measure different things") from None
    except (pint.PintError, ArithmeticError, ValueError, TypeError) as error:
        raise ConfigError(f"{unit!r} can't be brought to {wanted!r}: {error}") from None
    if not isfinite(made) or not isfinite(spread or 0.0):
        raise ConfigError(f"{value:g} {unit} is no finite number in {wanted}")
    return Converted(_rounded(made), None if spread is None else _rounded(spread))


def _step(registry: Any, size: float, given: Any, target: Any) -> float:
    """A difference in another unit: a scale's zero does not move it."""
    ends = [registry.Quantity(end, given).to(target).magnitude for end in (0.0, 1.0)]
    return float(abs(ends[1] - ends[0]) * size)


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def _parsed(registry: Any, text: str) -> Any:
    """A unit as pint has it.

    Raises:
        ConfigError: If it knows none of that name.
    """
    name = text.strip()
    if len(name) > _LONGEST or not _PLAIN.fullmatch(name) or name.casefold() in _OPINIONS:
        raise ConfigError(f"{text!r:.60} is no unit that can be converted")
    try:
        return registry.parse_units(name.replace("⋅", "*"))
    except Exception:  # noqa: BLE001 - its parser raises many kinds of errors
        raise ConfigError(f"{text!r:.60} is no unit that is known") from None


@lru_cache(maxsize=1)
def _pint() -> tuple[Any, Any]:
    try:
        import pint
    except ImportError:
        raise ConfigError(
            "pint is needed to convert units: pip install '.[lab]' in a clone"
        ) from None
    return pint, pint.UnitRegistry()
