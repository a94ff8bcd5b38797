"""Records: the lines of a rollout file, whatever its format, and what is wrong with bad ones."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import orjson

from verifier_ladder.badrow import BadRow
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError

T = TypeVar("T")
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_MOST_COLUMNS = 16_384
LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a row, each text spelled out: room for a long candidate with its prompt and tokens. A
small compressed file may unpack to one without end."""
_LARGEST_PART = 256 * 1024**2
"""Bytes of rows that are held together."""
_LARGEST_GROUP = 4 * 1024**3
"""Bytes of a Parquet file's row group, which may be in memory at once."""
_BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)


class Record(NamedTuple):
    """One line of the file, read."""

    line: int
    """Counted from 1; in a Parquet file the number of the row, in a table where it begins."""
    values: Mapping[str, Any]


class RolloutFile:
    """A file of rollouts: JSON lines, CSV or TSV (plain or gzip), or Parquet.

    It may be read any number of times, one record after the other. Every cell of a CSV table is
    text; an empty one is null.
    """

    def __init__(
        self, path: str | Path, *, encoding: str | None = None, separator: str | None = None
    ) -> None:
        """Look at the file.

        Args:
            path: Where it is.
            encoding: That of a table; None for UTF-8, or UTF-16 if the file begins with its mark.
            separator: What stands between the cells of a .csv table instead of a comma.

        Raises:
            ConfigError: If it can't be read or is of another format.
        """
        self.path, self._encoding = Path(path), encoding
        try:
            with self.path.open("rb") as stream:
                head = stream.read(4)
        except OSError as error:
            raise ConfigError(f"can't read {self.path}: {error.strerror}") from None
        self.is_parquet = head == b"PAR1"
        self._is_gzip = head.startswith(_GZIP)
        if self.path.suffix.lower() == ".xlsx":
            raise ConfigError(f"{self.path} is a workbook; save it as CSV, JSON lines or Parquet")
        name = self.path.with_suffix("") if self._is_gzip else self.path
        self._separator = _SEPARATORS.get(name.suffix.lower())
        if self._separator == ",":
            self._separator = separator or ","
        elif encoding is not None and self._separator is None:
            raise ConfigError(f"{self.path} is no CSV table, so it has no encoding to choose")
        if self._separator is None and head.removeprefix(_BOM).lstrip().startswith(b"["):
            raise ConfigError(
                f"{self.path} is one JSON array; write one object per line, for example with "
                f"`jq -c '.[]' {self.path.name}`"
            )
        self._stamp = self._now()

    def _now(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns

    def digest(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal."""
        made = hashlib.sha256()
        with self.path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                made.update(block)
        return made.hexdigest()

    def records(self, once: Sequence[str] = ()) -> Iterator[Record | BadRow]:
        """Read the file from the start; blank lines are passed over.

        Args:
            once: Columns that a line must not give twice.

        Raises:
            ConfigError: If the file was changed since it was first looked at.
        """
        if self._now() != self._stamp:
            raise ConfigError(f"{self.path} was changed while it was read; start again")
        if self.is_parquet:
            yield from self._parquet()
        elif self._separator is not None:
            yield from self._table(self._separator)
        else:
            yield from self._lines(tuple(once))

    def _table(self, separator: str) -> Iterator[Record | BadRow]:
        csv.field_size_limit(LONGEST_LINE)
        with self._text() as stream:
            try:
                yield from self._cells(TableLines(stream), separator)
            except (csv.Error, OSError, UnicodeError, *_BROKEN_GZIP) as error:
                raise ConfigError(f"can't read {self.path} as a table: {error}") from None

    @contextmanager
    def _text(self) -> Iterator[io.TextIOWrapper]:
        opened: Any = gzip.open if self._is_gzip else open
        with opened(self.path, "rb") as unpacked:
            encoding = self._encoding
            if encoding is None:
                encoding = "utf-16" if self._begin(unpacked) in _WIDE_BOMS else "utf-8-sig"
            yield io.TextIOWrapper(
                unpacked, encoding=encoding, errors="surrogateescape", newline=""
            )

    def _begin(self, stream: BinaryIO) -> bytes:
        """The first two bytes; the stream still begins with them."""
        try:
            return stream.read(2)
        except _BROKEN_GZIP:
            return b""  # Whoever reads on is told.
        finally:
            stream.seek(0)

    def _cells(self, lines: TableLines, separator: str) -> Iterator[Record | BadRow]:
        """The rows of a table; a cell in quotes may go over many lines."""
        reader = csv.reader(lines, delimiter=separator, strict=True)
        names = self._names(reader)
        while True:
            lines.begin()
            try:
                cells = next(reader, None)
            except _TooLongError as error:
                yield BadRow(lines.first, f"{error}")
                continue
            if cells is None:
                return
            if not _is_text(cells):
                yield BadRow(lines.first, f"is not {self._encoding or 'UTF-8'}")
            elif len(cells) == len(names):
                filled = {n: cell or None for n, cell in zip(names, cells, strict=True)}
                yield Record(lines.first, filled)
            elif cells:
                count = f"{len(cells)} cells under {len(names)} column names"
                yield BadRow(lines.first, f"has {count}")

    def _names(self, reader: Any) -> list[str]:
        try:
            names: list[str] = next(reader, [])
        except _TooLongError as error:
            raise ConfigError(f"the first row of {self.path} {error}") from None
        if not _is_text(names):
            raise ConfigError(
                f"{self.path} is not in {self._encoding or 'UTF-8'}; save it as CSV UTF-8"
            )
        if len(names) > _MOST_COLUMNS:
            raise ConfigError(f"{self.path} has {len(names):,} columns; {_MOST_COLUMNS:,} may be")
        if (twice := given_twice(names)) is not None:
            raise ConfigError(f"{self.path} has two columns called {twice!r}")
        return names

    def _lines(self, once: tuple[str, ...]) -> Iterator[Record | BadRow]:
        marks = [orjson.dumps(name) for name in once]
        with self.path.open("rb") as raw:
            number = 0
            try:
                for number, line in enumerate(self._unpacked(raw), 1):
                    if line is None:
                        yield BadRow(number, f"{_TooLongError()}")
                        continue
                    text = line.removeprefix(_BOM) if number == 1 else line
                    if text.strip():
                        yield _record(number, text, marks)
            except _BROKEN_GZIP as error:
                yield BadRow(number + 1, f"the compressed data is broken from here on: {error}")

    def _unpacked(self, raw: BinaryIO) -> Iterator[bytes | None]:
        """The lines; None for one that is too long to be held."""
        stream: Any = gzip.GzipFile(fileobj=raw) if self._is_gzip else raw
        while line := stream.readline(LONGEST_LINE + 1):
            if len(line) <= LONGEST_LINE:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(_BLOCK)
            yield None

    def _parquet(self) -> Iterator[Record | BadRow]:
        parquet = import_parquet("read Parquet files")
        try:
            rows = _rows_of(parquet, self.path)
            for number, values in enumerate(rows, 1):
                if values is None:
                    yield BadRow(number, f"{_TooLongError()}")
                else:
                    yield Record(number, values)
        except (OSError, ValueError, MemoryError) as error:
            raise ConfigError(f"can't read {self.path} as Parquet: {error}") from None


def _rows_of(parquet: Any, path: Path) -> Iterator[dict[str, Any] | None]:
    """The rows of a Parquet file; None for one that is too long to be held.

    Text is spelled out only once its length is known: a file says a long one once, and names it
    in any number of rows.
    """
    with parquet.ParquetFile(path) as table:
        schema, leaves = table.schema_arrow, table.schema
        _check_groups(table.metadata)
    texts = [leaves.column(n) for n in range(len(leaves))]
    named = [leaf.path for leaf in texts if leaf.physical_type == "BYTE_ARRAY"]
    with parquet.ParquetFile(path, read_dictionary=named) as table:
        for batch in table.iter_batches(batch_size=1024):
            for part in _parts(batch):
                yield from [None] if part is None else part.cast(schema).to_pylist()


def _check_groups(metadata: Any) -> None:
    for number in range(metadata.num_row_groups):
        size = metadata.row_group(number).total_byte_size
        if size > _LARGEST_GROUP:
            raise ValueError(
                f"a row group unpacks to {size:,} bytes; write groups of fewer rows, such as "
                "row_group_size=10_000"
            )


def _parts(batch: Any) -> Iterator[Any]:
    """A batch in parts that may be held; None for a row that may not."""
    if sum(map(_weight, batch.columns)) <= LONGEST_LINE:
        yield batch
    elif batch.num_rows == 1:
        yield None
    else:
        half = batch.num_rows // 2
        for part in (range(half), range(half, batch.num_rows)):
            yield from _parts(batch.take(list(part)))  # A slice is cast with what lies beside it.


def _weight(cells: Any) -> int:
    """Bytes of an Arrow array with each text spelled out."""
    import pyarrow as pa
    from pyarrow import compute

    kind = cells.type
    if pa.types.is_dictionary(kind):
        if not pa.types.is_binary(kind.value_type) and not pa.types.is_string(kind.value_type):
            return int(cells.nbytes)
        lengths = compute.binary_length(cells.dictionary).take(cells.indices)
        return int(compute.sum(lengths).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(map(_weight, cells.flatten()))
    if pa.types.is_map(kind):
        first, last = cells.offsets[0].as_py(), cells.offsets[-1].as_py()
        return sum(_weight(part.slice(first, last - first)) for part in (cells.keys, cells.items))
    if pa.types.is_nested(kind):
        return _weight(cells.flatten())
    return int(cells.nbytes)


class _TooLongError(Exception):
    """A row that is not held."""

    def __str__(self) -> str:
        return f"is longer than {LONGEST_LINE:,} bytes"


class TableLines:
    """The lines of a table, for a reader of the csv module: of a row that is too long, no more."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        """Read nothing yet."""
        self._stream = stream
        self._number = self._size = 0
        self.first = 1
        """The line on which the row begins."""

    def begin(self) -> None:
        """A new row begins with the next line."""
        self.first, self._size = self._number + 1, 0

    def __iter__(self) -> TableLines:
        """Itself; one that has raised goes on."""
        return self

    def __next__(self) -> str:
        """The next line.

        Raises:
            _TooLongError: If the row is too long with it; the next line is the next row's.
        """
        line = self._stream.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        self._number += 1
        is_inside = self._number > self.first  # The reader wants more: a cell in quotes goes on.
        self._size += len(line) if line.isascii() else len(line.encode("utf-8", "surrogateescape"))
        if self._size > LONGEST_LINE:
            self._pass_over(line, is_inside=is_inside)
            raise _TooLongError
        return line

    def _pass_over(self, line: str, *, is_inside: bool) -> None:
        """Read to the end of the row; a line's end in quotes is none."""
        while line:
            is_inside ^= line.count('"') % 2 == 1
            is_end = line[-1] in "\r\n"
            if is_end and not is_inside:
                return
            line = self._stream.readline(_BLOCK)
            self._number += is_end and bool(line)


def given_twice(names: Iterable[str]) -> str | None:
    """The first name that is there again; None if each is there once.

    Example:
        >>> given_twice("abca")
        'a'
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _is_text(cells: Sequence[str]) -> bool:
    """Whether no byte stayed behind that the table's encoding can't read."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True


def in_parts(rows: Iterable[T], most: int) -> Iterator[list[T]]:
    """Rows in lists of at most so many, and of fewer where they are long.

    Example:
        >>> list(in_parts("abc", 2))
        [['a', 'b'], ['c']]
    """
    part: list[T] = []
    size = 0
    for row in rows:
        part.append(row)
        size += _size(row)
        if len(part) == most or size > _LARGEST_PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def _size(value: object) -> int:
    """About the bytes of a value and of all in it."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, Candidate):
        value = (value.content, value.task)
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, (list, tuple)) else 8


def import_parquet(purpose: str) -> Any:
    """Load pyarrow's Parquet module.

    Raises:
        ConfigError: If it is not installed; it names the extra.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ConfigError(
            f"pyarrow is needed to {purpose}: pip install '.[frames]' in a clone"
        ) from None
    return pyarrow.parquet


def _record(number: int, line: bytes, marks: list[bytes]) -> Record | BadRow:
    try:
        values = _parsed(line)
    except (ValueError, RecursionError) as error:
        return BadRow(number, f"not JSON: {error}")
    if not isinstance(values, dict):
        return BadRow(number, f"not a JSON object but {words(values)}")
    if any(line.count(mark) > 1 for mark in marks):
        twice = given_twice(name for name, _ in json.loads(line, object_pairs_hook=list))
        if twice is not None:
            return BadRow(number, f"the column {twice!r} is given twice")
    return Record(number, values)


def _parsed(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        # A lone surrogate, which tokenizers emit, is JSON to Python's parser and not to orjson.
        return json.loads(line, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


def words(value: object) -> str:
    """What a JSON value is, in words.

    Example:
        >>> words(None), words([1])
        ('null', 'a list')
    """
    if value is None:
        return "null"
    names = {bool: "a truth value", str: "text", list: "a list", dict: "an object"}
    number = "a number" if isinstance(value, (int, float)) else f"a {type(value).__name__}"
    return names.get(type(value), number)
