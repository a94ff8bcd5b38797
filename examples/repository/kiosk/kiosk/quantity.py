"""Quantities with units."""

from fractions import Fraction

from kiosk.errors import UnitError

UNITS = {
    "g": ("mass", 1),
    "kg": ("mass", 1000),
    "ml": ("volume", 1),
    "l": ("volume", 1000),
    "pc": ("count", 1),
    "dz": ("count", 12),
}


def parse(text):
    """The number and the unit of a text such as "1.5 kg"; without a unit it counts pieces."""
    number, _, unit = text.strip().partition(" ")
    unit = unit.strip() or "pc"
    if unit not in UNITS:
        raise UnitError(f"there is no unit {unit!r}")
    return Fraction(number), unit


def convert(number, unit, to):
    """The same quantity in another unit, as an exact fraction."""
    kind, factor = UNITS[unit]
    other, divisor = UNITS[to]
    if kind != other:
        raise UnitError(f"{unit} and {to} measure different things")
    return Fraction(number * factor // divisor)


def show(number, unit):
    """A quantity as people write it."""
    text = f"{float(number):.3f}".rstrip("0").rstrip(".")
    return f"{text} {unit}"
