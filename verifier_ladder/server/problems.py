"""Problems: what failed, as the answer that a client gets (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from verifier_ladder.errors import (
    BudgetError,
    CandidateError,
    ConfigError,
    LadderError,
    VerifierError,
)
from verifier_ladder.server.admission import BusyError
from verifier_ladder.server.bodies import InvalidBodyError
from verifier_ladder.text import printable

MEDIA_TYPE = "application/problem+json"
_MOST_SHOWN = 10
_SHOWN = 500
_CALLERS_FAULT = (ConfigError, CandidateError, VerifierError, BudgetError)
_RETRY = 1
"""Seconds after which to try again what failed on our side."""
_SCHEMA = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {
        "title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"at": {"type": "string"}, "why": {"type": "string"}},
            },
        },
    },
}  # fmt: skip
_MEANINGS = {
    400: "The request can't be read.",
    401: "No token, or one that is not valid.",
    403: "The token may not do this, or the page that asks is not of this server.",
    404: "There is nothing here.",
    406: "The answer is not available in this form.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The body must be JSON.",
    421: "The Host header names another server.",
    422: "The body, or what it asks for, makes no sense; `errors` names the places.",
    429: "Too much work already. Nothing was accepted; `Retry-After` says when to ask again.",
    501: "This server was started without what the call needs.",
    502: "The server behind this one failed.",
    503: "The ledger or the workers fail, or the server is ending. Ask again.",
}


def problem(
    status: int,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> Response:
    """An answer that says what failed.

    Example:
        >>> problem(404, "no such case").status_code
        404
    """
    said = {
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": printable(detail, 2000),
    }
    body = orjson.dumps({**said, "errors": list(errors)} if errors else said)
    return Response(body, status, dict(headers or {}), MEDIA_TYPE)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route's description says of the ways in which it fails."""
    content = {MEDIA_TYPE: {"schema": _SCHEMA}}
    return {s: {"description": _MEANINGS[s], "content": content} for s in statuses}


def answer_problems(app: FastAPI) -> None:
    """Have an application answer errors as problems."""

    async def answer(_: Request, error: Exception) -> Response:
        return problem_of(error)

    for kind in (LadderError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def problem_of(error: Exception) -> Response:
    """The answer to an error of ours, or of FastAPI's."""
    if isinstance(error, InvalidBodyError):
        return _invalid(error.errors)
    if isinstance(error, RequestValidationError):
        return _invalid(error.errors())
    if isinstance(error, HTTPException):
        return problem(error.status_code, str(error.detail), headers=error.headers)
    if not isinstance(error, LadderError):
        return problem(500, "the server failed at this call; its log says how")
    if isinstance(error, _CALLERS_FAULT):
        return problem(422, str(error))
    status, pause = (429, error.pause) if isinstance(error, BusyError) else (503, _RETRY)
    return problem(status, str(error), headers={"Retry-After": str(pause)})


def _invalid(found: Sequence[Mapping[str, Any]]) -> Response:
    shown = [{"at": _place(e["loc"]), "why": printable(e["msg"], _SHOWN)} for e in found]
    first = "; ".join(f"{e['at']}: {e['why']}" for e in shown[:2])
    more = f" (and {len(found) - 2} more)" if len(found) > 2 else ""  # noqa: PLR2004 - two shown
    return problem(422, first + more, errors=shown[:_MOST_SHOWN])


def _place(location: Sequence[Any]) -> str:
    return ".".join(printable(part, 60) for part in location) or "body"
