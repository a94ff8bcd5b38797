"""Engines that run one query of a stranger on a database in memory: DuckDB and SQLite.

A query may read the tables that were loaded, and nothing else: no files, settings, catalogues,
clocks or chance. DuckDB's own parser says what a query asks for, SQLite's authorizer does; what is
not known to be harmless is refused. Time, memory and rows are bounded.

Use them in a process that may be killed and whose memory is limited, as a verifier's worker is:
DuckDB counts most of what it takes, not all.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple

from verifier_ladder.errors import ToolError
from verifier_ladder.text import printable

MOST_ROWS = 20_000
"""Rows of the longest answer."""
_SECONDS = 4.0
"""Processor seconds that a query of DuckDB may take."""
_PATIENCE = 20.0
"""How many times as long it may take on the clock, on a machine that is busy with other things."""
_STEPS, _EVERY = 20_000_000, 10_000
"""Steps of SQLite's machine that a query may take, and between two looks at their number."""
_WIDEST = 1_000
"""The longest text that `repeat` and its like may make of a constant length."""
_MEMORY = "256MB"
_PLACES = frozenset({"rowid", "oid", "_rowid_"})
"""Hidden columns that tell where a row is kept."""
Name = Literal["duckdb", "postgres", "sqlite"]
Table = tuple[Sequence[tuple[str, str]], Sequence[Sequence[Any]]]
"""Names and types of columns, and rows."""


class QueryError(Exception):
    """A query that can't be run, or not here."""

    def __init__(
        self, reason: str, *, told: str = "", is_refused: bool = False, unnamed: str = ""
    ) -> None:
        """Say what is wrong with it.

        Args:
            reason: In words that tell no data.
            told: In the engine's words, which may quote data.
            is_refused: Whether it was never run.
            unnamed: The reason without names of the query, if it has any.
        """
        super().__init__(reason)
        self.unnamed = unnamed or reason
        self.told = told
        self.is_refused = is_refused


class Answer(NamedTuple):
    """What a query says: names of its columns, and its rows in a form to be compared."""

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def comparable(value: Any) -> Any:
    """A value so that equal ones compare equal, and others don't.

    Numbers are compared by value, whatever their type. A truth value is no number and a text is
    no date; a date is its midnight. NaN equals itself.

    Example:
        >>> comparable(1.0) == comparable(Decimal(1)), comparable(True) == comparable(1)
        (True, False)
    """
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, float) and math.isnan(value):
        return ("NaN",)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - neither has a zone
    if isinstance(value, (list, tuple)):
        return ("list", *map(comparable, value))
    if isinstance(value, dict):
        return ("pairs", *((comparable(k), comparable(v)) for k, v in value.items()))
    return value


class Duck:
    """DuckDB, with SQL of its own or, translated, of PostgreSQL."""

    def __init__(self, tables: Iterable[str], columns: Iterable[str], name: Name) -> None:
        """Open a database in memory.

        Args:
            tables: Names of the tables that a query may read, in small letters.
            columns: Names of all their columns, in small letters.
            name: Whose SQL it is.
        """
        self._tables, self._columns = frozenset(tables), frozenset(columns)
        self._divides = name == "postgres"
        """Whether whole numbers are divided to whole numbers."""
        self._base = _open_duckdb()
        self._known, self._refused, self._views = _functions()
        self._lock()

    def close(self) -> None:
        """Forget everything."""
        self._base.close()

    def _lock(self) -> None:
        for setting in (
            "temp_directory = ''", "autoinstall_known_extensions = false",
            "autoload_known_extensions = false", "allow_community_extensions = false",
            "python_enable_replacements = false", "enable_external_access = false",
            "TimeZone = 'UTC'", f"integer_division = {str(self._divides).lower()}",
            "lock_configuration = true",
        ):  # fmt: skip
            self._base.execute(f"SET {setting}")

    def load(self, tables: Mapping[str, Table]) -> None:
        """Replace all tables.

        Raises:
            QueryError: If a value is not of its column's type.
        """
        with _words_of_duckdb():
            for name, (columns, rows) in tables.items():
                of = ", ".join(f"{_quoted(column)} {kind}" for column, kind in columns)
                self._base.execute(f"CREATE OR REPLACE TABLE {_quoted(name)} ({of})")
                if rows:
                    lines = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
                    self._base.execute(f"INSERT INTO {_quoted(name)} VALUES {lines}")  # noqa: S608 - ours

    def check(self, query: str) -> None:
        """See that a query does no more than read the tables.

        Raises:
            QueryError: If it does, or can't be read.
        """
        with _words_of_duckdb(reads=True):
            said = self._base.execute("SELECT json_serialize_sql(?)", [query]).fetchone()[0]
        with _words_of_json():
            read = json.loads(said)
        if read["error"]:
            if read["error_type"] == "not implemented":
                raise _refusal("it is no single SELECT statement")
            told = printable(read.get("error_message", ""), 300)
            raise QueryError("it can't be read", told=told, is_refused=True)
        if len(read["statements"]) != 1:
            raise _refusal("it is no single SELECT statement")
        with _words_of_json():
            self._look(read["statements"][0]["node"], set(_names_of_ctes(read)))
        with _words_of_duckdb(reads=True), _watch().over(self._base.interrupt):
            self._base.execute(f"EXPLAIN {query}").fetchall()

    def _look(self, node: Any, named: set[str]) -> None:
        """Look at a part of a query, and at its parts."""
        if isinstance(node, list):
            for part in node:
                self._look(part, named)
        elif isinstance(node, dict):
            self._look_at(node, named)
            for name, part in node.items():
                if name == "function" and node.get("type") == "TABLE_FUNCTION":
                    part = part["arguments"]  # noqa: PLW2901 - its name was looked at
                self._look(part, named)

    def _look_at(self, node: Mapping[str, Any], named: set[str]) -> None:
        kind, of = node.get("class"), node.get("type")
        if kind is None and of is not None and of not in _PARTS:
            raise _refusal(f"{str(of).replace('_', ' ').lower()} is not allowed")
        if kind is not None and kind not in _CLASSES:
            raise _refusal(f"{str(kind).lower()} is not allowed")
        if node.get("sample") is not None:
            raise _refusal("a sample differs from time to time")
        if of == "BASE_TABLE":
            self._look_at_table(node, named)
        elif of == "TABLE_FUNCTION":
            self._look_at_call(node["function"], _SERIES)
        elif kind in {"FUNCTION", "WINDOW"}:
            self._look_at_call(node, self._known)
        elif kind == "COLUMN_REF":
            self._look_at_column([str(name).lower() for name in node["column_names"]])

    def _look_at_table(self, node: Mapping[str, Any], named: set[str]) -> None:
        name = node["table_name"].lower()
        is_own = not node["catalog_name"] and node["schema_name"].lower() in _SCHEMAS
        is_known = name in self._tables or (name in named and not node["schema_name"])
        if not is_own or not is_known or (name in self._views and name not in self._tables):
            raise _refusal(
                f"there is no table {printable(node['table_name'], 60)!r}",
                "it reads a table that there is none of",
            )

    def _look_at_call(self, node: Mapping[str, Any], allowed: frozenset[str]) -> None:
        name = str(node.get("function_name", "")).lower()
        arguments = [each["expression"] for each in node.get("arguments", ())]
        is_foreign = node.get("schema") or node.get("catalog")
        if name in self._refused or is_foreign or (name == "age" and len(arguments) == 1):
            raise _refusal(
                f"the function {printable(name, 60)} is not allowed",
                "it calls a function that is not allowed",
            )
        if allowed is _SERIES and name not in allowed:
            raise _refusal(
                f"the table function {printable(name, 60)} is not allowed",
                "it calls a table function that is not allowed",
            )
        if name in _LONG and not _is_short(arguments):
            raise _refusal(f"{name} needs a constant length of at most {_WIDEST:,}")

    def _look_at_column(self, names: Sequence[str]) -> None:
        last = names[-1]
        if last in self._columns:
            return
        if last in _PLACES:
            raise _refusal(f"the place of a row ({last}) is not allowed")
        if len(names) == 1 and (last in self._refused or last in _CLOCKS):
            raise _refusal(f"{last} is not allowed")

    def run(self, query: str) -> Answer:
        """Run a query that was checked.

        Raises:
            QueryError: If it fails, or takes too long, too much memory or too many rows.
            ToolError: If the machine had no time for it.
        """
        with _words_of_duckdb(), _watch().over(self._base.interrupt):
            cursor = self._base.execute(query)
            about = cursor.description or ()
            for name, kind, *_ in about:
                _refuse_type(str(name), str(kind))
            rows = cursor.fetchmany(MOST_ROWS + 1)
        return _answer([str(name) for name, *_ in about], rows)


class Lite:
    """SQLite."""

    def __init__(self, tables: Iterable[str], columns: Iterable[str], name: Name) -> None:
        """Open a database in memory; see `Duck`."""
        del name
        self._tables, self._columns = frozenset(tables), frozenset(columns)
        self._left, self._held = 0, set[str]()
        self._base, self._own = (
            sqlite3.connect(":memory:", isolation_level=None) for _ in range(2)
        )
        for limit, most in _LIMITS.items():
            self._base.setlimit(limit, most)
        self._base.set_progress_handler(self._tick, _EVERY)
        for called in (*_DATES, *_PRINTS):
            self._base.create_function(called, -1, self._guarded(called))

    def close(self) -> None:
        """Forget everything."""
        self._base.close()
        self._own.close()

    def _tick(self) -> bool:
        self._left -= _EVERY
        return self._left < 0

    def _guarded(self, name: str) -> Callable[..., Any]:
        """SQLite's own function, without the time that it is now and texts of any length."""
        least = 2 if name == "strftime" else 1

        def of(*given: Any) -> Any:
            if len(given) < least or (name in _DATES and "now" in str(given).lower()):
                raise ValueError("what time it is is not allowed")
            if name in _PRINTS and re.search(r"\*|\d{4}", str(given[0])):
                raise ValueError("a text of any length is not allowed")
            marks = ", ".join("?" * len(given))
            return self._own.execute(f"SELECT {name}({marks})", given).fetchone()[0]

        return of

    def load(self, tables: Mapping[str, Table]) -> None:
        """Replace all tables; see `Duck.load`."""
        self._base.set_authorizer(None)
        self._left = _STEPS
        with _words_of_sqlite():
            for name, (columns, rows) in tables.items():
                of = ", ".join(f"{_quoted(column)} {kind}" for column, kind in columns)
                self._held.add(name.lower())
                self._base.execute(f"DROP TABLE IF EXISTS {_quoted(name)}")
                self._base.execute(f"CREATE TABLE {_quoted(name)} ({of})")
                marks = ", ".join("?" * len(columns))
                plain = [[_for_sqlite(value) for value in row] for row in rows]
                self._base.executemany(f"INSERT INTO {_quoted(name)} VALUES ({marks})", plain)  # noqa: S608

    def check(self, query: str) -> None:
        """See that SQLite can read a query and does no more than read the tables for it.

        Raises:
            QueryError: If it does, or can't be read.
        """
        self._left = _STEPS
        self._base.set_authorizer(self._asked)
        try:
            self._base.execute(f"EXPLAIN {query}")
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            told = printable(str(error), 200)
            raise QueryError("it can't be read", told=told, is_refused=True) from None

    def _asked(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """What SQLite asks before it does anything."""
        one, other = (first or "").lower(), (second or "").lower()
        is_fine = action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
        if action == sqlite3.SQLITE_FUNCTION:
            is_fine = other in _FUNCTIONS
        elif action == sqlite3.SQLITE_READ:
            is_own = one in self._tables or one not in self._held
            is_place = other in _PLACES and other not in self._columns
            is_fine = is_own and not is_place and not one.startswith(("sqlite_", "pragma_"))
        return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY

    def run(self, query: str) -> Answer:
        """Run a query; see `Duck.run`."""
        self._left = _STEPS
        self._base.set_authorizer(self._asked)
        with _words_of_sqlite():
            cursor = self._base.execute(query)
            rows = cursor.fetchmany(MOST_ROWS + 1)
        return _answer([name for name, *_ in cursor.description or ()], rows)


def open_engine(name: Name, tables: Iterable[str], columns: Iterable[str]) -> Duck | Lite:
    """An engine for some SQL; names are in small letters."""
    return (Lite if name == "sqlite" else Duck)(tables, columns, name)


# ---- DuckDB

_PARTS = frozenset({
    "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE", "BASE_TABLE", "EMPTY",
    "EXPRESSION_LIST", "JOIN", "SUBQUERY", "TABLE_FUNCTION", "DISTINCT_MODIFIER",
    "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "ORDER_DEFAULT", "ASCENDING",
    "DESCENDING",
})  # fmt: skip
_CLASSES = frozenset({
    "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT",
    "FUNCTION", "LAMBDA", "OPERATOR", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE",
    "WINDOW",
})  # fmt: skip
_SCHEMAS = frozenset({"", "main", "public"})
_SERIES = frozenset({"generate_series", "range", "unnest"})
"""Functions that make a table."""
_LONG = frozenset({"lpad", "repeat", "rpad"})
"""Functions whose texts may be of any length, and which nothing interrupts."""
_CLOCKS = frozenset({
    "current_catalog", "current_role", "current_schema", "current_time", "current_user",
    "localtime", "localtimestamp", "session_user", "user",
})  # fmt: skip
"""What DuckDB reads as a function without brackets, where there is no such column."""
_HARMLESS = re.compile(
    r"(array|list|json|md5)_\w+|date_add|days_in_month|fdiv|generate_subscripts|geo\w*mean|if|json"
    r"|nullif|split_part|regexp_split_to_table|weighted_avg|wavg"
)
"""Macros that only compute. The others tell of the database, its users and its clock."""
_TOLD = (
    ("Conversion", "a value can't be cast to the wanted type"),
    ("OutOfRange", "a number is out of its type's range"),
    ("OutOfMemory", "it takes too much memory"),
    ("Interrupt", "it takes too long on a small database"),
)
"""Words for errors that depend on data, by the beginning of the error's name."""


def _open_duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ToolError("duckdb is not installed; pip install '.[sql]' in a clone") from None
    return duckdb.connect(":memory:", config={"threads": "1", "memory_limit": _MEMORY})


@cache
def _functions() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Functions that a query may call, those that it may not, and views that come along."""
    base = _open_duckdb()
    rows = base.execute(
        "SELECT lower(function_name), function_type, stability FROM duckdb_functions()"
    ).fetchall()
    known, all_of = set(), {name for name, *_ in rows}
    for name, kind, stability in rows:
        is_macro = kind == "macro" and _HARMLESS.fullmatch(name)
        is_pure = kind in {"scalar", "aggregate", "window"} and stability in {"CONSISTENT", None}
        if is_macro or is_pure:
            known.add(name)
    known -= {"reservoir_quantile", "current_setting"}
    views = base.execute("SELECT lower(view_name) FROM duckdb_views()").fetchall()
    return frozenset(known), frozenset(all_of - known - _SERIES), frozenset(v for (v,) in views)


def _names_of_ctes(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from _names_of_ctes(part)
    elif isinstance(node, dict):
        of = node.get("cte_map") or {}
        yield from (str(each["key"]).lower() for each in of.get("map", ()))
        for part in node.values():
            yield from _names_of_ctes(part)


def _is_short(arguments: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the second argument is a small whole number."""
    text = str(arguments[1].get("literal", {}).get("text", "")) if len(arguments) > 1 else ""
    return text.isascii() and text.isdigit() and len(text) <= 4 and int(text) <= _WIDEST  # noqa: PLR2004


def _refuse_type(name: str, kind: str) -> None:
    for word in ("WITH TIME ZONE", "INTERVAL"):
        if word in kind:
            raise QueryError(
                f"its column {printable(name, 60)!r} is {kind.lower()}: cast it",
                unnamed=f"a column of it is {word.lower()}: cast it",
            )


@contextmanager
def _words_of_duckdb(*, reads: bool = False) -> Iterator[None]:
    import duckdb

    try:
        yield
    except MemoryError:
        raise QueryError("it takes too much memory") from None
    except (duckdb.Error, RuntimeError, ValueError, OverflowError) as error:
        name = type(error).__name__
        found = [words for begin, words in _TOLD if name.startswith(begin)]
        is_many = "More than one row" in str(error)
        words = found[0] if found else "it fails on some data"
        words = "a subquery returns more than one row" if is_many else words
        told = printable(str(error).split("\n\n")[0], 300)
        raise QueryError(words, told=told, is_refused=reads) from None


@contextmanager
def _words_of_json() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise _refusal("it is too deep: nest less") from None


class _Watch:
    """Interrupts queries that take too much of the processor: one thread for a whole process.

    A thread for each query would wait for a busy machine twice a query.
    """

    def __init__(self) -> None:
        self._lock, self._begun = threading.Lock(), threading.Event()
        self._interrupt: Callable[[], None] | None = None
        self._until = self._cpu = 0.0
        self.is_late = False
        """Whether the query was given too little of the processor."""
        threading.Thread(target=self._look, daemon=True).start()

    @contextmanager
    def over(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Watch a query.

        Raises:
            ToolError: If it was interrupted because the machine had no time for it.
        """
        with self._lock:
            self._interrupt, self.is_late = interrupt, False
            self._cpu = time.process_time() + _SECONDS
            self._until = time.monotonic() + _SECONDS * _PATIENCE
        self._begun.set()
        try:
            yield
        except Exception:
            if self.is_late:
                raise ToolError("this machine has no time for a query of DuckDB") from None
            raise
        finally:
            with self._lock:
                self._interrupt = None

    def _look(self) -> None:
        while True:
            self._begun.wait()
            time.sleep(0.05)
            with self._lock:
                if self._interrupt is None:
                    self._begun.clear()
                    continue
                self.is_late |= time.monotonic() > self._until
                if self.is_late or time.process_time() > self._cpu:
                    self._interrupt()


@cache
def _watch() -> _Watch:
    return _Watch()


# ---- SQLite

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 200_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 200,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_DATES = ("date", "time", "datetime", "julianday", "strftime", "unixepoch")
_PRINTS = ("printf", "format")
_FUNCTIONS = frozenset({
    *_DATES, *_PRINTS, "abs", "avg", "ceil", "ceiling", "char", "coalesce", "concat",
    "concat_ws", "count",
    "cume_dist", "dense_rank", "exp", "first_value", "floor", "glob", "group_concat",
    "hex", "iif", "ifnull", "instr", "json", "json_array", "json_array_length", "json_extract",
    "json_group_array", "json_group_object", "json_object", "json_type", "json_valid", "lag",
    "last_value", "lead", "length", "like", "likelihood", "likely", "ln", "log", "log10", "log2",
    "lower", "ltrim", "max", "min", "mod", "nth_value", "ntile", "nullif", "percent_rank", "pi",
    "pow", "power", "quote", "rank", "replace", "round", "row_number", "rtrim", "sign",
    "sqrt", "string_agg", "substr", "substring", "sum", "total", "trim", "trunc", "typeof",
    "unicode", "unlikely", "upper", "zeroblob", "->", "->>",
})  # fmt: skip
"""What is the same each time."""


@contextmanager
def _words_of_sqlite() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise QueryError("it takes too much memory") from None
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        told = printable(str(error), 200)
        words = "it fails on some data"
        if "interrupted" in told:
            words = "it takes too long on a small database"
        elif "too big" in told or "out of memory" in told:
            words = "it takes too much memory"
        raise QueryError(words, told=told) from None


def _for_sqlite(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


# ---- Both


def _refusal(reason: str, unnamed: str = "") -> QueryError:
    return QueryError(reason, is_refused=True, unnamed=unnamed)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int, Decimal)):
        return str(value)
    if isinstance(value, float):
        return f"{value!r}::DOUBLE"
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return "'" + text.replace("'", "''") + "'"


def _answer(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Answer:
    if len(rows) > MOST_ROWS:
        raise QueryError("it returns far too many rows")
    with suppress(RecursionError):
        return Answer(tuple(names), [tuple(map(comparable, row)) for row in rows])
    raise QueryError("it returns values that are too deep")
