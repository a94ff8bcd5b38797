"""Withdrawal: samples whose learner wants them no more; their climbs end where they stand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from math import nan
from typing import Any, NamedTuple

from verifier_ladder.candidate import SampleId
from verifier_ladder.decision import Action, Belief
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import NO_TASK
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, DecisionColumns, Request, SampleColumns
from verifier_ladder.reward import Reward
from verifier_ladder.run import evaluation_name
from verifier_ladder.scheduler.climb import Scene, Step, revised
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.draws import Draw, Spoken, ranges
from verifier_ladder.scheduler.revisions import Revisions, draw_of, share_left_of, spoken_of
from verifier_ladder.scheduler.samplehistory import CANCELLED, RecordedSample
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.unanswered import kept

_POLICY = "withdrawal 1"
_WHY = "it was cancelled"
_UNKNOWN = Belief(nan, nan)
_DIGITS = 9
"""Decimal digits of a factor that is a difference: what is nothing must be 0."""
_Pool = tuple[str, int, bool]
"""Run and step of samples that wait alike, and whether they are drawn for the top tier."""


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

    def takes(self, sample: Request | SampleId) -> bool:
        """Whether a waiting sample is one of them."""
        return self.takes_step(sample.run, sample.step) and (
            self.positions is None or sample.position in self.positions
        )

    def takes_step(self, run: str, step: int) -> bool:
        """Whether samples of a step may be among them."""
        return (self.run in {None, run} or self._is_its_evaluation(run)) and self.step in {
            None, step,
        }  # fmt: skip

    def _is_its_evaluation(self, run: str) -> bool:
        """Whether it evaluates the run that is meant as a whole; steps are each run's own."""
        return self.run is not None and self.step is None and run == evaluation_name(self.run)


def check_known(
    ledger: Ledger, campaign: str, wanted: Wanted, waiting: Collection[int] = ()
) -> None:
    """Refuse to cancel what a campaign has never been given.

    Args:
        ledger: Its ledger.
        campaign: The campaign.
        wanted: Which samples.
        waiting: Positions in that step which wait for their group, and may not be recorded yet.

    Raises:
        ConfigError: If it holds no such run, or that no such step or position.
    """
    run, step = wanted.run, wanted.step
    known = [str(row["name"]) for row in ledger.runs(campaign)]
    if run is None or not (waiting or any(
        name in known or ledger.next_step(campaign, name) for name in (run, evaluation_name(run))
    )):  # fmt: skip
        newest = ", ".join(known[:-6:-1]) or "none"
        raise ConfigError(
            f"campaign {campaign!r} holds no run {run!r}; the newest are: {newest}. Name the run, "
            "and single samples by step and positions; a case goes with the samples that wait for "
            "it"
        )
    if step is None:
        return
    recorded = {*ledger.recorded(campaign, run, step), *waiting}
    missing = sorted({*(wanted.positions or ())} - recorded)
    if missing or not recorded:
        what = f"position {missing[0]} in step {step}" if recorded else f"step {step}"
        raise ConfigError(
            f"run {run!r} holds no {what}; `vladder campaign show {campaign}` tells what waits"
        )


def withdraw(
    desk: Desk,
    requests: Sequence[Request],
    standings: Sequence[Standing],
    others: Sequence[Request],
) -> Withdrawal:
    """End the climbs of waiting samples, each of which may wait for several checks.

    Args:
        desk: The campaign's desk.
        requests: What they wait for.
        standings: What is known of the candidate of each request.
        others: What samples that go on wait for.
    """
    places: dict[tuple[str, int, int], list[int]] = {}
    for place, request in enumerate(requests):
        places.setdefault(request[2:5], []).append(place)
    firsts = [each[0] for each in places.values()]
    waiting = [[requests[place] for place in each] for each in places.values()]
    ended = Withdrawal(
        desk, [requests[i] for i in firsts], [standings[i] for i in firsts], waiting, others
    )
    ended.write(range(len(firsts)))
    return ended


class Withdrawal(Revisions):
    """Ends the climbs of samples; each keeps the reward that follows from what is known.

    Drawn samples were to speak for those that were not drawn, and those that were asked about for
    certain for themselves. What is lost with the cancelled ones is taken over by the draws of
    their step that are still open. Each of those could have been cancelled too, so where chance
    chose, they are a random sample of both: with the factor 1/(p·s), s their share, the rewards
    stay right in the mean. An answer that had come could not be cancelled, and speaks for as many
    as before.

    So it is with samples that wait for a tier below the top, on which no draw has fallen yet:
    whatever comes of those that are left moves their rewards by 1/s times as much.
    """

    def __init__(
        self,
        desk: Desk,
        requests: Sequence[Request],
        standings: Sequence[Standing],
        waiting: Sequence[Sequence[Request]],
        others: Sequence[Request],
    ) -> None:
        """Decide; nothing is written yet.

        Args:
            desk: The campaign's desk.
            requests: One request of each sample.
            standings: What is known of its candidate.
            waiting: All its requests.
            others: Requests of samples that go on.
        """
        self._desk, self._waiting = desk, waiting
        ladder = desk.ladder
        self._compares = ladder.compares_above or ladder.policy.is_sequential
        self._speaks_for = cache(desk.climb.knowledge.speaks_for)
        self._shares = self._shares_left(requests, others)
        self.speakers = [
            self._speaking(r, share) for r in others if (share := self._share(r)) is not None
        ]
        """The requests of samples that speak for cancelled ones from now on."""
        super().__init__(desk, requests, standings, is_held=False)

    def _going_on(self) -> list[int]:
        return []  # Not even for the rest of a group that is not complete.

    def _answered(self, places: Sequence[int]) -> list[Request]:
        return [request for place in places for request in self._waiting[place]]

    def _decided(self, scene: Scene) -> Step:
        standings = scene.standings
        rewards = [
            ended(reward, draw, is_known=standing.is_judged)
            for reward, draw, standing in zip(
                scene.rewards(self._desk.climb.knowledge), scene.draws or (), standings,
                strict=True,
            )
        ]  # fmt: skip
        beliefs = [standing.belief or _UNKNOWN for standing in standings]
        decisions = _stopped(beliefs, scene.draws or ())
        return Step([decisions], rewards, [])

    def _unwanted(self, places: Sequence[int]) -> list[bytes]:
        return list(dict.fromkeys(request.check_key for request in self._answered(places)))

    def _unanswered(self, places: Sequence[int]) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if gone := [self.requests[n].position for n in places if self.standings[n].comparison]:
            told[CANCELLED] = gone
        return told | kept([self._handed_over(request) for request in self._answered(places)])

    def _told_of_others(self, places: Sequence[int]) -> dict[str, Any]:
        drawn: defaultdict[float, set[int]] = defaultdict(set)
        below: defaultdict[tuple[float, float], set[int]] = defaultdict(set)
        for request in self._changed(places):
            share = self._shares[_pool(request)]
            if draw_of(request):
                drawn[share].add(request.position)
            else:
                below[self._times_as_far(request, share)].add(request.position)
        told = super()._told_of_others(places)
        for share, positions in drawn.items():  # One: they wait alike.
            told["left"] = share, ranges(positions)
        if below:
            told["louder"] = [[*how, ranges(positions)] for how, positions in below.items()]
        return told

    def _spoken(self) -> list[Spoken | None]:
        return [
            spoken_of(request) if self._share(request) is None or draw_of(request)
            else _spoken(request).then(request.state["value"], 0.0)
            for request in self.requests
        ]  # fmt: skip

    def _handed_over(self, request: Request) -> Request:
        """A request as it counts if it is taken back: what others took over is not its own."""
        share = self._share(request)
        if share is None:
            return request
        theirs = self._weight(self._speaking(request, share))
        rest = _rest(self._weight(request), share, theirs)
        if draw := draw_of(request):
            draw = draw._replace(factor=rest)
            return request._replace(state={**request.state, "draw": draw, "left": 1.0})
        own = _spoken(request)
        spoken = own.then(request.state["value"], rest / own.factor)
        return request._replace(state={**request.state, "spoken": spoken})

    def _weight(self, request: Request) -> float:
        """How far what a request's sample waits for moves its reward, as others speak for it."""
        draw = self._draw(request)
        return draw.factor if draw else _spoken(request).factor

    def _speaking(self, request: Request, share: float) -> Request:
        """A request when only a share of those that wait as it does is left."""
        if draw_of(request):
            return request._replace(
                state={**request.state, "left": share_left_of(request) * share}
            )
        spoken = _spoken(request).then(request.state["value"], *self._times_as_far(request, share))
        return request._replace(state={**request.state, "spoken": spoken})

    def _times_as_far(self, request: Request, share: float) -> tuple[float, float]:
        """How many times as far its reward moves when a share is left, and the most in all."""
        size = int(request.state.get("size", 1))
        return self._speaks_for(share, size), self._speaks_for(0.0, size)

    def _share(self, request: Request) -> float | None:
        """Share that is left of those that wait as a request does, if some are cancelled."""
        return self._shares.get(_pool(request)) if self._speaks(request) else None

    def _speaks(self, request: Request) -> bool:
        """Whether a sample counts for others, or others for it.

        It does if it was drawn, by chance or for certain; and below the top tier, if the learner
        has a reward that its answer will move. What a policy compares it buys one by one. One
        that others speak for, since it was cancelled and taken back, counts for nobody.
        """
        draw, spoken = draw_of(request), spoken_of(request)
        if spoken is not None and spoken.factor == 0.0:
            return False
        if draw is not None:
            return draw.factor > 0.0
        return request.state["value"] is not None and not self._compares

    def _shares_left(
        self, cancelled: Sequence[Request], others: Sequence[Request]
    ) -> dict[_Pool, float]:
        """Share that is left of each pool from which some are cancelled."""
        gone, left = self._counted(cancelled), self._counted(others)
        return {pool: left[pool] / (left[pool] + count) for pool, count in gone.items()}

    def _counted(self, requests: Sequence[Request]) -> Counter[_Pool]:
        """How many samples of each pool wait."""
        found = {request[2:5]: _pool(request) for request in requests if self._speaks(request)}
        return Counter(found.values())

    def _changed(self, places: Sequence[int]) -> list[Request]:
        step = self.requests[places[0]][2:4]
        return [request for request in self.speakers if request[2:4] == step]


def leave_group(
    desk: Desk, run: str, step: int, positions: Sequence[int], samples: Sequence[RecordedSample]
) -> None:
    """Write that recorded samples have left the group that they wait for.

    Args:
        desk: The campaign's desk.
        run: Their run.
        step: Their step.
        positions: Their positions.
        samples: What is recorded of each.
    """
    contents, tasks, turns = (
        list(each) for each in zip(*[s.subject for s in samples], strict=True)
    )
    rewards = [ended(s.reward)._replace(revision=s.reward.revision + 1) for s in samples]
    columns = SampleColumns(
        run, step, list(positions), contents, [s.checks for s in samples],
        [s.group for s in samples], None, [s.learner_version for s in samples],
        [s.weight for s in samples], tasks=_any(tasks), turns=_any(turns),
    )  # fmt: skip
    decisions = _stopped([s.belief for s in samples])
    block = Block(
        "revision", desk.campaign, samples=columns, decisions=[decisions], rewards=rewards,
        facts={"previous": [s.reward.value for s in samples], CANCELLED: list(positions)},
    )  # fmt: skip
    desk.append(block, enqueue=[])
    for position, reward in zip(positions, rewards, strict=True):
        desk.watches.revise((run, step, position), reward)


def _any(digests: list[bytes]) -> list[bytes] | None:
    return digests if {*digests} - {NO_TASK} else None


def _stopped(beliefs: Sequence[Belief], draws: Sequence[Draw | None] = ()) -> DecisionColumns:
    """The decision that ends climbs."""
    count = len(beliefs)
    drawn = [0.0 if not d or d.is_certain else d.propensity for d in draws or [None] * count]
    return DecisionColumns(
        _POLICY, range(count), [int(Action.STOP)] * count, [-1] * count, [0] * count, (_WHY,),
        [belief.mean for belief in beliefs], [belief.deviation for belief in beliefs],
        drawn, None, [0.0] * count,
    )  # fmt: skip


def _pool(request: Request) -> _Pool:
    """What tells samples that wait alike from others."""
    return request.run, request.step, draw_of(request) is not None


def _spoken(request: Request) -> Spoken:
    """What cancellations make of its reward by now: it stays as it is where there were none."""
    return spoken_of(request) or Spoken(request.state["value"])


def _rest(whole: float, share: float, theirs: float) -> float:
    """What is left of a weight if those that go on, a share, have theirs."""
    return round((whole - share * theirs) / (1.0 - share), _DIGITS)


def ended(reward: Reward, draw: Draw | None = None, *, is_known: bool = False) -> Reward:
    """The reward of a sample that was cancelled: what follows from what is known by now."""
    if draw is not None:
        reward = revised(reward, draw, is_known=is_known)
    return reward._replace(pending=False, reason=_WHY, failed_at="lease")
