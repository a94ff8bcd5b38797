"""An onlooker: when each answer came to stand in the ledger, by a clock that nobody makes jump."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Self

from verifier_ladder.errors import LadderError
from verifier_ladder.ledger import Ledger, open_ledger

_POLL = 0.02
Check = tuple[str, str]
"""Name of the verifier and content key, in hexadecimal."""


class Onlooker:
    """Reads a ledger while others write it.

    What it has seen was recorded before; so an execution that begins afterwards, by the clock
    that all processes of a machine share, was begun for nothing.
    """

    def __init__(self, ledger: str) -> None:
        """Look at the ledger of this address."""
        self.seen: dict[Check, float] = {}
        """When the answer to each check was there."""
        self._cursor, self._over = 0, Event()
        self._thread = Thread(target=self._look, args=(ledger,), daemon=True)

    def _look(self, address: str) -> None:
        while not self._over.wait(_POLL):
            # Who writes it may be struck just now, or the database.
            with suppress(LadderError), open_ledger(address) as store:
                while not self._over.wait(_POLL):
                    self._read(store)

    def _read(self, store: Ledger) -> None:
        for entry in store.entries(after=self._cursor):
            rows, now = store.read(entry).verdicts, monotonic()
            for row in rows:
                if row.verdict.is_answer:
                    self.seen.setdefault((row.verifier, row.content_key.hex()), now)
            self._cursor = entry.id

    def __enter__(self) -> Self:
        """Look on, from now."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def late(self, executions: Path) -> int:
        """Executions that began after their answer was there."""
        noted = [line.split("\t") for line in executions.read_text().splitlines()]
        never = float("inf")
        return sum(float(began) > self.seen.get((name, key), never) for name, key, began in noted)
