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
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from verifier_ladder.tiers.fast.sqlschema import Column, Foreign, Kind, Table

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]
_MOST_HINTS = 60
"""Constants of one query that are heeded."""
_LARGEST_GROUP = 60
_LARGEST_USUAL = 12
_MOST_LACKING = 4
"""Columns that have groups in which one row lacks a value."""
_EIGHTH = 8
_EPOCH, _LAST = date(1, 1, 2), date(9998, 12, 30)
_MOST_ROWS = 1_000
"""The largest number of a LIMIT that a database has more rows than."""
_WORDS = ("a", "b", "B", "ab", "x", "Zoe", "", "a b", "10")
_WIDE_WORDS = (
    *_WORDS, " ab", "ab ", " a b ", "\u00e4", "\u00c4", "zo\u00eb", "Stra\u00dfe", "AB",
    "zoe", "a-b", "%", "_", "abcdefghijklmnopqrstuvwxyz", "3", "-4", "2.5",
)  # fmt: skip
_WIDE = range(-60 * _EIGHTH, 60 * _EIGHTH + 1)
_DAYS = (
    date(2019, 12, 31), date(2020, 2, 29), date(2021, 3, 1), date(2023, 12, 31), date(2024, 1, 1),
    date(2024, 1, 31), date(2024, 7, 15),
)  # fmt: skip
_TIMES = (time(0), time(12, 30), time(23, 59, 59))
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])\Z")
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2})?\Z")
_YEARS, _MONTHS = range(1900, 2101), range(1, 13)
_UNIT = re.compile(r"year|month|week|(?<!julian)day", re.IGNORECASE)
_DAYS_OF = {"year": 365.25, "month": 30.4375, "week": 7.0, "day": 1.0}
_CLOCKLIKE = frozenset({"date", "datetime", "julianday", "strftime", "time", "unixepoch"})
"""Functions of SQLite that read a text as a date."""
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
    dated: frozenset[str] = frozenset()
    """Columns that are read as dates, by name in small letters."""
    limits: tuple[int, ...] = ()
    """Numbers of a LIMIT."""

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
        limits: dict[int, None] = {}
        shifts: dict[tuple[str, Any], int] = {}
        dated: set[str] = set()
        for tree in trees:
            every |= dict.fromkeys(list(_constants(tree, columns))[:_MOST_HINTS])
            dated |= {c.name.lower() for c in tree.find_all(exp.Column) if _is_dated(c)}
            limits |= dict.fromkeys(_limits(tree))
            for node in tree.find_all(exp.LT, exp.GT):
                shifts |= _shifts(node)
            for node in tree.find_all(*compared):
                found = list(_constants(node, columns))[:_MOST_HINTS]
                found += [*_away(node, found), *_as_long(node, found)]
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
            frozenset(dated),
            tuple(limits),
        )

    def passed(self, tables: Sequence[Table]) -> Hints:
        """Constants of a column are also those of the one that it refers to.

        Args:
            tables: Each after those that it refers to.
        """
        of, shifts = dict(self.by_column), dict(self.shifts)
        by_name = {table.name.lower(): table for table in tables}
        for table in reversed(tables):
            for foreign in table.foreign:
                other = by_name[foreign.table]
                for place, reference in zip(foreign.places, foreign.references, strict=True):
                    child = table.columns[place].name.lower()
                    parent = other.columns[reference].name.lower()
                    found = of.get(child, ())
                    of[parent] = tuple(dict.fromkeys((*of.get(parent, ()), *found)))
                    for value in found:
                        if (child, value) in shifts:
                            shifts.setdefault((parent, value), shifts[child, value])
        return replace(self, by_column=of, shifts=shifts)

    def is_dated(self, column: Column) -> bool:
        """Whether its texts are read as dates."""
        return column.kind == "text" and column.name.lower() in self.dated

    def _read(self, column: Column, found: Any) -> Any:
        """A constant as a value of a column."""
        if not self.is_dated(column):
            return _as(column.kind, found)
        day = _as("date", found)
        return None if day is None else day.isoformat()[:10]

    def fitting(self, column: Column) -> list[Any]:
        """For each constant that a column is compared with, a value that meets the condition."""
        name = column.name.lower()
        named = ((found, self._read(column, found)) for found in self.by_column.get(name, ()))
        return [
            near(column.kind, value)[self.shifts.get((name, found), 0)]
            for found, value in named
            if value is not None
        ]

    def for_column(self, column: Column) -> list[Any]:
        """The constants that a column of its kind can be near to."""
        named = self.by_column.get(column.name.lower(), ())
        return [value for found in named if (value := self._read(column, found)) is not None]

    def for_kind(self, column: Column) -> list[Any]:
        """All constants of its kind, wherever they stand."""
        every = (*self.numbers, *self.texts)
        return [value for found in every if (value := self._read(column, found)) is not None]


def _is_dated(column: Any) -> bool:
    """Whether a function reads a column as a date."""
    from sqlglot import exp

    parent = column.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    if isinstance(parent, exp.Cast):
        return bool(parent.to.is_type("date", "timestamp", "datetime"))
    if isinstance(parent, exp.Anonymous):
        return parent.name.lower() in _CLOCKLIKE
    return isinstance(parent, (
        exp.Date, exp.Datetime, exp.TimeToStr, exp.TsOrDsToDate, exp.TsOrDsToTimestamp,
        exp.StrToTime,
    ))  # fmt: skip


def _limits(tree: Any) -> Iterator[int]:
    """How many rows its parts take or leave out."""
    from sqlglot import exp

    for node in tree.find_all(exp.Limit, exp.Fetch, exp.Offset):
        count = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
        name = count.name if isinstance(count, exp.Literal) else ""
        if name.isascii() and name.isdigit() and int(name[:9]) <= _MOST_ROWS:
            yield int(name[:9])


def _away(node: Any, constants: Sequence[Any]) -> Iterator[str]:
    """Dates that are so many years, months or days away from a constant as another one says."""
    texts = [each for each in constants if isinstance(each, str) and len(each) > 7]  # noqa: PLR2004
    days = [day for each in texts if (day := _day(each)) is not None]
    if not days:
        return
    units = {each.lower() for each in _UNIT.findall(node.sql())} or {"day"}
    for number in _whole(constants):
        for day in days:
            for unit in sorted(units):
                counts = (-number, number, -number - 1, number + 1)
                every = (_so_many(day, each, unit) for each in counts)
                yield from (each.isoformat() for each in every if each is not None)


def _whole(constants: Iterable[Any]) -> Iterator[int]:
    """Those that may count years, months or days."""
    for each in constants:
        text = f"{each:f}" if isinstance(each, Decimal) else each
        if text.isascii() and text.isdigit() and len(text) < 6 and int(text) > 0:  # noqa: PLR2004
            yield int(text)


def _so_many(day: date, number: int, unit: str) -> date | None:
    """A date that is so many units away: on the same day of the year, if there is such a one."""
    day = day.date() if isinstance(day, datetime) else day
    try:
        if unit == "year":
            return day.replace(year=day.year + number)
        moved = day + timedelta(round(number * _DAYS_OF[unit]))
    except (ValueError, OverflowError):
        return None
    return moved if _EPOCH <= moved <= _LAST else None


def _as_long(node: Any, constants: Sequence[Any]) -> Iterator[str]:
    """Texts of the lengths that a condition speaks of."""
    from sqlglot import exp

    if node.find(exp.Length) is not None:
        for number in _whole(constants):
            if number <= _LARGEST_GROUP:
                yield ("Abcd efghij" * 6)[:number]


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
    if _MONTH.match(text) and int(text[:4]) in _YEARS:
        return date(int(text[:4]), int(text[5:]), 15)
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
        moved = [_moved(day, days) for days in (-1, 1, -31, 31, 364, 365, 366)]
        return [day, *(_clocks(day) if kind == "timestamp" else ()), *moved]
    return [value]


def _clocks(day: datetime) -> list[datetime]:
    """Times just below and above one, and those of its day and of the day before."""
    before = _moved(day, -1).date()
    at_midnight = day.time() == time(0)
    close = [datetime.combine(before, time(12, 30)), datetime.combine(day, time(12, 30))]
    if not at_midnight:
        close = [day - timedelta(0, 1), day + timedelta(0, 1), *close]
    return [*close, *(datetime.combine(each, time(23, 59, 59)) for each in (before, day))]


def _moved(day: datetime, days: int) -> datetime:
    wanted = day.date() + timedelta(days)
    return datetime.combine(min(max(wanted, _EPOCH), _LAST), day.time())


def _near_text(text: str) -> list[str]:
    if (_DATE.match(text) or _STAMP.match(text)) and (day := _day(text)) is not None:
        moment = day if isinstance(day, datetime) else datetime.combine(day, time(0))
        stamps = [each.isoformat(text[10:11] or " ") for each in _clocks(moment)]
        dates = [each.date().isoformat() for each in near("date", day)]
        return list(dict.fromkeys([text, *stamps[:2], *dates[:3], *stamps[2:], *dates[3:]]))
    plain = [text.replace("%", mark).replace("*", mark).replace("_", "k") for mark in ("", "q")]
    pattern = [*plain, f"z{plain[0]}", f"{plain[0]}z", f"z{text}z"]
    shapes = [text] if plain == [text, text] else pattern
    first = shapes[0]
    others = (first.upper(), first.lower(), first.swapcase(), f"{first}x", first[:-1], f" {first}",
              f"{first} ", text)  # fmt: skip
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
    wide: bool = False
    """Whether values vary much, and are near to no constant."""
    large: bool = False
    """Whether it has more rows than a LIMIT takes."""


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
        Profile(25, nulls=0.05, wide=True), Profile(25, wide=True, copies=0.2), *_large(hints),
    ]  # fmt: skip


def _large(hints: Hints) -> list[Profile]:
    """One with more rows than the longest LIMIT takes, if the others have not."""
    most = sum(sorted(hints.limits)[-2:])  # One of them may be an OFFSET.
    return [Profile(most + 3, nulls=0.05, large=True)] if most > _LARGEST_USUAL else []


CLOSE = Profile(60, nulls=0.05)
"""Many rows near to constants."""


def further(number: int) -> Profile:
    """What databases are like that are drawn where those of `profiles` tell too little."""
    return (
        Profile(25, nulls=0.05, solid=True), Profile(40, nulls=0.05, wide=True),
        Profile(60, nulls=0.02, solid=True), CLOSE,
    )[number % 4]  # fmt: skip


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
        self._dated = [hints.is_dated(column) for column in table.columns]
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
        spare = 3 if self._profile.large and self._table.checks else 1  # Some break a check.
        for _ in range(spare * self._profile.rows):
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

        self._grouped_with_nulls()

    def _grouped_with_nulls(self) -> None:
        """Groups in which one row lacks a value, so that it counts as a row and not as a value."""
        referring = {place for foreign in self._table.foreign for place in foreign.places}
        nullable = [
            place for place, column in enumerate(self._table.columns)
            if column.nullable and place not in referring
        ]  # fmt: skip
        for place in nullable[:_MOST_LACKING]:
            for size in self._profile.groups[-2:]:
                first = self._apart()
                for number in range(size):
                    row = list(first)
                    row[place] = first[place] if number else None
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
            has_hint = any(self._fitting[place] for place in foreign.places)
            is_solid = self._profile.solid and not has_hint
            is_first = is_solid and self._chance.random() < 0.5  # noqa: PLR2004
            fitting = self._meeting(foreign, others) if self._profile.solid else []
            other = others[0] if is_first else self._chance.choice(fitting or others)
            key = [other[place] for place in foreign.references]
        for place, value in zip(foreign.places, key, strict=True):
            row[place] = value

    def _meeting(self, foreign: Foreign, others: Sequence[Row]) -> Sequence[Row]:
        """Those of other rows whose key meets a condition on what refers to them, or nearly."""
        is_near = self._chance.random() < 0.3  # noqa: PLR2004
        for place, reference in zip(foreign.places, foreign.references, strict=True):
            column = self._table.columns[place]
            if self._fitting[place]:
                every = self._fitting[place]
                if is_near:
                    every = [v for each in self._near[place] for v in near(column.kind, each)[:3]]
                wanted = {_fitted(column, value) for value in every}
                others = [row for row in others if row[reference] in wanted]
        return others

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
        if self._near[place] and tried < 2 and self._chance.random() < 0.5:  # noqa: PLR2004
            return _fitted(column, self._next_to(column, self._near[place]))
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
        if self._profile.wide:
            return _wide(column, chance, dated=self._dated[place])
        luck = chance.random()
        if self._near[place] and luck < 0.6:  # noqa: PLR2004
            return self._next_to(column, self._near[place])
        if self._any[place] and luck < 0.75:  # noqa: PLR2004
            return self._next_to(column, self._any[place])
        return _dated(chance) if self._dated[place] else _usual(column, chance)

    def _next_to(self, column: Column, constants: Sequence[Any]) -> Any:
        """A value near to one of some constants, most often itself or the one next to it."""
        values = near(column.kind, self._chance.choice(constants))
        is_next = self._chance.random() < 0.7  # noqa: PLR2004
        return self._chance.choice(values[:3] if is_next else values)


def _dated(chance: random.Random) -> str:
    """A date as a text, some with a time of the day."""
    day, clock = chance.choice(_DAYS), chance.choice((None, None, *_TIMES))
    return day.isoformat() if clock is None else datetime.combine(day, clock).isoformat(" ")


def _wide(column: Column, chance: random.Random, *, dated: bool) -> Any:
    """A value among many."""
    if column.kind in {"integer", "decimal", "float"}:
        exact = Decimal(chance.choice(_WIDE)) / _EIGHTH
        return round(exact) if column.kind == "integer" else exact
    moment = datetime(1965, 1, 1) + timedelta(  # noqa: DTZ001
        chance.randrange(60 * 365), chance.choice((0, 45_000, 86_399))
    )
    if dated:
        return moment.isoformat(" ")[: chance.choice((10, 19))]
    if column.kind == "text":
        return chance.choice(_WIDE_WORDS)
    if column.kind in {"date", "timestamp"}:
        return moment
    return _usual(column, chance)


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
