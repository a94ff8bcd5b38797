"""News: wakes those who wait until the ledger has grown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from verifier_ladder.errors import LadderError

_EVERY = 0.2
"""Seconds between two looks at the ledger, while somebody waits."""


class News:
    """Looks at the ledger for all who wait, so that a hundred streams cost as much as one.

    Example:
        >>> async def wait():
        ...     news = News(lambda: 7)
        ...     try:
        ...         return await news.after(3, 1.0)
        ...     finally:
        ...         await news.close()
        >>> asyncio.run(wait())
        7
    """

    def __init__(self, newest: Callable[[], int]) -> None:
        """Take the function that gives the id of the newest entry; it is called in a thread."""
        self._read = newest
        self._changed = asyncio.Event()
        self._newest = 0
        self._watch: asyncio.Task[None] | None = None
        self._waiting = 0
        self.is_over = False
        """Whether no more will come, because the server ends."""

    async def after(self, seen: int, patience: float) -> int:
        """Wait until there is an entry after this one, the time is over, or the server ends.

        Returns:
            The newest entry known; it may be one that was seen before.
        """
        if self._watch is None or self._watch.done():
            self._watch = asyncio.get_running_loop().create_task(self._look())
        self._waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    while self._newest <= seen and not self.is_over:
                        await self._changed.wait()
        finally:
            self._waiting -= 1
        return self._newest

    async def _look(self) -> None:
        """Look again and again until nobody waits."""
        while not self.is_over:
            with suppress(LadderError):  # A ledger that went away may come back.
                newest = await asyncio.to_thread(self._read)
                if newest != self._newest:
                    self._newest = newest
                    self._tell()
            if not self._waiting:
                return
            await asyncio.sleep(_EVERY)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """Wake everybody for the last time."""
        self.is_over = True
        self._tell()

    async def close(self) -> None:
        """End, and wait until nothing is at work any more."""
        self.end()
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
