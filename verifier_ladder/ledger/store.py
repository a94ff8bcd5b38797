"""The store: a ledger whose records lie in an SQL database."""

from __future__ import annotations

import logging
import os
import sys
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from threading import Event, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection

from verifier_ladder.errors import LadderError, LedgerError
from verifier_ladder.ledger import damage, sealing
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.baton import Baton
from verifier_ladder.ledger.counting import COUNTED, Counted
from verifier_ladder.ledger.database import Database
from verifier_ladder.ledger.dialect import BOUND
from verifier_ladder.ledger.faults import explained
from verifier_ladder.ledger.numbers import Numbers
from verifier_ladder.ledger.records import Block
from verifier_ladder.memory import litter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LOG = logging.getLogger("verifier_ladder")
CHUNK = 8192
"""How many keys one statement asks for; SQLite takes 32,766 parameters."""

WRITTEN = "artifacts"
"""Where a connection lists the artifacts that it has written, for memory to let go of them."""
IN_LOG = (
    "SELECT coalesce((SELECT entry_id FROM leaf "
    "WHERE idx = (SELECT max(size) FROM checkpoint) - 1), 0)"
)
"""Asks for the newest entry that has its place in the log; those behind it wait for theirs."""

_WIDTH = 32
_MANY = 64
_WORTH = 100_000
"""Keys for which numpy is loaded, where nobody has yet: that takes longer than to do without."""
_LOOK_AGAIN = 1.0
"""Seconds after which a ledger that was not sealed is looked at again."""


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


class Store(Ledger):
    """**Abstract:** holds the database; the mixins beside it do the reading and writing."""

    def __init__(self, database: Database) -> None:
        """Use a database that has the current tables."""
        self.url = database.url
        self.is_shared = database.is_shared
        self._database = database
        self._numbers = Numbers(self._ask)
        self._pid = os.getpid()
        self._closed = False
        self._watch: Watch | None = None
        self._is_sealed = False
        self._looked_at = -inf
        self._extents: dict[str, tuple[int, int]] = {}
        """How many entries each campaign has up to one of them, as far as that was counted."""

    @property
    def is_outdated(self) -> bool:
        """See `Ledger.is_outdated`."""
        return self._database.is_outdated()

    @property
    def is_sealed(self) -> bool:
        """See `Ledger.is_sealed`; another process may seal it at any time, for good."""
        if not self._is_sealed and monotonic() - self._looked_at > _LOOK_AGAIN:
            found = self._ask("SELECT 1 FROM entry WHERE campaign = ? LIMIT 1", sealing.CAMPAIGN)
            self._is_sealed, self._looked_at = bool(found), monotonic()
        return self._is_sealed

    def seal(self) -> None:
        """See `Ledger.seal`."""
        if not self.is_sealed:
            self.append(Block(sealing.KIND, sealing.CAMPAIGN))
            self._is_sealed = True

    def _check_open(self) -> None:
        if self._pid != os.getpid():
            raise LedgerError(
                "this ledger was opened before the process was forked; its connections "
                f"can't be shared, so open it again here: open_ledger({self.url!r})"
            )
        if self._closed:
            raise LedgerError("this ledger is closed; open it again with open_ledger")

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Give a connection whose statements see one moment of the ledger."""
        self._check_open()
        with explained(self._database.name), self._database.reading() as connection:
            yield connection

    def _ask(self, statement: str, *values: Any) -> Sequence[Any]:
        """The rows of one statement that only reads."""
        self._check_open()
        with explained(self._database.name):
            return self._database.ask(statement, values)

    @contextmanager
    def _writing(self, *, tell: bool = True) -> Iterator[Connection]:
        """Give a connection that writes, inside one transaction; then tell the listeners."""
        self._check_open()
        with (
            explained(self._database.name),
            self._database.writing() as connection,
            self._numbers.lent(connection) as numbers,
        ):
            written = connection.info[WRITTEN] = []
            connection.info[BOUND] = 0
            counted = connection.info[COUNTED] = Counted()
            yield connection
            counted.write(connection)
            bytes_ = connection.info[BOUND] + sum(artifact.size for artifact in written)
        for artifact in written:
            artifact.drop()
        litter.add(bytes_)
        self._numbers.note(numbers)
        if tell:
            self._tell()

    def set_aside(self) -> bool:
        """Set rows of the work queue aside that can't be used; whether there were some."""
        if self._database.is_evidence:
            return False
        with self._writing(tell=False) as connection:
            notes = damage.set_aside(connection)
        if notes:
            _LOG.warning("%d checks will not be run; the first: %s", len(notes), notes[0])
            self._tell()
        return bool(notes)

    def baton(self, campaign: str) -> Baton:
        """See `Ledger.baton`."""
        self._check_open()
        return self._database.baton(campaign)

    def conductor(self, campaign: str) -> str | None:
        """See `Ledger.conductor`."""
        self._check_open()
        with explained(self._database.name):
            return self._database.conductor(campaign)

    def reopened(self) -> Ledger:
        """See `Ledger.reopened`."""
        from verifier_ladder.ledger.opening import open_ledger

        return open_ledger(self._database.opening)

    def clock(self) -> float:
        """See `Ledger.clock`."""
        with explained(self._database.name):
            return self._database.clock()

    def subscribe(self, call: Callable[[], None]) -> None:
        """See `Ledger.subscribe`."""
        super().subscribe(call)
        if self.is_shared and self._watch is None:
            self._watch = Watch(self)

    def close(self) -> None:
        """Release files and connections; closing twice is allowed."""
        if self._closed or self._pid != os.getpid():
            return
        if self._watch is not None:
            self._watch.close()
        self._closed = True
        self._database.close()


def chunks(keys: Sequence[Any], size: int = CHUNK) -> Iterator[Sequence[Any]]:
    """Cut a long sequence into statements' worth."""
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def marks(count: int) -> str:
    """Placeholders of a list of `count` values."""
    return ",".join("?" * count)


def prefix(key: bytes) -> int:
    """The first 48 bits of a digest, by which it is indexed."""
    return int.from_bytes(key[:6], "big")


def prefixes(keys: Collection[bytes]) -> list[int]:
    """The first 48 bits of many digests."""
    found = _prefixes(keys)
    return found if isinstance(found, list) else found.tolist()


def keys_json(keys: Collection[bytes]) -> bytes:
    """What `json_each` reads: one parameter for any number of index keys.

    It takes two thirds of the time of a list of placeholders. The order is that of the index, so
    neighbours are on the same page.
    """
    found = _prefixes(keys)
    found.sort()
    return orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY)


def _prefixes(keys: Collection[bytes]) -> list[int] | NDArray[np.uint64]:
    """As an array, which is sorted in a tenth of the time, where there are many."""
    many = _MANY if "numpy" in sys.modules else _WORTH
    if len(keys) < many or set(map(len, keys)) != {_WIDTH}:
        return list(map(prefix, keys))
    import numpy as np  # Here: a command that asks for a few keys need not wait for it.

    words = np.frombuffer(b"".join(keys), dtype=">u8")
    return words[:: _WIDTH // 8] >> np.uint64(16)
