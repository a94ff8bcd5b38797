"""Steps that policies share: which tier comes next, and reading a row's entry for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.decision import Situation

if TYPE_CHECKING:
    from numpy.typing import NDArray


def next_column(situation: Situation) -> NDArray[np.int64]:
    """Column of the lowest tier that has not answered; -1 where none is left or it was rejected.

    Tiers below the highest one that answered are not gone back to.
    """
    size, tiers = situation.answered.shape
    if size == 0:
        return np.empty(0, dtype=np.int64)
    columns = np.arange(tiers)
    is_open = ~situation.answered & (columns[None, :] > situation.reached[:, None])
    first = is_open.argmax(axis=1)
    return np.where(is_open.any(axis=1) & ~situation.rejected, first, -1).astype(np.int64)


def pick(table: NDArray[Any], column: NDArray[np.int64]) -> NDArray[Any]:
    """The entry of each row in its own column; rows with column -1 give their last entry."""
    return table[np.arange(len(column)), column]
