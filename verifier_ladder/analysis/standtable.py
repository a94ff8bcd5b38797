"""The table of stands in an index: what each tier says of each candidate."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

SCHEMA: Final = """
CREATE TABLE stand (
    candidate INTEGER NOT NULL, tier INTEGER NOT NULL, stand INTEGER NOT NULL,
    campaign INTEGER NOT NULL, PRIMARY KEY (candidate, tier)
) WITHOUT ROWID;
CREATE INDEX stand_of ON stand (campaign, tier, stand);
"""
COLLECTED: Final = (
    "c.id IN (SELECT candidate FROM stand WHERE campaign = ? AND tier = ? AND stand = ?)"
)
"""Condition of a list where few fit: they are collected."""
LOOKED_UP: Final = (
    "EXISTS (SELECT 1 FROM stand s WHERE s.candidate = c.id AND s.campaign = ? AND s.tier = ? "
    "AND s.stand = ?)"
)
"""The same where many fit: each that comes is looked up. Both take campaign, tier and stand."""


def note(
    connection: sqlite3.Connection, campaign: int, stands: Iterable[tuple[int, int, int]]
) -> None:
    """Keep what each tier says of candidates.

    Args:
        connection: Of the index, inside a transaction that writes.
        campaign: Number of the campaign.
        stands: Number of a candidate, a tier that has spoken of it, and its `Stand`; none ever
            falls silent.
    """
    connection.executemany(
        "INSERT OR REPLACE INTO stand VALUES (?, ?, ?, ?)",
        [(candidate, tier, int(stand), campaign) for candidate, tier, stand in stands],
    )
