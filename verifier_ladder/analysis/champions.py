"""Champions: candidates of each run that the top tier has scored, so that its best is found."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

SCHEMA: Final = """
CREATE TABLE champion (
    run INTEGER NOT NULL, candidate INTEGER NOT NULL, truth REAL NOT NULL,
    PRIMARY KEY (run, candidate)
) WITHOUT ROWID;
CREATE INDEX champion_truth ON champion (run, truth);
"""


def note(connection: sqlite3.Connection, truths: Sequence[tuple[int, int, float | None]]) -> None:
    """Replace what the top tier says of candidates, in the runs that have samples of them.

    Args:
        connection: Of the index, inside a transaction that writes.
        truths: Number of a run, of a candidate, and its truth: what is larger is better; None
            where it has no score, or is rejected.
    """
    connection.executemany(
        "DELETE FROM champion WHERE run = ? AND candidate = ?",
        [(run, candidate) for run, candidate, truth in truths if truth is None],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO champion VALUES (?, ?, ?)",
        [each for each in truths if each[2] is not None],
    )
