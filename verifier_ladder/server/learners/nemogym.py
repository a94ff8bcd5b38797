"""NeMo-Gym: a resource server for NeMo-Gym, NeMo-RL, verifiers and prime-rl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException, Request, Response

from verifier_ladder.candidate import Sample
from verifier_ladder.reward import Reward
from verifier_ladder.server.access import caller_of
from verifier_ladder.server.bodies import Json, encoded
from verifier_ladder.server.calls import CallRouter
from verifier_ladder.server.learners.asking import Call, Row, service_of
from verifier_ladder.server.messages import TurnRewardMessage
from verifier_ladder.server.service import RewardService

router = CallRouter("learners")
_KINDS = {
    "verifier": "verifier_error", "tool": "provider_unavailable",
    "sandbox": "provider_unavailable", "budget": "provider_quota_exhausted",
    "ledger": "persistence_failed",
}  # fmt: skip
"""NeMo-Gym's names for boundaries that failed; others get one under a name of ours."""
_OURS = "verifier_ladder"
_OF_RUN = ("agent_ref", "instance_config")
"""Fields that belong to the run, not to the task."""


class Session(Row):
    """The data of an episode; nothing of it is kept, for `/verify` brings it again."""

    resources_session_id: str | None = None


class VerifyCall(Row):
    """A row of the dataset with the response of the model; its other fields are the task."""

    responses_create_params: dict[str, Any]
    response: dict[str, Any]


class VerifyAnswer(Call):
    """The reward; the row and the response come back with it."""

    responses_create_params: dict[str, Any]
    response: dict[str, Any]
    reward: float
    mask_sample: bool
    failure_kind: str | None
    failure_reason: str | None
    reward_components: dict[str, float]
    feedback: str
    turns: list[TurnRewardMessage]
    scores: dict[str, float]
    gaming_alarms: float
    unanswered_alarms: float


@router.call("/seed_session", dict[str, str], summary="NeMo-Gym's begin of an episode")
async def seed_session(body: Session, _: Request) -> Response:
    """Begin an episode; there is nothing to prepare."""
    return _named(body)


@router.call("/close_session", dict[str, str], summary="NeMo-Gym's end of an episode")
async def close_session(body: Session, _: Request) -> Response:
    """End an episode; there is nothing to release."""
    return _named(body)


@router.call("/verify", VerifyAnswer, summary="NeMo-Gym's verification")
async def verify(body: VerifyCall, request: Request) -> Response:
    """Score one episode.

    An unknown reward fails with 503, unless the server was started with `--mask`: then
    `mask_sample` is true, at the top and in `instance_config`, and the reward is the number of
    `--on-abstain`.
    """
    service = service_of(request)
    reward = await service.reward(_sample(service, body), caller_of(request))
    if reward.value is None and not service.masks:
        why = reward.reason or "no verifier has answered"
        raise HTTPException(503, f"nothing is known ({why})", {"Retry-After": "1"})
    return Json(encoded(_answer(service, body, reward)))


def _named(body: Session) -> Response:
    name = body.resources_session_id
    said = {} if name is None else {"resources_session_id": name}
    return Json(encoded(said))


def _sample(service: RewardService, body: VerifyCall) -> Sample:
    prompt = body.responses_create_params.get("input")
    metadata = body.fields.get("verifier_metadata")
    fields = {
        name: value for name, value in body.fields.items()
        if name not in _OF_RUN and not name.startswith("_")
    }  # fmt: skip
    if isinstance(metadata, dict):
        fields = {**metadata, **fields}
    fields["prompt"] = prompt
    completion = completion_of(body.response.get("output"))
    return service.learner.sample(completion, fields, prompt=prompt, aside=Session.model_fields)


def completion_of(output: Any) -> str | list[dict[str, Any]]:
    """The text that the model wrote, or chat messages if there was more than one.

    Args:
        output: Items of the Responses API.

    Example:
        >>> completion_of([{"type": "message", "content": [{"type": "output_text", "text": "4"}]}])
        '4'
    """
    messages: list[dict[str, Any]] = []
    for item in output if isinstance(output, list) else ():
        if isinstance(item, dict):
            _add(messages, item)
    if len(messages) == 1 and messages[0].keys() == {"role", "content"}:
        return str(messages[0]["content"])
    return messages or ""


def _add(messages: list[dict[str, Any]], item: Mapping[str, Any]) -> None:
    kind = str(item.get("type", "message"))
    if kind == "message" and item.get("role", "assistant") == "assistant":
        messages.append({"role": "assistant", "content": _text(item.get("content"))})
    elif kind.endswith("_output"):
        messages.append({"role": "tool", "content": _text(item.get("output"))})
    elif kind.endswith("_call"):
        call = {name: item[name] for name in ("name", "arguments", "input") if name in item}
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": ""})
        messages[-1].setdefault("tool_calls", []).append(call)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join([str(part.get("text", "")) for part in parts if isinstance(part, dict)])


def _answer(service: RewardService, body: VerifyCall, reward: Reward) -> dict[str, Any]:
    is_unknown = reward.value is None
    given = body.fields.get("instance_config")
    return {
        **body.fields, "responses_create_params": body.responses_create_params,
        "response": body.response, "reward": service.readout.value(reward),
        "mask_sample": is_unknown, "failure_kind": failure_kind(reward),
        "failure_reason": reward.reason or None if is_unknown or reward.failed_at else None,
        "reward_components": {n: v for n, v in reward.components.items() if v is not None},
        "feedback": reward.feedback, "turns": [turn.as_json() for turn in reward.turns],
        "scores": reward.scores,
        **service.learner.attachment.alarms,
        # NeMo-RL has read the mask there before it was a field of its own.
        "instance_config": {
            **(given if isinstance(given, dict) else {}), "mask_sample": is_unknown,
        },
    }  # fmt: skip


def failure_kind(reward: Reward) -> str | None:
    """What failed, in NeMo-Gym's vocabulary; None if nothing did.

    Example:
        >>> failure_kind(Reward(None, failed_at="tool")), failure_kind(Reward(None, pending=True))
        ('provider_unavailable', 'verifier_ladder:pending')
    """
    if reward.failed_at is not None:
        return _KINDS.get(reward.failed_at, f"{_OURS}:{reward.failed_at}")
    if reward.value is not None:
        return None
    return f"{_OURS}:pending" if reward.pending else f"{_OURS}:abstain"
