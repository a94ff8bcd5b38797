"""Incoming: `POST /v1/webhooks/{source}`, a result of the world for an open case."""

from __future__ import annotations

from time import time

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import ValidationError

from verifier_ladder.server.access import let_in
from verifier_ladder.server.bodies import InvalidBodyError
from verifier_ladder.server.cases import Result, Taken, answered
from verifier_ladder.server.problems import responses
from verifier_ladder.server.webhooks.settings import WebhookSettings
from verifier_ladder.server.webhooks.signing import SignatureError, announced, check

router = APIRouter(tags=["world"])


_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {
                "type": "object", "required": ["case"], "additionalProperties": False,
                "properties": {
                    "case": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "value": {"type": ["number", "boolean", "null"]},
                    "verdict": {"type": ["object", "null"]},
                },
            }},
        },
    },
}  # fmt: skip


@router.post(
    "/v1/webhooks/{source}", response_model=Taken, openapi_extra=_BODY,
    responses=responses(401, 404, 408, 413, 415, 421, 422, 429, 503),
    summary="Send a world's result",
)  # fmt: skip
async def take(source: str, request: Request) -> Response:
    """Take a result for an open case; the rewards that waited for it are revised.

    Signed as Standard Webhooks says: `webhook-id`, `webhook-timestamp` and `webhook-signature`
    with a secret of the source. A message that is more than five minutes old is refused; the same
    id again changes nothing.
    """
    keys = _announced(request.app.state.webhooks, source, request)
    body = await request.body()
    try:
        identity = check(keys, request.headers, body, time())
    except SignatureError as error:
        raise HTTPException(401, str(error)) from None
    let_in(request)
    try:
        result = Result.model_validate_json(body)
    except ValidationError as error:
        raise InvalidBodyError(error) from None
    service, caller = request.app.state.service, f"webhook {source}"
    return await answered(service, result, caller, source=source, event=identity)


def _announced(settings: WebhookSettings, source: str, request: Request) -> list[bytes]:
    """Keys of the source, if the headers could be those of a message of it."""
    found = settings.sources.get(source)
    if found is None:
        raise HTTPException(404, f"no webhook is called {source!r} here")
    try:
        announced(request.headers, time())
    except SignatureError as error:
        raise HTTPException(401, str(error)) from None
    return found.keys()
