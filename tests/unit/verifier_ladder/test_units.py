"""Units: conversions that keep values apart which only look alike."""

import time

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.units import convert


@pytest.mark.parametrize(
    ("value", "unit", "wanted", "made"),
    [
        (7.0, "mg", "µg", 7000.0),
        (7.0, "\u00b5g", "\u03bcg", 7.0),
        (7.0, "ug", "µg", 7.0),
        (1.0, "mM", "nmol/mL", 1000.0),
        (1.0, "kcal/mol", "kJ/mol", 4.184),
        (25.0, "°C", "K", 298.15),
        (3.0, "%", "ppm", 30000.0),
        (0.1, "m**2", "cm^2", 1000.0),
        (5.0, "uL", "mm³", 5.0),
    ],
)
def test_a_value_is_converted_without_a_tail(
    value: float, unit: str, wanted: str, made: float
) -> None:
    assert made == convert(value, None, unit, wanted).value


def test_a_deviation_is_scaled_and_never_moved() -> None:
    assert (293.15, 1.0) == convert(20, 1, "°C", "K")
    assert (0.007, 0.001) == convert(7, 1, "mg", "g")


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [
        ("m", "M"),
        ("mM", "mg"),
        ("heaps", "g"),
        ("mm", "points"),
        ("10 g", "g"),
        ("9**9**9**9**9", "g"),
        ("g" * 100, "g"),
        ("__import__('os')", "g"),
        ("", "g"),
        ("g", ""),
    ],
)
def test_what_is_no_unit_of_the_same_quantity_is_refused(unit: str, wanted: str) -> None:
    convert(1, None, "g", "kg")
    begun = time.thread_time()

    with pytest.raises(ConfigError):
        convert(1.0, None, unit, wanted)

    assert time.thread_time() - begun < 5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308, 10**400])
def test_a_value_that_is_no_finite_number_there_is_refused(value: float) -> None:
    with pytest.raises(ConfigError):
        convert(value, None, "kg", "ug")
