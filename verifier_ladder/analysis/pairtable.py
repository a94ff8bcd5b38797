"""The table of pairs in an index: which are kept, and how they are written."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any, Final, NamedTuple

from verifier_ladder.reward import scorers_of
from verifier_ladder.summary.subject import Subject

PREDICTED: Final = -1
"""Stands for a tier: what was believed of the target before the top tier answered."""
_LARGEST = 1e150
"""Scores beyond it are left out: squares of them are no numbers any more."""
_Scored = tuple[float | None, float | None]
SCHEMA: Final = """
CREATE TABLE pair (
    candidate INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
    campaign INTEGER NOT NULL, mark INTEGER NOT NULL, x REAL NOT NULL, y REAL NOT NULL,
    gap REAL NOT NULL, low_spread REAL, high_spread REAL, PRIMARY KEY (candidate, low, high)
) WITHOUT ROWID;
CREATE INDEX pair_drawn
    ON pair (campaign, low, high, mark, candidate, x, y, low_spread, high_spread);
CREATE INDEX pair_low ON pair (campaign, low, high, x);
CREATE INDEX pair_high ON pair (campaign, low, high, y);
CREATE INDEX pair_gap ON pair (campaign, low, high, gap);
"""


class Pair(NamedTuple):
    """What two tiers have said of a candidate."""

    low: int
    high: int
    x: float
    """Score of the low one."""
    y: float
    low_spread: float | None
    high_spread: float | None


def compared(ladder: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Which tiers are compared: the cheapest with the top, neighbours, predictions with the top.

    Only tiers that score count. Nothing is compared where scores hold inside a group alone.

    Example:
        >>> tiers = ("fast", "simulation", "world")
        >>> compared({"verifiers": [{"name": tier, "tier": tier} for tier in tiers]})
        [(0, 3), (0, 1), (1, 3), (-1, 3)]
    """
    listed = ladder.get("verifiers", ())
    tiers = sorted(scorers_of(ladder))
    if len(tiers) < 2 or any(v.get("scope") == "group" for v in listed):  # noqa: PLR2004 - a pair
        return []
    both = [(tiers[0], tiers[-1]), *pairwise(tiers), (PREDICTED, tiers[-1])]
    return [*dict.fromkeys(both)]


def pairs_of(subject: Subject, asked: Sequence[tuple[int, int]]) -> list[Pair]:
    """What is known of a subject on both sides of what is compared."""
    if not asked or not subject.scores:
        return []
    said: dict[int, _Scored] = {tier: (value, spread) for tier, value, spread in subject.scores}
    said[PREDICTED] = (subject.mean, subject.deviation)
    found = []
    for low, high in asked:
        if low in said and high in said:
            (x, low_spread), (y, high_spread) = said[low], said[high]
            if x is not None and y is not None and abs(x) <= _LARGEST and abs(y) <= _LARGEST:
                found.append(Pair(low, high, x, y, _known(low_spread), _known(high_spread)))
    return found


def _known(spread: float | None) -> float | None:
    return spread if spread is not None and isfinite(spread) else None


def counted(pairs: Sequence[Pair]) -> dict[tuple[str, int, int], int]:
    """What a candidate's pairs add to its campaign's totals."""
    return {("pairs", pair.low, pair.high): 1 for pair in pairs}


def write(
    connection: sqlite3.Connection, campaign: int, paired: Sequence[tuple[int, bytes, list[Pair]]]
) -> None:
    """Replace the pairs of candidates.

    Args:
        connection: Of the index, inside a transaction that writes.
        campaign: Number of the campaign.
        paired: Number of a candidate, its content key, by whose beginning it is drawn, for that
            is a hash, and what its pairs are now.
    """
    connection.executemany(
        "DELETE FROM pair WHERE candidate = ?", [(candidate,) for candidate, *_ in paired]
    )
    connection.executemany(
        "INSERT INTO pair VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            # SQLite has whole numbers of 63 bits.
            (candidate, p.low, p.high, campaign, int.from_bytes(content[:8], "big") >> 1,
             p.x, p.y, p.x - p.y, p.low_spread, p.high_spread)
            for candidate, content, pairs in paired for p in pairs
        ],
    )  # fmt: skip
