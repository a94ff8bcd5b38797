"""Overhead of `Campaign.score` per sample, with a verifier that does nothing, recorded.

Run: `python benchmarks/score_overhead.py [--batch 4096] [--rounds 7]`

new: candidates never seen; ledger: known to the ledger and not to this process; memory: known to
this process. Each as microseconds per sample and as a multiple of the least a recorder could do:
one `executemany` of the same number of 200-byte rows into a new SQLite file. Goals: 25, 10, 5 µs.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
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


def timed(campaign: vl.Campaign, batch: list[str]) -> float:
    """Microseconds per sample of scoring a batch."""
    started = perf_counter()
    campaign.score(batch)
    return (perf_counter() - started) / len(batch) * 1e6


def raw_insert(folder: Path, batch: int, number: int) -> float:
    """Microseconds per row of a bare insert."""
    connection = sqlite3.connect(folder / f"raw{number}.db")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (k BLOB PRIMARY KEY, body BLOB) WITHOUT ROWID")
    rows = [(i.to_bytes(4, "big") * 8, b"x" * 200) for i in range(batch)]
    started = perf_counter()
    with connection:
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    spent = perf_counter() - started
    connection.close()
    return spent / batch * 1e6


def main() -> None:
    """Measure the three cases and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    times: dict[str, list[float]] = {"new": [], "ledger": [], "memory": [], "raw": []}
    ladder = vl.Ladder("trivial", [trivial])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "ledger.db"
        for number in range(options.rounds):
            batch = texts(options.batch, number * options.batch)
            with vl.Campaign.open("bench", ladder=ladder, ledger=path) as campaign:
                campaign.score(["warm up"])
                times["new"].append(timed(campaign, batch))
            with vl.Campaign.open("bench", ladder=ladder, ledger=path) as campaign:
                campaign.score(["warm up"])
                times["ledger"].append(timed(campaign, batch))
                times["memory"].append(timed(campaign, batch))
            times["raw"].append(raw_insert(folder, options.batch, number))
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
