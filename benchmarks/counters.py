"""What the counters cost: calls of `score` with new samples, counted and not, in turns.

Run: `python benchmarks/counters.py [--rounds 40] [--json FILE]`

Two campaigns in ledgers of their own, one process. In each round both score as many new samples,
one after the other, in an order that changes; one of them adds nothing to its counters. Told is
the ratio of the medians, counted over not counted, for calls of 1, 64 and 4,096 samples; 1.05 is
the goal. A third campaign counts like the first: its ratio to that is what the machine alone does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import verifier_ladder as vl
from verifier_ladder.ledger.counting import Counted

SIZES = (1, 64, 4096)
ROUNDS = {1: 400, 64: 200, 4096: 40}
"""Rounds for each size, unless they are given."""
CASES = ("counted", "not counted", "counted, too")


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def trivial(candidates: list[vl.Candidate]) -> list[float]:
    """Say 1 to everything."""
    return [1.0] * len(candidates)


@contextmanager
def uncounted() -> Iterator[None]:
    """Let entries be written without being counted."""
    with patch.object(Counted, "add", lambda *_: None):
        yield


def timed(campaign: vl.Campaign, samples: Sequence[str]) -> float:
    """Microseconds that a call takes."""
    started = perf_counter()
    campaign.score(samples)
    return (perf_counter() - started) * 1e6


def measure(folder: Path, size: int, rounds: int) -> dict[str, list[float]]:
    """The times of each case, round by round."""
    ladder, numbers = vl.Ladder("trivial", [trivial]), count()
    times: dict[str, list[float]] = {case: [] for case in CASES}
    campaigns = {
        case: vl.Campaign.open("bench", ladder=ladder, ledger=folder / f"{case} {size}.db")
        for case in CASES
    }
    for turn in range(rounds + 1):
        for case in CASES[turn % 3 :] + CASES[: turn % 3]:
            samples = [f"the answer to question {next(numbers):09d} is 42" for _ in range(size)]
            if case == "not counted":
                with uncounted():
                    took = timed(campaigns[case], samples)
            else:
                took = timed(campaigns[case], samples)
            if turn:  # The first one is to get warm.
                times[case].append(took)
    for campaign in campaigns.values():
        campaign.close()
    return times


def main() -> None:
    """Print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, help="rounds for each size")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="samples of a call")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    figures = {}
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            times = measure(Path(folder), size, options.rounds or ROUNDS.get(size, 40))
        middle = {case: statistics.median(taken) for case, taken in times.items()}
        ratio = middle["counted"] / middle["not counted"]
        noise = middle["counted, too"] / middle["counted"]
        figures[str(size)] = {"counters": ratio, "machine": noise}
        print(
            f"{size:>5} samples: {middle['not counted']:,.0f} µs a call, with counters "
            f"{ratio:.3f} × (two that count: {noise:.3f} ×)"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
