"""Idempotency: a call that is made again with the same key gets the same answer."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from http import HTTPStatus
from time import monotonic
from typing import NamedTuple

from fastapi import HTTPException, Request, Response

from verifier_ladder.server.access import caller_of

_LONGEST_KEY = 255
_KEPT = 24 * 3600.0
_MOST_BYTES = 64 * 2**20


class _Kept(NamedTuple):
    """A call under a key."""

    digest: bytes
    answer: asyncio.Future[Response]
    since: float


class Answers:
    """Keeps answers by key: for a day, and as many as fit into so many bytes.

    Only answers that succeeded are kept; what failed may be asked for anew. A call that comes
    while the first one is at work waits for its answer.

    Example:
        >>> async def ask():
        ...     answers = Answers()
        ...     first = await answers.once("k", b"body", lambda: asyncio.sleep(0, Response("a")))
        ...     again = await answers.once("k", b"body", lambda: asyncio.sleep(0, Response("b")))
        ...     return again.body
        >>> asyncio.run(ask())
        b'a'
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        """Keep answers of at most so many bytes together."""
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._most, self._bytes = most_bytes, 0

    async def once(
        self, key: str, body: bytes, make: Callable[[], Awaitable[Response]]
    ) -> Response:
        """The answer under a key, made now if there is none.

        Raises:
            HTTPException: If the key stands for another body.
        """
        digest = sha256(body).digest()
        kept = self._kept.get(key)
        if kept is not None and monotonic() - kept.since > _KEPT and kept.answer.done():
            self._forget(key)
            kept = None
        if kept is not None:
            if kept.digest != digest:
                raise HTTPException(
                    HTTPStatus.UNPROCESSABLE_ENTITY,
                    f"Idempotency-Key {key!r} was used with another body; take a new key",
                )
            return await asyncio.shield(kept.answer)
        return await self._first(key, digest, make)

    async def _first(
        self, key: str, digest: bytes, make: Callable[[], Awaitable[Response]]
    ) -> Response:
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_seen)
        self._kept[key] = _Kept(digest, future, monotonic())
        try:
            answer = await make()
        except BaseException as error:
            del self._kept[key]
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        future.set_result(answer)
        self._bytes += len(answer.body)
        self._trim()
        return answer

    def _trim(self) -> None:
        """Forget the oldest answers, beyond the bytes that are kept."""
        for key in list(self._kept):
            if self._bytes <= self._most:
                return
            if self._kept[key].answer.done():
                self._forget(key)

    def _forget(self, key: str) -> None:
        self._bytes -= len(self._kept.pop(key).answer.result().body)


def _seen(future: asyncio.Future[Response]) -> None:
    """Nobody may be waiting for a failure that its own caller is told anyway."""
    if not future.cancelled():
        future.exception()


async def answered_once(request: Request, make: Callable[[], Awaitable[Response]]) -> Response:
    """Answer a request, from memory if its `Idempotency-Key` was answered before.

    Raises:
        HTTPException: If the key is too long, or stands for another body.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return await make()
    if not 0 < len(key) <= _LONGEST_KEY:
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters"
        )
    answers: Answers = request.app.state.answers
    place = f"{caller_of(request)}\n{request.url.path}\n{key}"
    return await answers.once(place, await request.body(), make)
