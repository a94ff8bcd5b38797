"""Databases for queries to be compared on: made from a schema, so that its constraints hold.

Values are near the constants that occur in the queries, so that `<` and `<=` differ, and few
enough that rows meet in joins, share groups and tie. Beside rows that fulfil all conditions stand
such that miss one of them; there are nulls, copies, groups of the sizes that are asked for, and
tables without a row. Floats are multiples of 1/8, so that sums are exact in any order.

The same schema, queries and seed make the same databases.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from verifier_ladder.tiers.fast.sqlschema import Column, Foreign, Kind, Table

Rows = dict[str, list[tuple[Any, ...]]]
_MOST_HINTS = 60
"""Constants of one query that are heeded."""
_LARGEST_GROUP = 60
_EIGHTH = 8
_EPOCH, _LAST = date(1, 1, 2), date(9998, 12, 30)
_WORDS = ("a", "b", "B", "ab", "x", "Zoe", "", "a b", "10")
_DAYS = (
    date(2019, 12, 31), date(2020, 2, 29), date(2021, 3, 1), date(2023, 12, 31), date(2024, 1, 1),
    date(2024, 1, 31), date(2024, 7, 15),
)  # fmt: skip
_TIMES = (time(0), time(12, 30), time(23, 59, 59))
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2})?\Z")
_YEARS, _MONTHS = range(1900, 2101), range(1, 13)
Violations = Callable[[Table, Sequence[tuple[Any, ...]]], set[int]]
"""What tells which rows break a table's checks."""


# ---- Constants of queries


@dataclass(frozen=True)
class Hints:
    """Constants that occur in queries, which values should be near to."""

    by_column: Mapping[str, tuple[Any, ...]]
    """Those that a column is compared with, by its name in small letters."""
    numbers: tuple[Decimal, ...]
    texts: tuple[str, ...]
    sizes: tuple[int, ...]
    """Those that something counted or summed is compared with."""
    shifts: Mapping[tuple[str, Any], int]
    """Which value near to a column's constant meets its condition, if not the constant itself."""

    @classmethod
    def of(cls, trees: Iterable[Any], columns: Collection[str] | None = None) -> Hints:
        """Read them from syntax trees.

        Args:
            trees: Those of queries, and of the schema's checks.
            columns: All names of columns, in small letters, where other names in quotation marks
                are texts.
        """
        from sqlglot import exp

        compared = (
            exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Like,
            exp.ILike, exp.Glob, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Case, exp.StartsWith,
            exp.RegexpLike, exp.SimilarTo,
        )  # fmt: skip
        by_column: dict[str, dict[Any, None]] = {}
        every: dict[Any, None] = {}
        sizes: dict[int, None] = {}
        shifts: dict[tuple[str, Any], int] = {}
        for tree in trees:
            every |= dict.fromkeys(list(_constants(tree, columns))[:_MOST_HINTS])
            for node in tree.find_all(exp.LT, exp.GT):
                shifts |= _shifts(node)
            for node in tree.find_all(*compared):
                found = list(_constants(node, columns))[:_MOST_HINTS]
                for column in node.find_all(exp.Column):
                    by_column.setdefault(column.name.lower(), {}).update(dict.fromkeys(found))
                if node.find(exp.AggFunc) is not None:
                    sizes |= dict.fromkeys(_sizes(found))
            if not sizes and tree.find(exp.AggFunc) is not None:
                sizes |= dict.fromkeys(_sizes(every))
        return cls(
            {name: tuple(found) for name, found in by_column.items()},
            tuple(value for value in every if isinstance(value, Decimal)),
            tuple(value for value in every if isinstance(value, str)),
            tuple(sizes),
            shifts,
        )

    def fitting(self, column: Column) -> list[Any]:
        """For each constant that a column is compared with, a value that meets the condition."""
        name = column.name.lower()
        named = ((found, _as(column.kind, found)) for found in self.by_column.get(name, ()))
        return [
            near(column.kind, value)[self.shifts.get((name, found), 0)]
            for found, value in named
            if value is not None
        ]

    def for_column(self, column: Column) -> list[Any]:
        """The constants that a column of its kind can be near to."""
        named = self.by_column.get(column.name.lower(), ())
        return [value for found in named if (value := _as(column.kind, found)) is not None]

    def for_kind(self, column: Column) -> list[Any]:
        """All constants of its kind, wherever they stand."""
        every = (*self.numbers, *self.texts)
        return [value for found in every if (value := _as(column.kind, found)) is not None]


def _shifts(node: Any) -> Iterator[tuple[tuple[str, Any], int]]:
    """What meets `<` or `>`: the value below or above the constant."""
    from sqlglot import exp

    is_below = isinstance(node, exp.LT)
    for column, constant, below in (
        (node.this, node.expression, is_below), (node.expression, node.this, not is_below),
    ):  # fmt: skip
        if isinstance(column, exp.Column):
            for value in _constants(constant, None):
                yield (column.name.lower(), value), 1 if below else 2


def _sizes(constants: Iterable[Any]) -> Iterator[int]:
    """Those constants that may be the size of a group."""
    whole = (int(n) for n in constants if isinstance(n, Decimal) and n == int(n))
    return (n for n in whole if 0 <= n <= _LARGEST_GROUP)


def _constants(tree: Any, columns: Collection[str] | None) -> Iterator[Any]:
    from sqlglot import exp

    if columns is not None:
        for name in tree.find_all(exp.Column):
            if name.this.args.get("quoted") and name.name.lower() not in columns:
                yield name.name[:60]
    for literal in tree.find_all(exp.Literal):
        if literal.is_string:
            yield literal.name[:60]
        elif len(literal.name) <= 30:  # noqa: PLR2004 - longer ones are no number of a column
            number = Decimal(literal.name) if _is_number(literal.name) else None
            if number is not None:
                yield -number if isinstance(literal.parent, exp.Neg) else number


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d*\.?\d+(e-?\d{1,2})?|\d+\.", text, re.IGNORECASE) is not None


def _as(kind: Kind, found: Any) -> Any:
    """A constant as a value of some kind; None if it is none."""
    if kind in {"integer", "decimal", "float"}:
        return found if isinstance(found, Decimal) else None
    if kind in {"text", "time", "boolean"}:
        return found if isinstance(found, str) else None
    return _day(f"{found:f}" if isinstance(found, Decimal) else found)


def _day(text: str) -> Any:
    if text.isascii() and text.isdigit() and len(text) == 4:  # noqa: PLR2004 - a year
        return date(int(text), 1, 1) if int(text) in _YEARS else None
    if text.isascii() and text.isdigit() and len(text) < 3 and int(text) in _MONTHS:  # noqa: PLR2004
        return date(2023, int(text), 15)
    shape = datetime if _STAMP.match(text) else date if _DATE.match(text) else None
    if shape is None:
        return None
    try:
        read = shape.fromisoformat(text)
    except ValueError:
        return None
    day = read.date() if isinstance(read, datetime) else read
    return read if _EPOCH <= day <= _LAST else None


def near(kind: Kind, value: Any) -> list[Any]:
    """A constant, and values next to it.

    Example:
        >>> [int(v) for v in near("integer", Decimal(5))]
        [5, 4, 6]
        >>> near("text", "Ab")[:4]
        ['Ab', 'AB', 'ab', 'aB']
    """
    if kind in {"integer", "decimal", "float"}:
        step = Decimal(1) if kind == "integer" or value == int(value) else Decimal("0.125")
        return [value, value - step, value + step]
    if kind == "text":
        return _near_text(value)
    if kind in {"date", "timestamp"}:
        day = value if isinstance(value, datetime) else datetime.combine(value, time(0))
        moved = [day, *(_moved(day, days) for days in (-1, 1, -31, 31, 364, 365, 366))]
        late = (time(12, 30), time(23, 59, 59)) if kind == "timestamp" else ()
        return [*moved, *(datetime.combine(day, each) for each in late)]
    return [value]


def _moved(day: datetime, days: int) -> datetime:
    wanted = day.date() + timedelta(days)
    return datetime.combine(min(max(wanted, _EPOCH), _LAST), day.time())


def _near_text(text: str) -> list[str]:
    if _DATE.match(text) and (day := _day(text)) is not None:
        return [f"{each.date().isoformat()}" for each in near("date", day)]
    plain = [text.replace("%", mark).replace("*", mark).replace("_", "k") for mark in ("", "q")]
    pattern = [*plain, f"z{plain[0]}", f"{plain[0]}z", f"z{text}z"]
    shapes = [text] if plain == [text, text] else pattern
    first = shapes[0]
    others = (first.upper(), first.lower(), first.swapcase(), f"{first}x", first[:-1], f" {first}",
              text)  # fmt: skip
    return list(dict.fromkeys([*shapes, *others]))


# ---- Rows


@dataclass(frozen=True)
class Profile:
    """What a database is like."""

    rows: int
    nulls: float = 0.15
    """Share of nulls where they are allowed."""
    solid: bool = False
    """Whether each row meets the constants of all columns but a few."""
    copies: float = 0.0
    """Share of rows that are another one's copy, but for its keys."""
    values: int = 0
    """How many values a column has; 0 for any."""
    groups: tuple[int, ...] = ()
    """Sizes of groups of rows that are alike."""
    empty: str = ""
    """A table that has no row."""


def profiles(tables: Sequence[Table], hints: Hints) -> list[Profile]:
    """The databases that are made: the first is empty."""
    sizes = sorted(hints.sizes, reverse=True)[:2]
    grouped = [Profile(0, nulls=0.05, groups=(n - 1, n, n + 1)) for n in sizes if n]
    lonely = [Profile(8, empty=table.name) for table in tables[:4]] if len(tables) > 1 else []
    return [
        Profile(0), Profile(1, nulls=0), Profile(2), Profile(18, nulls=0.05, solid=True),
        Profile(30, solid=True), Profile(30, nulls=0.1, solid=True, copies=0.2), Profile(14),
        Profile(20, nulls=0.3), Profile(12, nulls=0, values=2), Profile(12, nulls=0, values=1),
        Profile(14, copies=0.5),
        Profile(5, nulls=1.0), *grouped, *lonely,
    ]  # fmt: skip


def fill(
    tables: Sequence[Table], profile: Profile, hints: Hints, chance: random.Random,
    violations: Violations,
) -> Rows:  # fmt: skip
    """Make the rows of a database.

    Args:
        tables: Each after those that it refers to.
        profile: What it is like.
        hints: What values are near to.
        chance: Where chance comes from.
        violations: What tells rows that break a table's checks.
    """
    made: Rows = {}
    for table in tables:
        rows = _Filler(table, profile, hints, chance, made).rows()
        broken = violations(table, rows) if table.checks and rows else set()
        kept = [row for n, row in enumerate(rows) if n not in broken]
        made[table.name.lower()] = _with_parents(table, kept)
    return made


def _with_parents(table: Table, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows whose references to rows of the same table are kept, too."""
    for foreign in table.foreign:
        while foreign.table == table.name.lower():
            held = {tuple(row[place] for place in foreign.references) for row in rows}
            fine = [row for row in rows if _refers(row, foreign, held)]
            if len(fine) == len(rows):
                break
            rows = fine
    return rows


def _refers(row: tuple[Any, ...], foreign: Foreign, held: set[tuple[Any, ...]]) -> bool:
    key = tuple(row[place] for place in foreign.places)
    return None in key or key in held


class _Filler:
    """Makes the rows of one table."""

    def __init__(
        self, table: Table, profile: Profile, hints: Hints, chance: random.Random, made: Rows
    ) -> None:
        self._table, self._profile, self._chance, self._made = table, profile, chance, made
        self._near = [hints.for_column(column) for column in table.columns]
        self._fitting = [hints.fitting(column) for column in table.columns]
        self._any = [hints.for_kind(column) for column in table.columns]
        self._unique = {key[0] for key in table.keys if len(key) == 1}
        self._seen: list[set[tuple[Any, ...]]] = [set() for _ in table.keys]
        self._rows: list[tuple[Any, ...]] = []
        self._pools = [self._pool(place) for place in range(len(table.columns))]
        self._base = [_fitted(c, self._drawn(place)) for place, c in enumerate(table.columns)]

    def rows(self) -> list[tuple[Any, ...]]:
        """All of them."""
        if self._profile.empty.lower() == self._table.name.lower():
            return []
        if self._profile.groups:
            self._grouped()
        for _ in range(self._profile.rows):
            self._add(self._row())
        return self._rows

    def _grouped(self) -> None:
        """Groups of the sizes that are asked for: alike, and alike but for one column."""
        for size in (*self._profile.groups, *self._profile.groups):
            first = self._apart()
            varied = self._chance.randrange(len(first)) if len(self._rows) % 2 else -1
            for number in range(size):
                row = list(first)
                if varied >= 0:
                    row[varied] = self._fresh(varied, number)
                for foreign in self._table.foreign:
                    for place in foreign.places:
                        row[place] = first[place]
                self._add(row)

    def _apart(self) -> list[Any]:
        """A row that meets the constants, and otherwise has values that no other row has."""
        row = self._row()
        for place in range(len(row)):
            if self._near[place]:
                row[place] = self._solid(place)
            else:
                row[place] = self._fresh(place, 0)
        for foreign in self._table.foreign:
            self._refer(row, foreign)
        return row

    def _row(self) -> list[Any]:
        places = range(len(self._table.columns))
        if self._rows and self._chance.random() < self._profile.copies:
            return list(self._chance.choice(self._rows))
        if self._profile.solid:
            row = [self._solid(place) for place in places]
            for _ in range(self._chance.choice((0, 1, 1, 1, 2))):
                place = self._chance.randrange(len(row))
                row[place] = self._value(place)
        else:
            row = [self._value(place) for place in places]
        for foreign in self._table.foreign:
            self._refer(row, foreign)
        return row

    def _refer(self, row: list[Any], foreign: Foreign) -> None:
        """Have a row refer to one that is there, or to none."""
        is_own = foreign.table == self._table.name.lower()
        others = self._rows if is_own else self._made[foreign.table]
        columns = [self._table.columns[place] for place in foreign.places]
        may_be_null = all(column.nullable for column in columns)
        share = self._profile.nulls
        if not others or (may_be_null and self._chance.random() < share):
            key: Sequence[Any] = [None] * len(columns)
            if not may_be_null and is_own:
                key = [row[place] for place in foreign.references]
        else:
            is_first = self._profile.solid and self._chance.random() < 0.5  # noqa: PLR2004
            other = others[0] if is_first else self._chance.choice(others)
            key = [other[place] for place in foreign.references]
        for place, value in zip(foreign.places, key, strict=True):
            row[place] = value

    def _add(self, row: list[Any]) -> None:
        """Keep a row if it breaks no key; what is unique is drawn anew until it doesn't."""
        referring = {place for foreign in self._table.foreign for place in foreign.places}
        for tried in range(30):
            keys = [tuple(row[place] for place in key) for key in self._table.keys]
            taken = [n for n, key in enumerate(keys) if None not in key and key in self._seen[n]]
            if not taken:
                break
            for n in taken:
                free = [p for p in self._table.keys[n] if p not in referring]
                for place in free or self._table.keys[n][:1]:
                    row[place] = self._fresh(place, tried)
        else:
            return
        columns = zip(row, self._table.columns, strict=True)
        if any(value is None and not column.nullable for value, column in columns):
            return
        for n, key in enumerate(keys):
            self._seen[n].add(key)
        self._rows.append(tuple(row))

    def _fresh(self, place: int, tried: int) -> Any:
        """A value that is hardly taken."""
        column, number = self._table.columns[place], len(self._rows) + tried + 1
        if column.kind in {"integer", "decimal", "float"}:
            return self._chance.choice([number, number, 50 + number])
        if column.kind == "text":
            return f"{self._chance.choice('abcXYZ')}{number}"[: column.length]
        if column.kind == "date":
            return date(2020, 1, 1) + timedelta(number * 17 % 3650)
        if column.kind == "timestamp":
            return datetime(2020, 1, 1) + timedelta(number * 17, 3600 * tried)  # noqa: DTZ001
        return self._value(place)

    def _pool(self, place: int) -> list[Any]:
        """What a column of few values has; empty for any."""
        count = 0 if place in self._unique else self._profile.values
        column = self._table.columns[place]
        return [_fitted(column, self._drawn(place)) for _ in range(count)]

    def _solid(self, place: int) -> Any:
        """A value that meets a condition on the column, or else one for the whole column."""
        if not self._fitting[place]:
            return self._base[place]
        return _fitted(self._table.columns[place], self._chance.choice(self._fitting[place]))

    def _value(self, place: int) -> Any:
        column = self._table.columns[place]
        if column.nullable and self._chance.random() < self._profile.nulls:
            return None
        if self._pools[place]:
            return self._chance.choice(self._pools[place])
        return _fitted(column, self._drawn(place))

    def _drawn(self, place: int) -> Any:
        """A value near a constant, or a usual one."""
        column, chance = self._table.columns[place], self._chance
        luck = chance.random()
        if self._near[place] and luck < 0.6:  # noqa: PLR2004
            return self._next_to(column, self._near[place])
        if self._any[place] and luck < 0.75:  # noqa: PLR2004
            return self._next_to(column, self._any[place])
        return _usual(column, chance)

    def _next_to(self, column: Column, constants: Sequence[Any]) -> Any:
        """A value near to one of some constants, most often itself or the one next to it."""
        values = near(column.kind, self._chance.choice(constants))
        is_next = self._chance.random() < 0.7  # noqa: PLR2004
        return self._chance.choice(values[:3] if is_next else values)


def _usual(column: Column, chance: random.Random) -> Any:
    """A value that is near to no constant."""
    if column.kind == "integer":
        return chance.choice((0, 1, 1, 2, 2, 3, 4, 5, 7, -1, 100))
    if column.kind in {"decimal", "float"}:
        return Decimal(chance.randrange(-2 * _EIGHTH, 12 * _EIGHTH)) / _EIGHTH
    if column.kind == "text":
        return chance.choice(_WORDS)
    if column.kind == "boolean":
        return chance.random() < 0.5  # noqa: PLR2004
    if column.kind == "time":
        return chance.choice(_TIMES).isoformat()
    return datetime.combine(chance.choice(_DAYS), chance.choice(_TIMES))


def _fitted(column: Column, value: Any) -> Any:  # noqa: PLR0911 - one for each kind
    """A value as one of its column's type."""
    if column.kind == "integer":
        return max(-column.largest, min(int(value), column.largest))
    if column.kind == "decimal":
        rounded = round(Decimal(value), column.scale)
        return max(Decimal(-column.largest), min(rounded, Decimal(column.largest)))
    if column.kind == "float":
        return float(value)
    if column.kind == "text":
        return str(value)[: column.length]
    if column.kind == "boolean":
        return value if isinstance(value, bool) else str(value).lower() in {"true", "t", "1"}
    if column.kind == "date":
        return value.date() if isinstance(value, datetime) else value
    if column.kind == "timestamp":
        return value if isinstance(value, datetime) else datetime.combine(value, time(0))
    return value if _is_time(value) else "12:30:00"


def _is_time(value: Any) -> bool:
    try:
        time.fromisoformat(str(value))
    except ValueError:
        return False
    return True
