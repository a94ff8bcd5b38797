"""Health: whether the process lives, and whether it should be sent work."""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

from fastapi import APIRouter, Request, Response

from verifier_ladder.errors import LadderError
from verifier_ladder.server.bodies import Json, Message, encoded
from verifier_ladder.server.problems import problem, responses
from verifier_ladder.server.service import RewardService

router = APIRouter(tags=["health"])
_LOG = logging.getLogger("verifier_ladder")
_PATIENCE = 5.0


class Health(Message):
    """How the server is."""

    status: Literal["ok"]
    campaign: str
    waiting: int
    """Samples that are accepted and not answered yet."""


@router.get("/healthz", response_model=Health, summary="Does it live?", responses=responses(421))
async def healthz(request: Request) -> Response:
    """Answer as long as the process lives."""
    return _ok(request.app.state.service)


@router.get(
    "/readyz", response_model=Health, summary="Does it take work?", responses=responses(421, 503)
)
async def readyz(request: Request) -> Response:
    """Answer 503 while the server ends, or its ledger can't be read."""
    service: RewardService = request.app.state.service
    if service.is_leaving:
        return problem(503, "the server is ending", headers={"Retry-After": "1"})
    try:
        async with asyncio.timeout(_PATIENCE):
            await service.news.look()
    except (LadderError, TimeoutError) as error:
        # Whoever asks need not be known, and the reason may name files and hosts.
        _LOG.warning("the ledger can't be read: %s", str(error) or "it takes too long")
        return problem(
            503,
            "the ledger can't be read; the server's log says why",
            headers={"Retry-After": "1"},
        )
    return _ok(service)


def _ok(service: RewardService) -> Response:
    said = {
        "status": "ok", "campaign": service.campaign.name, "waiting": service.admission.waiting,
    }  # fmt: skip
    return Json(encoded(said))
