"""What HTTP adds to a reward: batches against calls in process, and single calls against servers.

Run: `python benchmarks/http_rewards.py [--batch 4096] [--rounds 9] [--singles 4000]`

*Batches*: `POST /v1/score` through the client against `Campaign.score` of the same texts with the
same trivial verifier and a ledger on disk, in turn, in one run. Microseconds per sample: goal, at
most 10 more than in process.

*Singles*: `POST /verify` in NeMo-Gym's form from 64 connections, each with one request at a time,
against a bare FastAPI route, which does nothing else, and against NeMo-Gym's own server, if
`build/learners/nemo-gym` has it, in turn. Requests a second: goal, at least five times NeMo-Gym's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple, cast

import orjson
import psutil

import verifier_ladder as vl

HERE = Path(__file__).parent
Score = Callable[[list[str]], list[vl.Reward]]
NEMO_GYM = HERE.parent / "build" / "learners" / "nemo-gym" / "bin" / "python"


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def trivial(candidates: list[vl.Candidate]) -> list[float]:
    """Say 1 to everything."""
    return [1.0] * len(candidates)


ladder = vl.Ladder("trivial", [trivial])


def check(is_right: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """End the benchmark if an answer is wrong."""
    if not is_right:
        raise SystemExit(otherwise)


def texts(batch: int, offset: int) -> list[str]:
    """Distinct texts of the size of a short answer."""
    return [f"candidate {offset + i}: the answer is {i * 7919 % 104729}" for i in range(batch)]


@contextmanager
def serving(ledger: Path) -> Iterator[str]:
    """Serve the ladder in another process, as users do."""
    command = [
        sys.executable, "-m", "verifier_ladder.cli", "serve", f"{__file__}:ladder", "--json",
        "--ledger", str(ledger), "--port", "0",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        told = server.stdout or sys.stdin  # A pipe, as asked for.
        said = ""
        while not said.endswith("}\n"):
            said += told.readline()
        try:
            yield str(json.loads(said)["url"])
        finally:
            server.terminate()


@contextmanager
def other(program: str | Path, name: str) -> Iterator[str]:
    """Run one of the servers to compare with."""
    command = [str(program), str(HERE / "http_servers.py"), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        told = server.stdout or sys.stdin  # A pipe, as asked for.
        port = told.readline().strip()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


class Spent(NamedTuple):
    """Microseconds of one case, round by round."""

    wall: list[float]
    cpu: list[float]
    """Processor time; it says more where others use the machine too."""


def batches(folder: Path, batch: int, rounds: int) -> dict[str, Spent]:
    """What every case took."""
    spent: dict[str, Spent] = {}

    def timed(case: str, samples: list[str], score: Score) -> None:
        begun, used = perf_counter(), process_time() + cpu_time()
        rewards = score(samples)
        found = spent.setdefault(case, Spent([], []))
        found.wall.append((perf_counter() - begun) / batch * 1e6)
        found.cpu.append((process_time() + cpu_time() - used) / batch * 1e6)
        check([1.0] * batch == [reward.value for reward in rewards], "other rewards")

    with (
        serving(folder / "served.db") as url,
        vl.Client(url) as client,
        vl.Campaign.open("bench", ladder=ladder, ledger=folder / "own.db") as campaign,
    ):
        for _ in range(3):
            client.score(["warm up"])
            campaign.score(["warm up"])
        for number in range(rounds):
            samples = texts(batch, number * batch)
            timed("new, in process", samples, campaign.score)
            timed("new, HTTP", samples, client.score)
            timed("known, in process", samples, campaign.score)
            timed("known, HTTP", samples, client.score)
    return spent


def verify_body(number: int) -> bytes:
    """One episode as NeMo-Gym's clients send it."""
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed",
        "content": [
            {"type": "output_text", "text": f"The answer is {number}.", "annotations": []}
        ],
    }  # fmt: skip
    return orjson.dumps({
        "responses_create_params": {"input": [{"role": "user", "content": "What is it?"}]},
        "response": {
            "id": f"resp_{number}", "created_at": 1.0, "model": "m", "object": "response",
            "output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "status": "completed",
        },
    })  # fmt: skip


class Caller(asyncio.Protocol):
    """One connection that has one request under way at a time, with as little work as can be."""

    def __init__(self, requests: list[bytes], done: asyncio.Future[None]) -> None:
        """Send requests until the shared list is empty."""
        self.requests, self.done, self.data = requests, done, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)
        self.send()

    def send(self) -> None:
        """Send the next request, if there is one."""
        if self.requests:
            self.transport.write(self.requests.pop())
        else:
            self.transport.close()
            self.done.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Wait for the whole answer."""
        self.data += data
        head, found, body = self.data.partition(b"\r\n\r\n")
        if not found:
            return
        check(head.startswith(b"HTTP/1.1 200"), repr(self.data[:300]))
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            check(b'"reward":1.0' in body, repr(body[:300]))
            self.data = b""
            self.send()


async def call_all(url: str, requests: list[bytes], connections: int) -> None:
    """Send all requests over so many connections."""
    loop = asyncio.get_running_loop()
    host, _, port = url.removeprefix("http://").partition(":")
    ends = [loop.create_future() for _ in range(connections)]
    for end in ends:
        await loop.create_connection(partial(Caller, requests, end), host, int(port))
    await asyncio.gather(*ends)


def cpu_time() -> float:
    """Seconds of processor time that the server and its children have taken."""
    servers = psutil.Process().children(recursive=True)
    return sum(sum(server.cpu_times()[:2]) for server in servers)


def singles(url: str, first: int, count: int, connections: int) -> tuple[float, float]:
    """What a request takes, and of it the server's processor time, in µs; bodies are numbered."""
    head = "POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    bodies = map(verify_body, range(first, first + count))
    requests = [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies]
    since, before = perf_counter(), cpu_time()
    asyncio.run(call_all(url, requests, connections))
    return (perf_counter() - since) / count * 1e6, (cpu_time() - before) / count * 1e6


def print_batches(folder: Path, batch: int, rounds: int) -> None:
    """Print what a sample costs in process and over HTTP."""
    spent = batches(folder, batch, rounds)
    for case, (wall, cpu) in spent.items():
        print(
            f"{case:>18}: {statistics.median(wall):6.2f} µs per sample (min {min(wall):.2f}); "
            f"{statistics.mean(cpu):6.2f} µs of processor time"
        )
    for case in ("new", "known"):
        over, within = spent[f"{case}, HTTP"], spent[f"{case}, in process"]
        added = statistics.median(a - b for a, b in zip(over.wall, within.wall, strict=True))
        used = statistics.mean(over.cpu) - statistics.mean(within.cpu)
        print(
            f"{case:>18}: HTTP adds {added:.2f} µs per sample (median of rounds; goal 10), "
            f"{used:.2f} µs of processor time"
        )


def print_singles(folder: Path, count: int, rounds: int, connections: int) -> None:
    """Print how many single requests each server answers in a second; they take turns."""
    starts: dict[str, AbstractContextManager[str]] = {
        "verifier-ladder": serving(folder / "singles.db"),
        "bare FastAPI": other(sys.executable, "echo"),
    }
    if NEMO_GYM.exists():
        starts["NeMo-Gym"] = other(NEMO_GYM, "nemo-gym")
    spent = {name: Spent([], []) for name in starts}
    with ExitStack() as running:
        urls = {name: running.enter_context(start) for name, start in starts.items()}
        for url in urls.values():
            singles(url, 0, 200, connections)
        for number in range(1, rounds + 1):
            for name, url in urls.items():
                for kept, value in zip(
                    spent[name], singles(url, number * count, count, connections), strict=True
                ):
                    kept.append(value)
    for name, (wall, cpu) in spent.items():
        middle = statistics.median(wall)
        print(
            f"{name:>18}: {1e6 / middle:6.0f} requests/s, {middle:5.0f} µs each "
            f"({statistics.median(cpu):.0f} µs of processor time)"
        )
    ours = spent.pop("verifier-ladder")
    for name, theirs in spent.items():
        faster, less = (
            statistics.median(a / b for a, b in zip(*pair, strict=True))
            for pair in zip(theirs, ours, strict=True)
        )
        print(
            f"verifier-ladder answers {faster:.2f} × as many as {name} (median of rounds), "
            f"{less:.2f} × by processor time"
        )


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--singles", type=int, default=4000)
    parser.add_argument("--connections", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.batch:
            print_batches(folder, options.batch, options.rounds)
        if options.singles:
            print_singles(folder, options.singles, options.rounds, options.connections)


if __name__ == "__main__":
    main()
