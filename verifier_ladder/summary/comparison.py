"""Comparisons of tiers: how well the cheap ones foretell the dear ones, and who fools them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot
from typing import NamedTuple

from verifier_ladder.summary.amounts import number
from verifier_ladder.summary.ranks import FEWEST, rank_correlation
from verifier_ladder.summary.records import Agreement
from verifier_ladder.summary.subject import Subject
from verifier_ladder.tier import Tier

MOST_POINTS = 2000


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
    low: tuple[float, float | None]
    high: tuple[float, float | None]

    @property
    def spread(self) -> float | None:
        """One standard deviation of their difference; None if either's is not known."""
        low, high = self.low[1], self.high[1]
        return None if low is None or high is None else hypot(low, high)


def _pairs(subjects: Iterable[Subject], low: Tier, high: Tier) -> list[_Pair]:
    found = ((s, s.score(low), s.score(high)) for s in subjects)
    return [_Pair(s, a, b) for s, a, b in found if a is not None and b is not None]


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
    xs, ys = [p.low[0] for p in pairs], [p.high[0] for p in pairs]
    alike = low_unit == high_unit
    size = len(pairs)
    shown = sorted(pairs, key=lambda p: p.subject.content)[:MOST_POINTS]
    return Agreement(
        low, high, low_unit, high_unit, size, rank_correlation(xs, ys) if size >= FEWEST else None,
        sum(abs(x - y) for x, y in zip(xs, ys, strict=True)) / size if alike else None,
        sum(x - y for x, y in zip(xs, ys, strict=True)) / size if alike else None,
        tuple((p.low[0], p.high[0]) for p in shown),
    )  # fmt: skip


def gaps(
    subjects: Sequence[Subject], tiers: Sequence[Tier], units: Mapping[int, str], sign: float
) -> list[Gap]:
    """Candidates that look much better to a cheap tier than to a dear one, the worst first.

    Scores in one unit are compared in their own uncertainties: two standard deviations apart in
    the good direction is suspicious. Scores in different units, and those of which an uncertainty
    is not known, are compared by rank: the best quarter by the cheap tier that is in the worse
    half by the dear one, among at least eight.

    Args:
        subjects: The candidates.
        tiers: The ladder's tiers.
        units: Unit of each tier's score.
        sign: 1 if more of the target is better, -1 if less is.
    """
    worst: dict[int, Gap] = {}
    for low, high in combinations(tiers, 2):
        pairs = _pairs(subjects, low, high)
        alike = units.get(low, "") == units.get(high, "") != ""
        scaled = [pair for pair in pairs if alike and pair.spread is not None]
        others = [pair for pair in pairs if not alike or pair.spread is None]
        turn = 1.0 if units.get(low, "") == units.get(high, "") else _turn(pairs)
        for gap in (
            *_apart(scaled, low, high, units, sign),
            *_ranked(others, low, high, (turn * sign, sign)),
        ):
            known = worst.get(id(gap.subject))
            if known is None or gap.size > known.size:
                worst[id(gap.subject)] = gap
    return sorted(worst.values(), key=lambda gap: (-gap.size, gap.subject.content))


def _apart(
    pairs: list[_Pair], low: Tier, high: Tier, units: Mapping[int, str], sign: float
) -> Iterable[Gap]:
    for pair in pairs:
        (x, _), (y, _), spread = pair.low, pair.high, pair.spread
        better = sign * (x - y)
        if spread and better >= 2 * spread:
            text = (
                f"{low.label} {number(x)}, {high.label} {number(y)} {units[high]}: "
                f"{better / spread:.1f} deviations too good"
            )
            yield Gap(pair.subject, low, high, better / spread, text)


def _turn(pairs: list[_Pair]) -> float:
    """-1 if the cheap tier's scores fall where the dear one's rise, as quantities may; else 1."""
    along = rank_correlation([p.low[0] for p in pairs], [p.high[0] for p in pairs])
    return -1.0 if along is not None and along < 0.0 else 1.0


def _ranked(
    pairs: list[_Pair], low: Tier, high: Tier, signs: tuple[float, float]
) -> Iterable[Gap]:
    """Compare by rank; `signs` turn either tier's scores so that more is better."""
    size = len(pairs)
    if size < FEWEST:
        return
    by_low = sorted(pairs, key=lambda p: -signs[0] * p.low[0])
    by_high = sorted(pairs, key=lambda p: -signs[1] * p.high[0])
    place = {id(p.subject): i for i, p in enumerate(by_high)}
    for rank, pair in enumerate(by_low[: size // 4]):
        fell = place[id(pair.subject)]
        if fell >= size // 2:
            text = (
                f"rank {rank + 1} of {size} by the {low.label} tier, "
                f"rank {fell + 1} by the {high.label} tier"
            )
            yield Gap(pair.subject, low, high, (fell - rank) / size, text)
