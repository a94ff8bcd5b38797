"""What a thousand connections without a token cost those who have one.

Run: `python benchmarks/strangers.py [--rounds 9] [--calls 3000] [--strangers 1000]`

A server with tokens, started as users start it. An honest client asks for single rewards over
64 connections, which are made anew after a thousand calls, while nobody else is there, and
while a thousand connections without a token are held open by another process: *silent* ones say
nothing; *slow* ones announce a large body and send a byte of their headers or their body a second.
Each that the server ends comes back after a second. The cases take turns. What is told is the
ratio of the honest client's calls a second without strangers to those with them, round by round;
goal: at most 1.1. The processor time of the server beside it says how much of that is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
_SAID = {
    "nobody": [],
    "silent": [""],
    "slow": [_HEAD, f"{_HEAD}Content-Length: 60000000\r\n\r\n"],
}


class Spent(NamedTuple):
    """Microseconds of a call: of the clock, and of the server's processor time."""

    wall: float
    cpu: float


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
    said = _SAID[kind]
    staying = [
        asyncio.create_task(stay(url, said[i % len(said)], drips=kind == "slow"))
        for i in range(count if said else 0)
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


def measure(folder: Path, rounds: int, calls: int, count: int) -> dict[str, list[Spent]]:
    """What a call takes in each case, round by round."""
    ledger = folder / "served.db"
    secret = TokenFile(folder / "served.db.tokens").add("honest", ["score"])
    spent: dict[str, list[Spent]] = {kind: [] for kind in _SAID}
    with serving(ledger) as url:
        (server,) = psutil.Process().children()
        asked(url, server, secret, 0, 500)
        first = 500
        for turn in range(rounds):
            for place in range(len(spent)):
                kind = list(spent)[(turn + place) % len(spent)]
                with strangers(url, kind, count):
                    spent[kind].append(asked(url, server, secret, first, calls))
                first += calls
    return spent


def show(spent: dict[str, list[Spent]]) -> None:
    """Print the cases and their ratios."""
    alone = spent["nobody"]
    for kind, made in spent.items():
        wall, cpu = (statistics.median(column) for column in zip(*made, strict=True))
        print(f"{kind:>8}: {1e6 / wall:6.0f} calls/s; {cpu:5.0f} µs of the server's time each")
    for kind in list(_SAID)[1:]:
        ratios = [
            [with_them[i] / without[i] for with_them, without in zip(made, alone, strict=True)]
            for made in [spent[kind]]
            for i in range(2)
        ]
        wall, cpu = map(statistics.median, ratios)
        print(
            f"{kind:>8}: the others take {wall:.3f} × as long (median of {len(alone)} rounds, "
            f"{min(ratios[0]):.2f} to {max(ratios[0]):.2f}; goal 1.1), {cpu:.3f} × of the "
            f"server's time ({min(ratios[1]):.2f} to {max(ratios[1]):.2f})"
        )


def main() -> None:
    """Measure, or be the strangers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=3000)
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
