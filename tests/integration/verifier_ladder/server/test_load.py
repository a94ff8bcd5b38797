"""A thousand clients at once: nothing is lost, and memory stays bounded."""

import asyncio
import json
from pathlib import Path
from typing import Any

import psutil
import pytest

from verifier_ladder.ledger import open_ledger

CLIENTS, EACH = 1000, 20
_MOST_GROWTH = 200 * 2**20


def request(client: int, number: int) -> bytes:
    """One episode; there are a hundred different answers."""
    said = {"content": [{"type": "output_text", "text": "x" * ((client + number) % 100 + 1)}]}
    body = json.dumps({"responses_create_params": {"input": "?"}, "response": {"output": [said]}})
    head = "POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def ask(url: str, client: int) -> int:
    """Send requests one after the other, and count those that were answered rightly.

    Every tenth client goes away without reading its last answer.
    """
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for number in range(EACH):
            writer.write(request(client, number))
            await writer.drain()
            if client % 10 == 0 and number == EACH - 1:
                return number
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            answer = json.loads(await reader.readexactly(length))
            assert float((client + number) % 100 + 1) == answer["reward"]
    finally:
        writer.close()
    return EACH


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_clients_lose_nothing(start: Any, folder: Path) -> None:
    served = start()
    process = psutil.Process(served.process.pid)

    async def ask_all() -> int:
        await asyncio.gather(*(ask(served.url, client) for client in range(100)))
        before = process.memory_info().rss
        answered = sum(await asyncio.gather(*(ask(served.url, i) for i in range(CLIENTS))))
        grown = process.memory_info().rss - before
        assert grown < _MOST_GROWTH, f"{grown >> 20} MiB more"
        return answered

    answered = asyncio.run(ask_all())
    assert 0 == served.end()

    assert CLIENTS * EACH - CLIENTS // 10 == answered
    with open_ledger(folder / "ledger.db") as ledger:
        recorded = ledger.count_samples("lengths")
    warm = 100 * EACH
    assert answered + warm - 10 <= recorded <= CLIENTS * EACH + warm
