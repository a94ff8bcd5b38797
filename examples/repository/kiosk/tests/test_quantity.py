"""Quantities."""

from fractions import Fraction

import pytest
from kiosk import quantity
from kiosk.errors import UnitError


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [("1.5 kg", Fraction(3, 2), "kg"), ("250 g", 250, "g"), ("3", 3, "pc"), (" 1/4 l", Fraction(1, 4), "l")],
)
def test_quantities_are_read(text, number, unit):
    assert quantity.parse(text) == (number, unit)


def test_a_unit_must_be_known():
    with pytest.raises(UnitError):
        quantity.parse("3 miles")


def test_large_units_become_small_ones():
    assert quantity.convert(2, "kg", "g") == 2000
    assert quantity.convert(3, "dz", "pc") == 36


def test_a_unit_stays_itself():
    assert quantity.convert(7, "ml", "ml") == 7


def test_litres_are_no_grams():
    with pytest.raises(UnitError):
        quantity.convert(1, "l", "g")


def test_quantities_are_shown():
    assert quantity.show(Fraction(3, 2), "kg") == "1.5 kg"
    assert quantity.show(12, "pc") == "12 pc"
