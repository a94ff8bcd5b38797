"""The SQLite file: one connection that writes, a few that read."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, Engine, create_engine, event

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.faults import explained

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUSY = 30.0
"""Seconds to wait for another process that is writing."""
CHUNK = 8192
"""How many keys one statement asks for; SQLite takes 32,766 parameters."""

_WIDTH = 32
_MANY = 1024

# WAL lets readers and one writer work at the same time. FULL, for a call that has returned must
# survive a power cut too; it costs one flush a call, about 0.1 µs a sample in a batch of 4096.
# The long checkpoint interval lets many writes to the same index page reach the file once.
PRAGMAS = (
    f"busy_timeout = {int(BUSY * 1000)}",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "recursive_triggers = ON",  # Without it REPLACE deletes rows behind the guards' back.
    "wal_autocheckpoint = 8000",
    "cache_size = -65536",
)


def make_engine(path: Path) -> Engine:
    """Make the pool of connections to a ledger file."""
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={
            "check_same_thread": False, "timeout": BUSY, "isolation_level": None,
            "cached_statements": 256,
        },
        pool_size=4, max_overflow=32,
    )  # fmt: skip

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    return engine


class Store(Ledger):
    """**Abstract:** holds the connections; the mixins beside it do the reading and writing."""

    def __init__(self, path: Path) -> None:
        """Connect to a ledger file that has the current tables."""
        self.path = path
        self.url = f"sqlite:///{path}"
        self._engine = make_engine(path)
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._closed = False
        with explained(str(path)):
            self._writer = self._engine.connect()

    def _check_open(self) -> None:
        if self._pid != os.getpid():
            raise LedgerError(
                "this ledger was opened before the process was forked; an SQLite connection "
                f"can't be shared, so open it again here: open_ledger({self.url!r})"
            )
        if self._closed:
            raise LedgerError("this ledger is closed; open it again with open_ledger")

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Give a connection whose statements see one moment of the ledger."""
        self._check_open()
        with explained(str(self.path)), self._engine.connect() as connection, connection.begin():
            connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def _writing(self, *, tell: bool = True) -> Iterator[Connection]:
        """Give the connection that writes, inside one transaction; then tell the listeners."""
        self._check_open()
        with self._lock, explained(str(self.path)):
            self._check_open()
            connection = self._writer
            with connection.begin():
                # IMMEDIATE: a transaction that reads before it writes could not wait its turn.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
        if tell:
            self._tell()

    def close(self) -> None:
        """Release the file; closing twice is allowed."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                return
            self._closed = True
            self._writer.close()
            self._engine.dispose()


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
    if len(keys) < _MANY or set(map(len, keys)) != {_WIDTH}:
        return list(map(prefix, keys))
    import numpy as np  # Here: a command that asks for a few keys need not wait for it.

    words = np.frombuffer(b"".join(keys), dtype=">u8")
    return words[:: _WIDTH // 8] >> np.uint64(16)
