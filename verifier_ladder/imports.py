"""Imports: old verdicts on their way into a ledger, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from verifier_ladder.badrow import BadRow
from verifier_ladder.candidate import Candidate
from verifier_ladder.text import printable
from verifier_ladder.verdict import Verdict

MOST_BAD_ROWS = 10
"""How many bad rows the summary names; `bad_rows` holds all."""


class ImportRow(NamedTuple):
    """One candidate with what verifiers have said of it before."""

    line: int
    """Counted from 1; where there are no lines, the number of the row."""
    candidate: Candidate
    verdicts: Mapping[str, Verdict]
    """By the verifier's name; those that were not asked are left out."""
    repeat: int = 0
    """How many earlier rows are about the same candidate: its place among replicates."""


@dataclass(slots=True)
class ImportReport:
    """What became of imported rows.

    Example:
        >>> (ImportReport(rows=2, verdicts=3) + ImportReport(rows=1)).rows
        3
    """

    rows: int = 0
    """Rows that were read, bad ones too."""
    verdicts: int = 0
    """Verdicts that the ledger did not hold before."""
    known: int = 0
    """Verdicts that it held already."""
    answered: int = 0
    """Of the new verdicts, those that a queued check or an open case had waited for."""
    taught: int = 0
    """Answers of the top tier that beliefs learnt from here; those that had been waited for are
    learnt as the rewards are revised."""
    bad_rows: list[BadRow] = field(default_factory=list)
    """Rows that were skipped whole, and why."""

    def __add__(self, other: ImportReport) -> ImportReport:
        """What became of both."""
        names = [f.name for f in fields(self)]
        return ImportReport(*(getattr(self, name) + getattr(other, name) for name in names))

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "bad_rows"}
        return {**numbers, "bad_rows": [row._asdict() for row in self.bad_rows]}

    def summary(self) -> str:
        """The report in words."""
        lines = [
            f"{self.rows:,} rows read, {len(self.bad_rows):,} of them bad",
            f"{self.verdicts:,} verdicts are new, {self.known:,} were known",
            f"{self.taught:,} answers of the top tier were learnt from",
        ]
        if self.answered:
            lines.insert(2, f"{self.answered:,} of the new ones had been waited for")
        shown = self.bad_rows[:MOST_BAD_ROWS]
        lines += [f"  line {row.line}: {printable(row.reason, 160)}" for row in shown]
        if len(shown) < len(self.bad_rows):
            lines.append(f"  … and {len(self.bad_rows) - len(shown):,} more bad rows")
        return "\n".join(lines)
