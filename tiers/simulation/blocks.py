"""Blocks: how sure the mean of values is that depend on their neighbours.

Blocks of neighbours are drawn, with replacement, from the values laid in a circle, so that each
value counts alike and what binds neighbours stays (Politis and Romano, *A Circular
Block-Resampling Procedure for Stationary Data*, 1992). Blocks are as long as the cube root of the
number of values, which is the right order (Hall, Horowitz and Jing, *On Blocking Rules for the
Bootstrap with Dependent Data*, 1995), or as long as is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DRAWS: Final = 2000
_SEED: Final = 20261126
"""The same blocks for everybody: nobody's interval depends on luck that he could draw again."""
_TAILS: Final = (0.025, 0.975)
MOST: Final = 20_000
"""Values of a row."""


def resampled_means(rows: Sequence[Sequence[float]], least: int = 1) -> NDArray[np.float64]:
    """The means of some rows in each of many resamples.

    Args:
        rows: Values side by side: in a resample all rows are of the same places.
        least: How many neighbours a block holds at least, because so many share what they see.

    Returns:
        One row of means for each row.

    Example:
        >>> means = resampled_means([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]])
        >>> means.shape, bool((2 * means[0] == means[1]).all())
        ((2, 2000), True)
    """
    import numpy as np

    table = np.asarray(rows, dtype=float)
    size = table.shape[1]
    length = min(max(ceil(size ** (1 / 3)), least), size)
    starts = np.random.default_rng(_SEED).integers(size, size=(_DRAWS, ceil(size / length)))
    around = np.concatenate([table, table[:, : length - 1]], axis=1)
    blocks = np.lib.stride_tricks.sliding_window_view(around, length, axis=1).mean(axis=2)
    means: NDArray[np.float64] = blocks[:, starts].mean(axis=2)
    return means


def interval(estimate: float, resampled: NDArray[np.float64], size: int) -> tuple[float, float]:
    """The 95 % interval of an estimate, from what it is in resamples of so many values.

    Resamples vary less than samples do, for their mean is that of the values; the interval is
    widened by as much.

    Example:
        >>> import numpy as np
        >>> [round(end, 2) for end in interval(0.0, np.linspace(-1, 1, 2001), 4)]
        [-1.1, 1.1]
    """
    import numpy as np

    wider = sqrt(size / (size - 1))
    low, high = (float(end) for end in np.quantile(resampled, _TAILS))
    return estimate + wider * (low - estimate), estimate + wider * (high - estimate)
