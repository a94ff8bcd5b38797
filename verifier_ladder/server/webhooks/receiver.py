"""Other people's servers: asked for an answer, however long it is and however slowly it comes."""

from __future__ import annotations

import asyncio
from typing import Any


class TooLongError(OSError):
    """An answer has more bytes than are read of it."""


async def answer_to(
    client: Any, request: Any, seconds: float, *, longest: int = 0
) -> tuple[Any, bytes]:
    """Send a request of `httpx` and give the answer, and its body as it was sent.

    A client's own time limit counts from one byte to the next, and a body may have no end.

    Args:
        client: An `httpx.AsyncClient`.
        request: What it sends.
        seconds: How long all of it may take together.
        longest: Bytes that the body may have; by default it is not read.

    Raises:
        TimeoutError: If it takes longer.
        TooLongError: If the body is longer.
        httpx.HTTPError: If there is no answer.
    """
    async with asyncio.timeout(seconds):
        answer = await client.send(request, stream=True)
        try:
            return answer, await _body(answer, longest) if longest else b""
        finally:
            await answer.aclose()


async def status_of(client: Any, request: Any, seconds: float) -> int:
    """Send a request as `answer_to` does and give the answer's status; its body is not read."""
    answer, _ = await answer_to(client, request, seconds)
    return int(answer.status_code)


async def _body(answer: Any, longest: int) -> bytes:
    body = bytearray()
    async for part in answer.aiter_raw():
        body += part
        if len(body) > longest:
            raise TooLongError(f"its answer has more than {longest:,} bytes")
    return bytes(body)
