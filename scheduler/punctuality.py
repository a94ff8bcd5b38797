"""Punctuality: what a deadline does to the chance that a drawn truth counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.answertimes import AnswerTimes
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator


class Punctuality:
    """Knows how long drawn checks take to answer, those that are still out included.

    A reward that is read at a deadline counts a drawn answer only if it has come by then. The
    quick ones are no random sample, and there are fewer of them: the propensity of an answer that
    came in time is p·F(time left), and so it weighs more until the deadline than after it.
    """

    def __init__(self, ladder: Ladder, estimator: Estimator) -> None:
        """Start with what the top verifier declares that it takes."""
        top = ladder.rungs[-1].primary
        declared = 0.0 if top is None else top.cost.seconds
        self._times = AnswerTimes(declared if declared > 0.0 else None)
        self._estimator = estimator
        self._out: dict[bytes, float] = {}

    def ask(
        self, check_key: bytes, draw: Draw, now: float, *, until: float | None, size: int
    ) -> dict[str, Any]:
        """Hear that a drawn check is asked for; gives what the queue keeps of that.

        Args:
            check_key: The check.
            draw: The draw that asks for it.
            now: Seconds since 1970.
            until: When the reward will be read; None if nobody waits for it.
            size: How many samples the learner's update has.
        """
        terms: dict[str, Any] = {"asked_at": now}
        if until is not None:
            terms["early"] = self.early(draw, until - now, size, now)
        self.asked(check_key, now)
        return terms

    def asked(self, check_key: bytes, now: float) -> None:
        """Hear that a drawn check is out."""
        self._out.setdefault(check_key, now)

    def ended(self, check_key: bytes, seconds: float | None) -> None:
        """Hear that a drawn check has ended.

        Args:
            check_key: The check.
            seconds: How long after it was asked for; None if it failed for good.
        """
        self._out.pop(check_key, None)
        self._times.add(seconds)

    def early(self, draw: Draw, left: float, size: int, now: float) -> tuple[float, float]:
        """Propensity and factor of a draw whose answer has to come within some seconds.

        Args:
            draw: The draw.
            left: Seconds until the reward is read.
            size: How many samples the learner's update has.
            now: Seconds since 1970.

        Returns:
            Both for as long as the reward is awaited. They are fixed when the check is asked for.
        """
        waiting = [now - begun for begun in self._out.values()]
        propensity = draw.propensity * self._times.within(left, waiting)
        return propensity, float(self._estimator.factors([propensity], size)[0])

    def take_up(self, requests: Iterable[Request]) -> None:
        """Hear of checks that are out since before a restart."""
        for request in requests:
            begun = request.state.get("asked_at")
            if begun is not None:
                self.asked(request.check_key, float(begun))

    def snapshot(self) -> dict[str, Any]:
        """What was learnt, as JSON."""
        return self._times.snapshot()

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot; what is out is heard of from the queue."""
        self._times.restore(snapshot)


def early_draw(request: Request, draw: Draw | None) -> Draw | None:
    """A draw as it counts while its sample's reward is awaited."""
    told = request.state.get("early")
    if draw is None or told is None:
        return draw
    propensity, factor = told
    return draw._replace(propensity=float(propensity), factor=float(factor))
