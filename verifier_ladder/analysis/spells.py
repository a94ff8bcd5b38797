"""Spells: when the tiers of a campaign were at work, and how long their answers were waited for.

The index keeps the spells that don't touch, one row each, and of latencies how many checks had
each; so a page reads some hundred rows, whatever the number of checks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from verifier_ladder.summary.times import Latency, Times

if TYPE_CHECKING:
    from verifier_ladder.analysis.candidates import CandidateIndex

SCHEMA: Final = """
CREATE TABLE spell (
    campaign INTEGER NOT NULL, tier INTEGER NOT NULL, begun REAL NOT NULL, ended REAL NOT NULL,
    PRIMARY KEY (campaign, tier, begun)
) WITHOUT ROWID;
CREATE TABLE latency (
    campaign INTEGER NOT NULL, tier INTEGER NOT NULL, seconds REAL NOT NULL,
    checks INTEGER NOT NULL, PRIMARY KEY (campaign, tier, seconds)
) WITHOUT ROWID;
"""


class Elapsed(NamedTuple):
    """How long a tier took."""

    wall: float | None = None
    """Seconds during which any of its checks was at work; None if not recorded."""
    latency: Latency | None = None
    """How long its answers took, from the question to the record; None if not recorded."""


def note(connection: sqlite3.Connection, campaign: int, times: Mapping[int, Times]) -> None:
    """Add what some entries tell of times.

    Args:
        connection: Of the index, inside a transaction that writes.
        campaign: Number of the campaign.
        times: By tier, of these entries alone.
    """
    for tier, told in times.items():
        if told.spells:
            more = sum(_join(connection, (campaign, tier), *spell) for spell in told.spells)
            connection.execute(
                "INSERT INTO total VALUES (?, 'wall', ?, 0, ?) ON CONFLICT DO UPDATE SET "
                "amount = amount + excluded.amount", (campaign, tier, more),
            )  # fmt: skip
        connection.executemany(
            "INSERT INTO latency VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "checks = checks + excluded.checks",
            [(campaign, tier, seconds, checks) for seconds, checks in told.seconds.items()],
        )


def _join(
    connection: sqlite3.Connection, place: tuple[int, int], begun: float, ended: float
) -> float:
    """Join a spell with those that it touches; how many seconds are new."""
    known = 0.0
    earlier = connection.execute(
        "SELECT begun, ended FROM spell WHERE (campaign, tier) = (?, ?) AND begun <= ? "
        "ORDER BY begun DESC", (*place, ended),
    )  # fmt: skip
    touched = []
    for first, last in earlier:
        if last < begun:  # They don't touch each other, so those before it ended before it.
            break
        touched.append((*place, first))
        known += last - first
        begun, ended = min(begun, first), max(ended, last)
    connection.executemany("DELETE FROM spell WHERE (campaign, tier, begun) = (?, ?, ?)", touched)
    connection.execute("INSERT INTO spell VALUES (?, ?, ?, ?)", (*place, begun, ended))
    return ended - begun - known


def elapsed(index: CandidateIndex, campaign: str) -> dict[int, Elapsed]:
    """How long each tier took, as far as the index has come.

    A tier of which nothing is recorded is missing.

    Args:
        index: The index.
        campaign: Name of the campaign.
    """
    with index.reading(campaign) as (connection, number):
        rows = connection.execute(
            "SELECT tier, seconds, checks FROM latency WHERE campaign = ?", (number,)
        ).fetchall()
    waited: dict[int, Times] = {}
    for tier, seconds, checks in rows:
        waited.setdefault(tier, Times()).waited(seconds, checks)
    walls = {
        tier: amount for (name, tier, _), amount in index.totals(campaign).amounts.items()
        if name == "wall"
    }  # fmt: skip
    return {
        tier: Elapsed(walls.get(tier), waited[tier].latency if tier in waited else None)
        for tier in sorted(walls.keys() | waited.keys())
    }
