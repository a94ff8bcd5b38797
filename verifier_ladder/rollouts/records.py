"""Records: the lines of a rollout file, whatever its format, and what is wrong with bad ones."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from verifier_ladder.badrow import BadRow
from verifier_ladder.errors import ConfigError

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a line, or of a table's cell: room for a long candidate with its prompt and tokens. A
small compressed file may unpack to one line without end."""
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

    def __init__(self, path: str | Path) -> None:
        """Look at the file.

        Raises:
            ConfigError: If it can't be read or is of another format.
        """
        self.path = Path(path)
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
                yield from self._cells(
                    csv.reader(_short(stream), delimiter=separator, strict=True)
                )
            except (csv.Error, OSError, *_BROKEN_GZIP) as error:
                raise ConfigError(f"can't read {self.path} as a table: {error}") from None

    @contextmanager
    def _text(self) -> Iterator[io.TextIOWrapper]:
        opened: Any = gzip.open if self._is_gzip else open
        with opened(self.path, "rb") as unpacked:
            yield io.TextIOWrapper(
                unpacked, encoding="utf-8-sig", errors="surrogateescape", newline=""
            )

    def _cells(self, reader: Any) -> Iterator[Record | BadRow]:
        """The rows of a table; a cell in quotes may go over many lines."""
        names: list[str] = next(reader, [])
        if not _is_utf8(names):
            raise ConfigError(f"{self.path} is not in UTF-8; save it as CSV UTF-8")
        if twice := {name for name in names if names.count(name) > 1}:
            raise ConfigError(f"{self.path} has two columns called {min(twice)!r}")
        line = reader.line_num + 1
        for cells in reader:
            if not _is_utf8(cells):
                yield BadRow(line, "is not UTF-8")
            elif len(cells) == len(names):
                yield Record(line, {n: cell or None for n, cell in zip(names, cells, strict=True)})
            elif cells:
                count = f"{len(cells)} cells under {len(names)} column names"
                yield BadRow(line, f"has {count}")
            line = reader.line_num + 1

    def _lines(self, once: tuple[str, ...]) -> Iterator[Record | BadRow]:
        marks = [orjson.dumps(name) for name in once]
        with self.path.open("rb") as raw:
            number = 0
            try:
                for number, line in enumerate(self._unpacked(raw), 1):
                    if line is None:
                        yield BadRow(number, f"is longer than {LONGEST_LINE:,} bytes")
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
            with parquet.ParquetFile(self.path) as table:
                number = 0
                for batch in table.iter_batches(batch_size=1024):
                    for values in batch.to_pylist():
                        number += 1
                        yield Record(number, values)
        except (OSError, ValueError) as error:
            raise ConfigError(f"can't read {self.path} as Parquet: {error}") from None


def _short(stream: io.TextIOWrapper) -> Iterator[str]:
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise csv.Error(f"a line is longer than {LONGEST_LINE:,} characters")
        yield line


def _is_utf8(cells: Sequence[str]) -> bool:
    """Whether no byte stayed behind that UTF-8 can't read."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True


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
        names = [name for name, _ in json.loads(line, object_pairs_hook=list)]
        for name in names:
            if names.count(name) > 1:
                return BadRow(number, f"the column {name!r} is given twice")
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
