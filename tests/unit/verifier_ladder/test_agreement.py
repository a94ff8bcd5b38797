"""Agreement of readers, against published examples and the definition."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.agreement import alpha_of_labels, alpha_of_numbers

NUMBERS = st.integers(-5, 5).map(float)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "alpha"),
    [
        ("0100000010", "1110010000", 0.095),
        ("aabbdcccedda", "babbbcccedd" + "d", 0.692),
    ],
)
def test_the_examples_of_its_author_come_out(one: str, other: str, alpha: float) -> None:
    """Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, sections A and B."""
    assert alpha == pytest.approx(alpha_of_labels(list(zip(one, other, strict=True))), abs=5e-4)


@given(PAIRS)
def test_it_is_what_differs_over_what_would_by_chance(pairs: list[tuple[float, float]]) -> None:
    readings = [number for pair in pairs for number in pair]
    couples = list(permutations(range(len(readings)), 2))
    for alpha, apart in (
        (alpha_of_numbers(pairs), lambda a, b: (a - b) ** 2),
        (alpha_of_labels(pairs), lambda a, b: float(a != b)),
    ):
        observed = sum(apart(*pair) for pair in pairs) / len(pairs)
        expected = sum(apart(readings[i], readings[j]) for i, j in couples) / len(couples)
        if expected == 0.0:
            assert alpha is None
        else:
            assert alpha == pytest.approx(1.0 - observed / expected)


def test_without_readings_nothing_is_known() -> None:
    assert (None, None) == (alpha_of_labels([]), alpha_of_numbers([]))
