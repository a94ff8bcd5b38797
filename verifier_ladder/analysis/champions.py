"""Champions: candidates of each run that the top tier has scored, so that its best is found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

SCHEMA: Final = """
CREATE TABLE champion (
    run INTEGER NOT NULL, candidate INTEGER NOT NULL, truth REAL NOT NULL,
    PRIMARY KEY (run, candidate)
) WITHOUT ROWID;
CREATE INDEX champion_truth ON champion (run, truth);
"""


def note(
    connection: sqlite3.Connection, runs: Iterable[int], candidate: int, truth: float | None
) -> None:
    """Replace what the top tier says of a candidate, in the runs that have samples of it.

    Args:
        connection: Of the index, inside a transaction that writes.
        runs: Numbers of the runs.
        candidate: Number of the candidate.
        truth: What is larger is better; None where it has no score, or is rejected.
    """
    for run in runs:
        if truth is None:
            connection.execute(
                "DELETE FROM champion WHERE run = ? AND candidate = ?", (run, candidate)
            )
        else:
            connection.execute(
                "INSERT OR REPLACE INTO champion VALUES (?, ?, ?)", (run, candidate, truth)
            )
