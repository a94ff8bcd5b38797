"""The ledger in an SQLite file: one connection that writes, a few that read."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from operator import itemgetter
from os.path import samestat
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.database import Database
from verifier_ladder.ledger.dialect import BOUND, Columns, Dialect, Insert
from verifier_ladder.ledger.faults import explained
from verifier_ladder.ledger.schema import guards
from verifier_ladder.ledger.store import keys_json, marks
from verifier_ladder.memory import PIECE, READER, WRITER, share

BUSY = 30.0
"""Seconds to wait for another process that is writing."""

# WAL lets readers and one writer work at the same time. FULL, for a call that has returned must
# survive a power cut too; it costs one flush a call, about 0.1 µs a sample in a batch of 4096.
# The long checkpoint interval lets many writes to the same index page reach the file once.
PRAGMAS = (
    f"busy_timeout = {int(BUSY * 1000)}",
    "synchronous = FULL",
    "foreign_keys = ON",
    "recursive_triggers = ON",  # Without it REPLACE deletes rows behind the guards' back.
    "wal_autocheckpoint = 8000",
)
_PAUSE = 0.01
_AT_ONCE = (64, 8, 1)
"""Rows that one statement inserts: as many as there are left."""
_first = itemgetter(0)
_LOST = (
    "{} {} while it was open; nothing of this call was written. End what uses it, put the file "
    "or a backup in its place, and run `vladder ledger verify`"
)


def make_engine(path: Path) -> Engine:
    """Make the pool of connections to a ledger file."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),  # Not as text: a name may hold a question mark.
        connect_args={
            "check_same_thread": False, "timeout": BUSY, "isolation_level": None,
            "cached_statements": 256,
        },
        pool_size=4, max_overflow=32,
    )  # fmt: skip

    pages = _pages(READER)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        for pragma in (*PRAGMAS, pages):
            connection.execute(f"PRAGMA {pragma}")
        _use_wal(connection)

    return engine


def _pages(part: float) -> str:
    """What lets a connection remember pages: in KiB, not in their number."""
    return f"cache_size = -{share(part) // 1024}"


def _use_wal(connection: Any) -> None:
    """Write ahead; a file that others are just making is waited for.

    SQLite does not: whoever changes the mode beside another connection is refused at once.
    """
    until = monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if monotonic() > until:
                raise
            sleep(_PAUSE)
        else:
            return


class SqliteDatabase(Database):
    """A ledger file.

    One process at a time writes, so nothing that a transaction reads can change before it ends.
    """

    def __init__(self, path: Path) -> None:
        """Connect to a file that has the current tables."""
        self.dialect = SQLITE
        self.path = path
        self.name = str(path)
        self.url = self.opening = f"sqlite:///{path}"
        self.engine = make_engine(path)
        self._lock = threading.Lock()
        self._holder = 0
        """The thread that writes, or did last."""
        self._turn: object = None
        """What stands for the transaction under way."""
        self._pages, self._long = _pages(WRITER), share(PIECE)
        with explained(self.name):
            self._writer = self._make_writer()
        self._found = self.path.stat()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """See `Database.reading`."""
        with self.engine.connect() as connection, connection.begin():
            connection.exec_driver_sql("BEGIN")
            yield connection

    def ask(self, statement: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        """See `Database.ask`: by the driver itself, in a quarter of SQLAlchemy's time."""
        with closing(self.engine.raw_connection()) as connection:
            cursor: Any = connection.cursor()
            found: Sequence[Any] = cursor.execute(statement, values).fetchall()
            return found

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """See `Database.writing`."""
        turn = self._take_turn()
        try:
            if self._writer.closed:
                self._writer = self._make_writer()
            with self._writer.begin():
                # IMMEDIATE: a transaction that reads before it writes could not wait its turn.
                self._writer.exec_driver_sql("BEGIN IMMEDIATE")
                yield self._writer
                self._check_file()
            if self._writer.info.get(BOUND, 0) > self._long:
                self._renew_writer()
        except Exception:
            raise
        except BaseException:  # Ctrl-C may have come in the midst of a commit, or of a rollback.
            if self._turn is turn:
                self._drop_writer()
            raise
        finally:
            if self._turn is turn:
                self._turn = None
                self._lock.release()

    def _take_turn(self) -> object:
        """Wait until nobody else writes.

        No thread is inside twice. One that seems to be was interrupted just as a transaction
        began, which then stands until Python happens to clear it away.
        """
        me, turn = threading.get_ident(), object()
        if self._turn is not None and self._holder == me:
            self._drop_writer()
        else:
            self._lock.acquire()
        self._holder, self._turn = me, turn
        return turn

    def _make_writer(self) -> Connection:
        writer = self.engine.connect()
        writer.exec_driver_sql(f"PRAGMA {self._pages}")
        writer.rollback()  # SQLAlchemy takes it for the begin of a transaction.
        return writer

    def _renew_writer(self) -> None:
        """Give back what long values have left: SQLite keeps what was bound to each statement.

        The new one is there before the old one goes: the last to go would write the file anew.
        """
        with suppress(Exception):  # What was to be written is written.
            new = self._make_writer()
            self._drop_writer()
            self._writer = new

    def _drop_writer(self) -> None:
        """Roll back by the driver itself, whatever SQLAlchemy believes, and let go."""
        with suppress(Exception):
            driver: Any = self._writer.connection.driver_connection
            driver.rollback()
        with suppress(Exception):
            self._writer.invalidate()
        self._writer.close()

    def _check_file(self) -> None:
        """Make sure that what is written goes to the file that others will open.

        Raises:
            LedgerError: If it is gone, another one, or shorter than it was.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise LedgerError(_LOST.format(self.path, "was removed or renamed")) from None
        if not samestat(found, self._found):
            raise LedgerError(_LOST.format(self.path, "was replaced by another file"))
        if found.st_size < self._found.st_size:  # While it is open it only grows.
            raise LedgerError(_LOST.format(self.path, "was cut"))
        self._found = found

    def close(self) -> None:
        """See `Database.close`."""
        self._take_turn()
        try:
            self._writer.close()
            super().close()
        finally:
            self._turn = None
            self._lock.release()


class SqliteDialect(Dialect):
    """SQLite; whoever writes holds the whole file."""

    in_order, holds_rows = True, False
    locked = skipped = ""
    settled = "SELECT coalesce(max(id), 0) FROM entry"

    def matching(self, table: str, alias: str) -> str:
        """See `Dialect.matching`."""
        return f"FROM json_each(?) j CROSS JOIN {table} {alias} ON {alias}.key = j.value"

    def keys(self, keys: Collection[bytes]) -> Any:
        """See `Dialect.keys`."""
        return keys_json(keys)

    def insert(
        self,
        connection: Connection,
        table: str,
        columns: Columns,
        rest: str = "",
        *,
        keep_order: bool = False,
    ) -> None:
        """See `Dialect.insert`.

        A statement takes many rows, and columns without a value are left out: every statement
        lets go of the interpreter and gets it back, and every value that is bound costs.
        """
        used = {name: data for name, data in columns.items() if data.count(None) < len(data)}
        rows = list(zip(*used.values(), strict=True))
        if not keep_order:  # In the order of the index, neighbours share a page.
            rows.sort(key=_first)
        for size in _AT_ONCE:
            count = len(rows) - len(rows) % size
            part, rows = rows[:count], rows[count:]
            if part:
                values = ", ".join([f"({marks(len(used))})"] * size)
                connection.exec_driver_sql(
                    f"INSERT INTO {table} ({', '.join(used)}) VALUES {values} {rest}",
                    [tuple(chain(*part[i : i + size])) for i in range(0, count, size)],
                )

    def together(self, connection: Connection, insert: Insert, *, rows: int, asks: bool) -> int:
        """See `Dialect.together`."""
        del rows, asks
        entry = self.next_entry(connection)
        insert(entry, is_new=False)
        return entry

    def check_order(self, connection: Connection, entry: int, keys: Sequence[bytes]) -> None:
        """See `Dialect.check_order`: one process at a time writes."""

    def insert_verdicts(self, connection: Connection, columns: Columns, *, is_new: bool) -> None:
        """See `Dialect.insert_verdicts`.

        What is known is asked in one query: `INSERT … WHERE NOT EXISTS` would take twice the
        time of the insert.
        """
        del is_new
        keys = columns["check_key"]
        rows = connection.exec_driver_sql(
            f"SELECT v.check_key {self.matching('verdict', 'v')}", (self.keys(keys),)
        )
        known = {key for (key,) in rows}
        if known:
            new = [place for place, key in enumerate(keys) if key not in known]
            columns = {name: [data[place] for place in new] for name, data in columns.items()}
        self.insert(connection, "verdict", columns)

    def change(
        self, connection: Connection, fixed: str, columns: Columns, keys: Sequence[bytes]
    ) -> None:
        """See `Dialect.change`."""
        sets = [fixed, *(f"{name} = ?" for name in columns)]
        connection.exec_driver_sql(
            f"UPDATE check_queue SET {', '.join(sets)} WHERE check_key = ?",
            list(zip(*columns.values(), keys, strict=True)),
        )

    def next_entry(self, connection: Connection) -> int:
        """See `Dialect.next_entry`: nobody else writes, and no entry is ever deleted."""
        newest = connection.exec_driver_sql("SELECT max(id) FROM entry").scalar()
        return int(newest or 0) + 1

    def hold_accounts(
        self, connection: Connection, campaigns: Collection[str], *, wait: bool = True
    ) -> set[str]:
        """See `Dialect.hold_accounts`."""
        del connection, wait
        return set(campaigns)

    def hold_log(self, connection: Connection) -> None:
        """See `Dialect.hold_log`."""

    @contextmanager
    def unguarded(self, connection: Connection, table: str) -> Iterator[None]:
        """See `Dialect.unguarded`."""
        name = f"{table}_delete_refused"
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        yield
        (guard,) = (text for text in guards() if f" {name} " in text)
        connection.exec_driver_sql(guard)


SQLITE: Final = SqliteDialect()
