"""Feeds: where world verifiers read what has come to pass."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple

from verifier_ladder.case import moment, shown
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.text import decimal
from verifier_ladder.tiers.tasks import TaskError

LARGEST_FILE: Final = 64 * 1024 * 1024
"""Bytes of a table."""
_SERIES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")


class Told(NamedTuple):
    """What a series is at one time, as it was told last."""

    time: float
    """Seconds since 1970."""
    value: float | None
    """None where nothing was measured or traded."""
    published: float
    """When it was told; the time itself where the table does not say."""
    vintage: str = ""
    """Which edition it is; "" where the table does not say."""
    split: float = 1.0
    """How many units one unit became at this time."""

    def as_json(self) -> dict[str, Any]:
        """What is evidence of it, with times as ISO 8601 writes them."""
        return {
            "time": shown(self.time), "value": self.value, "published": shown(self.published),
            "vintage": self.vintage,
        }  # fmt: skip


class Series(NamedTuple):
    """A series as its table tells it, later rows superseding earlier ones of the same time."""

    rows: Sequence[Told]
    """In the order of their times."""
    sha256: str
    """Digest of the whole table."""

    def first(self, time: float) -> Told | None:
        """The first row at a time or later."""
        return next((told for told in self.rows if told.time >= time), None)

    def split(self, after: float, until: float) -> float:
        """How many units one unit became after one time, up to and with another."""
        return prod(told.split for told in self.rows if after < told.time <= until)


class FileFeed:
    """Series in the files of a folder: `NAME.csv` with the columns time and value, in order.

    Times are seconds since 1970, or ISO 8601 with a zone. A value may be empty: nothing was told
    at that time, as when trading is halted. Three more columns may be there:

    - `published`: when the row was told. Rows are in this order then, and a row whose time was
      told before supersedes what it told. Without it rows are in the order of their times, and
      nothing is revised.
    - `vintage`: a name of the edition that the row belongs to.
    - `split`: how many units one unit became at that time; empty for one.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder; files are read when they are asked for."""
        self.folder = folder
        self._last: Series | None = None
        """What was read last: many cases are settled by one table."""

    def read(self, series: str) -> Series:
        """A series as its table tells it now.

        Raises:
            ToolError: If the file can't be read, or a row makes no sense.
        """
        path = self.folder / f"{series}.csv"
        try:
            with path.open("rb") as stream:
                data = stream.read(LARGEST_FILE + 1)
        except OSError as error:
            raise ToolError(f"the feed {path} can't be read: {error.strerror}") from None
        if len(data) > LARGEST_FILE:
            raise ToolError(f"the feed {path} has more than {LARGEST_FILE} bytes; cut it")
        digest = hashlib.sha256(data).hexdigest()
        if self._last is None or self._last.sha256 != digest:
            newest = {told.time: told for told in _rows(path, data)}
            self._last = Series([newest[time] for time in sorted(newest)], digest)
        return self._last


def _rows(path: Path, data: bytes) -> Iterator[Told]:
    """The rows of a table, one by one.

    Raises:
        ToolError: If a row makes no sense, or comes before the one above it.
    """
    text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
    reader = csv.DictReader(text, strict=True)
    last = None
    try:
        for row in reader:
            last = _told(row, last)
            yield last
    except (ConfigError, csv.Error) as error:
        raise ToolError(f"the feed {path}, line {reader.line_num}: {error}") from None


def _told(row: dict[str, Any], last: Told | None) -> Told:
    time, value = row.get("time"), row.get("value")
    if not isinstance(time, str) or not isinstance(value, str):
        raise ConfigError("it needs the columns time and value")
    at = _moment(time)
    published = _moment(row["published"] or "") if "published" in row else at
    if published < at:
        raise ConfigError("it was published before its time")
    if last is not None and published < last.published:
        raise ConfigError("it comes before the row above")
    if last is not None and at == last.time and "published" not in row:
        raise ConfigError("it has the time of the row above; revisions need a column published")
    told = _number(value) if value.strip() else None
    return Told(at, told, published, (row.get("vintage") or "").strip(), _split(row.get("split")))


def _moment(text: str) -> float:
    seconds = decimal(text)
    return moment(text if seconds is None else seconds)


def _number(text: str) -> float:
    if (read := decimal(text)) is None:
        raise ConfigError(f"{text[:60]!r} is no number with digits and a point")
    return read


def _split(text: str | None) -> float:
    split = _number(text) if text and text.strip() else 1.0
    if not split > 0:
        raise ConfigError(f"the split {split:g} is not above zero")
    return split


def series_of(task: Mapping[str, Any] | None) -> str:
    """The series that a task names.

    Raises:
        TaskError: If it names none.
    """
    name = (task or {}).get("series")
    if not isinstance(name, str) or not _SERIES.fullmatch(name):
        raise TaskError(
            f"the task's series {name!r:.60} is no name: letters, digits and _.- that begin with "
            "no point"
        )
    return name
