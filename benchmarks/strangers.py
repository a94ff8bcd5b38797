"""What a thousand connections without a token cost those who have one.

Run: `python benchmarks/strangers.py [--rounds 15] [--calls 2000] [--strangers 1000]`

A server with tokens, started as users start it. An honest client asks for single rewards over
64 connections, which are made anew after a thousand calls, while nobody else is there, and
while a thousand connections without a token are held open by another process: *silent* ones say
nothing; *slow* ones announce a large body and send a byte of their headers or their body a second.
Each that the server ends comes back after a second. The cases take turns, and each stands between
two measurements without strangers, with whose mean it is compared, so what else the machine does
falls on both. What is told is how many times as long the honest client's calls take, as the median
of the rounds with its 95 % interval; goal: at most 1.1. The processor time of the server beside it
says how much of that is its own. Strangers run at the lowest priority: they come from elsewhere,
and would not take the server's cores. How many of them were there is told, too.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import comb
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil
from http_rewards import call_all, check, serving, verify_body

from verifier_ladder.server.tokens import TokenFile

_CONNECTIONS = 64
_EACH = 1000
"""Calls for which a set of connections is used."""
_HEAD = "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_TAIL = 0.025
"""What lies beyond either end of an interval."""
_SAID = {
    "silent": [""],
    "slow": [_HEAD, f"{_HEAD}Content-Length: 60000000\r\n\r\n"],
}


class Spent(NamedTuple):
    """Microseconds of a call: of the clock, and of the server's processor time."""

    wall: float
    cpu: float


class Round(NamedTuple):
    """One case, and what was measured before and after it without strangers."""

    before: Spent
    during: Spent
    after: Spent
    files: int
    """How many files and connections the server had open."""

    def ratio(self, place: int) -> float:
        """How many times as much as without strangers: 0 for the clock, 1 for the processor."""
        return self.during[place] / statistics.mean([self.before[place], self.after[place]])


async def stay(url: str, said: str, *, drips: bool) -> None:
    """Hold one connection open for ever; come back a second after it was ended."""
    place = urlsplit(url)
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(said.encode())
            with suppress(OSError):
                await (_drip(reader, writer) if drips else reader.read())
            writer.close()
        await asyncio.sleep(1)


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a byte a second until the other end has had enough."""
    while not reader.at_eof():
        writer.write(b"x")
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1000), 1)


async def besiege(url: str, kind: str, count: int) -> None:
    """Hold many connections open, until this process is ended."""
    os.nice(19)
    said = _SAID[kind]
    staying = [
        asyncio.create_task(stay(url, said[i % len(said)], drips=kind == "slow"))
        for i in range(count)
    ]
    await asyncio.sleep(2)  # By then each has come, and the server has ended those before them.
    print("they are there", flush=True)
    await asyncio.gather(*staying)


@contextmanager
def strangers(url: str, kind: str, count: int) -> Iterator[None]:
    """Connections without a token, held open by another process."""
    command = [sys.executable, __file__, "--url", url, "--kind", kind, "--strangers", str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        check(bool(process.stdout and process.stdout.readline()), "no strangers came")
        try:
            yield
        finally:
            process.kill()


def asked(url: str, server: psutil.Process, secret: str, first: int, calls: int) -> Spent:
    """What an honest client's call takes; bodies are numbered, and each is new."""
    head = (
        "POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {secret}\r\n"
    )
    bodies = map(verify_body, range(first, first + calls))
    requests = [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies]
    since, before = perf_counter(), sum(server.cpu_times()[:2])
    for place in range(0, calls, _EACH):
        asyncio.run(call_all(url, requests[place : place + _EACH], _CONNECTIONS))
    wall, used = perf_counter() - since, sum(server.cpu_times()[:2]) - before
    return Spent(wall / calls * 1e6, used / calls * 1e6)


def measure(folder: Path, rounds: int, calls: int, count: int) -> dict[str, list[Round]]:
    """What a call takes in each case, round by round."""
    ledger = folder / "served.db"
    secret = TokenFile(folder / "served.db.tokens").add("honest", ["score"])
    found: dict[str, list[Round]] = {kind: [] for kind in _SAID}
    with serving(ledger) as url:
        (server,) = psutil.Process().children()
        numbers = itertools.count(step=calls)

        def ask() -> Spent:
            return asked(url, server, secret, next(numbers), calls)

        ask()  # The first calls take longer.
        alone = ask()
        for turn in range(rounds):
            for kind in sorted(found, reverse=bool(turn % 2)):
                with strangers(url, kind, count):
                    during, files = ask(), server.num_fds()
                before, alone = alone, ask()
                found[kind].append(Round(before, during, alone, files))
    return found


def middle(values: Sequence[float]) -> str:
    """The median and its 95 % interval, as text; by the order of the values."""
    ordered, count = sorted(values), len(values)
    below, tail = 0, 1 / 2**count
    while below < count // 2 and tail + comb(count, below + 1) / 2**count <= _TAIL:
        below += 1
        tail += comb(count, below) / 2**count
    low, high = ordered[below], ordered[count - 1 - below]
    return f"{statistics.median(ordered):.3f} ({low:.3f} to {high:.3f})"


def show(found: dict[str, list[Round]]) -> None:
    """Print the cases and their ratios."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"load of the machine: {busy:.1f} for each core; above 1 the clock says little")
    for kind, rounds in found.items():
        wall, cpu = (middle([one.ratio(place) for one in rounds]) for place in range(2))
        calls = 1e6 / statistics.median(one.before.wall for one in rounds)
        files = min(one.files for one in rounds)
        print(
            f"{kind:>8}: the others take {wall} × as long, of the server's processor time {cpu} × "
            f"(goal 1.1; {len(rounds)} rounds, {calls:.0f} calls/s alone, {files} files open)"
        )


def main() -> None:
    """Measure, or be the strangers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--strangers", type=int, default=1000)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=_SAID, help=argparse.SUPPRESS)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if options.url:
        asyncio.run(besiege(options.url, options.kind, options.strangers))
        return
    with tempfile.TemporaryDirectory() as name:
        show(measure(Path(name), options.rounds, options.calls, options.strangers))


if __name__ == "__main__":
    main()
