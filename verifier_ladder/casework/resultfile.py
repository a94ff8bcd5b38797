"""Files of results: the rows of a stranger's file, read in a process that may be killed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from verifier_ladder.badrow import BadRow
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.records import (
    LONGEST_LINE,
    Record,
    RolloutFile,
    given_twice,
    in_parts,
    words,
)
from verifier_ladder.rollouts.workbook import sheet_rows
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from verifier_ladder.scheduler.engines.pool import WorkerPool

_MOST_ROWS, _MOST_NAMED = 100_000, 100
_LARGEST: Final = 2**28
"""Bytes of the rows of a file, as its reader writes them down."""
_SECONDS = 60.0
"""Processor time for one file, all attempts together."""
_MEMORY: Final = 2**30
_PASSING = frozenset({"oom", "start", "starved", "stuck"})
"""Causes of failures that are the machine's."""
_BOM = b"\xef\xbb\xbf"


class Written(NamedTuple):
    """How a results file is written, so far as the file itself does not tell."""

    encoding: str | None = None
    """That of a table; None for UTF-8, or UTF-16 if the file begins with its mark."""
    decimal_comma: bool = False
    """Whether numbers have a decimal comma; cells of a .csv are then parted by semicolons."""
    sheet: str | None = None
    """That of a workbook; None for its only one."""


def read_rows(
    path: Path, written: Written, columns: Sequence[str], needed: Sequence[str]
) -> list[Record | BadRow]:
    """Read the rows of a file, in a process with limits of time and memory.

    A reader that hangs, crashes or needs too much is stopped, and its file refused.

    Args:
        path: CSV or TSV, JSON lines or a JSON array, .xlsx; also gzip and Parquet.
        written: How the file is written.
        columns: Those to read.
        needed: Those without which the file is refused, if it has a row.

    Raises:
        ConfigError: If it can't be read, is too large, or lacks a column; it says what to do.
    """
    if path.exists() and not path.is_file():
        raise ConfigError(f"can't read {path}: it is no file")
    with TemporaryDirectory(prefix="verifier-ladder-rows-") as folder:
        into = Path(folder, "rows")
        asked = [str(path.absolute()), str(path), written, columns, needed, str(into)]
        verdict = _asked(Candidate(_READER.kind, json.dumps(asked)))
        if verdict.outcome is not Outcome.ACCEPT:
            raise ConfigError(_why(path, verdict))
        try:
            return list(_told(into))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise ConfigError(f"{path} can't be read: its reader was disturbed: {error}") from None


class _Limit:
    """What reading a file may take; nothing is added to it."""

    def __init__(self) -> None:
        self.seconds = _SECONDS

    def extend(self) -> bool:
        return False


def _asked(candidate: Candidate) -> Verdict:
    (verdict,) = _pool().verify(_READER, [candidate], limit=_Limit()).result().verdicts
    return verdict


@cache
def _pool() -> WorkerPool:
    """The process for all files, which are read one after the other."""
    from verifier_ladder.scheduler.engines.pool import WorkerPool

    return WorkerPool(1, name="results")


def _why(path: Path, verdict: Verdict) -> str:
    """Why a file can't be read, and what to do."""
    cause = verdict.evidence.get("cause")
    if verdict.outcome is Outcome.REJECT and cause is None:
        return verdict.reason
    if cause in _PASSING:
        return f"{path} could not be read now: {verdict.reason}; hand it in again"
    return (
        f"{path} can't be read within {_SECONDS:g} s of processor time and "
        f"{_READER.memory / 2**20:,.0f} MiB of memory ({verdict.reason}). Save the columns of the "
        "work order, and no others, as CSV UTF-8, or hand them in as several files"
    )


def _told(into: Path) -> Iterator[Record | BadRow]:
    """The rows that a reader has written down; each is believed as little as its file."""
    if into.stat().st_size > _LARGEST:
        raise ValueError("it has written too much")
    with into.open(encoding="ascii") as lines:
        for text in lines:
            line, told = json.loads(text)
            if type(line) is not int or type(told) not in {str, dict}:
                raise ValueError("it has written what is no row")
            yield BadRow(line, told) if isinstance(told, str) else Record(line, told)


# ---- In that process


class ResultFileReading(SingleVerifier):
    """Reads the rows of a file, and writes them down; the candidate says which, and where."""

    name, version, kind = "results-reading", "1", "results file"
    timeout = 2 * _SECONDS
    memory: int = _MEMORY
    batch_size = 1

    def examine(self, candidate: Candidate) -> Verdict:
        """Read one file; a file that can't be read is rejected with what is wrong."""
        place, shown, written, columns, needed, into = json.loads(candidate.content)
        path = Path(place)
        try:
            rows = _columns(path, _records(path, Written(*written), columns), columns, needed)
            _write_down(path, rows, Path(into))
        except ConfigError as error:
            return Verdict.reject(str(error).replace(place, shown))
        return Verdict.accept()


_READER: Final = ResultFileReading()


def _write_down(path: Path, rows: Iterable[Record | BadRow], into: Path) -> None:
    parts = in_parts(rows, _MOST_ROWS)
    size = 0
    with into.open("w", encoding="ascii") as stream:
        for row in next(parts, []):
            told = row.reason if isinstance(row, BadRow) else row.values
            # A Parquet file may hold what JSON has no form for: its text is what is looked at.
            text = json.dumps([row.line, told], default=str)
            size += stream.write(f"{text}\n")
            if size > _LARGEST:
                break
    if size > _LARGEST or next(parts, None) is not None:
        raise ConfigError(
            f"{path} is too large: {_MOST_ROWS:,} rows are read at once, and fewer where they are "
            "long. Hand it in as several files"
        )


def _records(path: Path, written: Written, columns: Sequence[str]) -> Iterable[Record | BadRow]:
    if path.suffix.lower() == ".xlsx":
        return sheet_rows(path, written.sheet, columns)
    if written.sheet is not None:
        raise ConfigError(f"{path} is no .xlsx workbook, so it has no sheet {written.sheet!r:.60}")
    if path.suffix.lower() == ".json":
        try:
            is_held = path.stat().st_size <= LONGEST_LINE
            text = path.read_bytes() if is_held else b""
        except OSError as error:
            raise ConfigError(f"can't read {path}: {error.strerror}") from None
        if text.removeprefix(_BOM).lstrip().startswith(b"["):
            return _array(path, text)
    separator = ";" if written.decimal_comma else ","
    file = RolloutFile(path, encoding=written.encoding, separator=separator)
    return file.records(once=columns)


def _array(path: Path, text: bytes) -> Iterator[Record | BadRow]:
    """The objects of one JSON array, counted from 1."""
    try:
        rows = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            yield Record(number, row)
        else:
            yield BadRow(number, f"not a JSON object but {words(row)}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if (twice := given_twice(name for name, _ in pairs)) is not None:
        raise ValueError(f"an object gives {twice!r:.60} twice")
    return dict(pairs)


def _columns(
    path: Path, rows: Iterable[Record | BadRow], columns: Sequence[str], needed: Sequence[str]
) -> Iterator[Record | BadRow]:
    """The rows with the columns that are looked at: of wide ones, little is held.

    Raises:
        ConfigError: If there are rows, and a column that is needed is in none.
    """
    found, others, is_any = set[str](), dict[str, None](), False
    for row in rows:
        if isinstance(row, Record):
            is_any = True
            found.update(name for name in needed if name in row.values)
            if len(others) < _MOST_NAMED:
                others.update(dict.fromkeys(islice(row.values, _MOST_NAMED)))
            values = {name: row.values[name] for name in columns if name in row.values}
            yield Record(row.line, values)
        else:
            yield row
    for name in needed:
        if is_any and name not in found:
            there = ", ".join(map(repr, others))
            raise ConfigError(
                f"{path} has no column {name!r}; it has {there:.300}. Fill in the work order of "
                "`vladder case out`, as CSV with commas (with semicolons where you say "
                "--decimal-comma) or as JSON"
            )
