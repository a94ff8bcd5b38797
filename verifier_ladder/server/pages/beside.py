"""Beside the pages: what takes time in proportion to the ledger is made in a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, get_native_id
from time import monotonic
from typing import Final, Generic, TypeVar

from verifier_ladder.analysis.reader import LedgerReader
from verifier_ladder.errors import LadderError
from verifier_ladder.ledger import Ledger

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
PATIENCE: Final = 0.05
"""Seconds that a page waits for what is made beside it; the next one has it."""
_SHARE = 20.0
"""It is made for no more than one second in so many."""
_FRESH = 2.0
"""Seconds for which it is shown at least."""
_NICENESS = 10


def give_way() -> None:
    """Let this thread run when nobody else wants to: the learner beside us needs the cores."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, get_native_id(), _NICENESS)


class Beside(Generic[K, T]):
    """Makes something of a ledger, one after the other, and shows what was made last.

    **Threads.** Any number may ask.
    """

    def __init__(
        self, reader: LedgerReader, make: Callable[[Ledger, K], T],
        clock: Callable[[], float] = monotonic, *, is_long: bool = False,
    ) -> None:  # fmt: skip
        """Make nothing yet.

        Args:
            reader: Gives the ledger.
            make: Makes it, of the ledger and what is asked for.
            clock: Tells the time.
            is_long: Whether all of the ledger is read, so that its thread has a low priority.
        """
        self._reader, self._make, self._clock = reader, make, clock
        self._pool = ThreadPoolExecutor(
            1, thread_name_prefix="vl-beside", initializer=give_way if is_long else None
        )
        self._asked: dict[K, Future[T]] = {}
        self._found: dict[K, T] = {}
        self._until: dict[K, float] = {}
        self._lock = Lock()

    def of(self, key: K, wait: float = PATIENCE) -> T | None:
        """What was made last; None if nothing was yet.

        Whoever asks knows that there is such a thing: of what is asked for, all is kept.
        """
        with self._lock:
            asked = self._asked.get(key)
            if asked is None and self._clock() >= self._until.get(key, 0.0):
                asked = self._asked[key] = self._pool.submit(self._made, key)
        if asked is not None:
            with suppress(TimeoutError, LadderError):
                return asked.result(wait)
        return self._found.get(key)

    def _made(self, key: K) -> T:
        begun = self._clock()
        try:
            with self._reader.reading() as ledger:
                self._found[key] = self._make(ledger, key)
            return self._found[key]
        finally:
            took = self._clock() - begun
            with self._lock:
                self._until[key] = self._clock() + max(_FRESH, _SHARE * took)
                self._asked.pop(key, None)

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown(cancel_futures=True)
