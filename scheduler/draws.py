"""Random draws that can be replayed: a counter-based generator keyed by seed and sample."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from typing import Any, NamedTuple

import numpy as np

from verifier_ladder.arrays import Floats, NDArray
from verifier_ladder.candidate import SampleId

_LARGEST = 1.0 - 2.0**-53
"""The largest number below 1."""
_ROUNDING = 1.0 - 1e-9
"""Keeps sums of chances below whole numbers, however they are rounded."""


class Stratum(NamedTuple):
    """Samples that were judged alike before any draw."""

    verifier: str
    """The verifier that rejected them, or else the dearest that had scored them; "" if none."""
    is_rejected: bool


class Draw(NamedTuple):
    """The draw that sends a sample to the top tier, with what corrects its reward.

    One that is asked for because it is worth its cost is drawn for certain, with probability 1.
    """

    propensity: float
    """Probability that it fell on the sample."""
    number: float | None
    """The uniform random number; None where chance had no part in it."""
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
        return self.number is None or self.number < self.propensity

    @property
    def is_certain(self) -> bool:
        """Whether chance had no part in it: it is no audit, for what is worth most is chosen."""
        return self.number is None

    @classmethod
    def certain(cls, estimate: float | None) -> Draw:
        """The draw of a sample that is asked about for certain, believed to be worth that."""
        return cls(1.0, None, estimate, 1.0)

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Draw:
        """Read it back from a request's state."""
        propensity, number, estimate, factor, mean, deviation, stratum = stored
        return cls(propensity, number, estimate, factor, mean, deviation, Stratum(*stratum))


class Lot(NamedTuple):
    """A draw for the top tier that was made ahead: it counts once the sample's climb stops."""

    propensity: float
    """Probability that it falls on the sample."""
    number: float
    """The uniform random number."""

    @property
    def is_hit(self) -> bool:
        """Whether it falls on the sample."""
        return self.number < self.propensity


class Spoken(NamedTuple):
    """What cancellations below the top tier make of a sample's reward.

    It moves `factor` times as far from `estimate` as what is known of the sample itself, and by
    `apart` in any case.
    """

    estimate: float
    """The reward when others that waited as it did were cancelled, or it was itself."""
    factor: float = 1.0
    """For how many samples it speaks from then on; 0 if it was cancelled."""
    apart: float = 0.0
    """What its reward has from moves before that one, whatever is known of the sample itself."""

    def then(self, told: float, times: float, most: float = inf) -> Spoken:
        """What one more cancellation makes of it.

        Args:
            told: The reward as it stands: it moves from there.
            times: How many times as far as before.
            most: For how many samples one speaks at most.
        """
        if self.factor * times > most:
            times = most / self.factor
        kept = (1.0 - self.factor) * (self.estimate - told) + self.apart
        return Spoken(told, self.factor * times, times * kept)

    def own(self, told: float | None) -> float | None:
        """What is known of the sample itself where this much is told; None if that tells nothing.

        Args:
            told: A reward.
        """
        if told is None or self.factor == 0.0:
            return None
        return self.estimate + (told - self.apart - self.estimate) / self.factor


def ranges(positions: Iterable[int]) -> list[int | list[int]]:
    """Positions as the ledger keeps many of them: of those in a row, the first and the last.

    Example:
        >>> ranges([9, 3, 4, 5])
        [[3, 5], 9]
    """
    runs = groupby(enumerate(sorted(positions)), lambda counted: counted[1] - counted[0])
    rows = [[position for _, position in run] for _, run in runs]
    return [row[0] if len(row) == 1 else [row[0], row[-1]] for row in rows]


def in_ranges(stored: Iterable[int | Sequence[int]], known: Iterable[int]) -> Iterator[int]:
    """Those of some positions that are stored, each once.

    Args:
        stored: What `ranges` made, or single positions in any order. No range is gone through:
            whoever can write to the database can have written any.
        known: Positions.

    Raises:
        ValueError: If a range ends before it begins.
        TypeError: If it is none.

    Example:
        >>> list(in_ranges([[3, 5], 9], [1, 4, 5, 9]))
        [4, 5, 9]
    """
    positions, place = sorted(known), 0
    for first, last in sorted(
        (row, row) if isinstance(row, int) else tuple(row) for row in stored
    ):
        if first > last:
            raise ValueError(f"positions {first} to {last} are no range")
        place = bisect_left(positions, first, place)
        end = bisect_right(positions, last, place)
        yield from positions[place:end]
        place = end


def spoken_facts(spoken: Mapping[int, Spoken]) -> dict[str, Any]:
    """What the ledger keeps of what cancellations made of rewards, by their positions."""
    return {"spoken": [[position, *one] for position, one in spoken.items()]} if spoken else {}


def spoken_in(facts: Mapping[str, Any]) -> dict[int, Spoken]:
    """Read it back, by position."""
    return {position: Spoken(*rest) for position, *rest in facts.get("spoken", ())}


def facts_of(lots: Mapping[int, Lot], positions: Sequence[int]) -> dict[str, Any]:
    """What the ledger keeps of draws that were made ahead, so that they can be drawn again.

    Args:
        lots: By place among the positions.
        positions: Positions of the samples.
    """
    return {"ahead": [[positions[place], *lot] for place, lot in lots.items()]} if lots else {}


def uniform(seed: bytes, samples: Sequence[SampleId]) -> Floats:
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


def drawn_together(
    seed: bytes,
    samples: Sequence[SampleId],
    chance: Floats,
    share: Floats,
    kind: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Draw samples so that those which are drawn can all be paid.

    Draws that don't know of each other fall on more samples than expected as often as on fewer,
    and what a budget can't pay has no answer, though its chance was told as if it had. Here the
    chances lie end to end on a line, from the cheapest sample to the dearest, and the draw falls
    wherever a random number, or that plus 1, 2, 3, …, lies. So each sample is drawn with its own
    chance, and how many there are is their sum, but for a fraction. (Systematic sampling: Madow,
    *Ann. Math. Stat.* 20, 1949. Samples that cost the same are in random order: Hartley and Rao,
    *Ann. Math. Stat.* 33, 1962.)

    Args:
        seed: The campaign's secret.
        samples: What names them.
        chance: The chance that each should have, if it can be paid. Shape (n,).
        share: The share of what is left that each would take. Shape (n,).
        kind: Samples that cost the same lie side by side by this, so that as many of each kind
            are drawn as are expected. Shape (n,).

    Returns:
        The chances that they have, the numbers that decide, and the order on the line.
    """
    among = uniform(hashlib.blake2b(b"order", key=seed[:64]).digest(), samples)
    order = np.lexsort((among, share) if kind is None else (among, kind, share))
    chance = fitted(chance, share)
    (begin,) = uniform(seed, [samples[order[0]]])
    before = np.concatenate([[0.0], np.cumsum(chance[order])[:-1]])
    numbers = np.empty(len(samples))
    numbers[order] = following(begin, before)
    return chance, numbers, order


def following(begin: float | np.float64, before: float | Floats) -> Floats:
    """The numbers of samples whose chances lie end to end on a line.

    Args:
        begin: The number of the first.
        before: Sum of the chances before each.
    """
    return np.minimum(np.mod(begin - np.asarray(before), 1.0), _LARGEST)


def fitted(chance: Floats, share: Floats) -> Floats:
    """Chances times a factor of at most 1, so that no draw takes more than is left.

    From cheap to dear, what is drawn takes at most what is expected and once the dearest; and
    there are never more than the sum of the chances, rounded up.
    """
    chance = np.where(share <= 1.0, chance, 0.0)
    drawn = chance > 0.0
    dearest = float(share[drawn].max(initial=0.0))
    if dearest == 0.0:
        return chance
    in_all = (1.0 - dearest) / float(chance[drawn] @ share[drawn])
    counted = int(1.0 / dearest) / float(chance.sum())
    return chance * min(1.0, max(in_all, counted) * _ROUNDING)
