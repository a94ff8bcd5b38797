"""Punctuality: what a deadline does to the chance that a drawn truth counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.answertimes import AnswerCurve, AnswerTimes
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator


class Drawn(NamedTuple):
    """A sample whose draw has just fallen on it."""

    answer_key: bytes
    """Names the top tier's answer about its candidate: `Standing.answer_key`."""
    draw: Draw
    until: float | None
    """When its reward will be read, in seconds since 1970; None if nobody waits for it."""
    size: int
    """How many samples the learner's update has."""


class Punctuality:
    """Knows how long the top tier takes to answer, answers that are still out included.

    A reward that is read at a deadline counts a drawn answer only if it has come by then. The
    quick ones are no random sample, and there are fewer of them: the propensity of an answer that
    came in time is p·F(time left), and so it weighs more until the deadline than after it.

    An answer may take several checks, one after the other: gates and replicates. It is one thing
    here, from the draw that first asked for it to the last of its checks.
    """

    def __init__(self, ladder: Ladder, estimator: Estimator) -> None:
        """Start with what the top tier's verifiers declare that they take."""
        top = ladder.rungs[-1].verifiers
        declared = sum(verifier.cost.seconds * verifier.replicates for verifier in top)
        self._times = AnswerTimes(declared if declared > 0.0 else None)
        self._estimator = estimator
        self._out: dict[bytes, float] = {}

    def ask(self, drawn: Sequence[Drawn], now: float) -> list[dict[str, Any]]:
        """Hear of draws that fell; gives what the queue keeps of each.

        Args:
            drawn: The samples that they fell on.
            now: Seconds since 1970.
        """
        if not drawn:
            return []
        curve = self._curve(now)
        terms = [self._terms(one, curve, now) for one in drawn]
        for one in drawn:
            self._asked(one.answer_key, now)
        return terms

    def _terms(self, drawn: Drawn, curve: AnswerCurve, now: float) -> dict[str, Any]:
        """When it was asked and, where somebody waits, its propensity and factor until then.

        They are fixed when the check is asked for.
        """
        terms: dict[str, Any] = {"asked_at": now, "answer": drawn.answer_key.hex()}
        if drawn.until is not None:
            begun = self._out.get(drawn.answer_key, now)
            in_time = curve.within(drawn.until - now, after=now - begun)
            propensity = drawn.draw.propensity * in_time
            factor = float(self._estimator.factors([propensity], drawn.size)[0])
            terms["early"] = propensity, factor
        return terms

    def _curve(self, now: float) -> AnswerCurve:
        return self._times.curve([now - begun for begun in self._out.values()])

    def _asked(self, answer_key: bytes, now: float) -> None:
        self._out[answer_key] = min(now, self._out.get(answer_key, now))

    def is_out(self, answer_key: bytes) -> bool:
        """Whether an answer has been drawn and has not come."""
        return answer_key in self._out

    def end(self, answer_key: bytes, now: float) -> float | None:
        """Hear that nobody waits for an answer any more: it has come, failed or was cancelled.

        Returns:
            For how many seconds it was out; None if it was not.
        """
        begun = self._out.pop(answer_key, None)
        return None if begun is None else now - begun

    def learn(self, seconds: float | None) -> None:
        """Learn how long an answer took; None for one that will never come."""
        self._times.add(seconds)

    def learn_unheard(self, seconds: float) -> None:
        """Learn for how long an answer had not come when it was cancelled."""
        self._times.give_up(seconds)

    def take_up(self, requests: Iterable[Request]) -> None:
        """Hear of answers that are out since before a restart."""
        for request in requests:
            state = request.state
            if "asked_at" in state and "answer" in state:
                self._asked(bytes.fromhex(state["answer"]), float(state["asked_at"]))

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


def answered(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a request whose answer has been heard of: it is not out any more."""
    return {name: kept for name, kept in state.items() if name not in {"early", "asked_at"}}
