"""Equity curves: what a strategy had earned at each price, as an artifact beside its verdict."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from math import isfinite
from typing import Final

EQUITY: Final = "equity.f32"
"""What the artifact is called: shares of the capital, as little-endian 32-bit numbers. Whole
numbers as text could be taken for prices, which are hidden."""
LARGEST: Final = 1 << 20
"""Bytes of a curve that is read."""


def written(worth: Iterable[float]) -> bytes:
    """A curve as bytes.

    Example:
        >>> read(written([0.0, 0.5]))
        [0.0, 0.5]
    """
    return _little(array("f", worth)).tobytes()


def read(data: bytes) -> list[float]:
    """What `written` wrote; nothing if it is something else."""
    found = array("f")
    if not data or len(data) > LARGEST or len(data) % found.itemsize:
        return []
    found.frombytes(data)
    values = [*_little(found)]
    return values if all(map(isfinite, values)) else []


def _little(values: array[float]) -> array[float]:
    if sys.byteorder == "big":
        values.byteswap()
    return values
