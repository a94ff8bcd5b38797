"""Agreement: how far readers who can't see each other say the same of the same cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import fsum


def alpha_of_labels(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Krippendorff's alpha of labels that are equal or not, each case read twice.

    It is 1 − D_o/D_e: the share of pairs that differ, over the share that would if all readings
    were dealt out anew. 1 is perfect, 0 is chance, and it may be negative. Unlike Cohen's kappa
    it does not ask that the same two people read all cases. (Krippendorff, *Content Analysis*,
    4th ed. 2019, chapter 12; "Computing Krippendorff's Alpha-Reliability", 2011.)

    Args:
        pairs: What was read of each case by one reader and by another.

    Returns:
        None if all readings are the same, or there is none: then nothing could differ.

    Example:
        >>> round(alpha_of_labels([("a", "a"), ("b", "b"), ("a", "b")]), 3)
        0.444
    """
    counts = Counter(label for pair in pairs for label in pair)
    total = counts.total()
    expected = total**2 - sum(count**2 for count in counts.values())
    if not expected:
        return None
    differing = sum(one != other for one, other in pairs)
    return 1.0 - 2 * differing * (total - 1) / expected


def alpha_of_numbers(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Krippendorff's alpha of numbers, by their squared differences; see `alpha_of_labels`.

    Example:
        >>> alpha_of_numbers([(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)])
        1.0
    """
    readings = [number for pair in pairs for number in pair]
    if not readings:
        return None
    mean = fsum(readings) / len(readings)
    expected = 2.0 * len(readings) * fsum((number - mean) ** 2 for number in readings)
    if expected == 0.0 or len(set(readings)) == 1:
        return None
    differing = 2.0 * fsum((one - other) ** 2 for one, other in pairs)
    return 1.0 - differing * (len(readings) - 1) / expected
