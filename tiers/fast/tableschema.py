"""The verifier `table-schema`: tables in CSV or Parquet that are as a task describes them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
            return date.fromisoformat(str(value))
        return _naive(datetime.fromisoformat(str(value))) if self.type == "timestamp" else value


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
    version = "1"
    cost = Cost(seconds=3e-4)
    timeout = 20.0
    task_fields = ("table",)
    control = Candidate(
        "text", "n\n1\n", task={"table": {"columns": [{"name": "n", "type": "integer"}]}}
    )

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

        file = parquet.ParquetFile(
            BufferReader(content), thrift_string_size_limit=_THRIFT,
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

    def is_text(kind: Any) -> bool:
        if types.is_dictionary(kind):
            kind = kind.value_type
        return bool(types.is_string(kind) or types.is_large_string(kind))

    tests = {
        "integer": types.is_integer, "text": is_text, "boolean": types.is_boolean,
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
        "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    try:
        if column.type == "timestamp":
            cells = compute.replace_substring_regex(cells, _NO_ZONE, r"\1Z")
        if bad < 0:
            return compute.cast(cells, kinds[column.type])
    except pa.ArrowInvalid:
        bad = -1
    where = f"row {bad + 1}" if bad >= 0 else "a value"
    told = f"{where} of column {column.name!r} is no {column.type}, or too large"
    raise CandidateError(f"the table breaks its schema: {told}", feedback=f"Mend: {told}.")


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
        keys = read.select(table.key)
        if any(keys[name].null_count for name in table.key):
            yield "a part of the key is null"
        elif keys.group_by(table.key, use_threads=False).aggregate([]).num_rows < rows:
            yield f"two rows share their key ({', '.join(table.key)})"


def _column_complaints(column: Column, data: Any) -> Iterator[str]:
    from pyarrow import compute

    if data.null_count and not column.nullable:
        yield "holds a null"
    if column.type == "number":
        data = compute.cast(data, "float64", safe=False)
        if not compute.all(compute.is_finite(data)).as_py() and data.null_count < len(data):
            yield "holds a number that is not finite"
            return
    if column.type == "timestamp":
        data = compute.cast(data, "timestamp[us]", safe=False)
    given = len(data) - data.null_count
    if column.unique and compute.count_distinct(data, mode="only_valid").as_py() < given:
        yield "holds a value twice"
    if given and (column.minimum is not None or column.maximum is not None):
        found = compute.min_max(data).as_py()
        if column.minimum is not None and _plain(found["min"]) < column.parsed(column.minimum):
            yield "holds a value that is too small"
        if column.maximum is not None and _plain(found["max"]) > column.parsed(column.maximum):
            yield "holds a value that is too large"
    if column.values is not None and not _are_allowed(column, data.drop_null()):
        yield "holds a value that is not allowed"


def _are_allowed(column: Column, data: Any) -> bool:
    allowed = {column.parsed(value) for value in column.values or ()}
    distinct = data.unique()
    return len(distinct) <= len(allowed) and {*map(_plain, distinct.to_pylist())} <= allowed


def _plain(value: Any) -> Any:
    return _naive(value) if isinstance(value, datetime) else value


def _naive(time: datetime) -> datetime:
    """A time of UTC, without its zone."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ToolError(
            f"pyarrow can't be imported ({error}); pip install '.[structured]' in a clone"
        ) from error
    return pa
