"""Artifacts: files that verdicts rest on, for whoever may read; learners get none."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request, Response

from verifier_ladder.server.access import caller_of, needs
from verifier_ladder.server.problems import responses
from verifier_ladder.server.service import RewardService

router = APIRouter(tags=["ledger"])
_HEADERS = {
    "Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
}  # fmt: skip
"""A verifier's program made the bytes, and a candidate may have: no browser shows them."""


@router.get(
    "/v1/artifacts/{digest}", response_class=Response, dependencies=[needs("read")],
    responses=responses(401, 403, 404, 421, 422, 503), summary="Read an artifact",
)  # fmt: skip
async def artifact(
    request: Request,
    digest: Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of its bytes.")],
) -> Response:
    """The bytes of a file that a verdict rests on."""
    service: RewardService = request.app.state.service
    data = await service.read(caller_of(request), service.campaign.ledger.artifact, digest)
    return attachment(data)


def attachment(data: bytes | None) -> Response:
    """The answer that is a file's bytes, which no browser shows.

    Raises:
        HTTPException: If they are not here.
    """
    if data is None:
        raise HTTPException(404, "the ledger does not hold these bytes")
    return Response(data, media_type="application/octet-stream", headers=_HEADERS)
