"""Verdict files: old verdicts in a table, one candidate a row."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, TextIO

from verifier_ladder.badrow import BadRow
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.records import Record, RolloutFile

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


class VerdictFile(RolloutFile):
    """A file of old verdicts: JSON lines or CSV, plain or gzip, or Parquet.

    Every cell of a CSV table is text; an empty one is null.
    """

    refused: ClassVar = frozenset({".xlsx"})

    def _lines(self, once: tuple[str, ...]) -> Iterator[Record | BadRow]:
        separator = _SEPARATORS.get(self.path.with_suffix("").suffix if self._is_gzip
                                    else self.path.suffix)  # fmt: skip
        if separator is None:
            yield from super()._lines(once)
            return
        with self._text() as stream:
            try:
                yield from self._cells(stream, separator)
            except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
                raise ConfigError(f"can't read {self.path} as a table: {error}") from None

    @contextmanager
    def _text(self) -> Iterator[TextIO]:
        opened = gzip.open if self._is_gzip else open
        with opened(self.path, "rb") as raw:
            yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")

    def _cells(self, stream: TextIO, separator: str) -> Iterator[Record | BadRow]:
        reader = csv.reader(stream, delimiter=separator, strict=True)
        names = next(reader, [])
        if twice := {name for name in names if names.count(name) > 1}:
            raise ConfigError(f"{self.path} has two columns called {min(twice)!r}")
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) == len(names):
                yield Record(line, {n: cell or None for n, cell in zip(names, cells, strict=True)})
            elif cells:
                count = f"{len(cells)} cells under {len(names)} column names"
                yield BadRow(line, f"has {count}")
            line = reader.line_num + 1
