"""What the Celery engine adds to a check that takes a millisecond, with one worker and with two.

Run: `python benchmarks/celery_engine.py [--checks 4000] [--rounds 3]`

PostgreSQL and Redis are started for it, durable, on loopback. A campaign scores once, and the
clock runs from when the call returns to the last revision; each worker is a `vladder worker start`
of its own that listens to Celery. The verifier sleeps, so that what is measured is not how many
cores there are. Its own time is that of as many sleeps in one process, in the same round.

Goals: twice the workers do at least 1.8 times the work; at most 200 µs a check beside its own
time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter, sleep

import verifier_ladder as vl
from verifier_ladder.testing.servers import PostgresqlServer, RedisServer

_MILLISECOND = 0.001
_fresh = count()


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def guess(candidate: vl.Candidate) -> float:
    """Something to start from."""
    return float(len(candidate.content))


@vl.verifier(
    tier="simulation", kind="text", version="1", cost=vl.Cost(seconds=_MILLISECOND), batch_size=100
)
def wait(candidate: vl.Candidate) -> float:
    """Take a millisecond, and no core."""
    sleep(_MILLISECOND)
    return float(len(candidate.content))


ladder = vl.Ladder("millisecond", [guess, wait], policy="all_tiers")


def bare(checks: int) -> float:
    """Seconds that the verifier takes by itself."""
    started = perf_counter()
    for _ in range(checks):
        sleep(_MILLISECOND)
    return perf_counter() - started


@contextmanager
def workers(number: int, ledger: str, broker: str) -> Iterator[None]:
    """Worker hosts, one batch at once each."""
    command = [
        *(sys.executable, "-m", "verifier_ladder.cli", "worker", "start", "--workers", "1"),
        *("--import", __file__, "--ledger", ledger, "--broker", broker),
    ]
    hosts = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(number)]
    try:
        yield
    finally:
        for host in hosts:
            host.terminate()
        for host in hosts:
            host.wait()


def ours(campaign: vl.Campaign, checks: int) -> float:
    """Seconds until the last revision."""
    campaign.score([f"candidate {next(_fresh)}" for _ in range(checks)])
    started = perf_counter()
    campaign.drain()
    return perf_counter() - started


def measure(ledger: str, broker: str, checks: int, rounds: int) -> dict[int, list[float]]:
    """Microseconds a check, and worker, beside the verifier's own; by the number of workers."""
    beside: dict[int, list[float]] = {1: [], 2: []}
    os.environ["VLADDER_BROKER"] = broker
    with vl.Campaign.open("bench", ladder=ladder, ledger=ledger, engine="celery") as campaign:
        for number, found in beside.items():
            with workers(number, ledger, broker):
                ours(campaign, 200 * number)  # Hosts start, and load the verifier.
                for turn in range(rounds):
                    own, took = bare(checks), ours(campaign, checks * number)
                    found.append((took - own) / checks * 1e6)
                    each = took / checks / number * 1e6
                    print(
                        f"{number} workers, round {turn + 1}: {each:6.0f} µs a check, "
                        f"verifier {own / checks * 1e6:6.0f} µs, "
                        f"beside it {found[-1]:6.0f} µs of each worker's time"
                    )
    return beside


def main() -> None:
    """Start the servers, measure, print the two ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=4000, help="for each worker")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresqlServer(durable=True) as database, RedisServer() as broker,
    ):  # fmt: skip
        os.environ["VLADDER_KEY"] = str(Path(folder) / "ledger.key")
        beside = measure(database.new_database(), broker.url, options.checks, options.rounds)
    one, two = (statistics.median(beside[number]) for number in (1, 2))
    own = 1e6 * statistics.median(bare(500) / 500 for _ in range(5))
    print(f"overhead a check: {one:.0f} µs with one worker, {two:.0f} µs with two")
    print(f"efficiency from one worker to two: {(own + one) / (own + two):.2f}")


if __name__ == "__main__":
    main()
