"""Receivers of webhooks: asked for their status, whatever else they say and however slowly."""

from __future__ import annotations

import asyncio
from typing import Any


async def status_of(client: Any, request: Any, seconds: float) -> int:
    """Send a request of `httpx` and give the answer's status; its body is not read.

    A client's own time limit counts from one byte to the next, and a body may have no end.

    Args:
        client: An `httpx.AsyncClient`.
        request: What it sends.
        seconds: How long connecting, sending and the answer's head may take together.

    Raises:
        TimeoutError: If they take longer.
        httpx.HTTPError: If there is no answer.
    """
    async with asyncio.timeout(seconds):
        answer = await client.send(request, stream=True)
    await answer.aclose()
    status: int = answer.status_code
    return status
