"""Revisions: samples taken further, as the block and the requests that are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from verifier_ladder import telemetry
from verifier_ladder.candidate import SampleId
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import (
    Block,
    CheckRow,
    DecisionColumns,
    Request,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.scheduler.candidates import candidate_json
from verifier_ladder.scheduler.climb import Escalation, Peer, Scene, Step
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.draws import Draw, Lot, Spoken, facts_of, spoken_facts
from verifier_ladder.scheduler.openrequests import SUPERSEDED
from verifier_ladder.scheduler.punctuality import InTime
from verifier_ladder.scheduler.queueing import Enqueue, awaited, carried_on, checks_of, join
from verifier_ladder.scheduler.samplehistory import ENDED, ended_facts, retold
from verifier_ladder.scheduler.standing import Standing, subject_columns
from verifier_ladder.scheduler.superseding import answered
from verifier_ladder.scheduler.unanswered import unanswered
from verifier_ladder.tier import Tier


class Revisions:
    """Samples of one campaign that have waited, decided together once more."""

    _is_passed_over = False

    def __init__(
        self,
        desk: Desk,
        requests: Sequence[Request],
        standings: Sequence[Standing],
        *,
        is_held: bool,
        peers: Sequence[Peer] = (),
        in_time: InTime | None = None,
        new: int = 0,
        more: int | None = None,
    ) -> None:
        """Decide; nothing is written yet.

        Args:
            desk: The campaign's desk.
            requests: What each sample waited for.
            standings: What is known of its candidate by now.
            is_held: Whether what they ask for next is held.
            peers: Samples whose climb is over, with which these are compared.
            in_time: How many drawn answers are there when these are read; they are revised once
                more afterwards.
            new: How many samples are decided for the first time.
            more: How many follow in later calls; None where nobody knows.
        """
        self._desk, self._is_held = desk, is_held
        self.requests, self.standings = requests, standings
        self._is_early = in_time is not None
        self.spoken = self._spoken()
        """What cancellations made of the reward of each sample."""
        scene = Scene(
            [SampleId(r.run, r.step, r.position) for r in requests], standings,
            desk.accounts(), new, max(int(r.state.get("size", 1)) for r in requests),
            [float(r.state["weight"]) for r in requests],
            [str(r.state["group"]) for r in requests],
            self._draws(in_time),
            peers, _begun(desk.ladder, requests, standings),
            lots=list(map(lot_of, requests)), spoken=self.spoken,
            is_passed_over=self._is_passed_over, more=more,
        )  # fmt: skip
        self.step = self._decided(scene)
        self.rewards = [
            reward._replace(revision=int(request.state["revision"]) + 1)
            for reward, request in zip(self.step.rewards, requests, strict=True)
        ]
        for place in self._going_on():
            self.rewards[place] = awaited(self.rewards[place])

    def _going_on(self) -> list[int]:
        """Who waits on: for another check, or for the rest of the group."""
        partial = [place for place, r in enumerate(self.requests) if r.state.get("partial")]
        return [*(escalation.place for escalation in self.step.escalate), *partial]

    def _draws(self, in_time: InTime | None) -> list[Draw | None]:
        shares = in_time.shares if in_time else [1.0] * len(self.requests)
        least = in_time.least if in_time else 1.0
        return [
            self._draw(request, share, least)
            for request, share in zip(self.requests, shares, strict=True)
        ]

    def _draw(self, request: Request, share: float = 1.0, least: float = 1.0) -> Draw | None:
        draw, left = draw_of(request), share_left_of(request)
        if draw is None or left * min(share, least) == 1.0:
            return draw
        size = int(request.state.get("size", 1))
        return self._desk.climb.knowledge.weighed_draw(draw, left * share, size, left * least)

    def _spoken(self) -> list[Spoken | None]:
        return list(map(spoken_of, self.requests))

    def _told_of_others(self, places: Sequence[int]) -> dict[str, Any]:
        """What is kept of samples that speak for cancelled ones."""
        return spoken_facts(self._spoken_at(places))

    def _spoken_at(self, places: Sequence[int]) -> dict[int, Spoken]:
        """What cancellations made of the rewards at some places, by position."""
        return {self.requests[n].position: one for n in places if (one := self.spoken[n])}

    def _decided(self, scene: Scene) -> Step:
        """What becomes of the samples."""
        return self._desk.climb.step(scene)

    def _answered(self, places: Sequence[int]) -> list[Request]:
        """The requests that these revisions answer."""
        return [self.requests[place] for place in places]

    def _changed(self, places: Sequence[int]) -> list[Request]:  # noqa: ARG002 - others need them
        """Requests of other samples of the step that are not as they were."""
        return []

    def _unwanted(self, places: Sequence[int]) -> list[bytes]:  # noqa: ARG002 - others need them
        """Checks that nobody may want any more once these samples have heard of their revision."""
        return []

    def _unanswered(self, places: Sequence[int]) -> dict[str, Any]:
        """What is kept of samples that would hear of their check if it were tried again."""
        requests = [self.requests[place] for place in places]
        return unanswered(self._desk.ladder, requests, [self.standings[i] for i in places])

    def _facts(self, places: Sequence[int]) -> dict[str, Any]:  # noqa: ARG002 - others need them
        """What else an entry tells."""
        return {}

    def _made_ahead(self, places: Sequence[int]) -> dict[str, Any]:
        """What is kept of draws that were made ahead."""
        chosen, positions = set(places), [request.position for request in self.requests]
        lots = {place: lot for place, lot in self.step.lots.items() if place in chosen}
        return facts_of(lots, positions)

    def write(self, places: Sequence[int]) -> list[Request]:
        """Record those at some places, one entry per run and step; gives their new requests."""
        by_step: dict[tuple[str, int], list[int]] = {}
        for place in places:
            request = self.requests[place]
            by_step.setdefault((request.run, request.step), []).append(place)
        return [request for chosen in by_step.values() for request in self._write(chosen)]

    def _write(self, places: Sequence[int]) -> list[Request]:
        chosen = set(places)
        going = [escalation for escalation in self.step.escalate if escalation.place in chosen]
        knowledge = self._desk.climb.knowledge
        checks = checks_of(
            self._desk.campaign, knowledge, self.standings, going, is_held=self._is_held
        )
        asked: dict[bytes, tuple[CheckRow, list[Request]]] = {}
        made = self._next(going, checks)
        for check, request in zip(checks, made, strict=True):
            join(asked, carried_on(check, request), request)
        enqueue: Enqueue = [*asked.values(), *(self._kept(places) if self._is_early else ())]
        self._desk.append(
            self._block(places), enqueue=enqueue,
            answered=[] if self._is_early else self._answered(places),
            changed=self._changed(places), unwanted=self._unwanted(places),
        )  # fmt: skip
        for place in places:
            request = self.requests[place]
            key = (request.run, request.step, request.position)
            self._desk.watches.revise(key, self.rewards[place])
        if telemetry.active is not None:
            requests = [self.requests[place] for place in places]
            telemetry.active.revised(requests, [self.rewards[place] for place in places])
        return made

    def _next(self, going: Sequence[Escalation], checks: Sequence[CheckRow]) -> list[Request]:
        """What samples wait for next."""
        made: list[Request] = []
        standings = [self.standings[escalation.place] for escalation in going]
        for escalation, check in zip(going, checks, strict=True):
            place, draw = escalation.place, escalation.draw
            request, reward, standing = (
                self.requests[place], self.rewards[place], self.standings[place]
            )  # fmt: skip
            state = retold({
                **request.state, "candidate": candidate_json(standing.candidate),
                "draw": request.state.get("draw") or draw,
            }, reward)  # fmt: skip
            state.pop(SUPERSEDED, None)  # What it asks for now is new to it.
            if escalation.lot is not None:
                state["lot"] = escalation.lot
            made.append(request._replace(check_key=check.check_key, state=state))
        self._desk.climb.knowledge.punctuality.expect(
            (request[2:5], standing.place_of(request.check_key))
            for request, standing in zip(made, standings, strict=True)
            if (draw := draw_of(request)) and not draw.is_certain and "until" in request.state
            and self._desk.watches.is_wanted(request[2:5])
        )  # fmt: skip
        return made

    def told(self) -> list[Request]:
        """The requests as they stand after these revisions."""
        return [
            request._replace(state=retold(request.state, reward))
            for request, reward in zip(self.requests, self.rewards, strict=True)
        ]

    def _kept(self, places: Sequence[int]) -> Enqueue:
        """The requests of samples that are revised once more when their reward has been read."""
        told = self.told()
        keys = [told[place].check_key for place in places]
        rows = {row.check_key: row for row in self._desk.ledger.checks(keys=keys)}
        asked: dict[bytes, tuple[CheckRow, list[Request]]] = {}
        for place in places:
            join(asked, rows[told[place].check_key], told[place])
        return list(asked.values())

    def _block(self, places: Sequence[int]) -> Block:
        """The revisions of samples that all belong to one run and step."""
        requests = [self.requests[place] for place in places]
        standings = [self.standings[place] for place in places]
        samples = SampleColumns(
            requests[0].run, requests[0].step, [r.position for r in requests],
            [s.content_key for s in standings], [s.used for s in standings],
            [str(r.state["group"]) for r in requests], None,
            [str(r.state["learner_version"]) for r in requests],
            [float(r.state["weight"]) for r in requests], **subject_columns(standings),
        )  # fmt: skip
        return Block(
            "revision", self._desk.campaign, verdicts=_told_to_members(standings),
            samples=samples,
            decisions=[
                part for columns in self.step.decisions if (part := _part(columns, places)).sample
            ],
            rewards=[self.rewards[place] for place in places],
            facts={
                "previous": [request.state["value"] for request in requests],
                **ended_facts([ENDED in request.state for request in requests]),
                **({"early": True} if self._is_early else {}),
                **self._unanswered(places), **answered(self._desk.ladder, requests, standings),
                **self._made_ahead(places), **self._told_of_others(places), **self._facts(places),
            },
        )  # fmt: skip


class PassedOver(Revisions):
    """Samples that wait for a tier which can't pay for them, and whose draws were made ahead."""

    _is_passed_over = True

    def _unwanted(self, places: Sequence[int]) -> list[bytes]:
        return list(dict.fromkeys(self.requests[place].check_key for place in places))


def _told_to_members(standings: Sequence[Standing]) -> list[VerdictRow]:
    """What the verdicts of groups say of their members: rewards rest on that."""
    rows: dict[bytes, VerdictRow] = {}
    for standing in standings:
        group = standing.comparison
        said = standing.verdicts.get(group.verifier.name) if group is not None else None
        if group is not None and said is not None:
            by, key = group.verifier, standing.keys[group.place]
            rows[key] = VerdictRow(
                key, standing.content_key, by.name, by.version, int(by.tier), said
            )
    return list(rows.values())


def _begun(
    ladder: Ladder, requests: Sequence[Request], standings: Sequence[Standing]
) -> list[int] | None:
    """Column of the tier whose replicates each sample is in the midst of; -1 for none."""
    if len(ladder.askings) == len(ladder.verifiers):
        return None
    asked = [
        ladder.askings[standing.place_of(request.check_key)][0]
        for request, standing in zip(requests, standings, strict=True)
    ]
    return [
        ladder.tiers.index(Tier.parse(verifier.tier))
        if len(standing.missing(verifier)) not in {0, verifier.replicates} else -1
        for verifier, standing in zip(asked, standings, strict=True)
    ]  # fmt: skip


def draw_of(request: Request) -> Draw | None:
    """The draw that sent a sample to the top tier, if one did."""
    found = request.state.get("draw")
    return None if found is None else Draw.from_json(found)


def share_left_of(request: Request) -> float:
    """Share of the draws that its own is one of which was not cancelled while it was open."""
    return float(request.state.get("left", 1.0))


def spoken_of(request: Request) -> Spoken | None:
    """What cancellations below the top tier make of a sample's reward, if there were any."""
    found = request.state.get("spoken")
    return None if found is None else Spoken(*found)


def lot_of(request: Request) -> Lot | None:
    """The draw that was made ahead for a sample, if it still waits for a cheaper tier."""
    found = None if request.state.get("draw") else request.state.get("lot")
    return None if found is None else Lot(*found)


def _part(columns: DecisionColumns, places: Sequence[int]) -> DecisionColumns:
    """The decisions of some samples, which are counted anew."""
    numbers = {place: number for number, place in enumerate(places)}
    rows = [row for row, sample in enumerate(columns.sample) if sample in numbers]
    if len(rows) == len(columns.sample) == len(places) and list(places) == list(columns.sample):
        return replace(columns, sample=list(range(len(places))))
    parts: dict[str, Any] = {
        name: [values[row] for row in rows]
        for name in columns.__dataclass_fields__
        if name not in {"policy", "reasons", "sample", "belief", "prices"}
        and (values := getattr(columns, name)) is not None
    }
    return replace(columns, sample=[numbers[columns.sample[row]] for row in rows], **parts)
