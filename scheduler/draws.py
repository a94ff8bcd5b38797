"""Random draws that can be replayed: a counter-based generator keyed by seed and sample."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verifier_ladder.candidate import SampleId

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Stratum(NamedTuple):
    """Samples that were judged alike before any draw."""

    verifier: str
    """The verifier that rejected them, or else the dearest that had scored them; "" if none."""
    is_rejected: bool


class Draw(NamedTuple):
    """The draw for the top tier of a sample whose climb stops, with what corrects its reward."""

    propensity: float
    """Probability that it fell on the sample."""
    number: float
    """The uniform random number."""
    estimate: float | None
    """The reward without the top tier's answer; None if nothing was known."""
    factor: float
    """Weight of the top tier's correction."""
    mean: float | None = None
    """Predictive mean of the target when it was drawn; None if nothing was known."""
    deviation: float | None = None
    """Predictive standard deviation; None if it was not known."""
    stratum: Stratum = Stratum("", is_rejected=False)

    @property
    def is_hit(self) -> bool:
        """Whether it fell on the sample."""
        return self.number < self.propensity

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Draw:
        """Read it back from a request's state."""
        propensity, number, estimate, factor, mean, deviation, stratum = stored
        return cls(propensity, number, estimate, factor, mean, deviation, Stratum(*stratum))


def uniform(seed: bytes, samples: Sequence[SampleId]) -> NDArray[np.float64]:
    """One number in [0, 1) for each sample; the same sample always gets the same.

    A candidate that is submitted again is another sample and is drawn again, so that a hack that
    was missed once can't stay unseen for ever.

    Args:
        seed: The campaign's secret.
        samples: What names them.

    Example:
        >>> sample = SampleId("run", 0, 3)
        >>> bool(uniform(b"k", [sample])[0] == uniform(b"k", [sample])[0])
        True
    """
    key = seed[:64]
    digests = [
        hashlib.blake2b(f"{step}\0{position}\0{run}".encode(), key=key, digest_size=8).digest()
        for run, step, position in samples
    ]
    return (np.frombuffer(b"".join(digests), dtype=">u8") >> 11).astype(np.float64) / 2.0**53
