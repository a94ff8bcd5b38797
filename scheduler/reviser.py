"""The climb path: finished checks become decisions, further checks, and reward revisions."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any, cast

from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger.protocol import PARKED
from verifier_ladder.ledger.records import CheckRow, CheckState, Request
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.candidates import candidate_of
from verifier_ladder.scheduler.climb import Peer
from verifier_ladder.scheduler.comparison import Comparison, comparing, party_of
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.holding import Holding
from verifier_ladder.scheduler.learning import Ended, Learning
from verifier_ladder.scheduler.openrequests import SUPERSEDED
from verifier_ladder.scheduler.punctuality import LEAST, InTime
from verifier_ladder.scheduler.revisions import (
    PassedOver,
    Revisions,
    draw_of,
    lot_of,
    share_left_of,
    spoken_of,
)
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.watch import SampleKey
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn, withdraw
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_LOG = logging.getLogger("verifier_ladder")


class Reviser:
    """Takes the samples of one campaign further whenever a check they wait for has ended.

    A crash between a check's completion and its revision loses nothing: the request is still
    there, and `advance` finds it the next time the campaign is opened.
    """

    def __init__(self, desk: Desk, holding: Holding, learning: Learning) -> None:
        """Work at a campaign's desk."""
        self._desk, self._holding, self._learning = desk, holding, learning
        self._has_warned = False

    def read(
        self, samples: Sequence[SampleKey], seconds: float
    ) -> tuple[dict[SampleKey, Reward], list[Request]]:
        """Give the rewards of a call as they are read at its deadline.

        Args:
            samples: Samples of the call.
            seconds: How long it could wait.

        Returns:
            The latest reward of those that were pending, and the requests that `settle` revises
            once more: their drawn answers speak for those that did not come in time.
        """
        with self._desk.lock:
            in_time = self._desk.climb.knowledge.punctuality.read(samples, seconds)
            if in_time.least < LEAST and seconds > 0.0:
                self._warn(in_time.least)
            late = self._write(in_time.requests, in_time) if in_time.least < 1.0 else []
            return self._desk.watches.close(samples), late

    def _warn(self, share: float) -> None:
        """Say once that early rewards keep some of the beliefs' error."""
        if self._has_warned:
            return
        self._has_warned = True
        _LOG.warning(
            "campaign %s: of the answers that were drawn for the %s tier and take all its checks, "
            "%.0f %% had come by the deadline. Below %.0f %% the rewards that are read then keep "
            "some of the error of the beliefs; later revisions don't. A longer deadline or more "
            "workers help. This is told once", self._desk.campaign,
            self._desk.ladder.tiers[-1].label, 100.0 * share, 100.0 * LEAST,
        )  # fmt: skip

    def settle(self, requests: Sequence[Request]) -> None:
        """Revise samples whose rewards were read at a deadline: in the end all answers come."""
        read = {request[2:5] for request in requests}
        keys = list(dict.fromkeys(request.check_key for request in requests))
        with self._desk.lock:
            found = self._desk.requests.read(check_keys=keys, final=True)
            self._write([request for request in found if request[2:5] in read])

    def _write(self, requests: Sequence[Request], in_time: InTime | None = None) -> list[Request]:
        """Revise samples whose climb is over; gives their requests as they stand then."""
        if not requests:
            return []
        verdicts = self._ended(requests)
        standings = [self._standing(request, verdicts) for request in requests]
        revisions = Revisions(self._desk, requests, standings, is_held=False, in_time=in_time)
        revisions.write(range(len(requests)))
        return revisions.told()

    def advance(self, ended: Mapping[bytes, Verdict] | None = None) -> int:
        """Revise every sample whose check has ended; count them.

        Args:
            ended: Verdicts of checks that ended just now. Those that ended before, while no
                process was there to notice, are read from the ledger.
        """
        keys = None if ended is None else list(ended)
        with self._desk.lock:  # Before they are read: each is revised once.
            requests = self._desk.requests.read(check_keys=keys, final=True)
            if requests:
                self._revise(requests, dict(ended or {}) or self._ended(requests))
        return len(requests)

    def take_up(self, check_keys: Sequence[bytes]) -> None:
        """Revise samples whose checks had ended when they were asked for: nobody will tell."""
        with self._desk.lock:
            requests = self._desk.requests.read(check_keys=check_keys, final=True)
            if requests:
                self._revise(requests, self._ended(requests))

    def withdraw(self, wanted: Wanted, *, at_work: bool = False) -> Withdrawn:
        """End the climbs of samples that wait, and cancel what nobody else wants.

        Args:
            wanted: Which samples.
            at_work: Whether checks at work are taken from their workers; else they finish, are
                paid, and their verdicts kept.
        """
        ledger = self._desk.ledger
        with self._desk.lock:
            waiting = self._desk.requests.read(final=False)
            requests = [request for request in waiting if wanted.takes(request)]
            if not requests:
                return Withdrawn(0, 0)
            keys = list(dict.fromkeys(request.check_key for request in requests))
            standings = [self._standing(request, {}) for request in requests]
            others = [request for request in waiting if not wanted.takes(request)]
            ended = withdraw(self._desk, requests, standings, others)
            gone = {
                request.check_key for request, standing in zip(requests, standings, strict=True)
                # Whoever asks the world has begun nothing that could finish.
                if at_work or self._asking(request, standing)[0].waits
            }  # fmt: skip
            if gone:
                ledger.cancel(list(gone), now=ledger.clock(), at_work=True)
            self._forget(requests, standings, others)
            self._holding.changed(ended.speakers)
            self._desk.climb.knowledge.punctuality.speak(
                {request[2:5]: share_left_of(request) for request in ended.speakers}
            )
        gone_checks = ledger.checks(states=[CheckState.CANCELLED], keys=keys, payloads=False)
        return Withdrawn(len(ended.requests), len(gone_checks))

    def _forget(
        self,
        requests: Sequence[Request],
        standings: Sequence[Standing],
        others: Sequence[Request],
    ) -> None:
        """Nothing is kept for them any more: neither money nor a place among those compared.

        What checks at work will say is in the ledger alone, for nobody waits to be told; unless
        others do.
        """
        self._holding.ended(requests)
        gone = {r.check_key for r in requests} - {r.check_key for r in others}
        for key in gone:
            self._desk.climb.knowledge.prices.settle(key)
        self._learning.end(
            standing for request, standing in zip(requests, standings, strict=True)
            if request.check_key in gone
        )  # fmt: skip
        self._desk.climb.knowledge.punctuality.forget(request[2:5] for request in requests)
        self._desk.intake.forget(standings)
        self._holding.reconsider()

    def pass_over(self) -> int:
        """End the climbs of samples that wait for checks which can't be paid; count them.

        To be called when nothing more will happen by itself. Their draws, which were made ahead,
        count now, whether they fell on them or not: all that is known is known of both.
        """
        ledger, prices = self._desk.ledger, self._desk.climb.knowledge.prices
        with self._desk.lock:
            if not prices.promised:
                return 0
            rows = ledger.checks(keys=prices.promised, states=[CheckState.QUEUED], payloads=False)
            keys = [row.check_key for row in rows if row.note == PARKED]
            waiting = self._desk.requests.read(check_keys=keys)
            requests = [request for request in waiting if lot_of(request)]
            standings = [self._standing(request, {}) for request in requests]
            for key in keys:
                prices.settle(key)
            if requests:
                over = PassedOver(self._desk, requests, standings, is_held=False)
                over.write(range(len(requests)))
        return len(requests)

    def keep_promises(self) -> None:
        """Know after a restart who goes to the top tier once a cheaper one has answered."""
        knowledge = self._desk.climb.knowledge
        for request in self._desk.requests.read(final=False):
            if (lot := lot_of(request)) is not None:
                knowledge.promise(request.check_key, self._standing(request, {}), lot)

    def _ended(self, requests: Sequence[Request]) -> dict[bytes, Verdict]:
        keys = list({request.check_key for request in requests})
        known = self._desk.ledger.verdicts(keys)
        unknown = [key for key in keys if key not in known]
        for check in self._desk.ledger.checks(keys=unknown, payloads=False):
            known[check.check_key] = _why_ended(check)
        return known

    def _revise(self, requests: list[Request], verdicts: Mapping[bytes, Verdict]) -> None:
        standings = [self._standing(request, verdicts) for request in requests]
        self._learn(requests, standings, verdicts)
        held = self._holding.is_needed
        revisions = Revisions(self._desk, requests, standings, is_held=held)
        made = revisions.write(range(len(requests)))
        going = {request[2:5] for request in made}
        self._learning.end(
            standing for request, standing in zip(requests, standings, strict=True)
            if request[2:5] not in going
        )  # fmt: skip
        self._desk.climb.knowledge.punctuality.come(
            request for request, standing in zip(revisions.told(), standings, strict=True)
            if request.state["draw"]
            and (standing.is_known or _is_declined(request, going, verdicts))
        )  # fmt: skip
        self._holding.ended(requests)
        self._holding.note(made, {request.check_key for request in made} if held else set())
        if held:
            self._holding.over(_over(requests, standings))
        self._desk.intake.forget_failures(standings)
        self._desk.intake.cache.grown([s for s in standings if s.comparison is None])
        self._holding.reconsider()

    def _standing(self, request: Request, verdicts: Mapping[bytes, Verdict]) -> Standing:
        candidate = candidate_of(request.state["candidate"])
        standing = self._desk.intake.recall(
            candidate, request.content_key, request.state.get("given")
        )
        standing.expected = standing.expected or request.state.get("expected", {})
        verdict = verdicts.get(request.check_key)
        if (rows := party_of(request.state)) is not None:
            return self._member(standing, rows, verdict)
        if verdict is not None:
            standing.hear(*self._asking(request, standing), verdict)
        return standing

    def _member(
        self, standing: Standing, rows: Sequence[Any], verdict: Verdict | None
    ) -> Standing:
        """A candidate as a member of its group, with what is said of it there."""
        place, verifier = cast("tuple[int, Verifier]", comparing(self._desk.ladder))
        group = Comparison.from_json(verifier, place, rows)
        member = group.member(standing)
        if verdict is not None:
            group.tell(member, standing.keys[place], verdict)
        return member

    def _verifier(self, request: Request, standing: Standing) -> Verifier:
        return self._asking(request, standing)[0]

    def _asking(self, request: Request, standing: Standing) -> tuple[Verifier, int]:
        return self._desk.ladder.askings[standing.place_of(request.check_key)]

    def _learn(
        self,
        requests: Sequence[Request],
        standings: Sequence[Standing],
        verdicts: Mapping[bytes, Verdict],
    ) -> None:
        """Teach what the checks have said and taken; what supersedes an answer teaches nothing."""
        ended = []
        for request, standing in zip(requests, standings, strict=True):
            if SUPERSEDED in request.state:
                continue
            verifier = self._verifier(request, standing)
            if standing.comparison is not None and request.check_key in verdicts:
                standing = copy(standing)  # noqa: PLW2901 - what is learnt is what the group took
                whole = verdicts[request.check_key]
                standing.verdicts = {**standing.verdicts, verifier.name: whole}
            ended.append(Ended(request.check_key, standing, verifier, _drawn(request)))
        self._learning.hear(ended)


def _over(requests: Sequence[Request], standings: Sequence[Standing]) -> list[Peer]:
    """The samples whose climb is over."""
    return [
        Peer(SampleId(r.run, r.step, r.position), standing.without_text(), str(r.state["group"]))
        for r, standing in zip(requests, standings, strict=True)
        if standing.is_judged
    ]


def _drawn(request: Request) -> tuple[SampleId, Draw, str] | None:
    """The sample, the draw that sent it to the top tier, if chance did, and the sample's group.

    What was believed is told as it is, however many others the sample speaks for.
    """
    draw, sample = draw_of(request), SampleId(request.run, request.step, request.position)
    if draw is None or draw.is_certain:
        return None
    if (spoken := spoken_of(request)) is not None:
        draw = draw._replace(estimate=spoken.own(draw.estimate))
    return sample, draw, str(request.state["group"])


def _is_declined(
    request: Request, going: Collection[SampleKey], verdicts: Mapping[bytes, Verdict]
) -> bool:
    """Whether the top tier has said all, and judged nothing: no other draw speaks for that."""
    return request[2:5] not in going and verdicts[request.check_key].is_answer


def _why_ended(check: CheckRow) -> Verdict:
    """What a check without a verdict amounts to."""
    if check.state is CheckState.EXPIRED:
        return Verdict.abstain("the world did not answer in time", failed_at="tool")
    if check.state is CheckState.CANCELLED:
        return Verdict.abstain("the check was cancelled", failed_at="lease")
    return Verdict.abstain(check.note or "every attempt failed", failed_at="engine")
