"""Speed: decisions per second of each policy, `decide` alone."""

from __future__ import annotations

from collections.abc import Iterator

from decisions import BATCHES, CASES, measure, rows
from routing.report import table_lines

_TIERS = 4


def lines(rounds: int) -> Iterator[str]:
    """Millions of decisions a second and core, and how many times the bare arithmetic it takes.

    Args:
        rounds: How often each is timed; medians are given.
    """
    made = []
    for policy, note, bare in CASES:
        for batch in BATCHES:
            spent, _, ratio = measure(policy, bare, rows(batch, _TIERS), rounds)
            rate = batch / max(spent, 1e-9) / 1e6
            made.append([policy.name + note, str(batch), f"{rate:.2f}", f"{ratio:.1f}"])
    yield from ("", "## Decisions per second", "")
    yield from table_lines(["policy", "batch", "million/s", "× bare arithmetic"], made)
