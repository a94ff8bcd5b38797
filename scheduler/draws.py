"""Random draws that can be replayed: a counter-based generator keyed by seed and sample."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def uniform(
    seed: bytes, run: str, step: int, positions: Sequence[int], stage: int
) -> NDArray[np.float64]:
    """One number in [0, 1) for each sample; the same sample and stage always gets the same.

    A candidate that is submitted again is another sample and is drawn again, so that a hack that
    was missed once can't stay unseen for ever.

    Args:
        seed: The campaign's secret.
        run: Run the samples belong to.
        step: Step the samples belong to.
        positions: Their places in the step.
        stage: Which decision of the climb it is, from 0.

    Example:
        >>> bool(uniform(b"k", "r", 0, [3], 0)[0] == uniform(b"k", "r", 0, [3], 0)[0])
        True
    """
    head = hashlib.blake2b(f"{run}\0{step}\0{stage}\0".encode(), key=seed[:64], digest_size=8)
    digests = bytearray()
    for position in positions:
        draw = head.copy()
        draw.update(position.to_bytes(8, "big", signed=True))
        digests += draw.digest()
    return (np.frombuffer(bytes(digests), dtype=">u8") >> 11).astype(np.float64) / 2.0**53
