"""Calls: JSON that is posted and answered, on a shorter way than other routes take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from verifier_ladder.errors import LadderError
from verifier_ladder.server import tokens
from verifier_ladder.server.access import allow, authorization, caller_of, check_run, needs
from verifier_ladder.server.bodies import Posted, read_body
from verifier_ladder.server.problems import problem_of, responses

Endpoint = Callable[[Any, Request], Awaitable[Response]]
Shown = Callable[[Request], str | None]
FAILURES = (400, 401, 403, 408, 413, 415, 421, 422, 429, 503)
"""How every call may fail."""


class _Call(NamedTuple):
    """What is posted to one path."""

    model: type[BaseModel]
    scope: tokens.Scope
    shown: Shown
    endpoint: Endpoint
    names_run: bool

    async def answer(self, request: Request) -> Response:
        allow(request, self.scope, self.shown)  # Before a byte of the body is read.
        service = request.app.state.service
        if not self.names_run:
            check_run(request, service.campaign.run.name)
        run = partial(service.parse, caller_of(request))
        return await self.endpoint(await read_body(request, self.model, run), request)


class CallRouter(APIRouter):
    """Routes that take a model as JSON, described as FastAPI describes them.

    FastAPI finds routes and solves dependencies anew for every request, which takes three times
    as long as all the rest of a single reward. So `Lane` answers these by their path.
    """

    def __init__(self, tag: str) -> None:
        """Begin without routes, under a heading of the description."""
        super().__init__(tags=[tag])
        self.calls: dict[str, _Call] = {}

    def call(
        self, path: str, answer: Any, *, summary: str, scope: tokens.Scope = "score",
        shown: Shown = authorization, fails: Iterable[int] = (), names_run: bool = False,
    ) -> Callable[[Endpoint], Endpoint]:  # fmt: skip
        """A decorator for `async def name(body: Model, request: Request) -> Response`.

        Args:
            path: Where it is posted.
            answer: The model of the answer, for the description.
            summary: What it does.
            scope: The scope that a token needs.
            shown: Finds the token in a request.
            fails: Statuses beyond those of every call.
            names_run: Whether the body says which run it concerns, and the endpoint asks whether
                the caller's token is for it; other calls concern the server's own run.
        """

        def add(endpoint: Endpoint) -> Endpoint:
            # The annotation stands there as text.
            model = endpoint.__globals__[endpoint.__annotations__["body"]]
            self.calls[path] = _Call(model, scope, shown, endpoint, names_run)
            described = self.post(
                path, response_model=answer, summary=summary,
                dependencies=[needs(scope)] if shown is authorization else [],
                responses=responses(*FAILURES, *fails),
            )  # fmt: skip
            described(endpoint)
            return endpoint

        return add


class Lane:
    """Answers calls by their path, and leaves everything else to the application.

    It stands before all layers of FastAPI, for these take longer than a call.
    """

    def __init__(self, app: ASGIApp, calls: Mapping[str, _Call]) -> None:
        """Stand before an application."""
        self._app, self._calls = app, calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        call = self._calls.get(scope["path"]) if scope["type"] == "http" else None
        if call is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Posted(scope, receive, send)
        try:
            response = await call.answer(request)
        except (HTTPException, LadderError) as error:
            response = problem_of(error)
        except ClientDisconnect:
            raise
        except Exception as error:  # The server logs it.
            await problem_of(error)(scope, receive, send)
            raise
        await response(scope, receive, send)
