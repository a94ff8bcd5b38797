"""Feeds: where world verifiers read what has come to pass."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from verifier_ladder.case import moment
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.text import decimal

LARGEST_FILE: Final = 64 * 1024 * 1024
"""Bytes of a table."""


class Told(NamedTuple):
    """A value of a series."""

    time: float
    """Seconds since 1970."""
    value: float | None
    """None where nothing was measured or traded."""


class FileFeed:
    """Series in the files of a folder: `NAME.csv` with the columns time and value, in order.

    Times are seconds since 1970, or ISO 8601 with a zone. A value may be empty: nothing was told
    at that time.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder; files are read when they are asked for."""
        self.folder = folder

    def first(self, series: str, time: float) -> tuple[Told | None, str]:
        """The first row of a series at a time or later, and the digest of the whole file.

        Raises:
            ToolError: If the file can't be read, or a row up to there makes no sense.
        """
        path = self.folder / f"{series}.csv"
        try:
            with path.open("rb") as stream:
                data = stream.read(LARGEST_FILE + 1)
        except OSError as error:
            raise ToolError(f"the feed {path} can't be read: {error.strerror}") from None
        if len(data) > LARGEST_FILE:
            raise ToolError(f"the feed {path} has more than {LARGEST_FILE} bytes; cut it")
        found = next((told for told in _rows(path, data) if told.time >= time), None)
        return found, hashlib.sha256(data).hexdigest()


def _rows(path: Path, data: bytes) -> Iterator[Told]:
    """The rows of a table, one by one.

    Raises:
        ToolError: If a row makes no sense, or comes before the one above it.
    """
    text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
    reader = csv.DictReader(text, strict=True)
    last = float("-inf")
    try:
        for row in reader:
            told = _told(row, last)
            last = told.time
            yield told
    except (ConfigError, csv.Error) as error:
        raise ToolError(f"the feed {path}, line {reader.line_num}: {error}") from None


def _told(row: dict[str, Any], last: float) -> Told:
    time, value = row.get("time"), row.get("value")
    if not isinstance(time, str) or not isinstance(value, str):
        raise ConfigError("it needs the columns time and value")
    seconds = decimal(time)
    at = moment(time if seconds is None else seconds)
    if at <= last:
        raise ConfigError("its time is not later than that of the row above")
    if not value.strip():
        return Told(at, None)
    if (read := decimal(value)) is None:
        raise ConfigError(f"{value[:60]!r} is no number with digits and a point")
    return Told(at, read)
