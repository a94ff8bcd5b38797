"""The client for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self, TypeVar, Unpack

import orjson

from verifier_ladder.arguments import checked
from verifier_ladder.case import Case
from verifier_ladder.client import wire
from verifier_ladder.client.base import BaseClient
from verifier_ladder.client.events import Events
from verifier_ladder.client.wire import Given, Question, ScoreOptions
from verifier_ladder.measurement import Bound
from verifier_ladder.reward import Revision, Reward
from verifier_ladder.verdict import Verdict

T = TypeVar("T")


class AsyncClient(BaseClient):
    """`Client` for programs with an event loop, which it never holds up.

    Example:
        >>> client = AsyncClient("http://127.0.0.1:8420", token="vladder_0a1b2c3d_secret")
        >>> client.url
        'http://127.0.0.1:8420'
    """

    async def score(
        self, samples: Sequence[Given], **options: Unpack[ScoreOptions]
    ) -> list[Reward]:
        """Reward samples, in the order given; see `Client.score`."""
        scored = await self._ask(wire.scoring(samples, **options))
        self.alarms = scored.alarms
        return scored.rewards

    @checked(after=0)
    async def revisions(
        self, *, after: int = 0, follow: bool = False, evaluation: bool | None = False
    ) -> AsyncIterator[Revision]:
        """Rewards that were replaced, oldest first; see `Client.revisions`."""
        while True:
            page = await self._ask(wire.revising(after, evaluation=evaluation))
            for revision in page.revisions:
                yield revision
            after = page.cursor
            if page.more:
                continue
            if not follow:
                return
            events = Events(after)
            async for revision in self._follow(events, evaluation=evaluation):
                yield revision
            after = events.last

    async def _follow(self, events: Events, *, evaluation: bool | None) -> AsyncIterator[Revision]:
        """Revisions of one stream until it breaks; `events` knows from where to go on."""
        try:
            call = wire.following(events.last, evaluation=evaluation)
            stream = self._http.stream(**self._stream(call))
            async with stream as response:
                if not response.is_success:
                    return  # The next page says why.
                async for line in response.aiter_lines():
                    data = events.add(line)
                    if data is not None:
                        yield wire.revision_from(orjson.loads(data))
        except self._httpx.HTTPError:
            return

    @checked(limit=1)
    async def cases(self, limit: int = wire.PAGE) -> list[Case]:
        """Open cases of the world, the most valuable first; see `Client.cases`."""
        return await self._ask(wire.open_cases(limit))

    @checked(source=1)
    async def answer(
        self,
        case: Case | bytes | str,
        value: Verdict | Bound | float | bool | None,  # noqa: FBT001 - the answer itself
        *,
        source: str,
        event: str | None = None,
    ) -> bool:
        """Hand in the world's result for a case; see `Client.answer`."""
        return await self._ask(wire.answering(case, value, source=source, event=event))

    def _connect(self, **options: Any) -> Any:
        return self._httpx.AsyncClient(**options)

    async def _ask(self, question: Question[T]) -> T:
        tries = self._tries()
        while True:
            try:
                said = await self._http.request(**self._request(question))
            except self._httpx.TransportError as error:
                wait: float | None = tries.missed(error)
            else:
                wait = tries.heard(said.status_code, said.content, said.headers.get("Retry-After"))
            if wait is None:
                return question.read(tries.answer)
            await asyncio.sleep(wait)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Use it as a context manager."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()
