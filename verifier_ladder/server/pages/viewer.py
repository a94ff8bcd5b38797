"""The viewer: what pages about a ledger are made from, kept up to date behind them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock, Thread
from typing import NamedTuple

from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.analysis.queues import QueueState, read_queue
from verifier_ladder.analysis.reader import LedgerReader
from verifier_ladder.errors import LadderError, LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.report.drawings import Drawings, Drawn
from verifier_ladder.server.pages.beside import PATIENCE, Beside, give_way
from verifier_ladder.server.pages.versions import Pair, Versions
from verifier_ladder.status import Waiting, read_waiting
from verifier_ladder.summary.versions import VersionReport
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_LOG = logging.getLogger("verifier_ladder")
_EVERY = 1.0
"""Seconds between two looks for new entries."""
_AGAIN = 15.0
"""Seconds until the next try after something has failed."""
_BLOCKS = 32
PATIENT = 8
"""Programs that are waited for at one time: each holds a thread, and pages need some too."""


class State(NamedTuple):
    """How far the viewer has come, which each page shows."""

    newest: int
    """The newest entry of the ledger."""
    entry: int
    """The last that is in the lists."""
    damaged: int
    """Entries that can't be read."""
    trouble: str
    """Why the lists can't be brought up to date; empty if they can."""

    @property
    def is_behind(self) -> bool:
        """Whether the lists lack entries."""
        return self.entry < self.newest

    @property
    def share(self) -> float:
        """How much of the ledger is in the lists."""
        return min(1.0, self.entry / self.newest) if self.newest else 1.0


class Viewer:
    """Reads a ledger, fills its index in a thread of its own, and remembers what pages need.

    **Threads.** Any number may ask.
    """

    def __init__(
        self, where: str | Path, *, index: Path | None = None, draws: bool = True
    ) -> None:
        """Open a ledger to read it.

        Args:
            where: A path or a URL, as for `open_evidence`.
            index: File of the index; that of the user's cache by default.
            draws: Whether molecules are drawn.

        Raises:
            ConfigError: If there is no ledger there, or others could read the user's cache.
            LedgerError: If it can't be understood.
        """
        self.reader = LedgerReader(where)
        with self.reader.reading() as ledger:
            self.url = ledger.url
            self.index = CandidateIndex.of(ledger) if index is None else CandidateIndex(index)
            self.index.check(ledger)
        self._drawings = Drawings() if draws else None
        # A process of its own: a text that hangs its reader holds up other texts, and no drawing.
        self._readings = Drawings() if draws else None
        self._blocks: dict[tuple[int, bytes], Block] = {}
        self._lock = Lock()
        self._waiting = Beside[str, Waiting](
            self.reader, lambda ledger, name: read_waiting(ledger, name, at=ledger.clock())
        )
        self._queues = Beside[str, QueueState](
            self.reader, lambda ledger, name: read_queue(ledger, name, at=ledger.clock())
        )
        self._versions = Beside[Pair, VersionReport | str](self.reader, Versions(), is_long=True)
        self._patient = BoundedSemaphore(PATIENT)
        self._ends = Event()
        self._thread: Thread | None = None
        self._trouble = ""
        self._newest = 0
        self.prepares: list[Callable[[], None]] = []
        """What is to be done beside the start, so that no page has to."""
        self._preparing: Thread | None = None

    # -- behind the pages --------------------------------------------------------------------

    def start(self) -> None:
        """Keep the lists up to date from now on."""
        self._preparing = Thread(target=self._prepare, name="vl-prepare", daemon=True)
        self._preparing.start()
        self._thread = Thread(target=self._run, name="vl-viewer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and let go of the ledger."""
        self._ends.set()
        for thread in (self._thread, self._preparing):
            if thread is not None:
                thread.join()
        self._waiting.close()
        self._queues.close()
        self._versions.close()
        for drawings in (self._drawings, self._readings):
            if drawings is not None:
                drawings.close()
        self.index.close()
        self.reader.close()

    def _prepare(self) -> None:
        for prepare in self.prepares:
            with suppress(LadderError):  # Who asks for a page is told.
                prepare()

    def _run(self) -> None:
        give_way()
        pause = 0.0
        while not self._ends.wait(pause):
            try:
                pause = 0.0 if self.catch_up_some() else _EVERY
                self._trouble = ""
            except LadderError as error:
                self._trouble, pause = str(error), _AGAIN
            except Exception as error:  # noqa: BLE001 - the pages go on, and say so
                _LOG.exception("the lists of %s can't be brought up to date", self.url)
                self._trouble, pause = f"{type(error).__name__}: {error}", _AGAIN

    def catch_up_some(self) -> int:
        """Take the next entries; how many there were."""
        if self.reader.renew():
            with self._lock:
                self._blocks.clear()
        with self.reader.reading() as ledger:
            return self.index.catch_up(ledger)

    def catch_up(self) -> None:
        """Take all entries that there are."""
        while self.catch_up_some():
            pass

    # -- what pages ask ------------------------------------------------------------------------

    def state(self) -> State:
        """How far it has come."""
        trouble = self._trouble
        try:
            with self.reader.reading() as ledger:
                self._newest = ledger.newest()
        except LadderError as error:
            trouble = str(error)
        entry, damaged = self.index.progress()
        return State(self._newest, entry, damaged, trouble)

    def block(self, ledger: Ledger, number: int) -> Block | None:
        """The records of an entry, if it can be read; the last few are kept for the next page."""
        entry = ledger.entry(number)
        if entry is None:
            return None
        mark = (entry.id, entry.leaf)
        with self._lock:
            found = self._blocks.get(mark)
        if found is None:
            try:
                found = ledger.read(entry)
            except LedgerError:  # It is damaged, as every page says.
                return None
            with self._lock:
                while len(self._blocks) >= _BLOCKS:
                    self._blocks.pop(next(iter(self._blocks)))
                self._blocks[mark] = found
        return found

    def texts(self, ledger: Ledger, keys: Sequence[str]) -> dict[str, str]:
        """Canonical forms of candidates, by their keys; those that are unknown are missing."""
        entries: dict[int, set[bytes]] = {}
        for key, number in self.index.written_in(keys).items():
            entries.setdefault(number, set()).add(bytes.fromhex(key))
        found: dict[str, str] = {}
        for number, wanted in entries.items():
            block = self.block(ledger, number)
            for row in block.candidates if block is not None else ():
                if row.content_key in wanted:
                    form = row.content if row.canonical is None else row.canonical
                    text = form if isinstance(form, str) else form.decode("utf-8", "replace")
                    found.setdefault(row.content_key.hex(), text)
        return found

    def waiting(self, campaign: str) -> Waiting | None:
        """The work queue of a campaign as it was counted last; None if it was not counted yet."""
        return self._waiting.of(campaign)

    def queue(self, campaign: str) -> QueueState | None:
        """The work queue of a campaign as it was looked at last; None if it was not yet."""
        return self._queues.of(campaign)

    def drawings(self, smiles: Sequence[str]) -> Drawn:
        """Drawings of molecules, as far as they are made."""
        if self._drawings is None:
            return Drawn({}, are_all=True)
        return self._drawings.of(smiles, PATIENCE)

    def read(self, reader: Verifier, text: str, wait: float = PATIENCE) -> Verdict | None:
        """What a reader finds in a text, in a process of its own; None if it is at work."""
        if self._readings is None:
            return Verdict.abstain("nothing is read here")
        with self._patience(wait) as seconds:
            return self._readings.ask(reader, text, seconds)

    def versions(self, pair: Pair, wait: float = PATIENCE) -> VersionReport | str | None:
        """Two versions of a verifier side by side, or why not; None if that is not known yet."""
        with self._patience(wait) as seconds:
            return self._versions.of(pair, seconds)

    @contextmanager
    def _patience(self, wanted: float) -> Iterator[float]:
        """How long one may wait for what is made beside the pages."""
        if wanted <= PATIENCE or not self._patient.acquire(blocking=False):
            yield min(wanted, PATIENCE)
            return
        try:
            yield wanted
        finally:
            self._patient.release()
