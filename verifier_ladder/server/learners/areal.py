"""AReaL: rewards of an agent's session, found here and handed on to AReaL's gateway."""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException, Request, Response

from verifier_ladder.server.access import caller_of
from verifier_ladder.server.bodies import encoded
from verifier_ladder.server.calls import CallRouter
from verifier_ladder.server.gateway import Gateway
from verifier_ladder.server.learners.asking import Call, Row, service_of

router = CallRouter("learners")
TOKEN = "X-Verifier-Ladder-Token"  # noqa: S105 - the name of a header
_PATH = "/rl/set_reward"


class ArealCall(Row):
    """An agent's last completion, instead of its reward; fields beside these are the task."""

    interaction_id: str | None = None
    model: str | None = None
    prompt: Any = None
    completions: str | list[dict[str, Any]]


class ArealAnswer(Call):
    """What AReaL's gateway answers."""

    message: str


def _shown(request: Request) -> str | None:
    return request.headers.get(TOKEN)


@router.call(
    _PATH, ArealAnswer, summary="AReaL's reward of an interaction", shown=_shown, fails=[501, 502]
)
async def set_reward(body: ArealCall, request: Request) -> Response:
    """Score a completion, and set the reward of its interaction in AReaL.

    The `Authorization` of the call is AReaL's session key, which is handed on; a token of this
    server goes into `X-Verifier-Ladder-Token`. Where nothing is known nothing is set, and the
    answer is 503, unless the server was started with `--on-abstain`.
    """
    service = service_of(request)
    gateway: Gateway | None = request.app.state.gateway
    if gateway is None:
        raise HTTPException(501, "start the server with --areal and the URL of AReaL's gateway")
    if "reward" in body.fields:
        raise HTTPException(422, "reward: it is found here; leave it out and send completions")
    fields = {**body.fields, "prompt": body.prompt}
    sample = service.learner.sample(body.completions, fields, prompt=body.prompt)
    reward = await service.reward(sample, caller_of(request))
    value = service.readout.value(reward)
    if value is None:
        why = reward.reason or "no verifier has answered"
        raise HTTPException(503, f"nothing is known ({why})", {"Retry-After": "1"})
    said = {"interaction_id": body.interaction_id, "reward": value}
    if body.model is not None:
        said["model"] = body.model
    return await gateway.post(_PATH, encoded(said), request.headers.get("authorization"))
