"""How much more sandboxed code two workers judge than one.

Run: `python benchmarks/workers.py [--programs 48] [--rounds 5]`

A campaign with one worker and another with two judge new programs by `code-functions`, everything
on, in turn. In the same round one chain of bare interpreters and then two make the same calls, one
process each, without sandbox or worker: that is what the machine itself gives.

Goal: twice the workers do at least 1.8 times the work.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

import verifier_ladder as vl

GOAL = 1.8
CALLS = tuple(range(200_000, 200_004))
"""Arguments that each program is called with; a call takes some hundredths of a second."""
PROGRAM = """
def solve(n):
    total = 0
    for k in range(n):
        total += k * k % 7
    return total
"""
TASK = {
    "calls": [f"solve({n})" for n in CALLS],
    "expected": [str(sum(k * k % 7 for k in range(n))) for n in CALLS],
}
_fresh = count()


def bare(processes: int, programs: int) -> None:
    """Make all calls, each in an interpreter of its own, so many at a time."""

    def call(n: int) -> None:
        subprocess.run([sys.executable, "-I", "-S", "-c", f"{PROGRAM}\nsolve({n})"], check=True)

    with ThreadPoolExecutor(processes) as chains:
        list(chains.map(call, CALLS * programs))


def judged(campaign: vl.Campaign, programs: int) -> None:
    """Have new programs judged.

    Raises:
        SystemExit: If one is not accepted, so that nothing is measured.
    """
    made = [f"{PROGRAM}# {next(_fresh)}\n" for _ in range(programs)]
    rewards = campaign.score([vl.Candidate("text", text, task=TASK) for text in made])
    if reasons := [each.reason for each in rewards if each.value != 1.0]:
        raise SystemExit(f"a right program is not accepted: {reasons[0]}")


def rounds(number: int, programs: int) -> Iterator[Mapping[str, float]]:
    """Programs a second, by who judges or calls them, round by round."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        turns: dict[str, Callable[[], None]] = {}
        for workers in (1, 2):
            campaign = stack.enter_context(opened(Path(folder) / f"{workers}.db", workers))
            judged(campaign, 16 * workers)  # Workers start, and their sandboxes.
            turns[f"workers {workers}"] = partial(judged, campaign, programs)
            turns[f"bare {workers}"] = partial(bare, workers, programs)
        for _ in range(number):
            yield {name: programs / seconds(turn) for name, turn in turns.items()}


def opened(ledger: Path, workers: int) -> vl.Campaign:
    """A campaign whose ladder is `code-functions` alone."""
    ladder = vl.Ladder("code", ["code-functions"])
    return vl.Campaign.open("bench", ladder=ladder, ledger=ledger, workers=workers)


def seconds(turn: Callable[[], None]) -> float:
    """Seconds that one turn takes."""
    started = perf_counter()
    turn()
    return perf_counter() - started


def main() -> None:
    """Print each round, and the medians of the two ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("programs a second: one worker   two  ratio  one bare process   two  ratio")
    ratios, limits = [], []
    for rates in rounds(options.rounds, options.programs):
        one, two = rates["workers 1"], rates["workers 2"]
        first, both = rates["bare 1"], rates["bare 2"]
        ratios.append(two / one)
        limits.append(both / first)
        ours, theirs = f"{one:29.2f} {two:5.2f} {two / one:6.2f}", f"{first:17.2f} {both:5.2f}"
        print(f"{ours} {theirs} {both / first:6.2f}", flush=True)
    ratio, limit = statistics.median(ratios), statistics.median(limits)
    short = "missed" if limit >= GOAL else "not to be told where the machine gives less itself"
    print(
        f"two workers do {ratio:.2f} x the work of one (goal {GOAL}), two bare processes "
        f"{limit:.2f} x: {'met' if ratio >= GOAL else short}"
    )


if __name__ == "__main__":
    main()
