"""What the ledger costs per sample, and how it compares with a raw bulk insert.

All variants take turns on files of their own, so that the machine's load meets all of them alike;
the ratios are of medians over the rounds. The raw insert writes the same bytes in as many records:
one row per sample with a unique 32-byte key, by `sqlite3.executemany`, with the same settings.

Then the log: how many entries a second get their place, are signed for, and are verified again;
the same hashes made by hashlib alone are the yardstick.
"""

import argparse
import hashlib
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.encoding import encode
from verifier_ladder.ledger.records import (
    Block,
    CandidateRow,
    DecisionColumns,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.samples import IDENTITY
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.ledger.sqlite import PRAGMAS
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

CANONICALISER = hashlib.sha256(b"a canonicaliser").digest()


def digests(name: str, step: int, count: int) -> list[bytes]:
    """Distinct keys."""
    return [hashlib.sha256(f"{name}{step}.{i}".encode()).digest() for i in range(count)]


def block(step: int, count: int, *, canonicaliser: bytes = IDENTITY) -> Block:
    """One call with new candidates, one trivial verdict each."""
    draw = random.Random(step)  # noqa: S311 - data for a benchmark
    raw, contents, checks = (digests(name, step, count) for name in ("raw", "content", "check"))
    texts = [f"candidate {step} {i} " + "CCO" * draw.randrange(8) for i in range(count)]
    scores = [draw.random() for _ in range(count)]
    candidates = [
        CandidateRow(*row, "text", text, None, canonicaliser)
        for row, text in zip(zip(raw, contents, strict=True), texts, strict=True)
    ]
    verdicts = [
        VerdictRow(check, content, "logp", "1", 0, Verdict.accept(score))
        for check, content, score in zip(checks, contents, scores, strict=True)
    ]
    samples = SampleColumns("run", step, range(count), contents, [(key,) for key in checks])
    return Block("score", "bench", candidates, verdicts, samples, [decisions(scores)],
                 [Reward(s, None, Tier.FAST, components={"logp": s}) for s in scores])  # fmt: skip


def decisions(scores: list[float]) -> DecisionColumns:
    """What a policy that stops everywhere leaves."""
    count = len(scores)
    return DecisionColumns(
        "thresholds 1", range(count), [0] * count, [-1] * count, [0] * count,
        ["the top tier has answered"], scores, [0.25] * count, [1.0] * count, None,
        [0.0] * count,
    )  # fmt: skip


def cached(new: Block, step: int) -> Block:
    """The same call again, everything known."""
    again = replace(cast(SampleColumns, new.samples), step=step)
    return Block("score", "bench", (), (), again, new.decisions, new.rewards)


class Raw:
    """The bulk insert that nothing through SQLite can beat."""

    def __init__(self, path: Path) -> None:
        """Make one table with a unique key."""
        self.connection = sqlite3.connect(path, isolation_level=None)
        for pragma in PRAGMAS:
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k BLOB, body BLOB)")
        self.connection.execute("CREATE UNIQUE INDEX tk ON t (k)")

    def insert(self, rows: list[tuple[bytes, bytes]]) -> None:
        """Insert in one transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany("INSERT INTO t (k, body) VALUES (?, ?)", rows)
        self.connection.execute("COMMIT")


def timed(call: Callable[[], object], count: int) -> float:
    """Microseconds per sample."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) / count * 1e6


def one_round(
    step: int, count: int, ledger: Ledger, aliased: Ledger, raw: Raw
) -> dict[str, float]:
    """Time every variant once."""
    new = block(step, count)
    named = block(step, count, canonicaliser=CANONICALISER)
    known = cached(new, step + 1_000_000)
    body = encode(new, 0.0)
    size = len(body) // count
    rows = [(key, body[:size]) for key in digests("raw row", step, count)]
    checks = [row.check_key for row in new.verdicts]
    raws = [row.raw_key for row in new.candidates]
    return {
        "raw executemany, same bytes and records": timed(lambda: raw.insert(rows), count),
        "append, all new": timed(lambda: ledger.append(new), count),
        "append, all new, with aliases": timed(lambda: aliased.append(named), count),
        "append, all cached": timed(lambda: ledger.append(known), count),
        "  of which encoding, all new": timed(lambda: encode(new, 0.0), count),
        "  of which encoding, all cached": timed(lambda: encode(known, 0.0), count),
        "verdicts(), all found": timed(lambda: ledger.verdicts(checks), count),
        "verdicts(), none found": timed(lambda: ledger.verdicts(rows_keys(rows)), count),
        "aliases(), all found": timed(lambda: aliased.aliases(CANONICALISER, raws), count),
    }


def rows_keys(rows: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Keys that the ledger does not have."""
    return [key for key, _ in rows]


def measure(count: int, rounds: int, folder: Path) -> dict[str, list[float]]:
    """The times of all rounds; the first fills caches and is dropped."""
    times: dict[str, list[float]] = {}
    raw = Raw(folder / "raw.db")
    with open_ledger(folder / "a.db") as ledger, open_ledger(folder / "b.db") as aliased:
        for step in range(rounds + 1):
            for name, value in one_round(step, count, ledger, aliased, raw).items():
                times.setdefault(name, []).append(value)
    return {name: values[1:] for name, values in times.items()}


def raw_hashing(entries: int) -> float:
    """Seconds to hash as many leaves and nodes as a log of this size has."""
    data, pair = bytes(300), bytes(65)
    start = time.perf_counter()
    for _ in range(entries):
        hashlib.sha256(data).digest()
        hashlib.sha256(pair).digest()
    return time.perf_counter() - start


def measure_log(folder: Path, entries: int) -> dict[str, tuple[float, int]]:
    """Seconds for the log of many small entries, and for a ledger of few large ones."""
    times: dict[str, tuple[float, int]] = {"leaves and nodes, hashlib alone": (0.0, entries)}
    with open_ledger(folder / "log.db") as ledger:
        assert isinstance(ledger, SqlLedger)  # noqa: S101 - a path opens nothing else
        with ledger._writing() as connection:  # noqa: SLF001 - as a merge writes
            for number in range(entries):
                write(connection, Draft(Block("retry", "bench", facts={"n": number})))
        start = time.perf_counter()
        done = sum(iter(ledger.sequence, 0))
        times["sequence, an entry"] = (time.perf_counter() - start, done)
        start = time.perf_counter()
        found = ledger.verify(index=False)
        times["verify the log, an entry"] = (time.perf_counter() - start, found.entries)
    with open_ledger(folder / "a.db") as ledger:
        assert isinstance(ledger, SqlLedger)  # noqa: S101
        samples = ledger.count_samples("bench")
        start = time.perf_counter()
        ledger.verify(index=False)
        times["verify the log, a sample"] = (time.perf_counter() - start, samples)
        start = time.perf_counter()
        ledger.verify()
        times["verify log and indexes, a sample"] = (time.perf_counter() - start, samples)
    times["leaves and nodes, hashlib alone"] = (raw_hashing(entries), entries)
    return times


def main() -> None:
    """Print one line per variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--entries", type=int, default=20_000, help="entries of the log")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary one by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        times = measure(options.batch, options.rounds, Path(folder))
        log = measure_log(Path(folder), options.entries)
    base = statistics.median(next(iter(times.values())))
    print(f"{'batch of ' + str(options.batch):42}  median µs a sample    mean   raw / this")
    for name, values in times.items():
        median = statistics.median(values)
        mean = statistics.mean(values)  # The mean holds the checkpoints, which come now and then.
        print(f"{name:42}  {median:18.2f}  {mean:6.2f}   {base / median:10.2f}")
    print(f"\n{'the log':42}  {'µs each':>18}  {'each second':>12}")
    for name, (seconds, count) in log.items():
        print(f"{name:42}  {seconds / count * 1e6:18.2f}  {count / seconds:12,.0f}")


if __name__ == "__main__":
    main()
