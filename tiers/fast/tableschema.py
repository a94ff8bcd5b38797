"""The verifier `table-schema`: tables in CSV or Parquet that are as a task describes them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from itertools import islice
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, LONGEST, answers
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.tasks import read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

HOW = "Write one CSV table with a header, alone or in a fenced block."
_HOW_PARQUET = "Give one Parquet file, as bytes."
_SHOWN = 5
_FILE = 16 << 20
"""Bytes of the largest Parquet file."""
_THRIFT = 1 << 20
"""Bytes of the longest text, and items of the longest list, in a Parquet file's description."""
_BATCH = 1 << 16
Type = Literal["integer", "number", "text", "boolean", "date", "timestamp"]
Value = bool | int | float | str
_CELLS = {
    "integer": r"^-?(0|[1-9][0-9]*)$",
    "number": r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$",
    "boolean": r"^(true|false)$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
                 r"(Z|[+-][0-9]{2}:[0-9]{2})?$",
}  # fmt: skip
"""How a value is written in CSV."""
_NO_ZONE = r"^([0-9-]{10}[T ][0-9:.]+)$"
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
"""How many are in a unit of time."""


class Column(BaseModel):
    """One column as the task describes it."""

    model_config = ConfigDict(strict=True, extra="forbid")
    name: Annotated[str, Field(min_length=1)]
    type: Type
    nullable: bool = False
    unique: bool = False
    minimum: Value | None = None
    maximum: Value | None = None
    values: Annotated[list[Value], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        low, high = (None if b is None else self.parsed(b) for b in (self.minimum, self.maximum))
        if (low is not None or high is not None) and self.type in {"text", "boolean"}:
            raise ValueError(f"a column of type {self.type} has no minimum or maximum")
        if low is not None and high is not None and low > high:
            raise ValueError("the minimum is above the maximum")
        for value in self.values or ():
            self.parsed(value)
        return self

    def parsed(self, value: Value) -> Any:
        """A bound or an allowed value of this column, as it is compared.

        Raises:
            ValueError: If it is of another type.
        """
        kinds: dict[str, tuple[type, ...]] = {
            "integer": (int,), "number": (int, float), "boolean": (bool,),
        }  # fmt: skip
        is_bool = isinstance(value, bool)
        if not isinstance(value, kinds.get(self.type, (str,))) or is_bool != (
            self.type == "boolean"
        ):
            raise ValueError(f"{value!r} is no {self.type}")
        if self.type == "date":
            return date.fromisoformat(str(value)).toordinal() - _EPOCH.toordinal()
        if self.type == "timestamp":
            return _nanoseconds(datetime.fromisoformat(str(value)))
        return Decimal(str(value)) if self.type == "number" else value


class Table(BaseModel):
    """A table as the task describes it."""

    model_config = ConfigDict(strict=True, extra="forbid")
    format: Literal["csv", "parquet"] = "csv"
    delimiter: Annotated[str, Field(pattern=r"^[^\s\"\w]$|^\t$")] = ","
    columns: Annotated[list[Column], Field(min_length=1, max_length=1000)]
    key: list[str] = []
    least_rows: Annotated[int, Field(ge=0)] = 1
    most_rows: int | None = None
    other_columns: bool = False
    ordered: bool = True

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        names = self.names
        if len(set(names)) < len(names):
            raise ValueError("two columns have the same name")
        if not set(self.key) <= set(names):
            raise ValueError("the key names a column that is not described")
        if self.most_rows is not None and self.most_rows < self.least_rows:
            raise ValueError("most_rows is below least_rows")
        return self

    @property
    def names(self) -> list[str]:
        """Names of the columns in order."""
        return [column.name for column in self.columns]


class _Task(BaseModel):
    table: Table


class TableSchema(MarkedVerifier):
    r"""Accepts a table whose columns, types, nulls, keys, counts and ranges are as described.

    **The task** holds `table`: `columns`, each with `name`, `type` (`integer`, `number`, `text`,
    `boolean`, `date`, `timestamp`) and optionally `nullable`, `unique`, `minimum`, `maximum` and
    `values`; `format` (`csv`, `parquet`), `delimiter`, `key` (names of columns that no two rows
    share), `least_rows` (1), `most_rows`, `other_columns` and `ordered`.

    **CSV** has a header. Values are written as JSON and ISO 8601 have them: `007`, `1.0` for an
    integer, `True`, NaN and a space around a number are refused. An empty cell is null; an empty
    text is `""`. Times without a zone are taken as UTC.

    **Values are compared exactly**, never as floats: numbers of CSV and decimals as they are
    written, times to the nanosecond. A float is compared as the shortest text that stands for it.

    **Parquet** is bytes. Its description is checked before any row is read, and only columns that
    are described are; what unpacks to more than `max_bytes` is refused.

    Example:
        >>> task = {"table": {"columns": [{"name": "age", "type": "integer", "minimum": 0}]}}
        >>> said = ["age\n31\n7\n", "age\n31\n-7\n"]
        >>> [v.outcome.value for v in TableSchema().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject']
    """

    name = "table-schema"
    version = "2"
    cost = Cost(seconds=3e-4)
    timeout = 20.0
    memory = 1 << 30  # A file of some bytes may unpack to any size.
    task_fields = ("table",)
    control = Candidate(
        "text", "n\n1\n", task={"table": {"columns": [{"name": "n", "type": "integer"}]}}
    )

    @checked()
    def __init__(
        self,
        *,
        find: Sequence[str] = DOCUMENT,
        max_rows: int = 1_000_000,
        max_bytes: int = 64 << 20,
    ) -> None:
        """Set what is read.

        Args:
            find: Where a table of CSV stands: marks of `verifier_ladder.tiers.fast.extraction`.
            max_rows: Most rows of a table.
            max_bytes: Most bytes that the read columns of a Parquet file may take.

        Raises:
            ConfigError: If a bound or a mark makes no sense.
        """
        if min(max_rows, max_bytes) < 1:
            raise ConfigError("max_rows and max_bytes must be at least 1")
        self._rows, self._bytes = max_rows, max_bytes
        super().__init__({"max_rows": max_rows, "max_bytes": max_bytes}, find=find)
        self.tools = versions("pyarrow")

    def setup(self) -> None:
        """Load the library."""
        _pyarrow()

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the table, then compare it with its description."""
        pa = _pyarrow()
        table = read_task(_Task, candidate.task).table
        reader, how = (self._csv, HOW)
        if table.format == "parquet":
            reader, how = (self._parquet, _HOW_PARQUET)
        try:
            read = reader(table, candidate.content)
            if read.num_rows > self._rows:
                raise self._too_large()
            read.validate(full=True)
            told = list(islice(_complaints(table, read), _SHOWN))
        # An error of the file system here is a sentence about bytes in memory.
        except (pa.ArrowException, csv.Error, OSError, ValueError, MemoryError) as error:
            why = printable(str(error), 200)
            raise CandidateError(f"the table can't be read: {why}", feedback=how) from None
        if not told:
            return Verdict.accept(1.0)
        text = printable("; ".join(told), 800)
        return Verdict.reject(f"the table breaks its schema: {text}", feedback=f"Mend: {text}.")

    def _csv(self, table: Table, content: str | bytes) -> Any:
        found = answers(content, self._find, HOW, languages=("csv", "tsv"), longest=LONGEST)
        if len(found) > 1:
            raise CandidateError(f"the output holds {len(found)} tables", feedback=HOW)
        text = found[0].removeprefix("\ufeff")
        if text.count('"') % 2:
            raise CandidateError("a quoted cell never ends", feedback=HOW)
        header = next(csv.reader(io.StringIO(text), delimiter=table.delimiter, strict=True))
        _check_names(table, header)
        return _cells(text, header, table)

    def _parquet(self, table: Table, content: str | bytes) -> Any:
        if isinstance(content, str):
            raise CandidateError(
                "the table is text where Parquet is wanted", feedback=_HOW_PARQUET
            )
        if len(content) > _FILE:
            raise self._too_large()
        from pyarrow import BufferReader, parquet
        from pyarrow import Table as Rows

        for given in (content, _by_parquet(content)):  # It must make sense as a whole, too.
            file = parquet.ParquetFile(
                BufferReader(given), thrift_string_size_limit=_THRIFT,
                thrift_container_size_limit=_THRIFT,
            )  # fmt: skip
        schema = file.schema_arrow
        _check_names(table, schema.names)
        _check_types(table, schema)
        about = file.metadata
        groups = (about.row_group(n) for n in range(about.num_row_groups))
        if about.num_rows > self._rows or sum(g.total_byte_size for g in groups) > self._bytes:
            raise self._too_large()
        batches, size = [], 0
        for batch in file.iter_batches(_BATCH, columns=table.names, use_threads=False):
            size += batch.nbytes  # The description may lie.
            if size > self._bytes:
                raise self._too_large()
            batches.append(batch)
        read = Rows.from_batches(batches, None if batches else schema).select(table.names)
        return read.combine_chunks()

    def _too_large(self) -> CandidateError:
        return CandidateError("the table is too large", feedback="Give fewer rows, or less text.")


# ---- Names and types


def _by_parquet(content: bytes) -> bytes:
    """A file of which only Parquet's own types are read, and not those that Arrow adds.

    By these, a reader takes texts by their place in the file's dictionary, where one text may
    stand twice: it would read other values than readers of Parquet do.
    """
    end = int.from_bytes(content[-8:-4], "little") + 8
    start = max(len(content) - end, 0)
    return content[:start] + content[start:].replace(b"ARROW:schema", b"ARROW:SCHEMA")


def _check_names(table: Table, header: Sequence[str]) -> None:
    """See that the columns are those that are described.

    Raises:
        CandidateError: If not.
    """
    counts = Counter(header)
    missing = [name for name in table.names if name not in counts]
    others = [name for name in header if name not in table.names]
    doubled = [name for name, count in counts.items() if count > 1]
    if missing:
        told = f"it lacks the column {missing[0]!r}"
    elif doubled:
        told = f"two columns are called {doubled[0]!r}"
    elif others and not table.other_columns:
        told = f"the column {others[0]!r} is not wanted"
    elif table.ordered and [name for name in header if name in table.names] != table.names:
        told = f"its columns are in another order than {', '.join(table.names)}"
    else:
        return
    told = printable(told, 300)
    raise CandidateError(f"the table breaks its schema: {told}", feedback=f"Mend: {told}.")


def _check_types(table: Table, schema: Any) -> None:
    """See that a file's columns have the types that are described.

    Raises:
        CandidateError: If not.
    """
    from pyarrow import types

    tests = {
        "integer": types.is_integer, "text": types.is_string, "boolean": types.is_boolean,
        "number": lambda kind: (
            types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind)
        ),
        "date": types.is_date, "timestamp": types.is_timestamp,
    }  # fmt: skip
    for column in table.columns:
        if not tests[column.type](schema.field(column.name).type):
            told = f"column {column.name!r} must be {column.type}"
            raise CandidateError(f"the table breaks its schema: {told}", feedback=f"Mend: {told}.")


def _cells(text: str, header: Sequence[str], table: Table) -> Any:
    """The described columns of CSV, each of its type.

    Raises:
        CandidateError: If a cell is not of its column's type.
        ArrowException: If the rows can't be told apart.
    """
    import pyarrow as pa
    from pyarrow import csv as reader

    data = f"{text}\n".encode()
    read = reader.read_csv(
        pa.BufferReader(data),
        reader.ReadOptions(use_threads=False, block_size=len(data) + 1),
        reader.ParseOptions(
            delimiter=table.delimiter, newlines_in_values=True, ignore_empty_lines=False
        ),
        reader.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()), null_values=[""],
            strings_can_be_null=True, quoted_strings_can_be_null=False,
        ),
    )  # fmt: skip
    return pa.table({c.name: _typed(c, read[c.name].combine_chunks()) for c in table.columns})


def _typed(column: Column, cells: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    if column.type == "text":
        return cells
    fits = compute.match_substring_regex(cells, _CELLS[column.type])
    bad = compute.index(fits, value=False).as_py()
    kinds = {
        "integer": pa.int64(), "boolean": pa.bool_(), "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    try:
        if column.type == "number" and bad < 0:
            return _numbers(cells)
        if column.type == "timestamp":
            cells = compute.replace_substring_regex(cells, _NO_ZONE, r"\1Z")
        if bad < 0:
            return compute.cast(cells, kinds[column.type])
    except pa.ArrowInvalid:
        bad = -1
    where = f"row {bad + 1}" if bad >= 0 else "a value"
    told = f"{where} of column {column.name!r} is no {column.type}, or too large"
    raise CandidateError(f"the table breaks its schema: {told}", feedback=f"Mend: {told}.")


def _numbers(cells: Any) -> Any:
    """Numbers as texts, of which each number has one."""
    import pyarrow as pa

    coded = cells.dictionary_encode()
    texts = [_number(each) for each in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


def _number(text: str) -> str:
    exact = Decimal(text).normalize(_EXACT)
    return str(exact) if exact else "0"


# ---- Values


def _complaints(table: Table, read: Any) -> Iterator[str]:
    """What a table breaks, in words that tell no bound."""
    rows = read.num_rows
    if rows < table.least_rows:
        yield "it has too few rows"
    if table.most_rows is not None and rows > table.most_rows:
        yield "it has too many rows"
    for column in table.columns:
        for told in _column_complaints(column, read[column.name].combine_chunks()):
            yield f"column {column.name!r} {told}"
    if table.key:
        keys = {name: read[name].combine_chunks() for name in table.key}
        if any(data.null_count for data in keys.values()):
            yield "a part of the key is null"
        elif _count({name: _comparable(data) for name, data in keys.items()}) < rows:
            yield f"two rows share their key ({', '.join(table.key)})"


def _column_complaints(column: Column, data: Any) -> Iterator[str]:
    from pyarrow import compute

    if data.null_count and not column.nullable:
        yield "holds a null"
    data = data.drop_null()
    if not len(data):
        return
    if column.type == "number":
        floats = compute.cast(data, "float64", safe=False)
        if not compute.all(compute.is_finite(floats)).as_py():
            yield "holds a number that is not finite"
            return
    read, data = _reader(column, data.type), _comparable(data)
    distinct = data.unique()
    if column.unique and len(distinct) < len(data):
        yield "holds a value twice"
    if column.minimum is not None or column.maximum is not None:
        least, greatest = _extremes(distinct, read)
        if column.minimum is not None and least < column.parsed(column.minimum):
            yield "holds a value that is too small"
        if column.maximum is not None and greatest > column.parsed(column.maximum):
            yield "holds a value that is too large"
    if column.values is not None and not _are_allowed(column, distinct, read):
        yield "holds a value that is not allowed"


def _count(columns: dict[str, Any]) -> int:
    """How many different rows there are."""
    import pyarrow as pa

    grouped = pa.table(columns).group_by([*columns], use_threads=False)
    return int(grouped.aggregate([]).num_rows)


def _comparable(data: Any) -> Any:
    """The data of a column in a form in which equal values are the same value."""
    from pyarrow import compute, types

    if types.is_floating(data.type):
        return compute.add(compute.cast(data, "float64"), 0.0)  # There is a zero below zero.
    if types.is_date(data.type):
        return compute.cast(compute.cast(data, "date32"), "int32")
    return compute.cast(data, "int64") if types.is_timestamp(data.type) else data


def _reader(column: Column, kind: Any) -> Callable[[Any], Any]:
    """What makes a comparable value of some type what bounds of the column are compared with."""
    if column.type == "timestamp":
        unit = _NANOSECONDS[kind.unit]
        return lambda value: value * unit
    return (lambda value: Decimal(str(value))) if column.type == "number" else lambda value: value


def _extremes(distinct: Any, read: Callable[[Any], Any]) -> tuple[Any, Any]:
    from pyarrow import compute, types

    if types.is_string(distinct.type):  # Numbers of CSV.
        found = [*map(read, distinct.to_pylist())]
        return min(found), max(found)
    extremes = compute.min_max(distinct).as_py()
    return read(extremes["min"]), read(extremes["max"])


def _are_allowed(column: Column, distinct: Any, read: Callable[[Any], Any]) -> bool:
    allowed = {column.parsed(value) for value in column.values or ()}
    return len(distinct) <= len(allowed) and {*map(read, distinct.to_pylist())} <= allowed


def _nanoseconds(time: datetime) -> int:
    """A time, of UTC if it names no zone, since 1970."""
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return since // timedelta(microseconds=1) * 1000


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ToolError(
            f"pyarrow can't be imported ({error}); pip install '.[structured]' in a clone"
        ) from error
    return pa
