"""A soak of the ledger: very many entries, memory that stays flat, checkpoints that keep up.

One thread writes blocks, a hundred in one durable transaction as the ends of a batch of checks are
written; the sequencer works beside it. Ten times on the way a line tells how it goes; at the end
the whole log is verified. The exit code is 1 if a checkpoint lagged two seconds or more, memory
grew by more than a tenth after the first tenth of the way, or the log does not fit what was
signed. `--short` takes seconds and does not judge memory: SQLite's caches are still filling.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import psutil

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.sequencer import Sequencer
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import score_block

LAG = 2.0
"""Seconds within which an entry must be signed for."""
GROWTH = 1.1
"""How much memory may grow after the first tenth."""
TOGETHER = 100
"""Entries of one transaction."""
_LINES = 10
_LOOK = 0.2


class Line(NamedTuple):
    """How it went so far."""

    entries: int
    rate: float
    """Entries a second since the last line."""
    lag: float
    """Seconds that the oldest entry without a signature had waited, at most since then."""
    memory: float
    """MiB of this process."""
    size: float
    """MiB on disk."""


class Lag:
    """Looks again and again how long the oldest entry has waited for its signature."""

    def __init__(self, ledger: SqlLedger) -> None:
        """Start looking."""
        self._ledger = ledger
        self._worst = 0.0
        self._ends = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.wait(_LOOK):
            self._worst = max(self._worst, self.now())

    def now(self) -> float:
        """Seconds the oldest has waited by now."""
        with self._ledger._reading() as connection:  # noqa: SLF001 - looks where nobody else does
            oldest = connection.exec_driver_sql(
                "SELECT recorded_at FROM entry WHERE id > "
                "coalesce((SELECT entry_id FROM leaf ORDER BY idx DESC LIMIT 1), 0) "
                "ORDER BY id LIMIT 1"
            ).scalar()
        return 0.0 if oldest is None else time.time() - oldest

    def worst(self) -> float:
        """The longest wait since this was last asked."""
        worst, self._worst = max(self._worst, self.now()), 0.0
        return worst

    def close(self) -> None:
        """Stop looking."""
        self._ends.set()
        self._thread.join()


def soak(path: Path, entries: int, records: int) -> list[Line]:
    """Write, and look ten times on the way."""
    lines: list[Line] = []
    with open_ledger(path) as ledger, Sequencer(ledger):
        assert isinstance(ledger, SqlLedger)  # noqa: S101 - a path opens nothing else
        lag = Lag(ledger)
        done, start = 0, time.perf_counter()
        while done < entries:
            append(ledger, range(done, min(done + TOGETHER, entries)), records)
            done = min(done + TOGETHER, entries)
            if done * _LINES // entries > len(lines):
                rate = (done - (lines[-1].entries if lines else 0)) / (time.perf_counter() - start)
                lines.append(Line(done, rate, lag.worst(), memory(), size_of(path)))
                tell(lines[-1])
                start = time.perf_counter()
        lag.close()
    return lines


def append(ledger: SqlLedger, numbers: range, records: int) -> None:
    """Write one entry for each number."""
    drafts = [
        Draft(score_block([f"{number}.{at}" for at in range(records)], step=number))
        for number in numbers
    ]
    with ledger._writing() as connection:  # noqa: SLF001 - several entries in one transaction
        for made in drafts:
            write(connection, made)


def memory() -> float:
    """MiB of this process."""
    return psutil.Process().memory_info().rss / 2**20


def size_of(path: Path) -> float:
    """MiB of the ledger and what lies beside it."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 2**20


def tell(line: Line) -> None:
    """Print one line of the table."""
    print(
        f"{line.entries:12,} {line.rate:12,.0f} {line.lag:8.2f} {line.memory:10.0f} "
        f"{line.size:10,.0f}",
        flush=True,
    )


def check(path: Path, lines: list[Line], *, short: bool) -> list[str]:
    """What is wrong."""
    with open_ledger(path) as ledger:
        assert isinstance(ledger, SqlLedger)  # noqa: S101
        start = time.perf_counter()
        found = ledger.verify(index=False)
        taken = time.perf_counter() - start
    print(
        f"verified {found.entries:,} entries and {found.checkpoints:,} checkpoints: "
        f"{found.entries / taken:,.0f} entries a second"
    )
    worst = max(line.lag for line in lines)
    growth = max(line.memory for line in lines) / lines[0].memory
    print(f"longest lag {worst:.2f} s, memory x {growth:.2f} since the first tenth")
    problems = list(found.problems)
    if found.entries != lines[-1].entries:
        problems.append(f"{lines[-1].entries - found.entries} entries are not in the log")
    if worst >= LAG:
        problems.append(f"a checkpoint lagged {worst:.2f} s")
    if growth > GROWTH and not short:
        problems.append(f"memory grew by {growth - 1:.0%}")
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, help="1,000,000 by default; 3000 with --short")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--records", type=int, default=1, help="samples of an entry")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary one by default")
    options = parser.parse_args(arguments)
    print(f"{'entries':>12} {'a second':>12} {'lag, s':>8} {'MiB used':>10} {'MiB disk':>10}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "soak.db"
        entries = options.entries or (3000 if options.short else 1_000_000)
        lines = soak(path, entries, options.records)
        problems = check(path, lines, short=options.short)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
