"""What the counters cost: calls of `score` with new samples, counted and not, in turns.

Run: `python benchmarks/counters.py [--rounds 40] [--json FILE]`

For calls of 1, 64 and 4,096 samples it tells, as medians,

- the share of a call's processor time in which it is counted and the counters are written;
- the processor time of a call over that of one that counts nothing, in ledgers of their own, in an
  order that is drawn. In brackets the same of two that count: what the machine alone makes of it.

The goal is 5 %. The share leaves out what two more pages add to a commit; the ratio holds that,
and more noise.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from time import process_time, thread_time
from typing import Any
from unittest.mock import patch

import verifier_ladder as vl
from verifier_ladder.ledger.counting import Counted

ROUNDS = {1: 300, 64: 150, 4096: 30}
"""Samples of a call, and rounds unless they are given."""
CASES = ("counted", "not counted", "counted, too")


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def trivial(candidates: list[vl.Candidate]) -> list[float]:
    """Say 1 to everything."""
    return [1.0] * len(candidates)


class Meter:
    """Adds up the processor time that counting takes."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self.seconds = 0.0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, metered."""

        def metered(*arguments: Any) -> Any:
            begun = thread_time()
            try:
                return call(*arguments)
            finally:
                self.seconds += thread_time() - begun

        return metered


def share(campaign: vl.Campaign, samples: list[str]) -> float:
    """Share of a call's processor time in which it is counted."""
    meter = Meter()
    with ExitStack() as patched:
        for name in ("add", "write"):
            metered = meter.around(getattr(Counted, name))
            patched.enter_context(patch.object(Counted, name, metered))
        begun = process_time()
        campaign.score(samples)
        return meter.seconds / (process_time() - begun)


def seconds(campaign: vl.Campaign, samples: list[str], case: str) -> float:
    """Processor time of a call, counted or not, with what its threads write."""
    with ExitStack() as patched:
        if case == "not counted":
            patched.enter_context(patch.object(Counted, "add", lambda *_: None))
        begun = process_time()
        campaign.score(samples)
        return process_time() - begun


def measure(folder: Path, size: int, rounds: int) -> dict[str, float]:
    """The figures of one size."""
    ladder, numbers = vl.Ladder("trivial", [trivial]), count()
    draw = random.Random(size)  # noqa: S311 - an order
    shares: list[float] = []
    times: dict[str, list[float]] = {case: [] for case in CASES}

    def new() -> list[str]:
        return [f"the answer to question {next(numbers):09d} is 42" for _ in range(size)]

    with ExitStack() as opened:
        campaigns = {
            case: opened.enter_context(
                vl.Campaign.open("bench", ladder=ladder, ledger=folder / f"{case} {size}.db")
            )
            for case in CASES
        }
        for campaign in campaigns.values():
            campaign.score(["warm up"])
        for _ in range(rounds):
            shares.append(share(campaigns["counted"], new()))
            for case in draw.sample(CASES, len(CASES)):
                times[case].append(seconds(campaigns[case], new(), case))
    counted, bare, again = (statistics.median(times[case]) for case in CASES)
    return {
        "share": statistics.median(shares), "ratio": counted / bare, "machine": again / counted
    }  # fmt: skip


def main() -> None:
    """Print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, help="rounds for each size")
    parser.add_argument("--sizes", default=",".join(map(str, ROUNDS)), help="samples of a call")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            told = measure(Path(folder), size, options.rounds or ROUNDS.get(size, 30))
        figures[str(size)] = told
        print(
            f"{size:>5} samples: counting is {told['share']:.1%} of the processor time; "
            f"{told['ratio']:.3f} × as much ({told['machine']:.3f} ×)"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
