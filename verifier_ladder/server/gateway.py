"""Gateways: another server, to which calls are handed on."""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException, Response

from verifier_ladder.arguments import checked_url
from verifier_ladder.server.webhooks.receiver import answer_to

_PATIENCE = 30.0
"""Seconds that one call may take."""
LONGEST_ANSWER = 1024 * 1024
"""Bytes of an answer."""


class Gateway:
    """Hands calls on to the one server that the operator has named."""

    def __init__(self, url: str) -> None:
        """Name the server; nothing is asked yet.

        Raises:
            ConfigError: If the address is not HTTP.
        """
        self._url = checked_url("gateway", url).rstrip("/")
        self._client: Any = None

    async def post(self, path: str, body: bytes, authorization: str | None) -> Response:
        """Post JSON, and give back what comes.

        Raises:
            HTTPException: If the server can't be reached, or answers too much or too slowly.
        """
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=_PATIENCE, trust_env=False)
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if authorization is not None:
            headers["Authorization"] = authorization
        request = self._client.build_request(
            "POST", self._url + path, content=body, headers=headers
        )
        try:
            answer, said = await answer_to(
                self._client, request, _PATIENCE, longest=LONGEST_ANSWER
            )
        except (httpx.HTTPError, OSError) as error:  # Of the latter a time limit is one.
            why = f"{error}" or type(error).__name__
            raise HTTPException(502, f"{self._url} could not be asked: {why}") from None
        kind = answer.headers.get("content-type", "application/json")
        return Response(said, answer.status_code, media_type=kind)

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.aclose()
