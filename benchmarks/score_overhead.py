"""Overhead of `Campaign.score` per sample, with a verifier that does nothing, recorded.

Run: `python benchmarks/score_overhead.py [--batch 4096] [--rounds 9]`

new: candidates never seen; ledger: known to the ledger and not to this process; memory: known to
this process. Every round starts processes of its own, as a training run would. Each case as
microseconds per sample and as a multiple of the least that a recorder could do: one `executemany`
of as many 200-byte rows into a new SQLite file. Goals: 25, 10, 5 µs.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import verifier_ladder as vl


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def trivial(candidates: list[vl.Candidate]) -> list[float]:
    """Say 1 to everything."""
    return [1.0] * len(candidates)


def texts(batch: int, offset: int) -> list[str]:
    """Distinct texts of the size of a short answer."""
    return [f"candidate {offset + i}: the answer is {i * 7919 % 104729}" for i in range(batch)]


def score_twice(ledger: str, batch: int, offset: int) -> list[float]:
    """Microseconds per sample of scoring a batch for the first and the second time."""
    ladder = vl.Ladder("trivial", [trivial])
    samples = texts(batch, offset)
    spent = []
    with vl.Campaign.open("bench", ladder=ladder, ledger=ledger) as campaign:
        campaign.score(["warm up"])
        for _ in range(2):
            started = perf_counter()
            campaign.score(samples)
            spent.append((perf_counter() - started) / batch * 1e6)
    return spent


def in_new_process(ledger: Path, batch: int, offset: int) -> list[float]:
    """The same, in a process that knows nothing yet."""
    command = [sys.executable, __file__, "--child", str(ledger), str(batch), str(offset)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(value) for value in json.loads(done.stdout)]


def raw_insert(path: Path, batch: int) -> float:
    """Microseconds per row of a bare insert."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (k BLOB PRIMARY KEY, body BLOB) WITHOUT ROWID")
    rows = [(i.to_bytes(4, "big") * 8, b"x" * 200) for i in range(batch)]
    started = perf_counter()
    with connection:
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    spent = perf_counter() - started
    connection.close()
    return spent / batch * 1e6


def measure(batch: int, rounds: int) -> dict[str, list[float]]:
    """Every case, round by round."""
    times: dict[str, list[float]] = {"raw": [], "new": [], "ledger": [], "memory": []}
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.db"
        for number in range(rounds):
            new, _ = in_new_process(ledger, batch, number * batch)
            known, again = in_new_process(ledger, batch, number * batch)
            times["raw"].append(raw_insert(Path(folder) / f"raw{number}.db", batch))
            times["new"].append(new)
            times["ledger"].append(known)
            times["memory"].append(again)
    return times


def main() -> None:
    """Print medians and ratios."""
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(score_twice(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    times = measure(options.batch, options.rounds)
    floor = statistics.median(times.pop("raw"))
    print(f"raw insert of one 200-byte row: {floor:.2f} µs")
    for case, values in times.items():
        middle = statistics.median(values)
        print(
            f"{case:>7}: {middle:6.2f} µs per sample, {middle / floor:5.2f} × raw insert "
            f"(min {min(values):.2f}, max {max(values):.2f}, n={len(values)})"
        )


if __name__ == "__main__":
    main()
