"""Revisions: `GET /v1/rewards`, page by page or as a stream of server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Header, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse

from verifier_ladder.arguments import LARGEST, whole_number
from verifier_ladder.reward import Revision
from verifier_ladder.scheduler.late import RevisionReader
from verifier_ladder.server.access import caller_of, is_allowed, is_open, needs
from verifier_ladder.server.bodies import Json, encoded
from verifier_ladder.server.messages import RevisionPage, revision_json
from verifier_ladder.server.problems import responses
from verifier_ladder.server.service import RewardService

router = APIRouter(tags=["rewards"])
EVENTS = "text/event-stream"
PAGE = 1000
"""Revisions of one page; those that were recorded together are never divided."""
_PASSED = 4096
"""Entries that one page looks at; there may be no revision among them that is asked for."""
_COMPARED = 65_536
"""Samples that one page goes over: a revision tells what it changes for all of its group."""
_HEARTBEAT = 15.0
_RECONNECT = 2000
"""Milliseconds after which a client connects again."""
_STREAM = {
    "description": "A page, or an endless stream of events `revision` whose ids are cursors.",
    "content": {EVENTS: {"schema": {"type": "string"}}},
}


@router.get(
    "/v1/rewards", response_model=RevisionPage, dependencies=[needs("read")],
    responses={200: _STREAM, **responses(400, 401, 403, 421, 422, 503)}, summary="Read revisions",
)  # fmt: skip
async def rewards(
    request: Request,
    after: Annotated[int, Query(ge=0, le=LARGEST, description="Cursor of what is known.")] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE, description="About so many.")] = PAGE,
    evaluation: Annotated[
        bool | None, Query(description="Only of evaluations, or only of training; default: both.")
    ] = None,
    last_event_id: Annotated[str | None, Header(description="Cursor, for streams.")] = None,
) -> Response:
    """Rewards that were replaced because a higher tier answered, oldest first.

    With `Accept: text/event-stream` the answer lasts as long as its token: each revision is an
    event as soon as it is recorded. A stream that broke is resumed with `Last-Event-ID`; nothing
    is left out, and what was recorded together with the last event may come again.
    """
    service: RewardService = request.app.state.service
    if EVENTS in request.headers.get("accept", ""):
        start = after if last_event_id is None else _cursor(last_event_id)
        return StreamingResponse(
            _events(request, _reader(request, evaluation=evaluation), start), media_type=EVENTS,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )  # fmt: skip
    reader = _reader(request, evaluation=evaluation)
    told = await service.read(caller_of(request), page, reader, after, limit)
    shown = [revision_json(revision) for revision in told.revisions]
    return Json(encoded({"revisions": shown, "cursor": told.cursor, "more": told.more}))


class Page(NamedTuple):
    """Some revisions, which may be none."""

    revisions: list[Revision]
    cursor: int
    """Entry up to which all has been looked at."""
    more: bool
    """Whether there are entries after it."""


def page(reader: RevisionReader, after: int, limit: int) -> Page:
    """Some revisions; those with one cursor stay together.

    What one page looks at has a bound, whatever it finds, so that it ends soon.
    """
    found: list[Revision] = []
    newest = reader.ledger.newest()
    until, most = min(after + _PASSED, newest), reader.compared + _COMPARED
    with closing(reader.read(after, until)) as revisions:  # type: ignore[type-var]
        for revision in revisions:
            is_full = len(found) >= limit or reader.compared > most
            if found and is_full and revision.cursor != found[-1].cursor:
                return Page(found, found[-1].cursor, more=True)
            found.append(revision)
    return Page(found, max(after, until), until < newest)


def _reader(request: Request, *, evaluation: bool | None) -> RevisionReader:
    """A reader of those runs that the caller's token is for."""
    campaign = request.app.state.service.campaign
    return RevisionReader(
        campaign.ledger, campaign.name, evaluation=evaluation, runs=partial(is_open, request)
    )


async def _events(request: Request, reader: RevisionReader, after: int) -> AsyncIterator[bytes]:
    service: RewardService = request.app.state.service
    yield b"retry: %d\n\n" % _RECONNECT
    while not service.is_leaving and await is_allowed(request, "read"):
        found, after, more = await service.read(caller_of(request), page, reader, after, PAGE)
        for place, revision in enumerate(found):
            # Only the last of those with one cursor names it, or a client would leave some out.
            is_last = found[place + 1 : place + 2] == [] or (
                found[place + 1].cursor != revision.cursor
            )
            yield _event(revision_json(revision), revision.cursor if is_last else None)
        if found and more:
            continue
        if more or await service.news.after(after, _HEARTBEAT) <= after:
            yield b": still here\nid: %d\n\n" % after  # From there a client goes on.


def _event(data: Any, identity: int | None) -> bytes:
    named = b"" if identity is None else b"id: %d\n" % identity
    return b"event: revision\n" + named + b"data: " + encoded(data) + b"\n\n"


def _cursor(text: str) -> int:
    cursor = whole_number(text)
    if cursor is None:
        raise HTTPException(400, f"Last-Event-ID {text[:20]!r} is no cursor of this stream")
    return cursor
