"""Comparisons of tiers: how well the cheap ones foretell the dear ones, and who fools them.

Reports and summaries compare all that two tiers have scored, pages those that were drawn of many:
both by the rules that stand here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot, isfinite, nan
from typing import Final, NamedTuple, Protocol

from verifier_ladder.arrays import Floats
from verifier_ladder.summary.amounts import number
from verifier_ladder.summary.ranks import FEWEST, correlation, rank_correlation
from verifier_ladder.summary.records import Agreement
from verifier_ladder.summary.subject import Subject
from verifier_ladder.tier import Tier

MOST_POINTS = 2000
_QUARTER, _HALF = 0.75, 0.5
_TOO_GOOD: Final = 2.0
"""Standard deviations that a cheap score may be better than a dear one."""


class Pair(Protocol):
    """What two tiers, or a prediction and a tier, have said of one candidate."""

    @property
    def low(self) -> float:
        """The cheap one's score."""

    @property
    def high(self) -> float:
        """The dear one's."""

    @property
    def spread(self) -> float | None:
        """One standard deviation of their difference; None if either's is not known."""


def spread_of(low: float | None, high: float | None) -> float | None:
    """One standard deviation of a difference; None if either's is not known, or both are none."""
    return None if low is None or high is None else hypot(low, high) or None


class Standing(NamedTuple):
    """Where a pair stands among others."""

    place: int
    """Which of the pairs it is."""
    low: float
    """Share of the others that the cheap tier puts below it; equals count half."""
    high: float
    """The same, by the dear tier."""
    deviations: float | None
    """By how many standard deviations the cheap score is too good; None if that is not known."""


class Ranked:
    """Where pairs stand among those that were drawn, so that more is better on either side."""

    def __init__(
        self, pairs: Sequence[Pair], units: tuple[str, str], sign: float, drawn: int | None = None
    ) -> None:
        """Rank pairs.

        The cheap side is turned where its unit is another, and it falls where the dear one rises.

        Args:
            pairs: Those that were drawn, and others behind them.
            units: Those of either side; scores in one that has a name can be subtracted.
            sign: 1 if more of the target is better, -1 if less is.
            drawn: How many were drawn; by default all.
        """
        import numpy as np

        self.drawn = drawn = len(pairs) if drawn is None else drawn
        table = np.array(
            [(p.low, p.high, nan if p.spread is None else p.spread) for p in pairs], dtype=float
        ).reshape(-1, 3)
        low, high, spread = table[:, 0] * sign, table[:, 1] * sign, table[:, 2]
        self.low, self.high = _below(low, drawn), _below(high, drawn)
        self.deviations: Floats = (low - high) / (spread if units[0] == units[1] != "" else nan)
        along = correlation(self.low[:drawn].tolist(), self.high[:drawn].tolist())
        self.correlation = along if drawn >= FEWEST else None
        """Spearman's, of the drawn; None where there are too few."""
        if units[0] != units[1] and along is not None and along < 0.0:
            self.low = 1.0 - self.low

    def furthest(self, most: int) -> list[Standing]:
        """Those with the largest difference of ranks."""
        import numpy as np

        order = np.argsort(-np.abs(self.low - self.high), kind="stable")
        return self._told(order[:most].tolist())

    def too_good(self) -> list[Standing]:
        """The best quarter by the cheap side that is in the worse half by the dear one.

        Where it is known by how many standard deviations they differ, that counts instead; of too
        few there is no order. The worst come first: by those deviations, then by ranks.
        """
        import numpy as np

        by_rank = (self.low >= _QUARTER) & (self.high < _HALF) & (self.drawn >= FEWEST)
        are = np.where(np.isnan(self.deviations), by_rank, self.deviations >= _TOO_GOOD)
        order = np.lexsort((self.high - self.low, -np.nan_to_num(self.deviations)))
        return self._told(order[are[order]].tolist())

    def _told(self, places: Iterable[int]) -> list[Standing]:
        return [
            Standing(at, float(self.low[at]), float(self.high[at]), d if isfinite(d) else None)
            for at in places for d in [float(self.deviations[at])]
        ]  # fmt: skip


def _below(values: Floats, drawn: int) -> Floats:
    """The share of the first so many that lies below each; equals count half."""
    import numpy as np

    ordered = np.sort(values[:drawn])
    left, right = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray((left + right) / max(1, 2 * drawn), dtype=float)


# -- candidates of a summary ---------------------------------------------------------------------


class Gap(NamedTuple):
    """A subject whose cheap score is too good for its dear one."""

    subject: Subject
    low: Tier
    high: Tier
    size: float
    """How far apart, for ranking only."""
    text: str


class _Pair(NamedTuple):
    subject: Subject
    low: float
    high: float
    spread: float | None


def _pairs(subjects: Iterable[Subject], low: Tier, high: Tier) -> list[_Pair]:
    found = ((s, s.score(low), s.score(high)) for s in subjects)
    return [
        _Pair(s, a[0], b[0], spread_of(a[1], b[1])) for s, a, b in found
        if a is not None and b is not None
    ]  # fmt: skip


def agreements(
    subjects: Sequence[Subject], tiers: Sequence[Tier], units: Mapping[int, str]
) -> tuple[Agreement, ...]:
    """Compare every two tiers that have both scored somebody."""
    made = []
    for low, high in combinations(tiers, 2):
        pairs = _pairs(subjects, low, high)
        if pairs:
            made.append(_agreement(pairs, low, high, units.get(low, ""), units.get(high, "")))
    return tuple(made)


def _agreement(
    pairs: list[_Pair], low: Tier, high: Tier, low_unit: str, high_unit: str
) -> Agreement:
    apart, size = [p.low - p.high for p in pairs] if low_unit == high_unit else [], len(pairs)
    along = rank_correlation([p.low for p in pairs], [p.high for p in pairs])
    shown = sorted(pairs, key=lambda p: p.subject.content)[:MOST_POINTS]
    return Agreement(
        low, high, low_unit, high_unit, size, along if size >= FEWEST else None,
        sum(map(abs, apart)) / size if apart else None, sum(apart) / size if apart else None,
        tuple((p.low, p.high) for p in shown),
    )  # fmt: skip


def gaps(
    subjects: Sequence[Subject], tiers: Sequence[Tier], units: Mapping[int, str], sign: float
) -> list[Gap]:
    """Candidates that look much better to a cheap tier than to a dear one, the worst first.

    Args:
        subjects: The candidates.
        tiers: The ladder's tiers.
        units: Unit of each tier's score.
        sign: 1 if more of the target is better, -1 if less is.
    """
    worst: dict[int, Gap] = {}
    for low, high in combinations(tiers, 2):
        pairs, unit = _pairs(subjects, low, high), units.get(high, "")
        for standing in Ranked(pairs, (units.get(low, ""), unit), sign).too_good():
            gap = _gap(pairs[standing.place], standing, (low, high), len(pairs), unit)
            known = worst.get(id(gap.subject))
            if known is None or gap.size > known.size:
                worst[id(gap.subject)] = gap
    return sorted(worst.values(), key=lambda gap: (-gap.size, gap.subject.content))


def _gap(pair: _Pair, at: Standing, tiers: tuple[Tier, Tier], count: int, unit: str) -> Gap:
    low, high = tiers
    if at.deviations is not None:
        said = f"{low.label} {number(pair.low)}, {high.label} {number(pair.high)} {unit}"
        text = f"{said}: {at.deviations:.1f} deviations too good"
        return Gap(pair.subject, low, high, at.deviations, text)
    ranks = [(1.0 - share) * count + 0.5 for share in (at.low, at.high)]
    text = (
        f"rank {ranks[0]:g} of {count} by the {low.label} tier, "
        f"rank {ranks[1]:g} by the {high.label} tier"
    )
    return Gap(pair.subject, low, high, at.low - at.high, text)
