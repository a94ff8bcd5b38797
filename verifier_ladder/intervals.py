"""Intervals of shares, for counts that may be small or weighted."""

from __future__ import annotations

from math import ceil, sqrt

from verifier_ladder.rollouts.passk import Estimate
from verifier_ladder.scheduler.gates import GateAudit

_Z = 1.959963984540054
"""Standard deviations on either side of 95 % of a normal distribution."""


def wilson(passed: float, known: float) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, *J. Am. Stat. Assoc.* 22, 1927); 0 to 1 for no data.

    Args:
        passed: How many passed; may be a sum of weights.
        known: Of how many.

    Example:
        >>> [round(end, 2) for end in wilson(0, 10)]
        [0.0, 0.28]
    """
    if known <= 0:
        return 0.0, 1.0
    share, slack = passed / known, _Z * _Z / known
    middle = (share + slack / 2) / (1 + slack)
    reach = _Z / (1 + slack) * sqrt(share * (1 - share) / known + slack / (4 * known))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def exact(hits: int, size: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share, two-sided (Clopper & Pearson, *Biometrika* 26, 1934).

    Example:
        >>> [round(end, 2) for end in exact(0, 10)]
        [0.0, 0.31]
    """
    side = 1.0 - (1.0 - confidence) / 2.0
    high = GateAudit(size, hits).upper(side) if size else 1.0
    low = 1.0 - GateAudit(size, size - hits).upper(side) if size else 0.0
    return low, high


def weighted_share(weights: list[float], hits: list[bool]) -> Estimate | None:
    """A share among units that were drawn with unequal probability, with a 95 % interval.

    The share is that of the weights, which are 1/p. The interval is the exact one for as many
    units as would tell as much if they were drawn alike (Korn & Graubard, *Survey Methodology*
    24, 1998): s(1 − s) over the share's variance, and never more than (Σw)²/Σw².

    Example:
        >>> weighted_share([4.0, 4.0, 4.0, 4.0], [True, False, False, False]).value
        0.25
    """
    total = sum(weights)
    if not total:
        return None
    share = sum(w for w, hit in zip(weights, hits, strict=True) if hit) / total
    squares = [w * w for w in weights]
    alike = total * total / sum(squares)
    spread = sum(q * (hit - share) ** 2 for q, hit in zip(squares, hits, strict=True))
    if spread:
        alike = min(alike, share * (1 - share) * total * total / spread)
    size = max(1, int(alike + 1e-9))
    low, _ = exact(int(share * size), size)
    _, high = exact(min(size, ceil(share * size)), size)
    return Estimate(share, min(low, share), max(high, share), len(weights))
