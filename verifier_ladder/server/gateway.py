"""Gateways: another server, to which calls are handed on."""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException, Response

from verifier_ladder.errors import ConfigError

_PATIENCE = 30.0


class Gateway:
    """Hands calls on to the one server that the operator has named."""

    def __init__(self, url: str) -> None:
        """Name the server; nothing is asked yet.

        Raises:
            ConfigError: If the address is not HTTP.
        """
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{url!r} is no address of a gateway; give http://… or https://…")
        self._url = url.rstrip("/")
        self._client: Any = None

    async def post(self, path: str, body: bytes, authorization: str | None) -> Response:
        """Post JSON, and give back what comes.

        Raises:
            HTTPException: If the server can't be reached.
        """
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=_PATIENCE, trust_env=False)
        headers = {"Content-Type": "application/json"}
        if authorization is not None:
            headers["Authorization"] = authorization
        try:
            answer = await self._client.post(self._url + path, content=body, headers=headers)
        except httpx.HTTPError as error:
            why = f"{error}" or type(error).__name__
            raise HTTPException(502, f"{self._url} could not be asked: {why}") from None
        kind = answer.headers.get("content-type", "application/json")
        return Response(answer.content, answer.status_code, media_type=kind)

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.aclose()
