"""Imported rows: a table of old scores, read as candidates with verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from verifier_ladder.badrow import BadRow
from verifier_ladder.candidate import Candidate
from verifier_ladder.containment import text_of
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.imports import ImportRow
from verifier_ladder.keys import canonical_json, task_digest
from verifier_ladder.ladder import Ladder
from verifier_ladder.rollouts.records import Record, RolloutFile, in_parts, words
from verifier_ladder.rollouts.rows import RowError
from verifier_ladder.scheduler.engines.wire import told
from verifier_ladder.text import decimal
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

CONTENT, TASK = "content", "task"
_CHUNK = 1024
_TRUTHS = {"true": True, "false": False}
Rows = Iterable[Mapping[str, Any]] | str | Path
"""Rows as users hand them over; a table of pandas, polars or Arrow is one of them too."""


class ImportColumns(NamedTuple):
    """Where to find what in a row."""

    content: str
    task: str | None
    scores: Mapping[str, str]
    """Column of each verifier that has one, by the verifier's name."""


class ImportTable:
    """Old scores under a ladder: one candidate a row, one column per verifier.

    The columns are settled before the first row is given, so that a mistake in them is told
    before anything is imported.
    """

    def __init__(
        self,
        given: Rows | object,
        ladder: Ladder,
        *,
        columns: Mapping[str, str] | None = None,
        ignore: Collection[str] = (),
    ) -> None:
        """Look at all rows.

        Args:
            given: Rows by name, a table of pandas, polars or Arrow, or a file.
            ladder: Whose verifiers have scored them.
            columns: Column of `content`, of `task`, or of a verifier, where it has another name.
            ignore: Columns that are nothing of all this.

        Raises:
            ConfigError: If the rows can't be read, or a column is missing or unknown.
        """
        self._ladder = ladder
        self._records = _records(given)
        names = dict.fromkeys(
            name for record in self._all() if isinstance(record, Record) for name in record.values
        )
        skipped = {ignore} if isinstance(ignore, str) else set(ignore)
        self.columns = _columns(ladder, [n for n in names if n not in skipped], columns or {})

    def _all(self) -> Iterable[Record | BadRow]:
        records = self._records
        return records.records() if isinstance(records, RolloutFile) else records

    def rows(self) -> Iterator[ImportRow | BadRow]:
        """Read every row; a bad one is told by its line and what is wrong with it."""
        counts: Counter[tuple[Any, ...]] = Counter()
        for record in self._all():
            row = record if isinstance(record, BadRow) else self._row(record)
            if isinstance(row, ImportRow) and self._is_repeated:
                key = (row.candidate.content, task_digest(row.candidate.task or {}))
                row = row._replace(repeat=counts[key])
                counts[key] += 1
            yield row

    def chunks(self) -> Iterator[tuple[list[ImportRow], list[BadRow]]]:
        """The rows in parts of a size that one entry of the ledger may have; good and bad."""
        for part in in_parts(self.rows(), _CHUNK):
            yield (
                [row for row in part if isinstance(row, ImportRow)],
                [row for row in part if isinstance(row, BadRow)],
            )

    def _row(self, record: Record) -> ImportRow | BadRow:
        try:
            candidate = self._candidate(record.values)
            verdicts = {
                name: verdict for name, column in self.columns.scores.items()
                if (verdict := self._verdict(name, record.values.get(column), candidate))
            }  # fmt: skip
        except (RowError, ConfigError) as error:
            return BadRow(record.line, str(error))
        return ImportRow(record.line, candidate, verdicts)

    @cached_property
    def _is_repeated(self) -> bool:
        """Whether several rows about one candidate are replicates."""
        return any(verifier.replicates > 1 for verifier in self._ladder.verifiers)

    def _candidate(self, values: Mapping[str, Any]) -> Candidate:
        content = values.get(self.columns.content)
        if not isinstance(content, (str, bytes)):
            column = self.columns.content
            raise RowError(f"column {column!r} holds {words(content)}, not a candidate")
        task = values.get(self.columns.task) if self.columns.task else None
        if isinstance(task, str):
            task = _task_of(task)
        if task is not None:
            canonical_json(task)
        return Candidate(self._ladder.kind, content, task or None)

    def _verdict(self, name: str, cell: Any, candidate: Candidate) -> Verdict | None:
        """What a verifier has said; None if it was not asked."""
        try:
            value = _value_of(cell)
            if value is None:
                return None
            verdict = told(self._verifiers[name], candidate, value)
        except (VerifierError, RowError) as error:
            raise RowError(f"{name}: {error}") from error
        except Exception as error:  # A verifier's own reading of answers may raise anything.
            raise RowError(f"{name}: {text_of(error)}") from error
        if not verdict.is_answer:
            raise RowError(f"{name}: a failure is no answer; leave the cell empty")
        return verdict

    @cached_property
    def _verifiers(self) -> dict[str, Verifier]:
        return {verifier.name: verifier for verifier in self._ladder.verifiers}


def _records(given: Any) -> RolloutFile | list[Record | BadRow]:
    """Whatever was handed over, as rows by name that can be read twice."""
    if isinstance(given, (str, Path)):
        return RolloutFile(given)
    if hasattr(given, "to_pylist"):
        given = given.to_pylist()
    elif hasattr(given, "to_dicts"):
        given = given.to_dicts()
    elif hasattr(given, "to_dict"):
        given = given.to_dict("records")
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise ConfigError(
            f"import_verdicts takes rows by name, a table or a file, not a {type(given).__name__}"
        )
    return [
        Record(line, row) if isinstance(row, Mapping)
        else BadRow(line, f"not a row by name but {words(row)}")
        for line, row in enumerate(given, 1)
    ]  # fmt: skip


def _columns(ladder: Ladder, there: Sequence[str], wanted: Mapping[str, str]) -> ImportColumns:
    """Settle which column is what."""
    verifiers = [verifier.name for verifier in ladder.verifiers]
    parts = (CONTENT, TASK, *verifiers)
    for part, column in wanted.items():
        if part not in parts:
            raise ConfigError(f"columns has no part {part!r}; it has {_listed(parts)}")
        if column not in there:
            raise ConfigError(f"no column is called {column!r}; there are {_listed(there)}")
    taken = set(wanted.values())
    found = {part: part for part in parts if part in there and part not in taken} | dict(wanted)
    if unknown := [name for name in there if name not in found.values()]:
        raise ConfigError(
            f"no verifier of the ladder is called {_listed(unknown)}; it has "
            f"{_listed(verifiers)}. Name the column in columns={{…}}, or leave it out with "
            "ignore=[…]"
        )
    scores = {name: found[name] for name in verifiers if name in found}
    if CONTENT not in found or not scores:
        needed = "the candidates" if CONTENT not in found else "a verifier's scores"
        raise ConfigError(
            f"no column holds {needed}; there are {_listed(there)}. Columns are called 'content' "
            f"and as the ladder's verifiers are ({_listed(verifiers)}), or named in columns={{…}}"
        )
    return ImportColumns(found[CONTENT], found.get(TASK), scores)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _task_of(text: str) -> Any:
    """A task that a table holds as text."""
    try:
        return orjson.loads(text)
    except ValueError as error:
        raise RowError(f"its task is not JSON: {error}") from None


def _value_of(cell: Any) -> Any:
    """A number, a truth value or a verdict; None for a cell without any."""
    if isinstance(cell, str):
        text = cell.strip().lower()
        if not text or text in _TRUTHS:
            return _TRUTHS.get(text)
        cell = _number(cell)
    is_missing = type(cell).__name__ == "NAType" or (isinstance(cell, float) and isnan(cell))
    return None if is_missing else cell


def _number(text: str) -> float:
    if text == "nan":  # How tables without a value write that there is none.
        return float(text)
    found = decimal(text)
    if found is None:
        raise RowError(
            f"{text[:60]!r} is neither a number nor true or false; write a "
            "finite number, with digits and a point"
        )
    return found
