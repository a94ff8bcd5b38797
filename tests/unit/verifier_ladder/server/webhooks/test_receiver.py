"""A receiver's answer ends nothing, however long or slow it is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import httpx
import pytest

from verifier_ladder.server.webhooks.receiver import status_of

Say = Callable[[asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 204 No Content\r\ncontent-type: text/plain\r\n"


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD.replace(b"204 No Content", b"200 OK") + b"\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()  # Ends with the connection.


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    for byte in b"x-more: " + b"x" * 60_000:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.01)


async def asked(say: Say, seconds: float) -> int:
    """The status that a receiver's own words bring; every connection has ended afterwards."""
    ended = asyncio.Event()

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            await say(writer)
        ended.set()

    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        async with httpx.AsyncClient(timeout=seconds, trust_env=False) as client:
            request = client.build_request("POST", f"http://{host}:{port}/", content=b"")
            return await status_of(client, request, seconds)
    finally:
        await ended.wait()
        server.close()


def test_an_answer_without_end_is_left_at_its_status() -> None:
    assert 200 == asyncio.run(asked(endless, 300))


def test_a_head_that_drips_has_one_time_limit() -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(asked(dripping, 0.5))
