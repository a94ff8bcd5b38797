"""Long-run errors: how sure the mean of values is that depend on their neighbours.

What binds neighbours shows in the slow movements of values. So the error of their mean is told
from those alone: from products with the first few cosines that fit into them, in which nothing of
the mean is left. The mean, less its expectation, is to their size as Student's t with as many
degrees of freedom as there are cosines (Müller, *A Theory of Robust Long-Run Variance Estimation*,
2007). Of n values, Lazarus, Lewis, Stock and Watson (*HAR Inference: Recommendations for
Practice*, 2018) take .4 n^⅔ cosines. Here n^⅓ are taken, which are fewer from some 20 values on:
the interval is a little wider, and holds where neighbours are bound more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cbrt, pi, sqrt
from typing import Final

from verifier_ladder.student import student

MOST: Final = 20_000
"""Values."""


def reach(values: Sequence[float], overlap: int = 1) -> float:
    """How far the mean of values may be from its expectation, to each side: a 95 % interval.

    Args:
        values: In their order.
        overlap: How many neighbours share what they see, as forecasts of several steps do.

    Example:
        >>> reach([3.0, 3.0, 3.0]) < 1e-12
        True
        >>> round(reach([1.0, 2.0, 1.0, 3.0, 2.0, 1.0, 2.0, 3.0]), 2)
        0.95
    """
    import numpy as np

    size = len(values)
    freedom = max(min(int(cbrt(size)), size // (2 * overlap)), 1)
    places = (np.arange(size) + 0.5) * pi / size
    waves = np.cos(np.outer(np.arange(1, freedom + 1), places))
    slow = waves @ np.asarray(values, dtype=float) * sqrt(2) / size
    return student(freedom) * sqrt(float(np.mean(slow**2)))
