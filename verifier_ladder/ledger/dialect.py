"""Dialects: what the ledger's SQL says differently in one database.

The statements of the ledger are one body of SQL, with SQLite's marks `?` and `?1`. Where the
databases differ, a statement asks the dialect of its connection, and nothing else does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sqlalchemy import Connection

Columns = Mapping[str, Sequence[Any]]
"""Rows to insert, as columns of equal length; the first is an index's."""
BOUND = "bound"
"""What a connection notes: bytes of the long values that its transaction was given."""


class Insert(Protocol):
    """Writes an entry and its rows under an id."""

    def __call__(self, entry: int, *, is_new: bool) -> None:
        """See `Dialect.together`."""


class Dialect(ABC):
    """**Abstract:** one database's way of saying things; it holds no state."""

    in_order: bool
    """Whether entries become visible in the order of their ids."""
    holds_rows: bool
    """Whether its driver holds all rows of a statement before the first can be read."""
    locked: str
    """Ends a SELECT from `check_queue c` whose rows are about to change: others wait for them."""
    skipped: str
    """The same; rows that others are about to change are left out instead."""
    settled: str
    """Asks for the newest entry before which none can appear any more.

    Ask before the transaction that reads up to it: what it sees may be older.
    """

    @abstractmethod
    def matching(self, table: str, alias: str) -> str:
        """FROM the rows of a table whose `key` is one of the index keys of `keys`.

        Args:
            table: The table.
            alias: What the rest of the statement calls it.
        """

    @abstractmethod
    def keys(self, keys: Collection[bytes]) -> Any:
        """The parameter that `matching` reads: any number of index keys of digests."""

    @abstractmethod
    def insert(
        self,
        connection: Connection,
        table: str,
        columns: Columns,
        rest: str = "",
        *,
        keep_order: bool = False,
    ) -> None:
        """Insert rows.

        Args:
            connection: The one that writes.
            table: Where.
            columns: What.
            rest: What becomes of rows that are there already: `ON CONFLICT …`.
            keep_order: Whether ids grow in the order given; else in that of the first column,
                in which no two transactions wait for each other.
        """

    @staticmethod
    def bound(connection: Connection, values: Sequence[bytes]) -> None:
        """Hear of values, maybe long ones, that a statement of the transaction is given."""
        connection.info[BOUND] = connection.info.get(BOUND, 0) + sum(map(len, values))

    @abstractmethod
    def together(self, connection: Connection, insert: Insert, *, rows: int, asks: bool) -> int:
        """Insert an entry and what belongs to it; gives the entry's id.

        Ids are in the order in which checks were told: what is told first stays, and a
        correction replaces what has a smaller id. So the entries alone say what is current.

        Args:
            connection: The one that writes.
            insert: Does it under an id; it may be called again after its rows were taken back.
                `is_new` tells it whether checks are taken to have no verdict yet.
            rows: How many it inserts, about.
            asks: Whether it needs the answer of a statement before the next one.
        """

    @abstractmethod
    def check_order(self, connection: Connection, entry: int, keys: Sequence[bytes]) -> None:
        """Have `together` insert under another id if an entry with a larger one told a check."""

    @abstractmethod
    def insert_verdicts(self, connection: Connection, columns: Columns, *, is_new: bool) -> None:
        """Insert the verdicts of those checks that have none.

        Args:
            connection: The one that writes.
            columns: Rows of `verdict`; no check is in them twice.
            is_new: See `together`.
        """

    @abstractmethod
    def change(
        self, connection: Connection, fixed: str, columns: Columns, keys: Sequence[bytes]
    ) -> None:
        """Change checks of the queue.

        Args:
            connection: The one that writes; it holds the checks.
            fixed: What changes alike in all of them: SQL for SET.
            columns: New values, one for each key.
            keys: Whose.
        """

    @abstractmethod
    def next_entry(self, connection: Connection) -> int:
        """Take the id of the entry that this transaction is about to write.

        `settled` can tell that it is about to be written.
        """

    @abstractmethod
    def hold_accounts(
        self, connection: Connection, campaigns: Collection[str], *, wait: bool = True
    ) -> set[str]:
        """Keep other transactions from the accounts of campaigns until this one ends.

        It comes before the statement that reads them, and behind everything else that waits.

        Args:
            connection: The one that writes.
            campaigns: Whose accounts.
            wait: Whether to wait for those that others hold. Who holds some already must not,
                for two might wait for each other.

        Returns:
            Those that are held now.
        """

    @abstractmethod
    def hold_log(self, connection: Connection) -> None:
        """Keep other sequencers waiting until this transaction ends."""

    @abstractmethod
    def unguarded(self, connection: Connection, table: str) -> AbstractContextManager[None]:
        """Let rows of a table of history be deleted, inside this transaction."""


def dialect_of(connection: Connection) -> Dialect:
    """The dialect of a connection's database."""
    if connection.dialect.name == "sqlite":
        from verifier_ladder.ledger.sqlite import SQLITE

        return SQLITE
    from verifier_ladder.ledger.postgresql import POSTGRESQL

    return POSTGRESQL
