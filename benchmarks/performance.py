"""How well `code-performance` measures: a reference against itself, beside busy neighbours.

The ratio of a program to itself is 1. Each run measures it anew, on inputs of its own, while other
processes keep the cores busy. Told are the share of runs within 5 %, the share whose interval
holds 1, and what a run takes.
"""

import argparse
import statistics
import subprocess
import sys
from contextlib import ExitStack
from time import monotonic
from typing import Any

import verifier_ladder as vl
from verifier_ladder.tiers.fast.performance import CodePerformance
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.verdict import Outcome, Verdict

PROGRAM = """
def solve(n):
    total = 0
    for k in range(n):
        total += k * k
    return total
"""
NEAR = 0.05
GOAL = 0.95


def task(milliseconds: int) -> dict[str, Any]:
    """A task whose reference takes about so long."""
    most = 15_000 * milliseconds
    inputs = [{"type": "integers", "min": most * 2 // 3, "max": most}]
    return {"inputs": inputs, "reference": PROGRAM, "ratio": 1.0}


def measured(kind: str, run: int, asked: dict[str, Any]) -> Verdict:
    """The verdict about the reference itself; another comment makes other inputs."""
    candidate = vl.Candidate("text", f"{PROGRAM}# {run}\n", task=asked)
    return CodePerformance().in_sandbox(Backend(kind)).judge([candidate])[0]


def main() -> None:
    """Print one line for each class of sandbox."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--neighbours", type=int, default=6)
    parser.add_argument("--milliseconds", type=int, default=20)
    parser.add_argument("--classes", nargs="*", default=["namespaces", "landlock"])
    args = parser.parse_args()
    with ExitStack() as stack:
        for _ in range(args.neighbours):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.kill)
        for kind in args.classes:
            began = monotonic()
            verdicts = [measured(kind, n, task(args.milliseconds)) for n in range(args.runs)]
            report(kind, verdicts, (monotonic() - began) / args.runs)


def report(kind: str, verdicts: list[Verdict], seconds: float) -> None:
    """Print what came out."""
    told = [v.evidence for v in verdicts if v.outcome is not Outcome.ABSTAIN]
    near = sum(abs(each["ratio"] - 1) <= NEAR for each in told)
    held = sum(each["low"] <= 1 <= each["high"] for each in told)
    pairs = statistics.median(each["pairs"] for each in told)
    print(
        f"{kind}: {near} of {len(verdicts)} within {NEAR:.0%} (goal {GOAL:.0%}), "
        f"{len(verdicts) - len(told)} abstained, {held} intervals hold 1, "
        f"{pairs:g} pairs in the median, {seconds:.1f} s a run",
        flush=True,
    )


if __name__ == "__main__":
    main()
