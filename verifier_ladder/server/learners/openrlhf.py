"""OpenRLHF: the server that `--reward.remote_url` names."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from verifier_ladder.errors import ConfigError
from verifier_ladder.learners.messages import ENDS
from verifier_ladder.learners.openrlhf import answer_of, unscored
from verifier_ladder.reward import Reward
from verifier_ladder.server.access import caller_of
from verifier_ladder.server.bodies import Items, Json, encoded
from verifier_ladder.server.calls import CallRouter
from verifier_ladder.server.learners.asking import Call, needs_number, service_of
from verifier_ladder.server.limits import MOST_SAMPLES
from verifier_ladder.server.messages import Content
from verifier_ladder.server.service import RewardService

router = CallRouter("learners")


class OpenRlhfCall(Call):
    """Queries, each a prompt with its completion, decoded with special tokens."""

    query: Items[Content] = Field(max_length=MOST_SAMPLES)
    prompts: Items[Content] = Field(max_length=MOST_SAMPLES)
    labels: Items[Any] = Field(max_length=MOST_SAMPLES)


class OpenRlhfRewards(Call):
    """Rewards in order; the log `unknown` says where a number stands for none."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


@router.call("/openrlhf", OpenRlhfRewards, summary="OpenRLHF's remote reward", fails=[501])
async def openrlhf(body: OpenRlhfCall, request: Request) -> Response:
    """Score queries as OpenRLHF's reward server does; verifiers read `label` and `prompt`."""
    service = service_of(request)
    needs_number(service, "OpenRLHF")
    rewards = await _rewards(service, body, caller_of(request))
    numbers = [service.readout.value(reward) for reward in rewards]
    logs = {
        "unknown": [float(reward.value is None) for reward in rewards],
        "pending": [float(reward.pending) for reward in rewards],
    }
    for name, number in service.learner.attachment.alarms.items():
        logs[name] = [number] * len(rewards)
    answer = encoded({"rewards": numbers, "scores": numbers, "extra_logs": logs})
    return Json(answer)


async def _rewards(service: RewardService, body: OpenRlhfCall, caller: str) -> list[Reward]:
    count = len(body.query)
    for name in ("prompts", "labels"):
        if len(getattr(body, name)) != count:
            raise ConfigError(f"{name} has {len(getattr(body, name))} entries for {count} queries")
    pairs = zip(body.query, body.prompts, strict=True)
    answers = [answer_of(query, prompt, ENDS) for query, prompt in pairs]
    read = [place for place, answer in enumerate(answers) if answer is not None]
    samples = [
        service.learner.sample(
            answers[i], {"label": body.labels[i], "prompt": body.prompts[i]},
            prompt=body.prompts[i],
        )
        for i in read
    ]  # fmt: skip
    rewards = unscored(answers)
    service.learner.attachment.unknowns.look((), rewards)
    for place, reward in zip(read, await service.rewards(samples, caller), strict=True):
        rewards[place] = reward
    return rewards
