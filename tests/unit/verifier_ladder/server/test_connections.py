"""Headers of a request may have so many bytes, in one piece or in many."""

import asyncio

import pytest
import uvicorn
from fastapi import FastAPI
from uvicorn.server import ServerState

from verifier_ladder.server import connections
from verifier_ladder.server.connections import LARGEST_HEAD, Connection

LIMIT = 300.0
app = FastAPI()
app.add_api_route("/", lambda: "here")


async def answered(*pieces: bytes, to_the_end: bool = False) -> bytes:
    """The first line of what a server answers that gets a request in pieces, or all of it."""
    config = uvicorn.Config(app, http=Connection, lifespan="off", log_level="critical")
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    server = await loop.create_server(lambda: Connection(config, state, {}, loop), "127.0.0.1", 0)
    async with server, asyncio.timeout(LIMIT):
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            for _ in range(20):  # The server runs in this loop, and reads each piece by itself.
                await asyncio.sleep(0)
        line = await (reader.read() if to_the_end else reader.readline())
        writer.close()
    return line


HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"
LONG = b"x" * LARGEST_HEAD


@pytest.mark.parametrize(
    "pieces",
    [
        [HEAD + b"a: " + LONG + b"\r\n\r\n"],
        [b"GET /?" + LONG + b" HTTP/1.1\r\nHost: a\r\n\r\n"],
        [HEAD, b"a: ", LONG], [HEAD, b"a: b\r\n" * 20_000],
    ],
    ids=["one header", "an address", "a header without end", "headers without end"],
)  # fmt: skip
def test_headers_that_are_too_long_are_refused_as_they_come(pieces: list[bytes]) -> None:
    assert b" 400 " in asyncio.run(answered(*pieces))


def test_long_headers_that_may_be_are_taken() -> None:
    held = [HEAD + b"a: " + b"x" * 30_000, b"x" * 30_000, b"\r\n\r\n"]

    assert b" 200 " in asyncio.run(answered(*held))


@pytest.mark.parametrize(
    "rest", [b"0\r\n" + b"a: b\r\n" * 40_000, b"0\r\na: " + LONG * 3, b"1;" + LONG * 3],
    ids=["headers behind a body", "a header behind it", "an extension of a chunk"],
)  # fmt: skip
def test_what_is_no_body_is_bounded_between_chunks_and_behind_them(
    monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(connections, "_REST", 2 * LIMIT)  # The clock would end it, too.
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    pieces = [rest[at : at + 2**14] for at in range(0, len(rest), 2**14)]

    try:
        said = asyncio.run(answered(head, *pieces, to_the_end=True))
    except ConnectionResetError:
        said = b""

    assert len(said) < 1_000
