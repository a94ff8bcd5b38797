"""The sequencer: a thread that gives entries their place in the signed log, off the hot path."""

from __future__ import annotations

from threading import Event, Thread
from typing import Self

from verifier_ladder.containment import ContainedLog, words_of
from verifier_ladder.ledger.base import Ledger

_log = ContainedLog(__name__)

EVERY = 0.5
"""Seconds between two looks; an entry is signed for within about a second."""


class Sequencer:
    """Looks twice a second whether entries wait, whoever in whichever process wrote them.

    Several at once are harmless: each batch is one transaction, and who comes second finds
    nothing to do. An error is logged once and tried again; entries are safe meanwhile.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(":memory:") as ledger, Sequencer(ledger):
        ...     ledger.checkpoint()
    """

    def __init__(self, ledger: Ledger, every: float = EVERY) -> None:
        """Start the thread.

        Args:
            ledger: The ledger; it must stay open until this is closed.
            every: Seconds between two looks.
        """
        self._ledger = ledger
        self._every = every
        self._ends = Event()
        self._last_error = ""
        self._thread = Thread(target=self._run, name="vl-sequencer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.wait(self._every):
            self._look()

    def _look(self) -> None:
        try:
            while self._ledger.sequence() and not self._ends.is_set():
                pass
            self._last_error = ""
        except BaseException as error:  # noqa: BLE001 - nothing may end the thread
            said = words_of(error)
            if said != self._last_error:
                _log.warning("entries wait for the signed log: %s", said)
            self._last_error = said

    def close(self) -> None:
        """End the thread; closing the ledger sequences what is left."""
        self._ends.set()
        self._thread.join()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        self.close()
