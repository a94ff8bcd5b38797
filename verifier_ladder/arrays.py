"""Names for the types of arrays, for annotations; nothing is imported for them at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Indices = NDArray[np.int64]
else:
    ArrayLike = NDArray = Floats = Flags = Indices = Any
__all__ = ["ArrayLike", "Flags", "Floats", "Indices", "NDArray"]
