"""Quantiles of Student's distribution, without scipy."""

from __future__ import annotations

from typing import Final

_Z: Final = 1.959963984540054
_FIRST: Final = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622)
"""With 1, 2, 3, … degrees of freedom."""


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution.

    From ten degrees on by Cornish and Fisher's expansion, which is good to four digits there.

    Example:
        >>> [round(student(n), 2) for n in (1, 9, 10, 100)]
        [12.71, 2.26, 2.23, 1.98]
    """
    if freedom <= len(_FIRST):
        return _FIRST[freedom - 1]
    z, n = _Z, float(freedom)
    first, second = z**3 + z, 5 * z**5 + 16 * z**3 + 3 * z
    third = 3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z
    return z + first / (4 * n) + second / (96 * n * n) + third / (384 * n**3)
