"""Watching a ledger that other machines write to as well, from which no call comes."""

from __future__ import annotations

import weakref
from contextlib import suppress
from threading import Event, Thread, current_thread
from typing import TYPE_CHECKING

from verifier_ladder.errors import LadderError

if TYPE_CHECKING:
    from verifier_ladder.ledger.store import Store

EVERY = 0.1
"""Seconds between two looks; each is one small query."""
_PATIENCE = 5.0
"""Seconds to wait for a listener when the ledger is closed."""


class Watch:
    """Tells a ledger's listeners of new entries, whoever wrote them."""

    def __init__(self, ledger: Store, every: float = EVERY) -> None:
        """Start the thread; it ends with the ledger."""
        self._ends = Event()
        self._every = every
        self._thread = Thread(
            target=self._run, args=(weakref.ref(ledger), ledger.newest()), name="vl-watch",
            daemon=True,
        )  # fmt: skip
        self._thread.start()

    def _run(self, seen: weakref.ref[Store], newest: int) -> None:
        while not self._ends.wait(self._every):
            ledger = seen()
            if ledger is None:
                return
            with suppress(LadderError):  # While the server is away, listeners wait on.
                found = ledger.newest()
                if found > newest:
                    newest = found
                    ledger._tell()  # noqa: SLF001 - part of the ledger
            del ledger

    def close(self) -> None:
        """End the thread; a listener that is being told is waited for, but not for long."""
        self._ends.set()
        if current_thread() is not self._thread:
            self._thread.join(_PATIENCE)
