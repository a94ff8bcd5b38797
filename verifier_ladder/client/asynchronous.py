"""The client for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self

import orjson

from verifier_ladder.client import wire
from verifier_ladder.client.wire import Call, Given
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.reward import Revision, Reward


class AsyncClient:
    """`Client` for programs with an event loop, which it never holds up.

    Example:
        >>> client = AsyncClient("http://127.0.0.1:8420", token="vladder_0a1b2c3d_secret")
        >>> client.url
        'http://127.0.0.1:8420'
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        attempts: int = wire.ATTEMPTS,
        timeout: float | str = 60.0,
    ) -> None:
        """Name the server; the first call asks it.

        Args:
            url: Where it is, such as `http://127.0.0.1:8420`.
            token: A token of `vladder token add`, if it asks for one.
            attempts: How often a call is sent before it fails.
            timeout: Seconds that an answer may take beyond the call's own deadline.

        Raises:
            ConfigError: If httpx is not installed, or an argument makes no sense.
        """
        if not url.startswith(("http://", "https://")) or attempts < 1:
            raise ConfigError(
                f"a client needs http://… or https://… and 1 attempt or more, not {url!r} and "
                f"{attempts}"
            )
        self.url = url.rstrip("/")
        self._attempts, self._timeout = attempts, seconds(timeout)
        self._httpx = wire.httpx_module()
        self._http = self._httpx.AsyncClient(
            base_url=self.url, headers=wire.headers_of(token), timeout=self._timeout
        )

    async def score(
        self,
        samples: Sequence[Given],
        *,
        deadline: float | str | None = None,
        step: int | None = None,
        groups: Sequence[str] | None = None,
        run: str | None = None,
        learner_version: str = "",
        key: str | None = None,
    ) -> list[Reward]:
        """Reward samples, in the order given; see `Campaign.score`.

        Args:
            samples: Samples of one run and step, candidates, or bare content.
            deadline: How long higher tiers are waited for; by default as the server says.
            step: Training step; the server's next free one by default.
            groups: Group of each element, if they are not samples.
            run: The run; the server's own by default. Name the step with it.
            learner_version: Version of the policy that wrote them.
            key: Idempotency key; a new one by default.

        Raises:
            ConfigError: If the server refuses what is asked.
            LadderError: If it fails or can't be reached, after all attempts.
        """
        call = wire.score_call(
            samples, step=step, groups=groups, run=run, learner_version=learner_version,
            deadline=deadline, key=key,
        )  # fmt: skip
        more = 0.0 if deadline is None else seconds(deadline)
        answer = await self._send(call, self._timeout + more)
        return [wire.reward_from(message) for message in answer["rewards"]]

    async def revisions(self, *, after: int = 0, follow: bool = False) -> AsyncIterator[Revision]:
        """Rewards that were replaced because a higher tier answered, oldest first.

        Args:
            after: Cursor of the last one that was read; 0 for all.
            follow: Whether to go on for ever, with a stream that is resumed when it breaks. A
                revision may then come twice.

        Raises:
            LadderError: As for `score`.
        """
        while True:
            page = await self._send(wire.revisions_call(after, 1000), self._timeout)
            for message in page["revisions"]:
                yield wire.revision_from(message)
            after = page["cursor"]
            if page["more"]:
                continue
            if not follow:
                return
            async for cursor, revision in self._follow(after):
                after = cursor
                yield revision

    async def _follow(self, after: int) -> AsyncIterator[tuple[int, Revision]]:
        """Revisions of one stream until it breaks, each with the cursor to go on from."""
        events = wire.Events()
        patience = self._httpx.Timeout(self._timeout)  # Something comes every 15 seconds.
        try:
            async with self._http.stream(
                "GET", "/v1/rewards", headers=wire.stream_headers(after), timeout=patience
            ) as response:
                if not response.is_success:
                    return  # The next page says why.
                async for line in response.aiter_lines():
                    data = events.add(line)
                    if data is not None:
                        after = after if events.last is None else events.last
                        yield after, wire.revision_from(orjson.loads(data))
        except self._httpx.HTTPError:
            return

    async def _send(self, call: Call, patience: float) -> Any:
        for attempt in range(self._attempts):
            try:
                response = await self._http.request(
                    call.method, call.path, content=call.body, headers=call.headers,
                    timeout=patience,
                )  # fmt: skip
            except self._httpx.TransportError as error:
                failed: Exception = wire.ServerError(f"{self.url} could not be asked: {error!r}")
                wait = wire.pause(attempt, None, None)
            else:
                retry_after = response.headers.get("Retry-After")
                wait = wire.pause(attempt, response.status_code, retry_after)
                if wait is None or attempt + 1 == self._attempts:
                    return wire.read(response.status_code, response.content)
            if attempt + 1 < self._attempts and wait is not None:
                await asyncio.sleep(wait)
        raise failed

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Use it as a context manager."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Close it."""
        await self.close()
