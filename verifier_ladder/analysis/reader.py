"""Reader: a ledger that is read for hours while others write to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, local
from typing import Self

from verifier_ladder.errors import LadderError, LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.opening import open_evidence


class LedgerReader:
    """Keeps a ledger open that is only read, and opens it anew where that is needed.

    How a file is opened depends on who else has it open, and another file may take its place.

    **Threads.** Any number may read; one at a time may `renew`, and not while it reads itself.

    Example:
        >>> with LedgerReader(":memory:") as reader, reader.reading() as ledger:
        ...     ledger.newest()
        0
    """

    def __init__(self, where: str | Path) -> None:
        """Open it.

        Args:
            where: A path or a URL, as for `open_evidence`.

        Raises:
            ConfigError: If there is no ledger there, or it can't be read.
            LedgerError: If it can't be understood.
        """
        self._where = where
        self._ledger: Ledger | None = open_evidence(where)
        self._why = ""
        self._readers = 0
        self._is_renewed = False
        self._turn = Condition()
        self._own = local()

    @contextmanager
    def reading(self) -> Iterator[Ledger]:
        """Give the ledger; it stays open until the block ends.

        Raises:
            LedgerError: If it could not be opened anew.
        """
        depth = getattr(self._own, "depth", 0)
        with self._turn:
            # One who reads already is waited for by whoever opens it anew, and must not wait.
            self._turn.wait_for(lambda: depth or not self._is_renewed)
            if self._ledger is None:
                raise LedgerError(self._why)
            self._readers += 1
            ledger = self._ledger
        self._own.depth = depth + 1
        try:
            yield ledger
        finally:
            self._own.depth = depth
            with self._turn:
                self._readers -= 1
                self._turn.notify_all()

    def renew(self) -> bool:
        """Open it anew if there is more to see then; whether that was done.

        Raises:
            LadderError: If it is no longer there, or can't be read.
        """
        if self._ledger is not None and not self._ledger.is_outdated:
            return False
        with self._turn:
            self._is_renewed = True
            self._turn.wait_for(lambda: not self._readers)
        try:
            self._open()
        finally:
            with self._turn:
                self._is_renewed = False
                self._turn.notify_all()
        return True

    def _open(self) -> None:
        """Close it before it is opened: locks on one file belong to the whole process."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None
        try:
            self._ledger = open_evidence(self._where)
        except LadderError as error:
            self._why = str(error)
            raise

    def close(self) -> None:
        """Close it; closing twice is allowed."""
        if self._ledger is not None:
            self._ledger.close()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
