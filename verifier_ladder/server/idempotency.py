"""Idempotency: a call that is made again with the same key gets the same answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from fastapi import HTTPException, Request

from verifier_ladder.errors import LadderError
from verifier_ladder.ledger.replies import Reply
from verifier_ladder.server.access import caller_of

if TYPE_CHECKING:
    from verifier_ladder.server.service import RewardService

_LONGEST_KEY = 255


class Place(NamedTuple):
    """Where the samples of a call stand."""

    run: str
    step: int
    cursor: int
    """Newest entry before it."""


class Answered(NamedTuple):
    """An answer to a call."""

    body: bytes
    revisions: Sequence[int]
    """Which revision of each sample's reward it holds."""


Begin = Callable[[], Place]
"""Finds a call's place, in a thread."""
Answer = Callable[[Place, Sequence[int]], Awaitable[Answered]]
"""Finds the answer to a call that has its place; of each reward the revision that was told before,
if any was."""


class _Work(NamedTuple):
    """A call that is being answered."""

    request: bytes
    answer: asyncio.Future[bytes]


class Replier:
    """Answers calls that carry a key, each of them once.

    Which revision of each reward was answered is kept in the ledger for a day, so the answer is
    the same after a restart and from every server of the campaign. The rewards themselves are
    read from the history, for nobody signs for a reply. A call has its place there before anything
    is scored: where its server died in the midst of it, the next try goes on with the same
    samples. A call that comes while the first one is at work waits for its answer.
    """

    def __init__(self, service: RewardService) -> None:
        """Answer for a service."""
        self._service = service
        self._ledger = service.campaign.ledger
        self._at_work: dict[bytes, _Work] = {}
        """Calls whose answer is not in the ledger yet."""

    async def once(self, request: Request, key: str, begin: Begin, answer: Answer) -> bytes:
        """The answer under a key, found now if there is none.

        Raises:
            HTTPException: If the key is too long, or stands for another body.
        """
        if not 0 < len(key) <= _LONGEST_KEY:
            raise HTTPException(
                HTTPStatus.BAD_REQUEST, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters"
            )
        campaign, path = self._service.campaign.name, request.url.path
        caller = caller_of(request)
        name = _digest(f"{campaign}\n{caller}\n{path}\n{key}".encode())
        asked = _digest(await request.body())
        work = self._at_work.get(name)
        if work is None:
            return await self._first(caller, name, asked, begin, answer)
        _compare(asked, work.request)
        return await asyncio.shield(work.answer)

    async def _first(
        self, caller: str, name: bytes, asked: bytes, begin: Begin, answer: Answer
    ) -> bytes:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_seen)
        self._at_work[name] = _Work(asked, future)
        try:
            found = await self._found(caller, name, asked, begin, answer)
        except BaseException as error:
            self._at_work.pop(name, None)
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        future.set_result(found)
        return found

    async def _found(
        self, caller: str, name: bytes, asked: bytes, begin: Begin, answer: Answer
    ) -> bytes:
        reply = await self._service.place(caller, self._begun, name, asked, begin)
        _compare(asked, reply.request)
        told = _revisions(reply.answer)
        body, revisions = await answer(Place(reply.run, reply.step, reply.cursor), told)
        if told:
            del self._at_work[name]
            return body
        # Nobody waits until it is kept: until then a repeated call is answered from here, and
        # where the server dies now, with the rewards as they are then.
        kept = self._service.place(caller, self._keep, name, revisions)
        kept.add_done_callback(lambda _: self._at_work.pop(name))
        return body

    def _begun(self, name: bytes, asked: bytes, begin: Begin) -> Reply:
        now = self._ledger.clock()
        kept = self._ledger.reply(name, now=now)
        if kept is not None:
            return kept
        reply = Reply(asked, self._service.campaign.name, *begin())
        return self._ledger.begin_reply(name, reply, now=now)

    def _keep(self, name: bytes, revisions: Sequence[int]) -> None:
        with suppress(LadderError):
            self._ledger.end_reply(name, orjson.dumps(revisions))


def _revisions(kept: bytes | None) -> Sequence[int]:
    """Which revisions were answered; none where that is not known."""
    try:
        found: Any = orjson.loads(kept or b"[]")
    except orjson.JSONDecodeError:  # It was changed, or an older version has written it.
        found = []
    return found if isinstance(found, list) else []


def _digest(text: bytes) -> bytes:
    return sha256(text).digest()


def _compare(asked: bytes, before: bytes) -> None:
    if asked != before:
        raise HTTPException(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "this Idempotency-Key was used with another body; take a new key",
        )


def _seen(future: asyncio.Future[bytes]) -> None:
    """Nobody may be waiting for a failure that its own caller is told anyway."""
    if not future.cancelled():
        future.exception()
