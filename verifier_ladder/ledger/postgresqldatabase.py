"""The ledger in a PostgreSQL database: a pool of connections, all of which may write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, TypeVar

from psycopg import RawCursor
from psycopg.pq import Format
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.ledger.arrays import register
from verifier_ladder.ledger.baton import Baton
from verifier_ladder.ledger.database import Database
from verifier_ladder.ledger.postgresql import POSTGRESQL, marked
from verifier_ladder.ledger.postgresqlbaton import PostgresqlBaton, holder_of

T = TypeVar("T")
PATIENCE = 30.0
"""Seconds to wait for a server that has gone, or for what others hold; SQLite's writers wait as
long for each other."""
_PAUSE = 0.05
_ADJUST = 60.0
"""Seconds between two looks at the server's clock."""
# The server ends a transaction whose process hangs, for others wait for what it holds.
SESSION = (
    f"SET lock_timeout = '{PATIENCE:g}s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    # Nearly all that is asked is found by an index, and most of an index is in memory.
    "SET random_page_cost = 1.1",
)
# A connection to a machine that has vanished is noticed within half a minute, not two hours.
_NETWORK = {"connect_timeout": "10", "keepalives_idle": "20", "tcp_user_timeout": "30000"}


class _Cursor(RawCursor[Any]):
    """A cursor for PostgreSQL's own marks; it reads binary, where nothing has to be parsed."""

    def __init__(self, connection: Any, **options: Any) -> None:
        super().__init__(connection, **options)
        self.format = Format.BINARY


def make_engine(url: URL) -> Engine:
    """Make the pool of connections to a database.

    Transactions are begun by their own statements, for they begin in two ways.
    """
    engine = create_engine(
        url,
        connect_args={
            "autocommit": True, "cursor_factory": _Cursor,
            **{name: value for name, value in _NETWORK.items() if name not in url.query},
        },
        paramstyle="format", use_native_hstore=False, pool_size=8, max_overflow=32,
    )  # fmt: skip

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        for setting in SESSION:
            connection.execute(setting)
        register(connection.adapters)

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def mark(
        _connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any
    ) -> tuple[str, Any]:
        return marked(statement), parameters

    return engine


class PostgresqlDatabase(Database):
    """A database of a PostgreSQL server.

    **Restarts.** A transaction that begins while the server is away waits for it. One that was
    under way fails, and nothing of it is written, unless it was just being committed: the error
    says which.
    """

    is_shared = True

    def __init__(self, url: URL) -> None:
        """Connect to a database that has the current tables."""
        self.opening = url.render_as_string(hide_password=False)
        self.url = self.name = shown(url)
        self.engine = make_engine(url)
        self.dialect = POSTGRESQL
        self._has_answered = False
        self._batons: dict[str, PostgresqlBaton] = {}
        self._offset: float | None = None
        self._adjust_at = 0.0

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """See `Database.reading`."""
        with self._begun("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY") as connection:
            yield connection
            connection.commit()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """See `Database.writing`."""
        with self._begun("BEGIN") as connection:
            yield connection
            try:
                connection.commit()
            except OperationalError as error:
                if error.connection_invalidated:
                    raise LedgerAwayError(
                        f"ledger {self.name}: the connection broke just as this call was being "
                        "committed: it is either written as a whole or not at all. Look before "
                        f"you repeat it ({error.orig})"
                    ) from error
                raise

    def ask(self, statement: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        """See `Database.ask`."""

        def read() -> Sequence[Any]:
            with self.engine.connect() as connection:
                # The driver's own rows: SQLAlchemy's take a tenth longer.
                return connection.exec_driver_sql(statement, values).cursor.fetchall()

        return self._patiently(read)

    def session(self) -> Connection:
        """A connection of the caller's own, which the pool knows nothing of."""
        session = self._patiently(self.engine.connect)
        session.detach()
        return session

    def baton(self, campaign: str) -> Baton:
        """See `Database.baton`."""
        made = self._batons[campaign] = PostgresqlBaton(self, campaign)
        return made

    def conductor(self, campaign: str) -> str | None:
        """See `Database.conductor`."""
        with self.reading() as connection:
            return holder_of(connection, campaign)

    def forget(self, baton: PostgresqlBaton) -> None:
        """Guard no more what is written for a campaign: its baton was given back."""
        if self._batons.get(baton.campaign) is baton:
            del self._batons[baton.campaign]

    def guard(self, connection: Connection, campaign: str) -> None:
        """See `Database.guard`."""
        if campaign in self._batons:
            self._batons[campaign].guard(connection)

    def _begun(self, statement: str) -> Connection:
        """A connection in a new transaction."""
        return self._patiently(lambda: self._begin(statement))

    def _patiently(self, call: Callable[[], T]) -> T:
        """Make a call that can be repeated; waits for a server that has been there before."""
        until = monotonic() + PATIENCE
        while True:
            try:
                made = call()
            except OperationalError:
                if not self._has_answered or monotonic() > until:
                    raise
            else:
                self._has_answered = True
                return made
            sleep(_PAUSE)

    def _begin(self, statement: str) -> Connection:
        connection = self.engine.connect()
        try:
            connection.exec_driver_sql(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    def clock(self) -> float:
        """See `Database.clock`: the server's, asked now and then, and counted on in between."""
        if self._offset is None or monotonic() > self._adjust_at:
            self._adjust()
        return monotonic() + (self._offset or 0.0)

    def _adjust(self) -> None:
        self.ask("SELECT 1")  # So that no connection has to be made meanwhile.
        before = monotonic()
        ((now,),) = self.ask(_CLOCK)
        after = monotonic()
        self._offset = float(now) - (before + after) / 2
        self._adjust_at = after + _ADJUST


_CLOCK = "SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def shown(url: URL) -> str:
    """A database's URL without its password and without the driver.

    Example:
        >>> from sqlalchemy import make_url
        >>> shown(make_url("postgresql+psycopg://ann:secret@host/db?password=secret"))
        'postgresql://ann@host/db'
    """
    plain = URL.create(
        "postgresql", url.username, None, url.host, url.port, url.database,
        {name: value for name, value in url.query.items() if "password" not in name},
    )  # fmt: skip
    return plain.render_as_string()
