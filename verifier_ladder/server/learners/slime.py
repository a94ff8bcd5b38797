"""slime: the server that `--rm-url` names, with `--rm-type remote_rm`."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from verifier_ladder.learners.messages import ENDS, without_ends
from verifier_ladder.server.access import caller_of
from verifier_ladder.server.bodies import Json, encoded
from verifier_ladder.server.calls import CallRouter
from verifier_ladder.server.learners.asking import Row, needs_number, service_of
from verifier_ladder.server.messages import Content

router = CallRouter("learners")


class SlimeCall(Row):
    """One sample; fields beside these are read as its metadata."""

    prompt: Any = None
    response: Content
    label: Any = None


@router.call("/slime", float, summary="slime's remote reward", fails=[501])
async def slime(body: SlimeCall, request: Request) -> Response:
    """Score one sample; the answer is a bare number. Verifiers read `label` and `prompt`."""
    service = service_of(request)
    needs_number(service, "slime")
    fields = {**body.fields, "label": body.label, "prompt": body.prompt}
    said = without_ends(body.response, ENDS)
    sample = service.learner.sample(said, fields, prompt=body.prompt, aside=body.fields)
    reward = await service.reward(sample, caller_of(request))
    return Json(encoded(service.readout.value(reward)))
