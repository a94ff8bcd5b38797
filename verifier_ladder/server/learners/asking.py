"""Asking: what the routes of all learners share."""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException, Request
from pydantic import BaseModel, ConfigDict

from verifier_ladder.server.service import RewardService


class Call(BaseModel):
    """What a learner sends; what its next version adds is passed over or is part of the task."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class Row(Call):
    """What a learner sends with the fields of its data beside it."""

    model_config = ConfigDict(extra="allow")

    @property
    def fields(self) -> dict[str, Any]:
        """The fields beside those that are described."""
        return self.__pydantic_extra__ or {}


def service_of(request: Request) -> RewardService:
    """The service that a request has reached."""
    service: RewardService = request.app.state.service
    return service


def needs_number(service: RewardService, learner: str) -> None:
    """Refuse a learner that can't leave a sample out, as long as no number stands for it.

    Raises:
        HTTPException: If the server was started without one.
    """
    if service.readout.on_abstain is None:
        raise HTTPException(
            501,
            f"{learner} can't leave a sample out; start the server with --on-abstain and the "
            "number that stands for an unknown reward",
        )
