"""Scores: `POST /v1/score`, samples in and rewards out."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from fastapi import Request, Response

from verifier_ladder.candidate import Candidate, Sample, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.samples import sample_rewards
from verifier_ladder.reward import Reward
from verifier_ladder.run import evaluation_name
from verifier_ladder.server.access import caller_of, check_run
from verifier_ladder.server.bodies import Json, encoded
from verifier_ladder.server.calls import CallRouter
from verifier_ladder.server.idempotency import Answered, Place, Replier
from verifier_ladder.server.messages import (
    SampleMessage,
    ScoreRequest,
    ScoreResponse,
    reward_json,
)
from verifier_ladder.server.service import RewardService

router = CallRouter("rewards")
_FEW = 256
"""Samples that are made where they are awaited; of more it would hold up other calls."""


@router.call("/v1/score", ScoreResponse, summary="Score samples", names_run=True)
async def score(body: ScoreRequest, request: Request) -> Response:
    """Reward samples, in the order given.

    Every verdict and reward is in the ledger when this answers. With an `Idempotency-Key`, the
    same call again gives the same answer for a day, whichever server of the campaign it reaches.
    """
    service: RewardService = request.app.state.service
    replier: Replier = request.app.state.replier
    run = _run(service, body)
    check_run(request, run)
    caller = caller_of(request)
    begin = partial(_place, service, body, run, caller)
    answer = partial(_answer, service, body, caller)
    key = request.headers.get("idempotency-key")
    if key is None:
        found = (await answer(await service.place(caller, begin), ())).body
    else:
        found = await replier.once(request, key, begin, answer)
    return Json(found)


def _run(service: RewardService, body: ScoreRequest) -> str:
    """Name of the run that the samples are filed under."""
    own = service.campaign.run
    if not body.evaluation:
        return body.run or own.name
    return evaluation_name(body.run) if body.run else own.evaluations.name


def _place(service: RewardService, body: ScoreRequest, run: str, caller: str) -> Place:
    """Where the samples stand; records a run that is new, and changes nothing else."""
    campaign, groups = service.campaign, body.groups
    if groups is not None and len(groups) != len(body.samples):
        raise ConfigError(f"groups has {len(groups)} entries for {len(body.samples)} samples")
    if unknown := sorted(body.prompts.keys() - _groups(body)):
        raise ConfigError(f"prompts: no sample is of the group {unknown[0]!r}")
    step = body.step
    if step is None and body.run not in ("", campaign.run.name):
        raise ConfigError(f"step: say which step of the run {body.run!r} these samples belong to")
    service.note_run(run, step, caller)
    newest = campaign.ledger.newest()
    if step is None:
        step = campaign.take_step(evaluation=body.evaluation)
    return Place(run, step, newest)


def _groups(body: ScoreRequest) -> set[str]:
    """The groups that samples of the call may be of."""
    own = {given.group for given in body.samples if isinstance(given, SampleMessage)}
    return own.union(body.groups or ())


async def _answer(
    service: RewardService, body: ScoreRequest, caller: str, place: Place, told: Sequence[int]
) -> Answered:
    run, step, cursor = place
    make = partial(_samples, service, body, run, step)
    samples = make() if len(body.samples) <= _FEW else await service.place(caller, make)
    if body.prompts:
        await service.place(caller, service.prompts.keep, run, samples, body.prompts)
    plain = body.groups if samples is body.samples else None
    rewards = await service.score(samples, caller, step=step, groups=plain, deadline=body.deadline)
    positions = list(map(_position, body.samples, count()))
    if told and told != [reward.revision for reward in rewards]:
        wanted = dict(zip(positions, told, strict=False))
        before = await service.place(caller, _as_told, service, run, step, wanted)
        rewards = [before.get(at, now) for at, now in zip(positions, rewards, strict=True)]
    made = list(map(reward_json, rewards, positions))
    answer = {
        "run": run, "step": step, "cursor": cursor,
        "alarms": service.learner.attachment.alarms, "rewards": made,
    }  # fmt: skip
    return Answered(encoded(answer), [reward.revision for reward in rewards])


def _as_told(
    service: RewardService, run: str, step: int, revisions: Mapping[int, int]
) -> dict[int, Reward]:
    """Rewards of a step as they were at these revisions, by position."""
    campaign, found = service.campaign, dict[int, Reward]()
    for entry in campaign.ledger.step_entries(campaign.name, run, step, positions=[*revisions]):
        rewards = sample_rewards(entry.id, campaign.ledger.read(entry))
        for position, row in rewards.items():
            if revisions.get(position) == row.reward.revision:
                found.setdefault(position, row.reward)
    return found


def _samples(service: RewardService, body: ScoreRequest, run: str, step: int) -> Any:
    """What the campaign takes; texts go as they are, which is several times as fast."""
    groups = body.groups
    has_own_run = run != service.campaign.run.name
    says_more = has_own_run or body.learner_version or body.prompts
    if not says_more and set(map(type, body.samples)) <= {str}:
        return body.samples
    call = _Call(service.campaign.ladder.kind, run, step, body.learner_version)
    return [
        call.sample(given, groups[i] if groups else "", i) for i, given in enumerate(body.samples)
    ]


class _Call(NamedTuple):
    """What all samples of one call have in common."""

    kind: str
    run: str
    step: int
    learner_version: str

    def sample(self, given: str | SampleMessage, group: str, place: int) -> Sample:
        if isinstance(given, str):
            return Sample(
                Candidate(self.kind, given), run=self.run, step=self.step, position=place,
                group=group, learner_version=self.learner_version,
            )  # fmt: skip
        turns = tuple(Turn.from_message(t.model_dump(exclude_unset=True)) for t in given.turns)
        return Sample(
            Candidate(self.kind, _content(given), given.task, turns), run=self.run,
            step=self.step, position=_position(given, place),
            group=given.group or group, group_size=given.group_size,
            learner_version=given.learner_version or self.learner_version, weight=given.weight,
        )  # fmt: skip


def _content(given: SampleMessage) -> str | bytes:
    if given.encoding == "text":
        return given.content
    try:
        return b64decode(given.content, validate=True)
    except (NotBase64, ValueError):
        raise ConfigError("content: this is not base64, as its encoding says") from None


def _position(given: str | SampleMessage, place: int) -> int:
    if isinstance(given, str) or given.position is None:
        return place
    return given.position
