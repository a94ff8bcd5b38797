"""The verifier `sql-query`: whether a query says what a reference says, on made databases."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.keys import digest
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, answers
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.fast.sqlanswers import (
    ROUNDING,
    Block,
    Row,
    Said,
    difference,
    disorder,
    misfit,
    openness,
    rows_match,
    strangers,
    unmatched,
)
from verifier_ladder.tiers.fast.sqldatabases import (
    CLOSE,
    Hints,
    Profile,
    Rows,
    fill,
    further,
    profiles,
)
from verifier_ladder.tiers.fast.sqlengine import Duck, Lite, QueryError, open_engine
from verifier_ladder.tiers.fast.sqlmutants import Mutant, mutants
from verifier_ladder.tiers.fast.sqlschema import Column, Table, TableModel, read_schema
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

HOW = "Write one SELECT statement, alone or in a block fenced as sql."
_LANGUAGES = ("sql", "duckdb", "sqlite", "postgres", "postgresql")
_LONGEST = 20_000
"""Characters of the longest query."""
_MOST_COLUMNS, _MOST_KEYS = 500, 100
_SECONDS = 20.0
"""Processor seconds that a query may take on all databases together."""
_FURTHER = 16
"""Further databases that are drawn where the usual ones tell too little of a reference."""
_LOOKED = 30.0
"""Processor seconds after which no further database is drawn for a task."""
_EVERY = "*"
"""The key of an order by all columns."""
_NUMBER = Column("number of the row", "integer", "BIGINT")


class _Task(BaseModel):
    tables: Annotated[str | list[TableModel], Field(alias="schema")]
    reference: str
    dialect: Literal["duckdb", "sqlite", "postgres"] = "duckdb"
    ordered: Annotated[bool | None, Field(strict=True)] = None
    duplicates: Annotated[bool, Field(strict=True)] = True
    column_names: Annotated[bool, Field(strict=True)] = False
    tolerance: Annotated[float, Field(ge=0, le=0.01)] = ROUNDING
    databases: Annotated[list[dict[str, list[list[Any]]]], Field(max_length=20)] = []


class SqlQuery(MarkedVerifier):
    """Accepts a query that says the same as a reference query, on every one of many databases.

    **The task** holds `schema` (CREATE TABLE statements, or a list of tables), `reference` (a
    query that no learner may see), and optionally `dialect` (`duckdb`, `sqlite`, `postgres`, which
    is translated for DuckDB), `ordered`, `duplicates`, `column_names`, `tolerance` and
    `databases`: more databases than those that are made, as rows by table.

    **Order** matters if the reference's outermost part has an ORDER BY, unless the task says
    otherwise. Then the query needs an ORDER BY there that leaves no more open than the
    reference's does. Rows that tie may stand in any order, and at a LIMIT any of those that tie
    will do. **Duplicates** matter unless the task says that they don't.

    **Values** are compared exactly: numbers by value whatever their type, texts letter by letter,
    and nothing of one kind with another. Only where one of two numbers is a float may they differ
    by `tolerance`, relative to the larger one, or to 1.

    **A query** is one SELECT. What writes, reads files, settings or catalogues, or differs from
    time to time is refused. **A reference** whose rows are not determined, that fails, or never
    yields a row is abstained from; so is one with a condition that always or never holds on all
    databases, those drawn for it too.

    **Limits**: equal answers prove nothing. How many queries with a constant or a comparison next
    to the reference's pass is told in the evidence. 40 conditions and 40 constants are looked at.

    Example:
        >>> task = {"schema": "CREATE TABLE t (a INTEGER)", "reference": "SELECT a FROM t"}
        >>> said = ["SELECT t.a FROM t", "SELECT DISTINCT a FROM t"]
        >>> [v.outcome.value for v in SqlQuery().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject']
    """

    name = "sql-query"
    version = "1"
    domain = "databases"
    cost = Cost(seconds=0.3)
    timeout = 180.0
    memory = 1 << 30  # Some of what a query can ask DuckDB for is bounded by nothing else.
    task_fields = (
        "schema", "reference", "dialect", "ordered", "duplicates", "column_names", "tolerance",
        "databases",
    )  # fmt: skip
    hidden = ("reference", "databases")
    observed = "outside"
    control = Candidate(
        "text", "SELECT a FROM t",
        task={"schema": "CREATE TABLE t (a INTEGER)", "reference": "SELECT a FROM t"},
    )  # fmt: skip

    @checked()
    def __init__(self, *, find: Sequence[str] = DOCUMENT, seed: int = 0) -> None:
        """Set where the query stands.

        Args:
            find: Marks of `verifier_ladder.tiers.fast.extraction`, the strongest first.
            seed: What databases are drawn with, beside the task itself.

        Raises:
            ConfigError: If a mark does not exist.
        """
        self._seed = seed
        super().__init__({"seed": seed}, find=find)
        self.tools = versions("duckdb", "sqlglot")

    def setup(self) -> None:
        """Load the libraries."""
        _sqlglot()
        Duck((), (), "duckdb").close()

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the task and the query, then run both queries on each database."""
        task = read_task(_Task, candidate.task)
        trial = _trial(task.model_dump_json(by_alias=True), self._seed)
        found = answers(candidate.content, self._find, HOW, languages=_LANGUAGES)
        if len(found) > 1:
            raise CandidateError(f"the output holds {len(found)} queries", feedback=HOW)
        try:
            trial.judge(found[0])
        except QueryError as error:
            raise _told(error) from None
        except MemoryError:
            raise CandidateError("the query takes too much memory", feedback=HOW) from None
        except RecursionError:
            raise CandidateError("the query is too deep", feedback=f"Nest less. {HOW}") from None
        return Verdict.accept(
            1.0, evidence={"databases": len(trial.cases), "near queries not told": trial.untold}
        )


def _sqlglot() -> Any:
    try:
        import sqlglot
    except ImportError:
        raise ToolError("sqlglot is not installed; pip install '.[sql]' in a clone") from None
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # It warns of what candidates write.
    return sqlglot


def _told(error: QueryError) -> CandidateError:
    """An error of a candidate's query, in words that tell no data."""
    words = f"{error}: {error.told}" if error.told and error.is_refused else f"{error}"
    return CandidateError(f"the query is wrong: {words}", feedback=f"Mend this: {words}. {HOW}")


# ---- Queries


@dataclass(frozen=True)
class Query:
    """A query, and what its outermost part says of order and number."""

    text: str
    tree: Any
    is_ordered: bool
    limit: int | None
    offset: int
    full: str
    """The same without LIMIT, with the keys of its order as further columns."""
    keys: tuple[int | str, ...]
    """Where the keys stand: a place, counted from the end if negative, or a name."""
    added: int
    """How many columns were added."""
    folds: bool
    """Whether the order takes capitals and small letters for the same."""
    is_distinct: bool

    @classmethod
    def read(cls, text: str, dialect: str) -> Query:
        """Read a query.

        Raises:
            QueryError: If it is none, or its order or number can't be read.
        """
        if len(text) > _LONGEST:
            raise QueryError(f"it is longer than {_LONGEST:,} characters", is_refused=True)
        tree = _outermost(_parsed(text, dialect))
        target = "sqlite" if dialect == "sqlite" else "duckdb"
        text = tree.sql(target) if dialect == "postgres" else text.strip().rstrip("; \n")
        limit, offset = _number(tree, "limit"), _number(tree, "offset") or 0
        bare = tree.copy()
        for part in ("limit", "offset"):
            bare.set(part, None)
        keys, added, folds = _keyed(bare)
        distinct = tree.args.get("distinct")
        return cls(
            text, tree, tree.args.get("order") is not None, limit, offset,
            (bare if added is None else added).sql(target), tuple(keys),
            sum(isinstance(key, int) and key < 0 for key in keys), folds,
            bool(distinct) and not getattr(distinct, "args", {}).get("on"),
        )  # fmt: skip

    def needs_blocks(self, *, ordered: bool) -> bool:
        """Whether the outermost part leaves open what stands where, or what is taken."""
        return (self.is_ordered and ordered) or self.limit is not None or self.offset > 0

    def said(self, engine: Duck | Lite, *, ordered: bool) -> Said:
        """What it says of the database that is loaded.

        Args:
            engine: Where that is.
            ordered: Whether the order of rows matters.

        Raises:
            QueryError: If it fails, or its own words and those with its keys differ.
        """
        answer = engine.run(self.text)
        if not self.needs_blocks(ordered=ordered):
            return Said(answer, [Block(answer.rows, len(answer.rows))])
        full = engine.run(self.full)
        width = len(full.names) - self.added
        keys = [_place(key, full.names) for key in self.keys]
        rows = [row[:width] for row in full.rows]
        if self.is_distinct and self.added and len(set(map(repr, rows))) < len(rows):
            raise QueryError("its ORDER BY is not determined by its columns", is_refused=True)
        tied = [
            row[:width] if _EVERY in self.keys else tuple(row[k] for k in keys if k is not None)
            for row in full.rows
        ]  # fmt: skip
        if not self.is_ordered:
            tied = [()] * len(rows)
        blocks = list(self._window(_tying(rows, tied, folds=self.folds)))
        if difference(answer.rows, blocks, ROUNDING):  # Then it was not read as the engine does.
            raise QueryError("its ORDER BY and LIMIT can't be read", is_refused=True)
        return Said(answer, blocks)

    def _window(self, blocks: Iterator[list[Row]]) -> Iterator[Block]:
        """What LIMIT and OFFSET take of the blocks."""
        start, end = self.offset, float("inf")
        if self.limit is not None:
            end = self.offset + self.limit
        place = 0
        for rows in blocks:
            taken = int(min(place + len(rows), end)) - max(place, start)
            place += len(rows)
            if taken > 0:
                yield Block(rows, taken)


def _parsed(text: str, dialect: str) -> Any:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        parsed = _sqlglot().parse(text, read=dialect)
        found = [each for each in parsed if not isinstance(each, (exp.Semicolon, type(None)))]
    except SqlglotError as error:
        first: dict[str, Any] = next(iter(getattr(error, "errors", ())), {})
        told = f"look at line {first['line']}, column {first['col']}" if "line" in first else ""
        raise QueryError("it can't be read", told=told, is_refused=True) from None
    except RecursionError:
        raise QueryError("it is too deep: nest less", is_refused=True) from None
    except ValueError:
        raise QueryError("it can't be read", is_refused=True) from None
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise QueryError("it is no single SELECT statement", is_refused=True)
    if len(found[0].expressions) > _MOST_COLUMNS:
        raise QueryError("it has too many columns", is_refused=True)
    return found[0]


def _outermost(tree: Any) -> Any:
    """A query without brackets around it."""
    from sqlglot import exp

    while isinstance(tree, exp.Subquery) and not any(
        value for name, value in tree.args.items() if name != "this"
    ):
        tree = tree.this
    return tree


def _number(tree: Any, part: str) -> int | None:
    """The number of LIMIT or OFFSET; None if there is none."""
    from sqlglot import exp

    clause = tree.args.get(part)
    if clause is None:
        return None
    if isinstance(clause.expression, exp.Var) and clause.expression.name.upper() == "ALL":
        return None
    given = clause.args.get("count") if isinstance(clause, exp.Fetch) else clause.expression
    options = clause.args.get("limit_options")
    has_more = options is not None and (
        options.args.get("percent") or options.args.get("with_ties")
    )
    name = given.name if isinstance(given, exp.Literal) and not given.is_string else ""
    if has_more or not (name.isascii() and name.isdigit() and len(name) < 10):  # noqa: PLR2004
        raise QueryError(f"its {part.upper()} is no whole number", is_refused=True)
    return int(name)


def _keyed(tree: Any) -> tuple[list[int | str], Any, bool]:
    """Find where the keys of a query's order stand.

    Returns:
        Their places, the query with those that had to be added, if any had, and whether the order
        folds letters.
    """
    from sqlglot import exp

    order = tree.args.get("order")
    if order is None:
        return [], None, False
    if len(order.expressions) > _MOST_KEYS:
        raise QueryError("its ORDER BY has too many keys", is_refused=True)
    keys: list[int | str] = []
    wanted, folds = [], False
    projections = tree.expressions if isinstance(tree, exp.Select) else []
    names = {each.alias.lower(): n for n, each in enumerate(projections) if each.alias}
    has_star = any(each.is_star for each in projections)
    for ordered in order.expressions:
        key = ordered.this
        if isinstance(key, exp.Collate):
            key, folds = key.this, True
        name = key.name.lower() if isinstance(key, exp.Column) and not key.table else ""
        if isinstance(key, exp.Literal) and not key.is_string:
            keys.append(int(key.name) - 1 if key.name.isdigit() else 0)
        elif key.sql().upper() == "ALL":
            keys.append(_EVERY)
        elif name and not projections:
            keys.append(name)
        elif name in names and not has_star:
            keys.append(names[name])
        else:
            wanted.append(_spelled_out(key, projections))
            keys.append(-1)
    if not wanted:
        return keys, None, folds
    places = iter(range(-len(wanted), 0))
    return [next(places) if key == -1 else key for key in keys], _with(tree, wanted), folds


def _spelled_out(key: Any, projections: Sequence[Any]) -> Any:
    """A key that names no column of the answer by its alias."""
    from sqlglot import exp

    by_alias = {each.alias.lower(): each.this for each in projections if each.alias}

    def spell(node: Any) -> Any:
        is_alias = isinstance(node, exp.Column) and not node.table
        found = by_alias.get(node.name.lower()) if is_alias else None
        return node if found is None else exp.paren(found.copy())

    return key.copy().transform(spell)


def _with(tree: Any, wanted: Sequence[Any]) -> Any:
    """A query with more columns."""
    from sqlglot import exp

    named = [exp.alias_(each, f"key_{n}_") for n, each in enumerate(wanted)]
    if isinstance(tree, exp.Select):
        for each in named:
            tree.append("expressions", each)
        return tree
    order = tree.args["order"].copy()
    tree.set("order", None)
    outer = exp.select("*").from_(exp.Subquery(this=tree, alias=exp.TableAlias(
        this=exp.to_identifier("all_of_it")))).select(*named)  # fmt: skip
    outer.set("order", order)
    return outer


def _place(key: int | str, names: Sequence[str]) -> int | None:
    if key == _EVERY:
        return None
    if isinstance(key, str):
        found = [n for n, name in enumerate(names) if name.lower() == key]
        if not found:
            raise QueryError(
                f"its ORDER BY names no column: {printable(key, 60)}",
                unnamed="its ORDER BY names no column",
            )
        return found[0]
    if key >= len(names):
        raise QueryError("its ORDER BY names no column")
    return key


def _tying(rows: Sequence[Row], keys: Sequence[Row], *, folds: bool) -> Iterator[list[Row]]:
    """Rows that follow each other and have the same key."""
    block: list[Row] = []
    before: Row | None = None
    for row, key in zip(rows, keys, strict=True):
        folded = tuple(k.lower() if folds and isinstance(k, str) else k for k in key)
        if before is not None and not rows_match(before, folded, ROUNDING):
            yield block
            block = []
        block.append(row)
        before = folded
    if block:
        yield block


# ---- A task's databases


@lru_cache(maxsize=8)
def _trial(task: str, seed: int) -> Trial:
    """The same for all candidates of a task."""
    return Trial(_Task.model_validate_json(task), seed)


class Case(NamedTuple):
    """A database, and what the reference says of it."""

    rows: Rows
    wanted: Said
    is_large: bool = False


class _Undetermined(Exception):  # noqa: N818 - it is no error
    """A database of which the reference says one thing or another."""


class Trial:
    """A task, its databases, and what its reference says of them."""

    def __init__(self, task: _Task, seed: int) -> None:
        self._task, self._seed = task, seed
        self.tables = read_schema(task.tables, task.dialect)
        names = [table.name.lower() for table in self.tables]
        columns = [column.name.lower() for table in self.tables for column in table.columns]
        self._target = "sqlite" if task.dialect == "sqlite" else "duckdb"
        self.engine = open_engine(task.dialect, names, columns)
        self.ordered = False
        try:
            self.reference = Query.read(task.reference, task.dialect)
            self.ordered = (
                self.reference.is_ordered and task.duplicates and task.ordered is not False
            )
            self._check(self.reference)
        except QueryError as error:
            raise _wrong_reference(error.unnamed) from None
        except RecursionError:
            raise _wrong_reference("it is too deep") from None
        if task.ordered and not (task.duplicates and self.reference.is_ordered):
            raise TaskError(
                "the task's ordered makes no sense: it needs a reference with ORDER BY, and "
                "duplicates that matter"
            )
        self._columns = frozenset(columns)
        hints = self._hints(self.reference)
        self.cases = self._made(hints)
        self.untold = self._sharpened(hints)
        """How many queries with a constant or a comparison next to the reference's pass."""

    def _hints(self, *queries: Query) -> Hints:
        """What values are near to: constants of queries, and of the schema's checks."""
        trees = [*(query.tree for query in queries), *self._conditions()]
        # SQLite reads a name in quotation marks that there is no column of as a text.
        columns = self._columns if self._task.dialect == "sqlite" else None
        return Hints.of(trees, columns).passed(self.tables)

    def _conditions(self) -> list[Any]:
        """The schema's checks, as syntax trees."""
        read = "sqlite" if self._task.dialect == "sqlite" else "duckdb"
        parse = _sqlglot().parse_one
        return [parse(check, read=read) for table in self.tables for check in table.checks]

    def _check(self, query: Query) -> None:
        self._load({})
        self.engine.check(query.text)
        if query.needs_blocks(ordered=self.ordered):
            self.engine.check(query.full)

    def _load(self, rows: Rows) -> None:
        self.engine.load({
            table.name: (table.typed, rows.get(table.name.lower(), [])) for table in self.tables
        })  # fmt: skip

    # Databases.

    def _made(self, hints: Hints) -> list[Case]:
        """All databases that the reference determines.

        Raises:
            TaskError: If it determines too few.
        """
        found, failed, open_ = [], "", 0
        brought = list(self._brought())
        every = [(False, rows) for rows in brought]
        for place, profile in enumerate(profiles(self.tables, hints)):
            every.append((profile.large, self._drawn(profile, hints, place)))
        for is_large, rows in every:
            try:
                found += self._cases(rows, is_large=is_large)
            except QueryError as error:
                if is_large:  # It may be too much for a query that is fine.
                    continue
                failed = failed or error.unnamed
                open_ += 1
            except _Undetermined:
                open_ += 1
        fruitful = sum(bool(case.wanted.answer.rows) for case in found)
        if failed and 2 * open_ >= fruitful:
            raise _wrong_reference(failed)
        if open_ and 2 * open_ >= fruitful:
            raise _wrong_reference("its rows are not determined")
        if not fruitful:
            raise _wrong_reference("it yields no row of any database")
        return found

    def _sharpened(self, hints: Hints) -> int:
        """Add databases until they tell the reference from what differs from it in one thing.

        Returns:
            How many constants and comparisons next to its own they don't tell from it.

        Raises:
            TaskError: If a condition always holds, or never, on all of them.
        """
        alive = mutants(self.reference.tree, self._checked())
        began = time.process_time()
        for case in [case for case in self.cases if not case.is_large]:
            alive = self._untold(alive, case)
        for number in range(_FURTHER):
            if not any(each.decides for each in alive) or time.process_time() - began > _LOOKED:
                break
            rows = self._drawn(further(number), hints, 1_000 + number)
            try:
                cases = self._cases(rows)
            except (QueryError, _Undetermined):
                continue
            left = self._untold(alive, cases[0])
            if len(left) < len(alive):
                self.cases += cases
            alive = left
        for each in alive:
            if each.decides and not self._matters(each):
                raise TaskError(
                    f"the task can't be judged: on every database that is made, {each.what}; give "
                    "databases on which it both holds and fails"
                )
        return sum(not each.what for each in alive)

    def _checked(self) -> frozenset[str]:
        """Names of columns that the schema's checks speak of."""
        from sqlglot import exp

        every = (name for tree in self._conditions() for name in tree.find_all(exp.Column))
        return frozenset(name.name.lower() for name in every)

    def _untold(self, some: list[Mutant], case: Case) -> list[Mutant]:
        """Those that a database does not tell from the reference."""
        self._load(case.rows)
        same = self._rows_of(self.reference.tree)
        return [each for each in some if same is None or not self._differ(each.tree, same)]

    def _differ(self, tree: Any, rows: Sequence[Row]) -> bool:
        found = self._rows_of(tree)
        return found is None or any(unmatched(rows, found, self._task.tolerance))

    def _rows_of(self, tree: Any) -> list[Row] | None:
        """What a query of ours says of the database that is loaded; None if it fails."""
        try:
            return self.engine.run(tree.sql(self._target)).rows
        except (QueryError, RecursionError):
            return None

    def _matters(self, mutant: Mutant) -> bool:
        """Whether part of a condition would matter, were it the whole one."""
        if mutant.alone is None:
            return False
        part, constant = mutant.alone
        for case in self.cases:
            self._load(case.rows)
            rows = self._rows_of(part)
            if rows is None or self._differ(constant, rows):
                return True
        return False

    def _drawn(self, profile: Profile, hints: Hints, place: int) -> Rows:
        of = digest([self._task.model_dump_json(), self._seed, place])
        chance = random.Random(of)  # noqa: S311 - the same each time
        return fill(self.tables, profile, hints, chance, self._violations)

    def _violations(self, table: Table, rows: Sequence[Row]) -> set[int]:
        """Which rows break a check of their table."""
        numbered = Table(table.name, (*table.columns, _NUMBER))
        of = ((*row, n) for n, row in enumerate(rows))
        self.engine.load({table.name: (numbered.typed, list(of))})
        name = table.name.replace('"', '""')
        ask = f'SELECT "{_NUMBER.name}" FROM "{name}" WHERE NOT'  # noqa: S608 - ours
        broken: set[int] = set()
        for check in table.checks:
            try:
                said = self.engine.run(f"{ask} ({check})")
            except QueryError as error:
                raise TaskError(f"the task's schema makes no sense: {error}") from None
            broken |= {row[0] for row in said.rows}
        return broken

    def _brought(self) -> Iterator[Rows]:
        """The databases of the task's own."""
        known = {table.name.lower(): table for table in self.tables}
        for given in self._task.databases:
            rows: Rows = {}
            for name, lines in given.items():
                table = known.get(name.lower())
                if table is None or any(len(row) != len(table.columns) for row in lines):
                    raise _wrong_databases("rows must be those of a table of the schema")
                rows[name.lower()] = [tuple(row) for row in lines]
            try:
                self._load(rows)
            except QueryError:
                raise _wrong_databases("a value is not of its column's type") from None
            if any(self._breaks(table, rows) for table in self.tables):
                raise _wrong_databases("a row breaks a constraint of the schema")
            yield rows

    def _breaks(self, table: Table, every: Rows) -> bool:
        """Whether a table's own rows break its keys or checks, or refer to none."""
        rows = every.get(table.name.lower(), [])
        for key in table.keys:
            held = [of for row in rows if None not in (of := tuple(row[p] for p in key))]
            if len(set(map(repr, held))) < len(held):
                return True
        for foreign in table.foreign:
            others = every.get(foreign.table, [])
            known = {tuple(row[p] for p in foreign.references) for row in others}
            for row in rows:
                key = tuple(row[p] for p in foreign.places)
                if None not in key and key not in known:
                    return True
        nulls = any(
            row[p] is None and not c.nullable for row in rows for p, c in enumerate(table.columns)
        )
        return nulls or bool(table.checks and rows and self._violations(table, rows))

    def _cases(self, rows: Rows, *, is_large: bool = False) -> list[Case]:
        """A database in two orders of its rows, of which the reference must say the same."""
        chance = random.Random(self._seed)  # noqa: S311 - the same each time
        turned = {name: chance.sample(of, len(of)) for name, of in rows.items()}
        cases = [self._case(rows, is_large=is_large)]
        if turned != rows:
            cases.append(self._case(turned, is_large=is_large))
            if not self._agree(cases[0].wanted, cases[1].wanted):
                raise _Undetermined
        return cases

    def _case(self, rows: Rows, *, is_large: bool) -> Case:
        self._load(rows)
        wanted = self.reference.said(self.engine, ordered=self.ordered)
        cut = sum(block.is_cut for block in wanted.blocks)
        if cut > (1 if not self.ordered else len(wanted.blocks)) * self._task.duplicates:
            raise _Undetermined
        return Case(rows, wanted, is_large)

    def _agree(self, one: Said, other: Said) -> bool:
        """Whether a reference says the same of a database in two orders of its rows."""
        if [b.taken for b in one.blocks] != [b.taken for b in other.blocks]:
            return False
        pairs = zip(one.blocks, other.blocks, strict=True)
        return not any(any(unmatched(a.rows, b.rows, self._task.tolerance)) for a, b in pairs)

    # A candidate.

    def judge(self, text: str) -> None:
        """Put a candidate's query to all databases.

        Raises:
            CandidateError: If it says something else of one of them.
            QueryError: If it can't be run.
        """
        query = Query.read(text, self._task.dialect)
        self._check(query)
        took = 0.0
        for case in chain(self.cases, self._closer(query)):
            self._load(case.rows)
            began = time.process_time()
            try:
                told = self._fault(query.said(self.engine, ordered=self.ordered), case.wanted)
            except QueryError:
                if case.is_large:  # It need not be fast, and ran on all smaller ones.
                    continue
                raise
            took += (time.process_time() - began) * (not case.is_large)
            if took > _SECONDS:
                raise QueryError("it takes too long on small databases")
            if told:
                raise CandidateError(
                    f"the query says something else than it should: {told}",
                    feedback=f"On one of the databases {told}. Mend the query.",
                )

    def _closer(self, query: Query) -> Iterator[Case]:
        """Databases whose values are near to the candidate's constants, too."""
        hints = self._hints(query, self.reference)
        for place, profile in enumerate((*profiles(self.tables, hints), CLOSE)):
            if profile.solid or profile.groups or profile.large or profile is CLOSE:
                rows = self._drawn(profile, hints, -1 - place)
                try:
                    yield from self._cases(rows, is_large=profile.large)
                except (QueryError, _Undetermined):  # Of the reference, not of the candidate.
                    continue

    def _fault(self, said: Said, wanted: Said) -> str:
        """What a candidate says wrongly of a database; "" if nothing."""
        tolerance = self._task.tolerance
        told = misfit(said.answer, wanted.answer, has_names=self._task.column_names)
        if told:
            return told
        if not self._task.duplicates:
            one, other = (list(dict.fromkeys(each.answer.rows)) for each in (said, wanted))
            is_same = not strangers(one, other, tolerance) and not strangers(other, one, tolerance)
            return "" if is_same else "it does not return the right rows"
        told = difference(said.answer.rows, wanted.blocks, tolerance)
        if told:
            return told
        if self.ordered:
            return disorder(said, wanted, tolerance)
        return openness(said, wanted, tolerance, is_ordered=False)


def _wrong_reference(why: str) -> TaskError:
    return TaskError(f"the task's reference makes no sense: {why}")


def _wrong_databases(why: str) -> TaskError:
    return TaskError(f"the task's databases make no sense: {why}")
