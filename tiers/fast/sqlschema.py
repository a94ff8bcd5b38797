"""Schemas of databases: tables with their types, keys and conditions, as a task gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.tiers.tasks import TaskError

Kind = Literal["integer", "decimal", "float", "text", "boolean", "date", "timestamp", "time"]
_MOST_TABLES, _MOST_COLUMNS = 30, 100
_LONGEST = 60
"""Characters of the longest text of a column."""
_WIDEST = 38
"""Digits of DuckDB's widest decimal."""
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128", "MEDIUMINT", "UTINYINT",
                     "USMALLINT", "UINT", "UBIGINT", "SERIAL", "BIGSERIAL"), "integer"),
    **dict.fromkeys(("DECIMAL", "MONEY"), "decimal"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "BPCHAR", "NAME"), "text"),
    "BOOLEAN": "boolean", "DATE": "date", "TIME": "time",
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "TIMESTAMPNTZ"), "timestamp"),
}  # fmt: skip
"""What a type of sqlglot holds."""
_ENGINE = {
    "integer": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN",
    "date": "DATE", "timestamp": "TIMESTAMP", "time": "TIME",
}  # fmt: skip
_LARGEST = {"TINYINT": 127, "SMALLINT": 2**15 - 1, "INT": 2**31 - 1, "MEDIUMINT": 2**23 - 1}


class ColumnModel(BaseModel):
    """A column as a task lists it."""

    model_config = ConfigDict(strict=True, extra="forbid")
    name: Annotated[str, Field(min_length=1, max_length=100)]
    type: Annotated[str, Field(min_length=1, max_length=100)]
    nullable: bool = True
    unique: bool = False


class ForeignModel(BaseModel):
    """A foreign key as a task lists it."""

    model_config = ConfigDict(strict=True, extra="forbid")
    columns: Annotated[list[str], Field(min_length=1)]
    table: str
    references: list[str] = []


class TableModel(BaseModel):
    """A table as a task lists it."""

    model_config = ConfigDict(strict=True, extra="forbid")
    name: Annotated[str, Field(min_length=1, max_length=100)]
    columns: Annotated[list[ColumnModel], Field(min_length=1, max_length=_MOST_COLUMNS)]
    key: list[str] = []
    foreign: list[ForeignModel] = []


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: Kind
    type: str
    """As the engine is told it."""
    nullable: bool = True
    largest: int = 2**62
    scale: int = 0
    length: int = _LONGEST


@dataclass(frozen=True)
class Foreign:
    """Places of columns, and what they refer to."""

    places: tuple[int, ...]
    table: str
    references: tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """A table, with its constraints."""

    name: str
    columns: tuple[Column, ...]
    keys: tuple[tuple[int, ...], ...] = ()
    """Places of columns that no two rows share."""
    foreign: tuple[Foreign, ...] = ()
    checks: tuple[str, ...] = ()
    """Conditions that hold of each row, as SQL."""

    @property
    def typed(self) -> list[tuple[str, str]]:
        """Names and types of its columns."""
        return [(column.name, column.type) for column in self.columns]


# ---- The schema


def read_schema(schema: str | Sequence[TableModel], dialect: str) -> tuple[Table, ...]:
    """Read a schema, as statements or as a list.

    Returns:
        Its tables, each after those that it refers to.

    Raises:
        TaskError: If it makes no sense, or holds what can't be made.
    """
    from sqlglot.errors import SqlglotError

    try:
        statements = schema if isinstance(schema, str) else ";\n".join(map(_statement, schema))
        tables = [_table(each, dialect) for each in _creations(statements, dialect)]
    except (SqlglotError, RecursionError) as error:
        raise _nonsense(str(error).split("\n")[0][:200]) from None
    if not 1 <= len(tables) <= _MOST_TABLES:
        raise _nonsense(f"it makes {len(tables)} tables; 1 to {_MOST_TABLES} are read")
    if len({table.name.lower() for table in tables}) < len(tables):
        raise _nonsense("two tables have the same name")
    return tuple(_in_order([_resolved(table, tables) for table in tables]))


def _nonsense(why: str) -> TaskError:
    return TaskError(f"the task's schema makes no sense: {why}")


def _statement(table: TableModel) -> str:
    """A listed table as a statement."""
    parts = [
        f"{_quoted(c.name)} {c.type}{'' if c.nullable else ' NOT NULL'}{' UNIQUE' * c.unique}"
        for c in table.columns
    ]
    if table.key:
        parts.append(f"PRIMARY KEY ({', '.join(map(_quoted, table.key))})")
    for foreign in table.foreign:
        of = f"({', '.join(map(_quoted, foreign.references))})" if foreign.references else ""
        columns = ", ".join(map(_quoted, foreign.columns))
        parts.append(f"FOREIGN KEY ({columns}) REFERENCES {_quoted(foreign.table)} {of}")
    return f"CREATE TABLE {_quoted(table.name)} ({', '.join(parts)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _creations(statements: str, dialect: str) -> Iterator[Any]:
    import sqlglot
    from sqlglot import exp

    for each in sqlglot.parse(statements, read=dialect):
        if each is None:
            continue
        if not isinstance(each, exp.Create) or not isinstance(each.this, exp.Schema):
            raise _nonsense("each statement must be CREATE TABLE, with columns")
        yield each


@dataclass
class _Draft:
    """A table whose foreign keys still go by name."""

    name: str
    columns: list[Column] = field(default_factory=list)
    keys: list[tuple[str, ...]] = field(default_factory=list)
    primary: tuple[str, ...] = ()
    foreign: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)

    def place(self, name: str) -> int:
        """Where a column stands."""
        for place, column in enumerate(self.columns):
            if column.name.lower() == name.lower():
                return place
        raise _nonsense(f"the table {self.name} has no column {name}")


def _table(statement: Any, dialect: str) -> _Draft:
    from sqlglot import exp

    made = _Draft(statement.this.this.name)
    for part in statement.this.expressions:
        if isinstance(part, exp.ColumnDef):
            made.columns.append(_column(part, made, dialect))
        else:
            for inner in part.expressions if isinstance(part, exp.Constraint) else [part]:
                _constraint(inner, made, dialect)
    for name in made.primary:
        place = made.place(name)
        made.columns[place] = replace(made.columns[place], nullable=False)
    if len({column.name.lower() for column in made.columns}) < len(made.columns):
        raise _nonsense(f"two columns of {made.name} have the same name")
    return made


def _column(part: Any, made: _Draft, dialect: str) -> Column:
    from sqlglot import exp

    kind = part.args.get("kind")
    name = kind.this.value if isinstance(kind, exp.DataType) else "TEXT" if not kind else ""
    if name not in _KINDS:
        raise _nonsense(f"the type of {made.name}.{part.name} can't be made")
    sizes = [int(s.name) for s in (kind.expressions if kind else ()) if s.name.isdigit()]
    column = _typed(part.name, _KINDS[name], name, sizes, kind, dialect)
    for constraint in part.constraints:
        of = constraint.kind
        if isinstance(of, exp.NotNullColumnConstraint):
            column = replace(column, nullable=bool(of.args.get("allow_null")))
        elif isinstance(of, exp.PrimaryKeyColumnConstraint):
            made.primary = (part.name,)
            made.keys.append((part.name,))
        elif isinstance(of, exp.UniqueColumnConstraint):
            made.keys.append((part.name,))
        elif isinstance(of, exp.Reference):
            made.foreign.append(((part.name,), *_referred(of)))
        elif isinstance(of, exp.CheckColumnConstraint):
            made.checks.append(_condition(of.this, dialect))
    return column


def _typed(  # noqa: PLR0917 - what a type is made of
    name: str, kind: Kind, type_: str, sizes: Sequence[int], given: Any, dialect: str
) -> Column:
    largest = _LARGEST.get(type_, 2**62)
    if kind == "decimal":
        width, scale = (*sizes, 18, 3)[:2] if len(sizes) != 1 else (sizes[0], 0)
        if not 0 <= scale <= width <= _WIDEST:
            raise _nonsense(f"the type of {name} can't be made")
        made = Column(name, kind, f"DECIMAL({width}, {scale})", largest=10 ** (width - scale) - 1,
                      scale=scale)  # fmt: skip
    elif kind == "integer":
        made = Column(name, kind, "INTEGER" if largest < 2**32 else "BIGINT", largest=largest)
    elif kind == "text" and sizes:
        made = Column(name, kind, _ENGINE[kind], length=max(1, min(sizes[0], _LONGEST)))
    else:
        made = Column(name, kind, _ENGINE[kind])
    if dialect == "sqlite" and given is not None:
        return replace(made, type=given.sql("sqlite"))
    return made


def _constraint(part: Any, made: _Draft, dialect: str) -> None:
    from sqlglot import exp

    if isinstance(part, exp.PrimaryKey):
        made.primary = tuple(each.name for each in part.expressions)
        made.keys.append(made.primary)
    elif isinstance(part, exp.UniqueColumnConstraint):
        of = part.this.expressions if part.this else ()
        made.keys.append(tuple(each.name for each in of))
    elif isinstance(part, exp.ForeignKey):
        names = tuple(each.name for each in part.expressions)
        made.foreign.append((names, *_referred(part.args["reference"])))
    elif isinstance(part, exp.CheckColumnConstraint):
        made.checks.append(_condition(part.this, dialect))
    else:
        raise _nonsense(f"a constraint of {made.name} can't be read")


def _referred(reference: Any) -> tuple[str, tuple[str, ...]]:
    of = reference.this
    columns = tuple(each.name for each in of.expressions) if hasattr(of, "expressions") else ()
    table = of.this if columns else of
    return table.name, columns


def _condition(expression: Any, dialect: str) -> str:
    return str(expression.sql("sqlite" if dialect == "sqlite" else "duckdb"))


def _resolved(draft: _Draft, drafts: Sequence[_Draft]) -> Table:
    """A table whose foreign keys go by place."""
    by_name = {each.name.lower(): each for each in drafts}
    foreign = []
    for columns, name, references in draft.foreign:
        other = by_name.get(name.lower())
        if other is None:
            raise _nonsense(f"{draft.name} refers to {name}, which is no table")
        names = references or other.primary
        if len(names) != len(columns):
            raise _nonsense(f"a foreign key of {draft.name} does not fit {name}")
        places = tuple(map(draft.place, columns))
        foreign.append(Foreign(places, other.name.lower(), tuple(map(other.place, names))))
    keys = dict.fromkeys(tuple(map(draft.place, key)) for key in draft.keys if key)
    return Table(draft.name, tuple(draft.columns), tuple(keys), tuple(foreign),
                 tuple(draft.checks))  # fmt: skip


def _in_order(tables: Sequence[Table]) -> Iterator[Table]:
    done: set[str] = set()
    left = list(tables)
    while left:
        ready = [
            t for t in left
            if all(f.table in done or f.table == t.name.lower() for f in t.foreign)
        ]  # fmt: skip
        if not ready:
            raise _nonsense("its foreign keys go round in a circle")
        yield from ready
        done |= {table.name.lower() for table in ready}
        left = [table for table in left if table not in ready]
