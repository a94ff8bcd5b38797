"""Prices, told live by a process of its own: `python -m verifier_ladder.demo.prices FILE`.

It writes a table as `FileFeed` reads it, a row at a time, and says each row on standard output
too. A line on standard input is a time whose price it tells once more, corrected; at the end of
standard input it ends, so that it never outlives whoever started it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from selectors import EVENT_READ, DefaultSelector
from typing import IO, Final

KNOWN: Final = 40
"""Prices that are known at the beginning."""
FIRST: Final = 100.0
_STEP, _CORRECTION, _LEAST = 0.5, 4.0, 10.0
_APART = 1e-3
"""Seconds between two rows at least, though the clock be set back."""


def walk(chance: Random) -> Iterator[float]:
    """Prices, each the one before and a step by chance, in a direction that changes slowly."""
    price, drift = FIRST, 0.0
    while True:
        yield round(price, 2)
        drift = 0.9 * drift + chance.gauss(0.0, 0.15)
        price = max(_LEAST, price + drift + chance.gauss(0.0, _STEP))


class Table:
    """A table that rows are added to, and who is told of them."""

    def __init__(self, path: Path, told: IO[str]) -> None:
        """Begin the table."""
        self._path, self._told, self._last = path, told, 0.0
        self._write("time,value,published,vintage\n")

    def tell(self, at: float, value: float, published: float, vintage: str) -> None:
        """Add a row."""
        self._last = max(published, self._last + _APART)
        row = f"{at!r},{value},{self._last!r},{vintage}\n"
        self._write(row)
        self._told.write(row)
        self._told.flush()

    def _write(self, text: str) -> None:
        """Write all of it at once: whoever reads at the same time sees no part of a row."""
        with self._path.open("ab", buffering=0) as file:
            file.write(text.encode())


def run(table: Table, prices: Iterator[float], chance: Random, every: float) -> None:
    """Tell what is known, then a price each time, until nobody listens."""
    known: dict[float, float] = {}

    def tell(at: float) -> None:
        known[at] = next(prices)
        table.tell(at, known[at], at, "first")

    begin = time.time()
    for number in range(KNOWN, 0, -1):
        tell(begin - number * every)
    last = begin
    with DefaultSelector() as waiting:
        waiting.register(sys.stdin, EVENT_READ)
        while True:
            if not waiting.select(every):
                last = max(time.time(), last + _APART)
                tell(last)
                continue
            if not (line := sys.stdin.readline()):
                return
            at = float(line)
            moved = chance.choice((-1.0, 1.0)) * (1.0 + chance.random() * _CORRECTION)
            table.tell(at, round(known[at] + moved, 2), time.time(), "corrected")


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell prices until standard input ends."""
    parser = argparse.ArgumentParser(description="Tell prices live.")
    parser.add_argument("file", type=Path, help="the table to write")
    parser.add_argument("--seed", type=int, default=0, help="of the prices")
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two prices")
    given = parser.parse_args(arguments)
    chance = Random(given.seed)  # noqa: S311 - prices, not secrets
    run(Table(given.file, sys.stdout), walk(chance), chance, given.every)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
