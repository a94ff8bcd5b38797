"""Ledger files that are only read: no byte of them changes, and nothing is left beside them.

SQLite itself writes when it reads: it makes files beside one in WAL mode, and brings back what a
crash has left. So how a file is opened depends on who has it open. What a reader needs to write,
such as where candidates appear, goes to a private folder. An older schema is upgraded in a copy.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Connection, QueuePool, create_engine, event

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.creation import MIGRATIONS, check_known, schema_in
from verifier_ladder.ledger.faults import explained
from verifier_ladder.ledger.rollback import check_no_journal, is_locked, journal_of
from verifier_ladder.ledger.schema import REVISION
from verifier_ladder.ledger.sqlite import BUSY, SQLITE, SqliteDatabase

# Nobody has it open, and nothing waits to be brought into it: nobody will write while we read.
_IDLE: Final = "mode=ro&immutable=1"
# Others have it open: their files are used as they use them.
_LIVE: Final = "mode=ro"
# A crash has left a log of writes: it is read in memory, without the file that SQLite would make.
_LEFT: Final = "mode=ro&vfs=unix-none"
_PRAGMAS = (f"busy_timeout = {int(BUSY * 1000)}", "cache_size = -65536")
_HELD: Final = 128
"""The byte of `-shm` that every connection locks."""
_BESIDE = (
    """
    CREATE TABLE appearance (
        candidate INTEGER, entry_id INTEGER, place INTEGER,
        PRIMARY KEY (candidate, entry_id, place)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE appearance_until (entry_id INTEGER PRIMARY KEY)",
)


class SqliteEvidence(SqliteDatabase):
    """A ledger file that is only read.

    What stands in it now is read, whatever others do meanwhile, unless a process opens it while
    nobody had it open: `check_unchanged` tells.
    """

    is_evidence = True
    search = "beside."

    def __init__(self, path: Path) -> None:
        """Look how the file is to be opened, and connect to it.

        Raises:
            LedgerError: If it is empty, a newer program made it, it is damaged, or a rollback
                journal lies beside it.
        """
        self.dialect = SQLITE
        self.path = path
        self.name = str(path)
        self.url = self.opening = f"sqlite:///{path}"
        self._searching = threading.RLock()
        self._folder = TemporaryDirectory(prefix="verifier-ladder-read-")
        try:
            with explained(self.name):
                check_no_journal(path)
                self._mode = _mode_of(path)
                self._is_live = self._mode == _LIVE
                self._state = _state_of(path)
                self._read = self._current(Path(self._folder.name))
                self.engine = self._made()
        except BaseException:
            self._folder.cleanup()
            raise

    def _current(self, folder: Path) -> str:
        """What to connect to: the file, or a copy of it with the current schema."""
        uri = _uri(self.path, self._mode)
        with closing(_connect(uri)) as connection:
            found = schema_in(connection, self.path)
            if found == REVISION:
                return uri
            if found is None:
                raise LedgerError(f"{self.path} is empty: it holds no ledger")
            check_known(self.name, found, MIGRATIONS, REVISION)
            copy = folder / "upgraded.db"
            with closing(sqlite3.connect(copy)) as target:
                connection.backup(target)
        from verifier_ladder.ledger.upgrade import upgrade

        upgrade(copy, found, MIGRATIONS, REVISION)
        self._mode = _LIVE
        return f"file:{quote(str(copy))}?{_LIVE}"

    def _made(self) -> Any:
        engine = create_engine(
            "sqlite://",
            creator=lambda: _connect(self._read),
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=32,
        )
        beside = Path(self._folder.name) / "beside.db"
        with closing(sqlite3.connect(beside)) as connection:
            for statement in _BESIDE:
                connection.execute(statement)

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            connection.execute("ATTACH ? AS beside", (f"file:{quote(str(beside))}?vfs=unix",))
            for table in ("appearance", "appearance_until"):
                connection.execute(
                    f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} "
                    f"UNION ALL SELECT * FROM beside.{table}"
                )

        return engine

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """See `Database.writing`: nothing is written."""
        if self.is_evidence:
            raise LedgerError(f"{self.name} was opened for reading only")
        with super().writing() as connection:
            yield connection

    @contextmanager
    def searching(self) -> Iterator[Connection]:
        """See `Database.searching`: it goes to a private file."""
        with self._searching, self.engine.connect() as connection, connection.begin():
            connection.exec_driver_sql("BEGIN")
            yield connection

    def check_unchanged(self) -> None:
        """Make sure that what was read was one moment of the ledger.

        Raises:
            LedgerError: If somebody has opened it and written meanwhile.
        """
        _check_unchanged(self.path, self._mode, self._state)

    def is_outdated(self) -> bool:
        """See `Database.is_outdated`.

        Where others have it open, what they write is seen, unless another file takes its place.
        """
        try:
            found = _state_of(self.path)
        except OSError:  # It is just being put back, or gone.
            return True
        return found[0] != self._state[0] if self._is_live else found != self._state

    def close(self) -> None:
        """See `Database.close`."""
        super(SqliteDatabase, self).close()
        self._folder.cleanup()


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to a file of any schema that can't be written, and leave it as it is.

    Raises:
        LedgerError: If a rollback journal lies beside it, or somebody has opened it and written
            meanwhile.
    """
    check_no_journal(path)
    mode, state = _mode_of(path), _state_of(path)
    with closing(_connect(_uri(path.absolute(), mode))) as connection:
        yield connection
    _check_unchanged(path, mode, state)


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path))}?{mode}"


def _check_unchanged(path: Path, mode: str, state: tuple[Any, ...]) -> None:
    if mode == _IDLE and _state_of(path) != state:
        raise LedgerError(
            f"{path} was written to while it was read; nothing was found out. Try again"
        )


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri,
        uri=True,
        check_same_thread=False,
        timeout=BUSY,
        isolation_level=None,
        cached_statements=256,
    )
    if uri.endswith(_LEFT):
        connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _mode_of(path: Path) -> str:
    """How a file is opened so that it stays as it is."""
    log, shared = Path(f"{path}-wal"), Path(f"{path}-shm")
    if shared.exists() and is_locked(shared, _HELD):
        return _LIVE
    return _LEFT if log.exists() and log.stat().st_size else _IDLE


def _state_of(path: Path) -> tuple[Any, ...]:
    """What changes when somebody writes."""
    found = path.stat()
    log = Path(f"{path}-wal")
    return (
        found.st_ino, found.st_size, found.st_mtime_ns, log.exists() and log.stat().st_size,
        journal_of(path).exists(),
    )  # fmt: skip
