"""A desk: a database in memory that a model's tool calls and SQL act on, as an environment."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verifier_ladder.candidate import Action, Terminate, ToolCall
from verifier_ladder.errors import ConfigError
from verifier_ladder.taskenvironment import Environment, StepResult
from verifier_ladder.text import mended, printable
from verifier_ladder.tiers.fast.extraction import blocks
from verifier_ladder.trajectory import from_text

SQL: Final = "sql"
"""The tool that takes a statement as its argument `query`."""
_MOST_ROWS, _MOST_CHARACTERS, _MOST_CALLS = 100, 20_000, 100
_PAGES = 4096
"""Pages of 4 KiB that a database may have."""
_EVERY, _TICKS = 1000, 5000
"""Steps of SQLite's machine between two counts, and counts that one action may take. Steps are
counted and not seconds, so that a busy machine changes no observation."""
_EPISODE = 50_000
"""Counts that all actions of an episode may take together."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 200,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_ANYBODY = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE, sqlite3.SQLITE_RECURSIVE,
})  # fmt: skip
_WRITES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_NEVER = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA})
_FUNCTIONS = frozenset({
    "abs", "avg", "ceil", "ceiling", "char", "coalesce", "count", "cume_dist", "dense_rank",
    "first_value", "floor", "glob", "group_concat", "hex", "iif", "ifnull", "instr", "json",
    "json_array", "json_array_length", "json_extract", "json_group_array", "json_group_object",
    "json_object", "json_type", "json_valid", "lag", "last_value", "lead", "length", "like", "ln",
    "log", "log10", "log2", "lower", "ltrim", "max", "min", "mod", "nth_value", "ntile", "nullif",
    "percent_rank", "pi", "pow", "power", "quote", "random", "rank", "replace", "round",
    "row_number", "rtrim", "sign", "sqrt", "substr", "substring", "sum", "total", "trim", "trunc",
    "typeof", "unicode", "upper", "zeroblob", "->", "->>",
})  # fmt: skip
"""What is the same each time, and takes no longer than its input. There is no clock: time is data
of the task."""
Value = str | int | float | bytes | None


class Tool(BaseModel):
    """A tool of a desk: statements with named parameters, such as `:order`.

    Example:
        >>> Tool(name="ship", sql="UPDATE orders SET shipped = 1 WHERE id = :order").statements
        ['UPDATE orders SET shipped = 1 WHERE id = :order']
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: Annotated[str, Field(min_length=1, max_length=200)]
    sql: str | Annotated[list[str], Field(min_length=1, max_length=20)]
    """One statement, or several that are done together or not at all; the last one answers."""
    parameters: list[str] = []
    """Names of its arguments, all of which must be given."""
    least_changes: Annotated[int, Field(ge=0)] = 0
    """Rows that it must change, or else it fails and changes none."""

    @property
    def statements(self) -> list[str]:
        """Its statements."""
        return [self.sql] if isinstance(self.sql, str) else self.sql


class _RefusedError(Exception):
    """What an action asks for can't be had."""


class SqliteDesk(Environment):
    r"""An environment whose state is a SQLite database in memory.

    A call of a tool runs the tool's statements, with the call's arguments bound as parameters.
    Text may hold calls in one of the forms that `from_text` reads, or blocks fenced as `sql`;
    other text does nothing. The observation is JSON: rows, how many rows changed, or an error.

    **Hostile actions** can read and write rows and do nothing else: SQLite's authorizer refuses
    other files, schemas, pragmas, transactions, extensions, and functions that differ from time to
    time. The steps of a statement and of all in an episode, its size, its results and the
    database's pages are bounded. `random()` follows the seed. Use it in a process that can be
    killed, as a verifier's worker is.

    Example:
        >>> ship = {"name": "ship", "sql": "UPDATE orders SET shipped = 1 WHERE id = :order",
        ...         "parameters": ["order"]}
        >>> with SqliteDesk("CREATE TABLE orders (id, shipped); INSERT INTO orders VALUES (7, 0)",
        ...                 tools=[ship]) as desk:
        ...     _ = desk.reset()
        ...     desk.step(ToolCall("ship", {"order": 7})).observation
        ...     desk.step(ToolCall("ship", {"order": "7; DROP TABLE orders"})).observation
        ...     desk.step("```sql\nDROP TABLE orders\n```").failed
        '{"changed": 1}'
        '{"changed": 0}'
        True
    """

    def __init__(
        self, setup: str, *, tools: Sequence[Mapping[str, Any] | Tool] = (), sql: bool = True
    ) -> None:
        """Set what an episode begins with.

        Args:
            setup: Statements that make the tables and fill them. It is trusted to mean no harm,
                and bounded all the same.
            tools: The tools: `Tool`, or its fields by name.
            sql: Whether the model may also write statements of its own, in blocks or with the
                tool `sql`.

        Raises:
            ConfigError: If a tool makes no sense.
        """
        try:
            listed = [Tool.model_validate(tool) for tool in tools]
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ConfigError(f"a tool of the desk: {place}: {first['msg']}") from None
        self._setup, self._sql = setup, sql
        self._tools = {tool.name: tool for tool in listed}
        if len(self._tools) < len(listed):
            raise ConfigError("two tools of the desk have one name")
        self._database: sqlite3.Connection | None = None
        self._chance = random.Random()  # noqa: S311 - it is to be repeated
        self._ticks = 0
        self._left = self._counted = 0

    # ---- The contract

    def begin(self, seed: int) -> str:
        """Make the database.

        Raises:
            ConfigError: If the setup can't be run.
        """
        self._chance.seed(seed)
        self._left = _EPISODE
        self._open(b"")
        try:
            self._limited(lambda database: database.executescript(self._setup), _is_setup)
        except (sqlite3.Error, sqlite3.Warning, _RefusedError, ValueError) as error:
            told = printable(error, 200)
            raise ConfigError(f"the setup of the desk can't be run: {told}") from None
        if self.database.in_transaction:
            raise ConfigError("the setup of the desk leaves a transaction open")
        return ", ".join(self.tables())

    def act(self, action: Action) -> StepResult:
        """Run a tool, a statement, or the calls that stand in a text."""
        if isinstance(action, Terminate):
            return StepResult(terminated=True)
        if isinstance(action, ToolCall):
            return self._called(action)
        wanted = [turn.action for turn in from_text(action)] or [
            ToolCall(SQL, {"query": block.text})
            for block in blocks(action) if block.language == "sql"
        ]  # fmt: skip
        steps = [self._taken(each) for each in wanted[:_MOST_CALLS]]
        seen = "\n".join(filter(None, (step.observation for step in steps)))
        known = [step.failed for step in steps if step.failed is not None]
        return StepResult(
            seen[:_MOST_CHARACTERS], terminated=any(step.terminated for step in steps),
            failed=any(known) if known else None,
        )  # fmt: skip

    def save(self) -> bytes:
        """The generator's state, what work is left, and the database's pages."""
        chance = json.dumps([*self._chance.getstate(), self._left]).encode()
        return b"%d\n%s%s" % (len(chance), chance, self.database.serialize())

    def load(self, saved: bytes) -> None:
        """Bring all of it back."""
        size, _, rest = saved.partition(b"\n")
        version, numbers, gauss, self._left = json.loads(rest[: int(size)])
        self._chance.setstate((version, tuple(numbers), gauss))
        self._open(rest[int(size) :])

    def end(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    # ---- The state, for who judges it

    @property
    def database(self) -> sqlite3.Connection:
        """The database; an authorizer bounds what is asked of it."""
        if self._database is None:
            raise ConfigError("the desk has no database yet; call reset() first")
        return self._database

    def tables(self) -> dict[str, list[tuple[Value, ...]]]:
        """The rows of each table, in an order that says nothing of how they came there.

        Raises:
            ConfigError: If the tables hold more than can be compared.
        """
        names = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        quoted = {str(name): str(name).replace('"', '""') for (name,) in names}
        return {
            name: sorted(self.rows(f'SELECT * FROM "{as_written}"', most=None), key=repr)  # noqa: S608
            for name, as_written in quoted.items()
            if not name.startswith("sqlite_")
        }

    def rows(self, statement: str, *, most: int | None = 10_000) -> list[tuple[Value, ...]]:
        """What a statement reads.

        Args:
            statement: A statement that only reads.
            most: Rows to read; None for all.

        Raises:
            ConfigError: If it can't be run, or writes.
        """
        try:
            found: list[tuple[Value, ...]] = self._limited(
                lambda database: _all(database.execute(statement), most), _is_reading
            )
        except (sqlite3.Error, sqlite3.Warning, _RefusedError, ValueError) as error:
            raise ConfigError(f"a statement can't be run: {printable(error, 200)}") from None
        return found

    # ---- Actions

    def _taken(self, action: Action) -> StepResult:
        return StepResult() if isinstance(action, str) else self.act(action)

    def _called(self, call: ToolCall) -> StepResult:
        before = self._counted
        try:
            self._refuse_more_work()
            told = self._limited(lambda database: self._ran(database, call), _is_harmless)
        except (sqlite3.Error, sqlite3.Warning, _RefusedError, ValueError, OverflowError) as error:
            return StepResult(json.dumps({"error": printable(error, 300)}), failed=True)
        finally:
            self._left -= self._counted - before
        return StepResult(told, failed=False)

    def _refuse_more_work(self) -> None:
        if self._left < 0:
            raise _RefusedError("the actions of this episode have taken too much work")

    def _ran(self, database: sqlite3.Connection, call: ToolCall) -> str:
        tool, values = self._tool(call)
        database.execute("SAVEPOINT desk")
        database.set_authorizer(_is_harmless)
        try:
            before = database.total_changes
            for statement in tool.statements:
                told = _told(database.execute(statement, values))
            changed = database.total_changes - before
            _refuse_fewer(changed, tool)
        except BaseException:
            database.set_authorizer(None)
            self._ticks = _TICKS
            database.execute("ROLLBACK TO desk")
            raise
        finally:
            database.set_authorizer(None)
            database.execute("RELEASE desk")
        return json.dumps({"changed": changed}) if told is None else told

    def _tool(self, call: ToolCall) -> tuple[Tool, dict[str, Value]]:
        if isinstance(call.arguments, str):
            raise _RefusedError("the arguments must be an object, with a name for each")
        if call.name == SQL and self._sql:
            query = call.arguments.get("query")
            if not isinstance(query, str) or len(call.arguments) != 1:
                raise _RefusedError('sql takes one argument: {"query": "SELECT …"}')
            return Tool(name=SQL, sql=query), {}
        if call.name not in self._tools:
            raise _RefusedError(f"there is no tool {printable(call.name, 60)!r}")
        tool = self._tools[call.name]
        if set(call.arguments) != set(tool.parameters):
            raise _RefusedError(
                f"{tool.name} takes {', '.join(tool.parameters) or 'no arguments'}"
            )
        return tool, {name: _bound(value) for name, value in call.arguments.items()}

    # ---- SQLite

    def _open(self, pages: bytes) -> None:
        self.end()
        database = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        if pages:
            database.deserialize(pages)
        else:
            database.execute("PRAGMA user_version = 1")  # Without a page nothing can be saved.
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        database.execute(f"PRAGMA max_page_count = {_PAGES}")
        database.execute("PRAGMA temp_store = MEMORY")
        database.execute("PRAGMA trusted_schema = OFF")
        for limit, most in _LIMITS.items():
            database.setlimit(limit, most)
        database.create_function("random", 0, lambda: self._chance.getrandbits(64) - 2**63)
        database.set_progress_handler(self._tick, _EVERY)
        self._database = database

    def _tick(self) -> bool:
        self._ticks -= 1
        self._counted += 1
        return self._ticks < 0

    def _limited(self, work: Any, authorizer: Any) -> Any:
        """Do some work on the database within bounds."""
        database = self.database
        self._ticks = _TICKS
        database.set_authorizer(None if authorizer is _is_harmless else authorizer)
        try:
            return work(database)
        finally:
            database.set_authorizer(None)
            self._ticks = _TICKS


# ---- What SQLite asks before it does anything


def _is_harmless(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """What a model may do: read and write rows."""
    if action == sqlite3.SQLITE_FUNCTION:
        return _allowed((second or "").lower() in _FUNCTIONS)
    if action in _WRITES and (first or "").lower().startswith("sqlite_"):
        return sqlite3.SQLITE_DENY
    return _allowed(action in _ANYBODY)


def _is_reading(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in _WRITES:
        return sqlite3.SQLITE_DENY
    return _is_harmless(action, first, second)


def _is_setup(action: int, _first: str | None, second: str | None, *_: str | None) -> int:
    """What a setup may do: all that stays within the database."""
    if action == sqlite3.SQLITE_FUNCTION:
        return _allowed((second or "").lower() in _FUNCTIONS)
    return _allowed(action not in _NEVER)


def _allowed(is_so: bool) -> int:  # noqa: FBT001 - it is what is asked
    return sqlite3.SQLITE_OK if is_so else sqlite3.SQLITE_DENY


# ---- Values


def _refuse_fewer(changed: int, tool: Tool) -> None:
    if changed < tool.least_changes:
        raise _RefusedError(
            f"only {changed} of {tool.least_changes} rows are there; {tool.name} changed nothing"
        )


def _bound(value: Any) -> Value:
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise _RefusedError("an argument must be text, a number, true, false or null")


def _all(cursor: sqlite3.Cursor, most: int | None) -> list[tuple[Value, ...]]:
    found = cursor.fetchmany(most + 1) if most is not None else cursor.fetchall()
    if most is not None and len(found) > most:
        raise _RefusedError(f"it gives more than {most:,} rows")
    return found


def _told(cursor: sqlite3.Cursor) -> str | None:
    """The rows that a statement gives, as JSON; None if it gives none by its kind."""
    if cursor.description is None:
        return None
    names = [str(column[0]) for column in cursor.description]
    rows = [
        {name: _shown(value) for name, value in zip(names, row, strict=True)}
        for row in cursor.fetchmany(_MOST_ROWS)
    ]
    cursor.close()
    told = json.dumps(mended(rows))
    return told if len(told) <= _MOST_CHARACTERS else told[:_MOST_CHARACTERS] + "…"


def _shown(value: Value) -> Any:
    return value.hex() if isinstance(value, bytes) else value
