"""What grows with the number of samples: time a call, memory, bytes on disk.

Run: `python benchmarks/scale.py [--sizes 10000,100000,1000000] [--json FILE]`

One ledger is filled up to each size by calls of 4,096 samples of 39 bytes with a verifier that
does nothing; then each measurement is made in a process of its own. Each figure also stands as a
ratio to its own value at the smallest size: 1 means that it doesn't grow. Beside it stand a queue
with a check for each 25 samples, first all that can be claimed, then all parked because the budget
of their tier is used up, and a process that scores a completion of 16 kB for each 100 samples.
Nothing here is a limit; medians of five where a measurement can be repeated.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter, time

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.policies import AllTiers

SIZES = (10_000, 100_000, 1_000_000)
CALL = 4096
QUEUED = 25
"""Samples for each check in the queue."""
LONG = 100
"""Samples for each long completion."""
COMPLETION = 16_384
REPEATS = 5
SIMULATION = 1
_MIB = 2**20
Figures = dict[str, float]


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def trivial(candidates: list[vl.Candidate]) -> list[float]:
    """Say 1 to everything."""
    return [1.0] * len(candidates)


@vl.verifier(tier="simulation", kind="text", version="1", cost=vl.Cost(seconds=1.0))
def expensive(candidate: vl.Candidate) -> float:
    """Say how long it is."""
    return float(len(candidate.content))


def texts(first: int, count: int) -> list[str]:
    """Distinct texts of 39 bytes."""
    return [f"the answer to question {number:09d} is 42" for number in range(first, first + count)]


def campaign(ledger: Path) -> vl.Campaign:
    """The campaign that only has a fast tier."""
    return vl.Campaign.open("scale", ladder=vl.Ladder("scale", [trivial]), ledger=ledger)


def fill(ledger: Path, first: int, size: int) -> None:
    """Score samples until the ledger holds this many."""
    with campaign(ledger) as opened:
        for number in range(first, size, CALL):
            opened.score(texts(number, min(CALL, size - number)))


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    started = perf_counter()
    call()
    return perf_counter() - started


def peak() -> float:
    """MiB that this process has used at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _MIB


# -- what a process measures ------------------------------------------------------------------


def calls(ledger: Path, size: int) -> Figures:
    """Opening, new samples and known ones; what is new is beyond what was filled in."""
    started = perf_counter()
    with campaign(ledger) as opened:
        took = perf_counter() - started
        opened.score(["warm up"])
        known = [
            timed(lambda at=at: opened.score(texts(at * size // REPEATS, CALL)))  # type: ignore[misc]
            for at in range(REPEATS)
        ]
        new = [
            timed(lambda at=at: opened.score(texts(10**8 + size + at * CALL, CALL)))  # type: ignore[misc]
            for at in range(REPEATS)
        ]
    return {
        "opening a campaign, ms": took * 1e3,
        "a known sample, µs": statistics.median(known) / CALL * 1e6,
        "a new sample, µs": statistics.median(new) / CALL * 1e6,
    }


def claims(ledger: Path, size: int) -> Figures:
    """Claiming where nothing is parked, then where everything is."""
    ladder = vl.Ladder("queue", [trivial, expensive], policy=AllTiers())
    checks = size // QUEUED
    with vl.Campaign.open("queue", ladder=ladder, ledger=ledger, engine="workers") as opened:
        for number in range(0, checks, CALL):
            opened.score(texts(number, min(CALL, checks - number)))
        one = [timed(lambda at=at: opened.score([f"one {at}"])) for at in range(REPEATS)]  # type: ignore[misc]
        claim = [timed(lambda: _claim(opened.ledger)) for _ in range(REPEATS)]
        opened.ledger.set_caps("queue", {})
    budget = {"simulation": 1e-6}
    with vl.Campaign.open(
        "queue", ladder=ladder, ledger=ledger, engine="workers", budget=budget
    ) as opened:
        first = timed(lambda: _claim(opened.ledger))
        later = [timed(lambda: _claim(opened.ledger)) for _ in range(REPEATS)]
    return {
        "one sample, with checks pending, ms": statistics.median(one) * 1e3,
        "a claim of 16 checks, ms": statistics.median(claim) * 1e3,
        "the first claim when all are parked, ms": first * 1e3,
        "a later claim when all are parked, ms": statistics.median(later) * 1e3,
    }


def _claim(ledger: vl.Ledger) -> None:
    """Lease sixteen checks, and give them back."""
    claimed = ledger.claim(tiers=[SIMULATION], owner="scale", lease=60.0, limit=16, now=time())
    ledger.release(claimed, now=time())


def memory(ledger: Path, size: int) -> Figures:
    """Memory that long completions leave in the process that scores them."""
    with campaign(ledger) as opened:
        opened.score(["warm up"])
        before = peak()
        for first in range(0, size // LONG, 64):
            opened.score([f"{first + at:09d}" + "x" * COMPLETION for at in range(64)])
        return {"memory of completions of 16 kB, MiB": peak() - before}


def reading(ledger: Path, size: int) -> Figures:
    """The commands that read a whole campaign, as processes of their own."""
    out = ledger.with_suffix(".jsonl")
    commands = {
        "campaign show": ["campaign", "show", "scale"],
        "ledger verify": ["ledger", "verify"],
        "ledger export": ["ledger", "export", "--out", str(out)],
    }
    figures: Figures = {}
    for name, words in commands.items():
        call = [sys.executable, "-m", "verifier_ladder.cli", *words, "--ledger", str(ledger)]
        started = perf_counter()
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        figures[f"{name}, s"] = perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed: {done.stderr[-2000:]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / _MIB
    out.unlink(missing_ok=True)
    return figures | {
        "memory of the largest of the three, MiB": used,
        "bytes a sample on disk": _on_disk(ledger) / size,
    }


def _on_disk(ledger: Path) -> float:
    """Bytes of the ledger and what lies beside it, the log written back."""
    with open_ledger(ledger):
        pass
    return sum(file.stat().st_size for file in ledger.parent.glob(f"{ledger.name}*"))


# -- the table ----------------------------------------------------------------------------------

MEASURES = {"calls": calls, "claims": claims, "memory": memory, "reading": reading}


def measure(folder: Path, sizes: Sequence[int]) -> dict[int, Figures]:
    """Every figure at every size."""
    found: dict[int, Figures] = {}
    ledger, filled = folder / "scale.db", 0
    for size in sizes:
        _process("fill", ledger, filled, size)
        filled = size
        found[size] = {}
        found[size] |= _process("reading", ledger, size)
        found[size] |= _process("calls", _copy(ledger, folder / f"calls-{size}.db"), size)
        for name in ("claims", "memory"):
            found[size] |= _process(name, folder / f"{name}-{size}.db", size)
        for file in folder.glob(f"*-{size}.db*"):
            file.unlink()
        print(f"measured {size:,} samples", file=sys.stderr)
    return found


def _copy(ledger: Path, to: Path) -> Path:
    """A ledger of its own for a part that adds samples."""
    for file in ledger.parent.glob(f"{ledger.name}*"):
        shutil.copy(file, to.with_name(file.name.replace(ledger.name, to.name)))
    return to


def _process(name: str, ledger: Path, *numbers: int) -> Figures:
    """Run one part in a new process, which prints its figures."""
    call = [sys.executable, __file__, "--part", name, str(ledger), *map(str, numbers)]
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def table(found: Mapping[int, Figures]) -> list[str]:
    """Lines: each figure at each size, and as a ratio to the smallest."""
    smallest = next(iter(found.values()))
    width = max(map(len, smallest))
    lines = [" " * width + "".join(f"{f'{size:,}':>22}" for size in found)]
    for name, base in smallest.items():
        cells = [
            f"{row[name]:,.2f} ({row[name] / base if base else 1:,.2f} ×)"
            for row in found.values()
        ]
        lines.append(f"{name:<{width}}" + "".join(f"{cell:>22}" for cell in cells))
    return lines


def main() -> None:
    """Measure and print; or be one of the parts."""
    if sys.argv[1:2] == ["--part"]:
        name, ledger, *numbers = sys.argv[2:]
        if name == "fill":
            fill(Path(ledger), *map(int, numbers))
        print(
            json.dumps(MEASURES[name](Path(ledger), int(numbers[0])) if name in MEASURES else {})
        )
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help="samples, smallest first"
    )
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), [int(size) for size in options.sizes.split(",")])
    print("\n".join(table(found)))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
