"""Pairs: what two tiers have said of one candidate, and what was predicted of it beforehand.

The index keeps a row for each such candidate, so that a page reads some hundred of them however
many there are: those with the smallest content keys, which are hashes and so a random sample that
stays as it is, and those at the ends of either score and of their difference.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.analysis.pairtable import PREDICTED, compared
from verifier_ladder.intervals import wilson
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.summary.comparison import Ranked, Standing, spread_of
from verifier_ladder.summary.ranks import FEWEST
from verifier_ladder.target import sign_of
from verifier_ladder.tier import Tier

MOST_DRAWN: Final = 1000
"""Pairs that are drawn of more, and from which all numbers come then."""
_AT_ENDS = 60
"""Pairs at each end of either score and of their difference, which are always looked at."""
_MOST_NAMED = 10
"""The furthest apart, which are labelled."""
_MOST_SUSPICIOUS = 20
_BINS = 10
_SHARES = {1.0: 0.6827, 2.0: 0.9545}
"""Share of a normal distribution that lies within so many deviations."""


class Place(NamedTuple):
    """A candidate by what its page is found with."""

    key: str
    task: str
    label: str
    """The beginning of its canonical form; model-made text."""


class Apart(NamedTuple):
    """A candidate of which a cheap and a dear tier say something else."""

    candidate: Place
    low: float
    high: float
    low_rank: float
    """Share of the drawn pairs that the cheap tier puts below it; equals count half."""
    high_rank: float
    """The same, by the dear tier."""
    deviations: float | None
    """By how many standard deviations the cheap score is too good; None where the units differ or
    an uncertainty is not known."""


@dataclass(frozen=True, slots=True)
class PairSummary:
    """How well a cheap tier, or a prediction, foretells a dear tier."""

    low: str
    """The cheap tier; `predicted` for what was believed before the dear one answered."""
    high: str
    low_unit: str
    high_unit: str
    count: int
    """Candidates that both have scored."""
    drawn: int
    """Those that the numbers below are made of."""
    correlation: float | None
    """Spearman's rank correlation; None where there are too few, or one side says always the
    same."""
    error: float | None
    """Mean absolute difference; None if the units differ."""
    bias: float | None
    """Mean of low minus high; None if the units differ."""
    points: tuple[tuple[float, float], ...]
    """The drawn, and those at the ends, with six digits."""
    named: tuple[Apart, ...]
    """Those furthest apart, which are labelled in a chart."""
    suspicious: tuple[Apart, ...]
    """Those too good for their dear score, the worst first."""

    @property
    def are_alike(self) -> bool:
        """Whether both scores are in one unit."""
        return self.low_unit == self.high_unit


@dataclass(frozen=True, slots=True)
class Within:
    """How often the truth lay within a stated interval."""

    deviations: float
    """Half the interval's width, in the standard deviations that were stated."""
    expected: float
    """The share that a normal distribution has there."""
    inside: int
    count: int
    low: float
    """The share's 95 % interval."""
    high: float

    @property
    def share(self) -> float:
        """The share that was inside."""
        return self.inside / self.count


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions that lie beside each other, and what became of them."""

    predicted: float
    """Their mean."""
    seen: float
    """The mean of what the top tier said."""
    error: float
    """Standard error of that."""
    count: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Whether predictions come true as often, and as closely, as they say."""

    count: int
    """Candidates with a prediction and an answer of the top tier."""
    drawn: int
    stated: int
    """Of the drawn, those whose prediction states how unsure it is."""
    within: tuple[Within, ...]
    """Empty where there are too few."""
    bins: tuple[Bin, ...]
    """Of equal size, by what was predicted; empty where there are too few."""


class _Row(NamedTuple):
    """A pair, with the number of its candidate."""

    candidate: int
    low: float
    high: float
    low_spread: float | None
    high_spread: float | None

    @property
    def spread(self) -> float | None:
        """One standard deviation of the difference; None if either's is not known."""
        return spread_of(self.low_spread, self.high_spread)


def pair_summaries(index: CandidateIndex, row: CampaignRow) -> list[PairSummary]:
    """Compare tiers: the cheapest with the top first, then each with its neighbour.

    Pairs of which there is none are told, too, with a count of 0.

    Args:
        index: The index, however far it has come.
        row: The campaign.
    """
    return [
        _summary(index, row, low, high, _drawn(index, row.name, low, high))
        for low, high in compared(row.ladder) if low != PREDICTED
    ]  # fmt: skip


def calibration(index: CandidateIndex, row: CampaignRow) -> tuple[PairSummary, Calibration] | None:
    """Compare what was predicted with what the top tier said; None where nothing is predicted.

    They are of the candidates that the top tier was asked about, which are not drawn evenly.

    Args:
        index: The index, however far it has come.
        row: The campaign.
    """
    asked = next(((low, high) for low, high in compared(row.ladder) if low == PREDICTED), None)
    if asked is None:
        return None
    drawn = _drawn(index, row.name, *asked)
    made = _summary(index, row, *asked, drawn)
    stated = [pair for pair in drawn if pair.low_spread]
    return made, Calibration(
        made.count, len(drawn), len(stated), tuple(_within(stated)), tuple(_bins(drawn))
    )


# -- reading -------------------------------------------------------------------------------------


_COLUMNS = "candidate, x, y, low_spread, high_spread"
_WHERE = "WHERE campaign = ? AND low = ? AND high = ?"
_ENDS = {"x": "pair_low", "y": "pair_high", "gap": "pair_gap"}
"""Columns whose ends are looked at, each with its index."""


def _drawn(index: CandidateIndex, campaign: str, low: int, high: int) -> list[_Row]:
    with index.reading(campaign) as (connection, number):
        return _rows(
            connection,
            f"SELECT {_COLUMNS} FROM pair INDEXED BY pair_drawn {_WHERE} "
            "ORDER BY mark, candidate LIMIT ?",
            (number, low, high, MOST_DRAWN),
        )  # fmt: skip


def _at_ends(index: CandidateIndex, campaign: str, low: int, high: int) -> list[_Row]:
    """Pairs at both ends of either score, and of their difference."""
    found: dict[int, _Row] = {}
    with index.reading(campaign) as (connection, number):
        for column, name in _ENDS.items():
            for ending in ("ASC", "DESC"):
                statement = (
                    f"SELECT {_COLUMNS} FROM pair INDEXED BY {name} {_WHERE} "
                    f"ORDER BY {column} {ending} LIMIT ?"
                )
                for row in _rows(connection, statement, (number, low, high, _AT_ENDS)):
                    found[row.candidate] = row
    return [*found.values()]


def _rows(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[_Row]:
    return [_Row._make(row) for row in connection.execute(statement, values)]


def _places(
    index: CandidateIndex, campaign: str, candidates: Iterable[int]
) -> Mapping[int, Place]:
    with index.reading(campaign) as (connection, _):
        rows = {
            number: connection.execute(
                "SELECT t.key, c.task, t.label FROM candidate c JOIN content t "
                "ON t.id = c.content WHERE c.id = ?", (number,),
            ).fetchone()
            for number in dict.fromkeys(candidates)
        }  # fmt: skip
    return {
        number: Place(row[0].hex(), row[1].hex(), row[2]) for number, row in rows.items() if row
    }


# -- comparing -----------------------------------------------------------------------------------


def _summary(
    index: CandidateIndex, row: CampaignRow, low: int, high: int, drawn: Sequence[_Row]
) -> PairSummary:
    totals = index.totals(row.name)
    low_unit, high_unit = units = _units(row, totals.units, low, high)
    ends = _at_ends(index, row.name, low, high)
    seen = [*{pair.candidate: pair for pair in (*drawn, *ends)}.values()]
    ranked = Ranked(seen, units, sign_of(row.ladder), len(drawn))
    is_alike, are_few = low_unit == high_unit, len(drawn) < FEWEST
    named = [] if are_few else ranked.furthest(_MOST_NAMED)
    suspicious = [] if are_few else ranked.too_good()[:_MOST_SUSPICIOUS]
    differences = [pair.low - pair.high for pair in drawn] if is_alike else []
    places = _places(index, row.name, [seen[at.place].candidate for at in (*named, *suspicious)])
    return PairSummary(
        "predicted" if low == PREDICTED else Tier(low).label, Tier(high).label, low_unit,
        high_unit, totals.count("pairs", low, high), len(drawn), ranked.correlation,
        fmean(map(abs, differences)) if differences else None,
        fmean(differences) if differences else None,
        tuple((_short(pair.low), _short(pair.high)) for pair in seen),
        tuple(_told(places, seen, at) for at in named),
        tuple(_told(places, seen, at) for at in suspicious),
    )  # fmt: skip


def _units(row: CampaignRow, units: Mapping[int, str], low: int, high: int) -> tuple[str, str]:
    if low == PREDICTED:  # Both are values of the target.
        unit = str((row.ladder.get("target") or {}).get("unit", ""))
        return unit, unit
    return units.get(low, ""), units.get(high, "")


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _told(places: Mapping[int, Place], pairs: Sequence[_Row], at: Standing) -> Apart:
    """A pair as pages tell it."""
    pair = pairs[at.place]
    return Apart(places[pair.candidate], pair.low, pair.high, at.low, at.high, at.deviations)


# -- calibration ---------------------------------------------------------------------------------


def _within(stated: Sequence[_Row]) -> Iterable[Within]:
    if len(stated) < FEWEST:
        return
    for deviations, expected in _SHARES.items():
        inside = sum(
            abs(pair.low - pair.high) <= deviations * (pair.low_spread or 0.0) for pair in stated
        )
        yield Within(deviations, expected, inside, len(stated), *wilson(inside, len(stated)))


def _bins(drawn: Sequence[_Row]) -> Iterable[Bin]:
    """Cut the predictions into parts of equal size, each of at least the fewest."""
    count = min(_BINS, len(drawn) // FEWEST)
    pairs = sorted(drawn, key=lambda pair: (pair.low, pair.candidate))
    for place in range(count):
        part = pairs[place * len(pairs) // count : (place + 1) * len(pairs) // count]
        seen = [pair.high for pair in part]
        predicted, error = fmean(pair.low for pair in part), stdev(seen) / sqrt(len(seen))
        yield Bin(predicted, fmean(seen), error, len(part))
