"""Decisions per second of each policy, `decide` alone.

Run: `python benchmarks/decisions.py [--tiers 4] [--rounds 31]`

Each policy decides batches of 16, 256 and 4096 samples in groups of eight, of which some have been
seen by one tier and some by two. Beside it stands the bare arithmetic of its formula: no check of
what is known or affordable, no reasons, no unusual input. The two take turns; times are medians of
the processor time of this process. Goals: 0.2 million decisions a second and core in batches of
16, one million from 256 on.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.decision import EscalationPolicy, Situation
from verifier_ladder.scheduler.policies import (
    AllTiers,
    BestOfN,
    Discovery,
    Thresholds,
    ValueOfInformation,
)
from verifier_ladder.scheduler.policies.index import improvement, tier_indices
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

Bare = Callable[[Situation], Any]
BATCHES = (16, 256, 4096)
GOALS = (0.2, 1.0, 1.0)


def rows(size: int, tiers: int) -> Situation:
    """Samples half-way up, as a training step may have them."""
    rng = np.random.default_rng(0)
    reached = rng.integers(0, min(2, tiers - 1), size)
    answered = np.arange(tiers) <= reached[:, None]
    explained = rng.random((size, tiers)) * ~answered
    explained[:, -1] = 1.0
    return Situation(
        tiers=tuple(Tier)[-tiers:], reached=reached, mean=rng.normal(size=size),
        deviation=rng.gamma(2.0, 0.3, size), explained=explained, answered=answered,
        cost=rng.gamma(1.0, 1.0, (size, tiers)), affordable=np.ones((size, tiers), dtype=bool),
        weight=rng.gamma(9.0, 0.1, size), group=np.arange(size) // 8, spread=1.0, best=1.0,
    )  # fmt: skip


def climb(s: Situation) -> Any:
    """The lowest tier that has not answered."""
    return (~s.answered).argmax(axis=1)


def compare(s: Situation) -> Any:
    """Each mean with a threshold of the next tier."""
    return s.mean >= np.array([0.0, 0.1, 0.2, 0.3])[climb(s)]


def weigh(s: Situation, hope: float | NDArray[np.float64] = 0.0) -> Any:
    """w² s² ρ² / c over the groups' deviations; its largest, and the root of the top tier's."""
    count = np.bincount(s.group)
    apart = s.mean - (np.bincount(s.group, s.mean) / count)[s.group]
    variance = np.bincount(s.group, apart * apart + s.deviation * s.deviation) / count
    gain = s.weight * s.weight * s.deviation * s.deviation / variance[s.group] + hope * hope
    ratio = gain[:, None] * s.explained / s.cost
    return ratio.argmax(axis=1), ratio.max(axis=1) >= 1.0, np.sqrt(ratio[:, -1])


def hope(s: Situation) -> Any:
    """The same with the expected improvement."""
    gap = (s.best - s.mean) / s.deviation
    return weigh(s, s.deviation * improvement(gap) / s.spread)


def reserve(s: Situation) -> Any:
    """The indices from their tables, and the largest."""
    indices = tier_indices(s.explained.T[:-1], s.cost.T * (s.spread / s.deviation))
    return (s.mean + s.deviation * indices.max(axis=0)).argmax()


def bound(s: Situation) -> Any:
    """Bounds, their order within each group, and the largest variance per cost."""
    reach = 2.0 * s.deviation
    leader = np.lexsort((-s.mean, s.group))[::8]
    upper = s.mean + reach
    challenger = np.lexsort((-upper, s.group))[1::8]
    ratio = (s.deviation * s.deviation)[:, None] * s.explained / s.cost
    return upper[challenger] <= s.mean[leader] - reach[leader], ratio.argmax(axis=1)


CASES: tuple[tuple[EscalationPolicy, str, Bare], ...] = (
    (AllTiers(), "", climb),
    (Thresholds(thresholds={"simulation": 0.1, "high_fidelity": 0.2, "world": 0.3}), "", compare),
    (ValueOfInformation(), "", weigh),
    (ValueOfInformation(beta=1.0), " β=1", hope),
    (Discovery(), "", reserve),
    (BestOfN(), "", bound),
)


def spent(call: Callable[[Situation], Any], situation: Situation, repeats: int) -> float:
    """Seconds of one call."""
    started = process_time()
    for _ in range(repeats):
        call(situation)
    return (process_time() - started) / repeats


def measure(policy: EscalationPolicy, bare: Bare, situation: Situation, rounds: int) -> Any:
    """Medians of both, and of their ratios."""
    repeats = max(2, 6000 // len(situation))
    spent(policy.decide, situation, 1)  # The first call makes the tables.
    pairs = [
        (spent(policy.decide, situation, repeats), spent(bare, situation, repeats))
        for _ in range(rounds)
    ]
    mine, theirs = zip(*pairs, strict=True)
    ratios = [one / max(other, 1e-9) for one, other in pairs]
    return statistics.median(mine), statistics.median(theirs), statistics.median(ratios)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiers", type=int, choices=(2, 3, 4), default=4)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    print(f"{'policy':<26}{'batch':>6}{'µs':>9}{'M/s':>7}{'goal':>6}{'bare µs':>9}{'ratio':>7}")
    for policy, note, bare in CASES:
        for batch, goal in zip(BATCHES, GOALS, strict=True):
            mine, theirs, ratio = measure(policy, bare, rows(batch, options.tiers), options.rounds)
            print(
                f"{policy.name + note:<26}{batch:>6}{mine * 1e6:>9.1f}{batch / mine / 1e6:>7.2f}"
                f"{goal:>6}{theirs * 1e6:>9.1f}{ratio:>7.2f}"
            )


if __name__ == "__main__":
    main()
