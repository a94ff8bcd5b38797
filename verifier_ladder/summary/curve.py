"""Curves: how the rewards, and the best that is known, stood as money was spent."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace

from verifier_ladder.reward import Reward
from verifier_ladder.summary.records import CurvePoint
from verifier_ladder.summary.subject import Subject

MOST_POINTS = 400
_Told = tuple[float | None, float | None, bool]
"""A sample's reward, its uncertainty, and whether it may still be revised."""


class Curve:
    """Keeps the best candidate and the mean reward up to date, and a point for each spending."""

    def __init__(self, worth: Callable[[float], float]) -> None:
        """Start with nothing spent.

        Args:
            worth: Brings what is known of a candidate to the learner's scale.
        """
        self.seconds = 0.0
        self._worth = worth
        self._points: list[CurvePoint] = []
        self._every = 1
        self._calls = 0
        self._sum = self._spread = 0.0
        self._spreads = 0
        self.known = 0
        """Samples that have a reward."""
        self.waiting = 0
        """Samples that have none yet, and a check that may still bring one."""
        self._rewards: dict[tuple[str, int], dict[int, _Told]] = {}
        self._heap: list[tuple[float, int, Subject]] = []
        self._pushes = 0

    def tell(self, run: str, step: int, position: int, reward: Reward) -> None:
        """Replace the reward of one sample.

        Samples of one candidate differ in it: a correction stands for those that were not drawn.
        """
        rewards = self._rewards.setdefault((run, step), {})
        if position in rewards:
            self._weigh(rewards[position], -1)
        rewards[position] = (reward.value, reward.uncertainty, reward.pending)
        self._weigh(rewards[position], 1)

    def rank(self, subject: Subject, known: float | None) -> None:
        """Replace what is known of a subject; larger is better, None takes it out."""
        if known == subject.known:
            return
        subject.known = known
        if known is not None:
            self._pushes += 1
            heapq.heappush(self._heap, (-known, self._pushes, subject))

    def order(self, subjects: Iterable[Subject]) -> None:
        """Rank subjects anew, by what is known of them now."""
        self._heap = [
            (-subject.known, place, subject) for place, subject in enumerate(subjects)
            if subject.known is not None
        ]  # fmt: skip
        heapq.heapify(self._heap)
        self._pushes = len(self._heap)

    def _weigh(self, told: _Told, count: int) -> None:
        value, uncertainty, pending = told
        if value is None:
            self.waiting += count * pending
            return
        self._sum += value * count
        self.known += count
        if uncertainty is not None:
            self._spread += uncertainty * count
            self._spreads += count

    def mark(self) -> None:
        """Note where things stand; of very many points only evenly spaced ones are kept."""
        self._calls += 1
        if self._calls % self._every:
            return
        self._points.append(self._now())
        if len(self._points) >= 2 * MOST_POINTS:
            self._points = self._points[1::2]
            self._every *= 2

    def _now(self) -> CurvePoint:
        while self._heap and self._heap[0][2].known != -self._heap[0][0]:
            heapq.heappop(self._heap)  # More is known since.
        return CurvePoint(
            self.seconds,
            self._worth(-self._heap[0][0]) if self._heap else None,
            self.mean,
            self._spread / self._spreads if self._spreads else None,
        )

    @property
    def best(self) -> float | None:
        """The best that is known of any candidate now, on the learner's scale."""
        return self._now().best

    @property
    def mean(self) -> float | None:
        """Mean of the rewards as they stand, over all samples that have one."""
        return self._sum / self.known if self.known else None

    def points(
        self, spent: float | None = None, mean: float | None = None
    ) -> tuple[CurvePoint, ...]:
        """All points, the present one last.

        Args:
            spent: What has been spent until now, where more is known than the entries tell.
            mean: Mean of the rewards as they stand, where that was summed up without rounding.
        """
        now = self._now()
        now = replace(
            now, seconds=now.seconds if spent is None else max(spent, now.seconds),
            mean=now.mean if mean is None else mean,
        )  # fmt: skip
        return tuple(self._points if self._points and self._points[-1] == now
                     else [*self._points, now])  # fmt: skip
