"""Punctuality: for how many draws an answer that came before a deadline has to speak."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import fsum, log2

from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.watch import SampleKey

FEWEST = 16
"""Draws of which a share is told: a call with fewer is seen together with those before it."""
LEAST = 0.2
"""Share of answers in time below which none weighs more than it would at this share."""


class Punctuality:
    """Counts the drawn answers that have come when the rewards of a call are read.

    Until then the propensity of an answer is p·F, and F is the share of the call's draws whose
    answers are there. It is counted when the call ends and not foreseen when a draw falls, so it
    is right while workers start and queues grow or clear as well. Where the time of an answer
    tells nothing about what it says, the answers in time are a random sample of those drawn, and
    with the factor 1/(p·F) they speak for all of them: the mean is right given their number,
    unless none came.

    The draws of a small call say little, and one alone nothing; they are seen together with those
    of earlier calls that had about as much time, up to `FEWEST` in all.
    """

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self._awaited: dict[SampleKey, Request | None] = {}
        self._left: dict[SampleKey, float] = {}
        self._recent: defaultdict[int, deque[tuple[float, bool]]] = defaultdict(
            partial(deque, maxlen=FEWEST)
        )
        """For how many draws each of the latest speaks, and whether it was answered in time, by
        the logarithm of that time."""

    def expect(self, samples: Iterable[SampleKey]) -> None:
        """Hear of samples on which a draw fell, and whose rewards will be read at a deadline."""
        self._awaited.update(dict.fromkeys(samples))

    def come(self, requests: Iterable[Request]) -> None:
        """Hear of samples about which the top tier has said all."""
        self._awaited.update({r[2:5]: r for r in requests if r[2:5] in self._awaited})

    def forget(self, samples: Iterable[SampleKey]) -> None:
        """Hear of samples that were cancelled."""
        for sample in samples:
            self._awaited.pop(sample, None)
            self._left.pop(sample, None)

    def speak(self, left: Mapping[SampleKey, float]) -> None:
        """Hear of the share of draws that is left where others were cancelled."""
        self._left.update({s: share for s, share in left.items() if s in self._awaited})

    def read(self, samples: Sequence[SampleKey], seconds: float) -> tuple[float, list[Request]]:
        """Count what is there when rewards are read.

        Args:
            samples: Samples of one call.
            seconds: How long it could wait.

        Returns:
            The share of drawn answers that are there, and the requests of those.
        """
        ours = [sample for sample in samples if sample in self._awaited]
        requests = [self._awaited.pop(sample) for sample in ours]
        there = [
            (1.0 / self._left.pop(sample, 1.0), request is not None)
            for sample, request in zip(ours, requests, strict=True)
        ]
        if seconds > 0.0:
            recent = self._recent[round(log2(seconds))]
            recent.extend(there)
            there = there if len(there) >= FEWEST else list(recent)
        share = fsum(n for n, came in there if came) / fsum(n for n, _ in there) if there else 1.0
        return share, [request for request in requests if request is not None]


def weighed_draw(draw: Draw, share: float, estimator: Estimator, size: int) -> Draw:
    """A draw as it counts while only a share of those that it was one of have an answer.

    The others were not answered by the deadline at which rewards are read, or were cancelled.

    Args:
        draw: The draw as it counts in the end.
        share: Share of the draws that are answered, or left.
        estimator: Gives the factor.
        size: How many samples the learner's update has.
    """
    chances = [draw.propensity, draw.propensity * max(share, LEAST)]
    own, factor = estimator.factors(chances, size).tolist()
    if draw.factor != own:  # Others have taken over a part of what it speaks for.
        factor *= draw.factor / own
    return draw._replace(propensity=draw.propensity * share, factor=factor)
