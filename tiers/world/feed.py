"""Feeds: where world verifiers read what has come to pass."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from importlib.resources import files
from math import inf, prod
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Final, NamedTuple

from verifier_ladder.arguments import shown_address
from verifier_ladder.asynchronous import wait_for
from verifier_ladder.case import moment, shown
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.httpservice import HttpService, UnreachableError, secrets_with
from verifier_ladder.text import decimal
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.world.case import WorldVerifier

LARGEST_FILE: Final = 64 * 1024 * 1024
"""Bytes of a table."""
_SERIES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
_AWAY = {
    HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}  # fmt: skip
"""What is answered for a service that is busy or away, whichever table is asked for."""


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


class Feed(ABC):
    """**Abstract:** series as tables with the columns time and value, in order.

    Times are seconds since 1970, or ISO 8601 with a zone. A value may be empty: nothing was told
    at that time, as when trading is halted. Three more columns may be there:

    - `published`: when the row was told. Rows are in this order then, and a row whose time was
      told before supersedes what it told. Without it rows are in the order of their times, and
      nothing is revised.
    - `vintage`: a name of the edition that the row belongs to; never empty.
    - `split`: how many units one unit became at that time; empty for one.
    """

    must_have: ClassVar[tuple[str, ...]] = ()
    """Columns that may not be left out."""
    _last: Series | None = None
    """What was read last: many cases are settled by one table."""

    @abstractmethod
    def _table(self, series: str) -> tuple[str, bytes]:
        """What messages call a table, and its bytes.

        Raises:
            ToolError: If it can't be read.
        """

    def read(self, series: str) -> Series:
        """A series as its table tells it now.

        Raises:
            ToolError: If it can't be read, or a row makes no sense.
        """
        name, data = self._table(series)
        digest = hashlib.sha256(data).hexdigest()
        if self._last is None or self._last.sha256 != digest:
            newest = {told.time: told for told in _rows(name, data, self.must_have)}
            self._last = Series([newest[time] for time in sorted(newest)], digest)
        return self._last


class FileFeed(Feed):
    """Series in the files of a folder: `NAME.csv`."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; files are read when they are asked for."""
        self.folder = folder

    def _table(self, series: str) -> tuple[str, bytes]:
        path = self.folder / f"{series}.csv"
        try:
            with path.open("rb") as stream:
                data = stream.read(LARGEST_FILE + 1)
        except OSError as error:
            raise ToolError(f"the feed {path} can't be read: {error.strerror}") from None
        if len(data) > LARGEST_FILE:
            raise ToolError(f"the feed {path} has more than {LARGEST_FILE} bytes; cut it")
        return str(path), data


class HttpFeed(Feed):
    """Series that a service gives: `ADDRESS/NAME.csv`.

    Each row must say when it was published and in which vintage, for nobody here has seen it come.
    A table that was got a second ago is not asked for again.
    """

    must_have = ("published", "vintage")
    FRESH = 1.0
    """Seconds for which a table is not asked for again."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        """Name the service; it is asked when a series is.

        Raises:
            ConfigError: If the address is not HTTP, holds a secret or a query, or a header is no
                plain text.
        """
        # A case is asked about again anyhow: all of this takes less than its verifier may.
        self.service = HttpService(url.rstrip("/"), headers=headers, timeout=8.0, retries=1)
        if set("?#") & set(url):
            raise ConfigError(
                f"url={shown_address(url)!r}: tables are at ADDRESS/NAME.csv, so the address of a "
                "feed ends before a ? or #; what else the service must be told belongs in headers"
            )
        self._got: dict[str, tuple[float, bytes]] = {}

    def _table(self, series: str) -> tuple[str, bytes]:
        name, (at, data) = f"{self.service.url}/{series}.csv", self._got.get(series, (-inf, b""))
        if monotonic() - at > self.FRESH:
            reply = wait_for(self.service.get(f"/{series}.csv"))
            if reply.status != HTTPStatus.OK:
                kind = UnreachableError if reply.status in _AWAY else ToolError
                raise kind(f"the feed {name} answered with status {reply.status}")
            data = reply.body
            self._got = {series: (monotonic(), data)}
        return name, data

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what was got: another machine's seconds are not this one's."""
        return {**vars(self), "_got": {}}


class FedVerifier(WorldVerifier):
    """**Abstract:** settles by a feed of series, in files or over HTTP."""

    def fed_by(self, folder: str, url: str, headers: Mapping[str, str] | None) -> dict[str, str]:
        """Take the feed that its settings name, and what that needs; gives those that count.

        Raises:
            ConfigError: If there can be no such feed, or a header is a secret that is written out.
        """
        self.feed = feed_of(folder, url, headers)
        self.network = bool(url)
        self.secrets = secrets_with(self, headers)
        return {"url": url} if url else {"folder": folder}


def feed_of(folder: str, url: str, headers: Mapping[str, str] | None) -> Feed:
    """The feed that a verifier's settings name; without any, the examples of the package.

    Raises:
        ConfigError: If they name two, or give headers for files.
    """
    if folder and url:
        shown_url = shown_address(url)
        raise ConfigError(f"folder={folder!r}, url={shown_url!r}: give one place of the tables")
    if url:
        return HttpFeed(url, headers)
    if headers:
        raise ConfigError("headers are for a feed over HTTP: give url too, or leave them out")
    return FileFeed(Path(folder or str(files("verifier_ladder.tiers.world"))))


def _rows(name: str, data: bytes, must_have: Sequence[str]) -> Iterator[Told]:
    """The rows of a table, one by one.

    Raises:
        ToolError: If a row makes no sense, comes before the one above it, or lacks a column.
    """
    text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
    reader = csv.DictReader(text, strict=True)
    last = None
    try:
        for row in reader:
            last = _told(row, last, must_have)
            yield last
    except (ConfigError, csv.Error) as error:
        raise ToolError(f"the feed {name}, line {reader.line_num}: {error}") from None


def _told(row: dict[str, Any], last: Told | None, must_have: Sequence[str]) -> Told:
    must_say = [*must_have, *(["vintage"] if "vintage" in row else [])]
    if lacking := [each for each in dict.fromkeys(must_say) if not (row.get(each) or "").strip()]:
        raise ConfigError(f"it must say {' and '.join(lacking)}")
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
    return Told(at, told, published, row.get("vintage", "").strip(), _split(row.get("split")))


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
