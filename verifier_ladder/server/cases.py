"""Cases: what the world is asked, and what it answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, JsonValue

from verifier_ladder.case import Case
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.exchange import candidate_message, verdict_from
from verifier_ladder.measurement import Bound
from verifier_ladder.server.access import caller_of, needs
from verifier_ladder.server.bodies import Json, Message, encoded
from verifier_ladder.server.calls import CallRouter
from verifier_ladder.server.messages import Name
from verifier_ladder.server.problems import responses
from verifier_ladder.server.service import RewardService
from verifier_ladder.verdict import Verdict

PAGE = 1000
"""The most cases that one answer holds."""
reading = APIRouter(tags=["world"])
router = CallRouter("world")


class Result(Message):
    """What the world says of a case."""

    case: str = Field(pattern=r"^[0-9a-f]{64}$", description="Key of the case.")
    value: float | bool | None = Field(
        None, description="A number in the case's unit, true, false, or null to decline."
    )
    verdict: dict[str, JsonValue] | None = Field(
        None, description="Instead of a value: outcome, score, uncertainty, unit, evidence, …"
    )
    bound: str | None = Field(
        None, max_length=100, description="Instead of a value: an inequality, such as < 0.1."
    )

    def read(self) -> Verdict | Bound | float | bool | None:
        """What `Campaign.answer` takes.

        Raises:
            VerifierError: If it is no verdict or no bound, or several are given.
        """
        if [self.value, self.verdict, self.bound].count(None) < 2:  # noqa: PLR2004 - all but one
            raise VerifierError("give a value, a verdict or a bound, and only one of them")
        if self.verdict is not None:
            return verdict_from(self.verdict)
        try:
            return self.value if self.bound is None else Bound.read(self.bound)
        except ConfigError as error:
            raise VerifierError(str(error)) from None


class Answer(Result):
    """What somebody says of a case."""

    source: str = Field(min_length=1, max_length=200, description="Who answers.")
    event: Name | None = Field(
        None, description="Id of the delivery: the same of one source again changes nothing."
    )


class Taken(Message):
    """Whether the result was taken; a message that comes twice changes nothing."""

    taken: bool


class CaseMessage(Message):
    """An open question."""

    case: str
    verifier: str
    question: str
    unit: str
    deadline: float | None
    """Seconds since 1970; null if it may stay open for ever."""
    settles_at: float | None = None
    """Seconds since 1970 from which on the answer can be known, so that its verifier is asked;
    null if only people and programs answer."""
    sealed_by: float | None = None
    """Seconds since 1970 up to which samples are taken; null if they always are."""
    candidate: dict[str, JsonValue]


class CaseList(Message):
    """Open questions, the most valuable first."""

    cases: list[CaseMessage]
    more: bool
    """Whether there are less valuable ones."""


@reading.get(
    "/v1/cases", response_model=CaseList, dependencies=[needs("answer")],
    responses=responses(401, 403, 421, 422, 503), summary="Read open cases",
)  # fmt: skip
async def cases(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=PAGE, description="The most to give.")] = PAGE,
) -> Response:
    """What the world is asked and has not answered yet."""
    service: RewardService = request.app.state.service
    found = await service.read(caller_of(request), service.campaign.cases, limit + 1)
    shown = [_shown(case) for case in found[:limit]]
    return Json(encoded({"cases": shown, "more": len(found) > limit}))


@router.call("/v1/answers", Taken, summary="Answer a case", scope="answer")
async def answer(body: Answer, request: Request) -> Response:
    """Answer an open case; the rewards that waited for it are revised."""
    service: RewardService = request.app.state.service
    return await answered(service, body, caller_of(request), source=body.source, event=body.event)


async def answered(
    service: RewardService, result: Result, caller: str, *, source: str, event: str | None
) -> Response:
    """Hand a result in, and say whether it was taken.

    Raises:
        ConfigError: If there is no such case.
        VerifierError: If the value is not valid for it.
    """
    taken = await service.read(caller, _hand_in, service, result, source, event)
    return Json(encoded({"taken": taken}))


def _hand_in(service: RewardService, result: Result, source: str, event: str | None) -> bool:
    key = bytes.fromhex(result.case)
    return service.campaign.answer(key, result.read(), source=source, event=event)


def _shown(case: Case) -> dict[str, Any]:
    return {
        "case": case.check_key.hex(), "verifier": case.verifier, "question": case.question,
        "unit": case.unit, "deadline": case.deadline, "settles_at": case.settles_at,
        "sealed_by": case.sealed_by,
        "candidate": candidate_message(case.candidate),
    }  # fmt: skip
