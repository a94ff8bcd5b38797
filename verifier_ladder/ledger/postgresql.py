"""PostgreSQL's dialect: arrays, row locks, advisory locks, and what the tables need besides.

**Order.** Many write at once, so entries become visible in another order than their ids grow,
and a reader that goes on behind the largest id would lose some. So every writer notes, in a
shared lock that ends with its transaction, the id behind which its own will come; all entries up
to the smallest noted one are there for good (`ledger_settled`). Writers never wait for that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import psycopg
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, IntegrityError

from verifier_ladder.ledger.arrays import array
from verifier_ladder.ledger.columns import is_constant
from verifier_ladder.ledger.dialect import Columns, Dialect, Insert
from verifier_ladder.ledger.schema import HISTORY, VERSION_TABLE, metadata
from verifier_ladder.ledger.store import prefixes

if TYPE_CHECKING:
    from sqlalchemy import Connection

_TOO_LATE = "22012"
_FEW = 256
"""Rows for which two more round trips are not worth it."""
_MARK = re.compile(r"\?(\d*)")
# Advisory locks are named by two numbers; the first is that of a table of this ledger, so that
# ledgers in two schemas of one database don't wait for each other.
_CLASS = "CAST(CAST('{}' AS regclass) AS oid)"
_ACCOUNTS = f"CAST({_CLASS.format('account')} AS integer), hashtext(n.name)"
# First the note, then the id: CASE keeps that order. A lock's number has 32 bits: the last ones.
_NEXT_ENTRY = (
    f"SELECT CASE WHEN pg_advisory_xact_lock_shared(CAST({_CLASS.format('entry')} AS integer), "
    "CAST(CAST(CASE WHEN is_called THEN last_value ELSE 0 END AS bit(32)) AS integer)) "
    "IS NOT NULL THEN nextval('entry_id_seq') END FROM entry_id_seq"
)


@lru_cache(maxsize=1024)
def marked(statement: str) -> str:
    """Write SQLite's marks as PostgreSQL's.

    Example:
        >>> marked("SELECT ? WHERE kind = ?")
        'SELECT $1 WHERE kind = $2'
        >>> marked("SELECT ?2, ?1, ?2")
        'SELECT $2, $1, $2'
    """
    places = iter(range(1, statement.count("?") + 1))
    return _MARK.sub(lambda match: f"${match[1] or next(places)}", statement)


class PostgresqlDialect(Dialect):
    """PostgreSQL 16 and newer, at its default isolation: each statement sees what is committed."""

    in_order, holds_rows = False, True
    locked = " FOR NO KEY UPDATE OF c"
    skipped = " FOR NO KEY UPDATE OF c SKIP LOCKED"
    settled = "SELECT coalesce(max(id), 0) FROM entry WHERE id <= (SELECT ledger_settled())"

    def matching(self, table: str, alias: str) -> str:
        """See `Dialect.matching`.

        `OFFSET 0` keeps the planner from reading the whole table instead.
        """
        return (
            "FROM unnest(CAST(? AS bigint[])) AS j (value) CROSS JOIN LATERAL "
            f"(SELECT * FROM {table} t WHERE t.key = j.value OFFSET 0) AS {alias}"
        )

    def keys(self, keys: Collection[bytes]) -> Any:
        """See `Dialect.keys`."""
        return array("BIGINT", sorted(prefixes(keys)))

    def insert(
        self,
        connection: Connection,
        table: str,
        columns: Columns,
        rest: str = "",
        *,
        keep_order: bool = False,
    ) -> None:
        """See `Dialect.insert`."""
        _insert(connection, table, columns, "" if keep_order else "ORDER BY 1", rest)

    def together(self, connection: Connection, insert: Insert, *, rows: int, asks: bool) -> int:
        """See `Dialect.together`: statements are sent while the server is still at the last one.

        Who writes has looked before, so nearly always no verdict is there; then a plain insert
        takes two thirds of the time of one that minds conflicts.

        **Order.** Of two who tell one check at one time, the second waits for the first and may
        have the smaller id. He takes a new one then, so that who was first in the log is current.
        """
        entry = self.next_entry(connection)
        if rows >= _FEW and not asks:
            try:
                with connection.begin_nested(), _not_awaited(connection):
                    insert(entry, is_new=True)
            except IntegrityError:
                entry = self.next_entry(connection)
            else:
                return entry
        while True:
            try:
                with nullcontext() if asks else _not_awaited(connection):
                    connection.exec_driver_sql("SAVEPOINT telling")
                    insert(entry, is_new=False)
                    connection.exec_driver_sql("RELEASE SAVEPOINT telling")
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) != _TOO_LATE:
                    raise
                connection.exec_driver_sql("ROLLBACK TO SAVEPOINT telling")
                entry = self.next_entry(connection)
            else:
                return entry

    def check_order(self, connection: Connection, entry: int, keys: Sequence[bytes]) -> None:
        """See `Dialect.check_order`: a division by zero, for the answer is not awaited."""
        connection.exec_driver_sql(
            f"SELECT 1 / CASE WHEN EXISTS (SELECT 1 {self.matching('verdict', 'v')} "
            "WHERE v.entry_id > CAST(? AS bigint)) THEN 0 ELSE 1 END",
            (self.keys(keys), entry),
        )

    def insert_verdicts(self, connection: Connection, columns: Columns, *, is_new: bool) -> None:
        """See `Dialect.insert_verdicts`."""
        rest = "" if is_new else "ON CONFLICT DO NOTHING"
        _insert(connection, "verdict", columns, "ORDER BY 1", rest)

    def change(
        self, connection: Connection, fixed: str, columns: Columns, keys: Sequence[bytes]
    ) -> None:
        """See `Dialect.change`."""
        types = {**_types("check_queue"), "changed": "BYTEA"}
        given = {**columns, "changed": keys}
        sets = [fixed, *(f"{name} = u.{name}" for name in columns)]
        arrays = ", ".join(f"CAST(? AS {types[name]}[])" for name in given)
        connection.exec_driver_sql(
            f"UPDATE check_queue c SET {', '.join(sets)} FROM unnest({arrays}) "
            f"AS u ({', '.join(given)}) WHERE c.check_key = u.changed",
            tuple(array(types[name], data) for name, data in given.items()),
        )

    def next_entry(self, connection: Connection) -> int:
        """See `Dialect.next_entry`: it is noted that it will come behind the newest one given."""
        return int(connection.exec_driver_sql(_NEXT_ENTRY).scalar_one())

    def hold_accounts(
        self, connection: Connection, campaigns: Collection[str], *, wait: bool = True
    ) -> set[str]:
        """See `Dialect.hold_accounts`."""
        if not campaigns:
            return set()
        names = "FROM unnest(CAST(? AS text[])) AS n (name)"
        if wait:
            statement = f"SELECT n.name, pg_advisory_xact_lock({_ACCOUNTS}) {names}"
        else:
            statement = f"SELECT n.name {names} WHERE pg_try_advisory_xact_lock({_ACCOUNTS})"
        return {row[0] for row in connection.exec_driver_sql(statement, (sorted(campaigns),))}

    def hold_log(self, connection: Connection) -> None:
        """See `Dialect.hold_log`."""
        connection.exec_driver_sql(
            f"SELECT pg_advisory_xact_lock(CAST({_CLASS.format('leaf')} AS integer), 0)"
        )

    @contextmanager
    def unguarded(self, connection: Connection, table: str) -> Iterator[None]:
        """See `Dialect.unguarded`; only the tables' owner may do that."""
        connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER {table}_refused")
        yield
        connection.exec_driver_sql(f"ALTER TABLE {table} ENABLE TRIGGER {table}_refused")


POSTGRESQL: Final = PostgresqlDialect()


@contextmanager
def _not_awaited(connection: Connection) -> Iterator[None]:
    """Send statements without waiting for them; at the end, all are waited for.

    Raises:
        DBAPIError: If one of them failed.
    """
    driver = connection.connection.driver_connection
    try:
        with driver.pipeline():  # type: ignore[union-attr]
            yield
    except psycopg.Error as error:
        raise DBAPIError.instance(None, None, error, psycopg.Error) from error


def _insert(
    connection: Connection, table: str, columns: Columns, which: str, rest: str = ""
) -> None:
    """Insert rows by one statement; what is the same in all of them is sent once."""
    first, *others = columns
    if not columns[first]:
        return
    types = _types(table)
    same = {name: columns[name][0] for name in others if is_constant(columns[name])}
    varied = {name: data for name, data in columns.items() if name not in same}
    names = ", ".join(varied)
    arrays = ", ".join(f"CAST(? AS {types[name]}[])" for name in varied)
    values = "".join(f", CAST(? AS {types[name]})" for name in same)
    connection.exec_driver_sql(
        f"INSERT INTO {table} ({', '.join([*varied, *same])}) "
        f"SELECT u.*{values} FROM unnest({arrays}) AS u ({names}) {which} {rest}",
        (*same.values(), *(array(types[name], data) for name, data in varied.items())),
    )


@lru_cache
def _types(table: str) -> dict[str, str]:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return {column.name: column.type.compile(dialect) for column in metadata.tables[table].columns}


def extras(revision: str) -> Sequence[str]:
    """SQL for what the tables need besides: guards of history, the settled id, the stamp."""
    return (
        REFUSE,
        *(
            f"CREATE TRIGGER {table}_refused BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()"
            for table in HISTORY
        ),
        SETTLED,
        # Bodies are written once and seldom read: packing them would take most of an append.
        "ALTER TABLE entry ALTER COLUMN body SET STORAGE EXTERNAL",
        f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
        f"INSERT INTO {VERSION_TABLE} (version_num) VALUES ('{revision}')",
    )


REFUSE: Final = """
CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = 'the ledger is append-only: ' || TG_TABLE_NAME
        || ' rows are never changed or deleted';
END $$
"""
# First the newest id that was given, then the writers at work: whoever begins in between takes
# a larger one. Three statements, for each sees what happened before it. Of an id only the last 32
# bits are noted; it is the one of these that is nearest to the newest.
SETTLED: Final = f"""
CREATE OR REPLACE FUNCTION ledger_settled() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    given bigint;
    behind bigint;
BEGIN
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO given FROM entry_id_seq;
    SELECT min(given - (((given - CAST(objid AS bigint) + 2147483648) & 4294967295) - 2147483648))
        INTO behind FROM pg_locks
        WHERE locktype = 'advisory' AND classid = {_CLASS.format("entry")} AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
    RETURN least(given, coalesce(behind, given));
END $$
"""
