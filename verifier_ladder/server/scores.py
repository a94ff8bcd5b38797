"""Scores: `POST /v1/score`, samples in and rewards out."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from itertools import count
from typing import Any, NamedTuple

from fastapi import Request, Response

from verifier_ladder.candidate import Candidate, Sample, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.reward import Reward
from verifier_ladder.server.bodies import encoded
from verifier_ladder.server.calls import CallRouter
from verifier_ladder.server.idempotency import answered_once
from verifier_ladder.server.messages import (
    SampleMessage,
    ScoreRequest,
    ScoreResponse,
    reward_json,
)
from verifier_ladder.server.service import RewardService

router = CallRouter("rewards")


@router.call("/v1/score", ScoreResponse, summary="Score samples")
async def score(body: ScoreRequest, request: Request) -> Response:
    """Reward samples, in the order given.

    Every verdict and reward is in the ledger when this answers. With an `Idempotency-Key`, the
    same call again gives the same answer; samples whose run and step are named are recognised
    even after the server was started anew.
    """
    service: RewardService = request.app.state.service
    return await answered_once(request, lambda: _scored(service, body))


async def _scored(service: RewardService, body: ScoreRequest) -> Response:
    run, step = _place(service, body)
    samples = _samples(service, body, run, step)
    cursor = await service.read(_prepare, service, run)
    plain = body.groups if samples is body.samples else None
    rewards = await service.score(samples, step=step, groups=plain, deadline=body.deadline)
    return Response(_answer(body, run, step, cursor, rewards), media_type="application/json")


def _place(service: RewardService, body: ScoreRequest) -> tuple[str, int]:
    """The run and step of the samples."""
    campaign = service.campaign
    run = body.run or campaign.run.name
    if body.step is not None:
        return run, body.step
    if run != campaign.run.name:
        raise ConfigError(f"step: say which step of the run {run!r} these samples belong to")
    return run, campaign.take_step()


def _prepare(service: RewardService, run: str) -> int:
    """Record a run that is new; gives the cursor before anything is scored."""
    service.note_run(run)
    return service.campaign.ledger.newest()


def _samples(service: RewardService, body: ScoreRequest, run: str, step: int) -> Any:
    """What the campaign takes; texts go as they are, which is several times as fast."""
    groups = body.groups
    if groups is not None and len(groups) != len(body.samples):
        raise ConfigError(f"groups has {len(groups)} entries for {len(body.samples)} samples")
    has_own_run = run != service.campaign.run.name
    if not has_own_run and not body.learner_version and set(map(type, body.samples)) <= {str}:
        return body.samples
    call = _Call(service.campaign.ladder.kind, run, step, body.learner_version)
    return [
        call.sample(given, groups[i] if groups else "") for i, given in enumerate(body.samples)
    ]


class _Call(NamedTuple):
    """What all samples of one call have in common."""

    kind: str
    run: str
    step: int
    learner_version: str

    def sample(self, given: str | SampleMessage, group: str) -> Sample:
        if isinstance(given, str):
            return Sample(
                Candidate(self.kind, given), run=self.run, step=self.step, group=group,
                learner_version=self.learner_version,
            )  # fmt: skip
        turns = tuple(Turn(t.action, t.observation, t.metadata) for t in given.turns)
        return Sample(
            Candidate(self.kind, _content(given), given.task, turns), run=self.run,
            step=self.step, position=-1 if given.position is None else given.position,
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


def _answer(body: ScoreRequest, run: str, step: int, cursor: int, rewards: list[Reward]) -> bytes:
    made = list(map(reward_json, rewards, map(_position, body.samples, count())))
    return encoded({"run": run, "step": step, "cursor": cursor, "rewards": made})


def _position(given: str | SampleMessage, place: int) -> int:
    if isinstance(given, str) or given.position is None:
        return place
    return given.position
