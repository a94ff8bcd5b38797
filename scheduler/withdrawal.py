"""Withdrawal: samples whose learner wants them no more; their climbs end where they stand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import nan
from typing import Any, NamedTuple

from verifier_ladder.decision import Action, Belief
from verifier_ladder.ledger.records import DecisionColumns, Request
from verifier_ladder.reward import Reward
from verifier_ladder.run import evaluation_name
from verifier_ladder.scheduler.climb import Scene, Step, revised
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.revisions import Revisions
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.unanswered import kept

_POLICY = "withdrawal 1"
_WHY = "it was cancelled"
_UNKNOWN = Belief(nan, nan)


class Withdrawn(NamedTuple):
    """What a cancellation came to."""

    samples: int
    """Samples that wait no more."""
    checks: int
    """Checks that nobody else wanted: they are cancelled."""


class Wanted(NamedTuple):
    """Which samples are meant; None for any."""

    run: str | None
    step: int | None = None
    positions: Collection[int] | None = None

    def takes(self, request: Request) -> bool:
        """Whether a waiting sample is one of them."""
        return (
            (self.run in {None, request.run} or self._is_its_evaluation(request))
            and self.step in {None, request.step}
            and (self.positions is None or request.position in self.positions)
        )

    def _is_its_evaluation(self, request: Request) -> bool:
        """Whether it evaluates the run that is meant as a whole; steps are each run's own."""
        return (
            self.run is not None and self.step is None and request.run == evaluation_name(self.run)
        )


def withdraw(desk: Desk, requests: Sequence[Request], standings: Sequence[Standing]) -> int:
    """End the climbs of waiting samples, each of which may wait for several checks; count them."""
    places: dict[tuple[str, int, int], list[int]] = {}
    for place, request in enumerate(requests):
        places.setdefault(request[2:5], []).append(place)
    firsts = [each[0] for each in places.values()]
    waiting = [[requests[place] for place in each] for each in places.values()]
    ended = Withdrawal(
        desk, [requests[i] for i in firsts], [standings[i] for i in firsts], waiting
    )
    ended.write(range(len(firsts)))
    return len(firsts)


class Withdrawal(Revisions):
    """Ends the climbs of samples; each keeps the reward that follows from what is known."""

    def __init__(
        self,
        desk: Desk,
        requests: Sequence[Request],
        standings: Sequence[Standing],
        waiting: Sequence[Sequence[Request]],
    ) -> None:
        """Decide; nothing is written yet.

        Args:
            desk: The campaign's desk.
            requests: One request of each sample.
            standings: What is known of its candidate.
            waiting: All its requests.
        """
        self._waiting = waiting
        super().__init__(desk, requests, standings, is_held=False)

    def _answered(self, places: Sequence[int]) -> list[Request]:
        return [request for place in places for request in self._waiting[place]]

    def _decided(self, scene: Scene) -> Step:
        standings = scene.standings
        rewards = [
            _ended(reward, draw, is_judged=standing.is_judged)
            for reward, draw, standing in zip(
                self._desk.climb.knowledge.rewards(standings), scene.draws or (), standings,
                strict=True,
            )
        ]  # fmt: skip
        beliefs = [standing.belief or _UNKNOWN for standing in standings]
        count = len(standings)
        decisions = DecisionColumns(
            _POLICY, range(count), [int(Action.STOP)] * count, [-1] * count, [0] * count, (_WHY,),
            [belief.mean for belief in beliefs], [belief.deviation for belief in beliefs],
            [draw.propensity if draw else 0.0 for draw in scene.draws or ()], None, [0.0] * count,
        )  # fmt: skip
        return Step([decisions], rewards, [])

    def _unwanted(self, places: Sequence[int]) -> list[bytes]:
        return list(dict.fromkeys(request.check_key for request in self._answered(places)))

    def _unanswered(self, places: Sequence[int]) -> dict[str, Any]:
        return kept(self._answered(places))


def _ended(reward: Reward, draw: Draw | None, *, is_judged: bool) -> Reward:
    if draw is not None:
        reward = revised(reward, draw, is_judged=is_judged)
    return reward._replace(pending=False, reason=_WHY, failed_at="lease")
