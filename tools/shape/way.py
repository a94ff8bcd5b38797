"""How far a sample goes: the calls of the project's functions that one `score` costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import verifier_ladder as vl
from verifier_ladder.scheduler.policies import AllTiers

TRACE = Path(__file__).parent / "trace"
CASES = ("one tier", "two tiers and the revision")
_Way = Mapping[tuple[str, str], Sequence[tuple[int, str]]]
"""Of each thread of each process: when it called a function, and of which module."""


@vl.verifier(tier="fast", kind="text", version="1")
def cheap(candidate: vl.Candidate) -> float:
    """Say how long it is."""
    return float(len(candidate.content))


@vl.verifier(tier="simulation", kind="text", version="1")
def expensive(candidate: vl.Candidate) -> float:
    """Say how long it is, again."""
    return float(len(candidate.content))


def measure_way(folder: Path) -> dict[str, int | float | str]:
    """Modules, changes of module and calls of each case."""
    figures: dict[str, int | float | str] = {}
    for case in CASES:
        trace = folder / case
        trace.mkdir()
        began, ended = _traced(case, trace)
        modules, changes, calls = count(_read(trace), began, ended)
        figures[f"{case}: modules"] = modules
        figures[f"{case}: changes of module"] = changes
        figures[f"{case}: calls"] = calls
    return figures


def count(way: _Way, began: int, ended: int) -> tuple[int, int, int]:
    """Modules, changes of module and calls between two readings of the clock."""
    modules: set[str] = set()
    changes = calls = 0
    for noted in way.values():
        names = [module for at, module in noted if began <= at <= ended]
        modules.update(names)
        calls += len(names)
        changes += sum(one != other for one, other in pairwise(names))
    return len(modules), changes, calls


def _traced(case: str, folder: Path) -> tuple[int, int]:
    """Score one sample in a process of its own; when that began and ended."""
    path = os.pathsep.join(map(str, (TRACE, TRACE.parents[1])))
    done = subprocess.run(
        [sys.executable, "-m", "shape.way", case],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "SHAPE_TRACE": str(folder)},
    )
    began, ended = map(int, done.stdout.split())
    return began, ended


def _read(folder: Path) -> _Way:
    way: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            at, thread, module = line.split()
            way[file.name, thread].append((int(at), module))
    return way


def score_one(case: str) -> tuple[int, int]:
    """Score one new sample of a campaign that is warm; when that began and ended."""
    verifiers = [cheap] if case == CASES[0] else [cheap, expensive]
    ladder = vl.Ladder("shape", verifiers, policy=AllTiers())
    with vl.Campaign.open("shape", ladder=ladder, ledger="memory://") as campaign:
        campaign.score(["a", "few", "to", "warm", "up"])
        campaign.drain()
        began = time.monotonic_ns()
        campaign.score(["something new"])
        if case != CASES[0]:
            campaign.drain()
        return began, time.monotonic_ns()


if __name__ == "__main__":
    print(*score_one(sys.argv[1]))
