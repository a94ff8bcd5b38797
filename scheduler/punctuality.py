"""Punctuality: for how many draws an answer that came before a deadline has to speak."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import fsum, log2
from typing import NamedTuple

from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.watch import SampleKey

FEWEST = 16
"""Draws of which a share is told: a call with fewer is seen together with those before it."""
LEAST = 0.2
"""Share of answers in time below which none weighs more than it would at this share."""


class InTime(NamedTuple):
    """Drawn answers of one call that are there when its rewards are read."""

    share: float
    """How many they are of those that were drawn alike."""
    requests: list[Request]


class Punctuality:
    """Counts the drawn answers that have come when the rewards of a call are read.

    Until then the propensity of an answer is p·F, and F is the share of the call's draws whose
    answers are there. It is counted when the call ends and not foreseen when a draw falls, so it
    is right while workers start and queues grow or clear as well. Where the time of an answer
    tells nothing about what it says, the answers in time are a random sample of those drawn, and
    with the factor 1/(p·F) they speak for all of them: the mean is right given their number,
    unless none came.

    What was asked for certain is drawn with p = 1. It is counted apart from what chance chose: it
    is worth more, so its turn may come first.

    The draws of a small call say little, and one alone nothing; they are seen together with those
    of earlier calls that had about as much time, up to `FEWEST` in all.
    """

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self._awaited: dict[SampleKey, Request | None] = {}
        self._certain: set[SampleKey] = set()
        self._left: dict[SampleKey, float] = {}
        self._recent: defaultdict[tuple[bool, int], deque[tuple[float, bool]]] = defaultdict(
            partial(deque, maxlen=FEWEST)
        )
        """For how many draws each of the latest speaks, and whether it was answered in time, by
        whether it was certain and the logarithm of that time."""

    def expect(self, draws: Mapping[SampleKey, Draw]) -> None:
        """Hear of samples on which a draw fell, and whose rewards will be read at a deadline."""
        self._awaited.update(dict.fromkeys(draws))
        self._certain.update(sample for sample, draw in draws.items() if draw.is_certain)

    def come(self, requests: Iterable[Request]) -> None:
        """Hear of samples about which the top tier has said all."""
        self._awaited.update({r[2:5]: r for r in requests if r[2:5] in self._awaited})

    def forget(self, samples: Iterable[SampleKey]) -> None:
        """Hear of samples that were cancelled."""
        for sample in samples:
            self._awaited.pop(sample, None)
            self._certain.discard(sample)
            self._left.pop(sample, None)

    def speak(self, left: Mapping[SampleKey, float]) -> None:
        """Hear of the share of draws that is left where others were cancelled."""
        self._left.update({s: share for s, share in left.items() if s in self._awaited})

    def read(self, samples: Sequence[SampleKey], seconds: float) -> list[InTime]:
        """Count what is there when rewards are read.

        Args:
            samples: Samples of one call.
            seconds: How long it could wait.

        Returns:
            What chance chose, and what was asked for certain; of each, only where it was drawn.
        """
        ours = [sample for sample in samples if sample in self._awaited]
        certain = [sample for sample in ours if sample in self._certain]
        by_chance = [sample for sample in ours if sample not in self._certain]
        self._certain.difference_update(certain)
        return [
            self._read(drawn, seconds, is_certain=drawn is certain)
            for drawn in (by_chance, certain) if drawn
        ]  # fmt: skip

    def _read(self, samples: list[SampleKey], seconds: float, *, is_certain: bool) -> InTime:
        requests = [self._awaited.pop(sample) for sample in samples]
        there = [
            (1.0 / self._left.pop(sample, 1.0), request is not None)
            for sample, request in zip(samples, requests, strict=True)
        ]
        if seconds > 0.0:
            recent = self._recent[is_certain, round(log2(seconds))]
            recent.extend(there)
            there = there if len(there) >= FEWEST else list(recent)
        share = fsum(n for n, came in there if came) / fsum(n for n, _ in there)
        return InTime(share, [request for request in requests if request is not None])


def early_draw(draw: Draw, share: float, estimator: Estimator, size: int) -> Draw:
    """A draw as it counts when its sample's reward is read at a deadline.

    Args:
        draw: The draw as it counts in the end.
        share: Share of the drawn answers that are there.
        estimator: Gives the factor.
        size: How many samples the learner's update has.
    """
    (factor,) = estimator.factors([draw.propensity * max(share, LEAST)], size).tolist()
    return draw._replace(propensity=draw.propensity * share, factor=factor)
