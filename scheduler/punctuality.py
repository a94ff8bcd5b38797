"""Punctuality: for how many draws an answer that came before a deadline has to speak."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import fsum, log2, prod
from typing import NamedTuple

from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.watch import SampleKey

FEWEST = 16
"""Draws of which a share is told: a call with fewer is seen together with those before it."""
LEAST = 0.2
"""Share of answers in time below which none weighs more than it would at this share."""
_RAREST = 1e-15
"""A share that stands for none."""


class _Asked(NamedTuple):
    """What has been asked about one draw."""

    speaks: float
    """For how many draws it speaks."""
    places: tuple[int, ...]
    """Places of the checks, in the order in which they were asked; all but the last have ended."""
    request: Request | None = None
    """What it waited for, once the top tier has said all."""

    def is_answered(self, place: int) -> bool:
        """Whether a check has ended."""
        return place in (self.places if self.request else self.places[:-1])


class InTime(NamedTuple):
    """The drawn answers that are there when rewards are read."""

    requests: list[Request]
    shares: list[float]
    """Of each, the share of answers that are there among those that take the same checks."""
    least: float
    """The smallest share, of answers that are not there too."""


class Punctuality:
    """Counts the drawn answers that have come when the rewards of a call are read.

    Until then the propensity of an answer is p·F, and F is the share of the call's draws whose
    answers are there. It is counted when the call ends and not foreseen when a draw falls, so it
    is right while workers start and queues grow or clear as well. Where the time of a check
    tells nothing about what it says, the checks in time are a random sample of those asked, and
    with the factor 1/(p·F) they speak for all of them: the mean is right given their number,
    unless none came.

    Where an answer takes several checks, each is asked because of what the one before has said,
    as the second of two verifiers is only where the first did not reject. So F is the product of
    the shares of those checks that this answer took: of all that were asked the first, how many
    have heard, of all that were then asked the second, how many, and so on.

    The draws of a small call say little, and one alone nothing; they are seen together with those
    of earlier calls that had about as much time, up to `FEWEST` in all.
    """

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self._awaited: dict[SampleKey, _Asked] = {}
        self._left: dict[SampleKey, float] = {}
        self._recent: defaultdict[int, deque[_Asked]] = defaultdict(partial(deque, maxlen=FEWEST))
        """The latest draws, by the logarithm of the time that they had."""

    def expect(self, asked: Iterable[tuple[SampleKey, int]]) -> None:
        """Hear which check is asked next about samples on which a draw fell.

        Args:
            asked: Samples whose rewards will be read at a deadline, and places of the checks.
        """
        for sample, place in asked:
            before = self._awaited[sample].places if sample in self._awaited else ()
            self._awaited[sample] = _Asked(1.0, (*(p for p in before if p != place), place))

    def come(self, requests: Iterable[Request]) -> None:
        """Hear of samples about which the top tier has said all."""
        for request in requests:
            if (asked := self._awaited.get(request[2:5])) is not None:
                self._awaited[request[2:5]] = asked._replace(request=request)

    def forget(self, samples: Iterable[SampleKey]) -> None:
        """Hear of samples that were cancelled."""
        for sample in samples:
            self._awaited.pop(sample, None)
            self._left.pop(sample, None)

    def speak(self, left: Mapping[SampleKey, float]) -> None:
        """Hear of the share of draws that is left where others were cancelled."""
        self._left.update({s: share for s, share in left.items() if s in self._awaited})

    def read(self, samples: Sequence[SampleKey], seconds: float) -> InTime:
        """Count what is there when rewards are read.

        Args:
            samples: Samples of one call.
            seconds: How long it could wait.
        """
        ours = [sample for sample in samples if sample in self._awaited]
        there = [
            self._awaited.pop(sample)._replace(speaks=1.0 / self._left.pop(sample, 1.0))
            for sample in ours
        ]
        seen: Sequence[_Asked] = there
        if seconds > 0.0:
            recent = self._recent[round(log2(seconds))]
            recent.extend(there)
            seen = there if len(there) >= FEWEST else list(recent)
        share = _shares(seen)
        came = [(one.request, share[one.places]) for one in there if one.request is not None]
        least = min(share.values(), default=1.0)
        return InTime([request for request, _ in came], [own for _, own in came], least)


def _shares(draws: Sequence[_Asked]) -> dict[tuple[int, ...], float]:
    """The share of answers that are there, by the checks that they take."""
    answered = {
        place: fsum(one.speaks for one in draws if one.is_answered(place))
        / fsum(one.speaks for one in draws if place in one.places)
        for place in {place for one in draws for place in one.places}
    }
    return {one.places: prod(map(answered.__getitem__, one.places)) for one in draws}


def speaks_for(share: float, estimator: Estimator, size: int) -> float:
    """For how many samples one speaks where only a share of those that wait alike is left.

    Args:
        share: That share; below `LEAST` it speaks for no more than it would at that.
        estimator: Gives the factor.
        size: How many samples the learner's update has.
    """
    return float(estimator.factors(max(share, LEAST), size))


def weighed_draw(
    draw: Draw, share: float, estimator: Estimator, size: int, least: float = 1.0
) -> Draw:
    """A draw as it counts while only a share of those that it was one of have an answer.

    The others were not answered by the deadline at which rewards are read, or were cancelled.
    Where too few are there of those that take longest, they get a smaller factor than they should,
    and all others are corrected no better: what comes soon, as rejects do, would stand alone. So a
    mode in which few answers weigh no more than many, as `plugin`, changes nothing for anybody.

    Args:
        draw: The draw as it counts in the end.
        share: Share of the draws that are answered, or left.
        estimator: Gives the factor.
        size: How many samples the learner's update has.
        least: The share of those that take longest, if that is smaller.
    """
    longest = max(min(share, least), _RAREST)
    chances = [share, 1.0, longest, max(longest, LEAST)]
    factor, own, wanted, given = estimator.factors(
        [draw.propensity * each for each in chances], size
    ).tolist()
    factor *= given / wanted
    if draw.factor != own:  # Others have taken over a part of what it speaks for.
        factor *= draw.factor / own
    return draw._replace(propensity=draw.propensity * share, factor=factor)
