"""Shares: what a server has of something, divided so that no caller takes it from the others."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class Shares:
    """An amount of which a caller gets more only as long as it then has no more than is free.

    So the first that takes whatever it can gets half, the next half of the rest, and so on.
    The empty caller, which stands for all where there are no tokens, may have everything.

    Example:
        >>> shares = Shares(4)
        >>> shares.take("blue", 2)
        >>> shares.has_room("blue", 1), shares.has_room("green", 2)
        (False, True)
    """

    __slots__ = ("_limit", "_of", "taken")

    def __init__(self, limit: int) -> None:
        """Divide so much."""
        self._limit = limit
        self._of: Counter[str] = Counter()
        self.taken = 0
        """What all callers have."""

    def of(self, caller: str) -> int:
        """What a caller has; of the empty one nothing is counted."""
        return self._of[caller]

    def has_room(self, caller: str, more: int) -> bool:
        """Whether a caller may have more."""
        return self.of(caller) + more <= self._limit - self.taken

    def take(self, caller: str, more: int) -> None:
        """Give a caller more, whether or not there is room."""
        self.taken += more
        if caller:
            self._of[caller] += more

    def give_back(self, caller: str, less: int) -> None:
        """Take from a caller what it needs no more."""
        self.taken -= less
        if caller:
            self._of[caller] -= less
            if not self._of[caller]:
                del self._of[caller]


class SharedPool:
    """Threads that callers share: what is beyond a caller's share waits behind its own calls.

    Whatever was asked for is done, even if nobody waits for it any more. To be used in one event
    loop.
    """

    def __init__(self, threads: int, name: str) -> None:
        """Have so many threads, called so."""
        self._pool = ThreadPoolExecutor(threads, name)
        self._shares = Shares(threads)
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._work: set[asyncio.Task[Any]] = set()

    def run(self, caller: str, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Call a function in a thread, when it is the caller's turn."""
        work = asyncio.ensure_future(self._run(caller, partial(function, *arguments)))
        self._work.add(work)
        work.add_done_callback(self._work.discard)
        return asyncio.shield(work)

    async def close(self) -> None:
        """Finish what was asked for."""
        while self._work:
            await asyncio.wait(self._work)
        await asyncio.to_thread(self._pool.shutdown)

    async def _run(self, caller: str, call: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        self._begin()
        await turn
        try:
            return await loop.run_in_executor(self._pool, call)
        finally:
            self._shares.give_back(caller, 1)
            self._begin()

    def _begin(self) -> None:
        """Let those go on that may, from the caller with the fewest calls at work."""
        while self._waiting:
            caller = min(self._waiting, key=self._shares.of)
            if not self._shares.has_room(caller, 1):
                return
            turns = self._waiting.pop(caller)
            turn = turns.popleft()
            if turns:  # Its next call waits behind those of others who have as few at work.
                self._waiting[caller] = turns
            if not turn.done():  # The event loop may be ending.
                self._shares.take(caller, 1)
                turn.set_result(None)
