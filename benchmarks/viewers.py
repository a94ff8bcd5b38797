"""What three viewers of a ledger cost the training that writes to it.

Run: `python benchmarks/viewers.py [--rounds 10] [--seconds 6] [--samples 512] [--json FILE]`

A writer scores new samples as fast as it can. In every second round, in an order that is drawn,
`vladder view` shows the ledger and three browsers look at it: each asks every two seconds
how far it has come, and fetches its page again when there is more, as the pages' script does. Told
is the writer's own processor time of a call, and how long the call took, with viewers over without
them. In brackets the same of two halves of the rounds without: what the machine alone makes of it.
On a busy machine only the processor time says much. The goal is 1.02.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, process_time
from urllib.parse import urlsplit

import verifier_ladder as vl

EVERY = 2.0
"""Seconds between two questions of a page's script."""
PAGES = ("/campaign?campaign=viewed", "/candidates?campaign=viewed&order=newest", "/ledger")


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def trivial(candidates: list[vl.Candidate]) -> list[float]:
    """Say 1 to everything."""
    return [1.0] * len(candidates)


def browse(port: int, page: str, ends: Event, seen: list[int]) -> None:
    """Look at a page as a browser does; how often it was fetched is added to `seen`."""
    newest = (-1, -1)
    while not ends.wait(EVERY):
        connection = HTTPConnection("127.0.0.1", port, timeout=300)
        connection.request("GET", "/newest.json")
        state = json.loads(connection.getresponse().read())
        told = (state["newest"], state["listed"])
        if told != newest:
            connection.request("GET", page)
            connection.getresponse().read()
            seen.append(told[0])
        newest = told
        connection.close()


def browsers(port: int) -> None:
    """Be three browsers until nothing more comes from whoever has started this."""
    ends, seen = Event(), list[int]()
    threads = [Thread(target=browse, args=(port, page, ends, seen)) for page in PAGES]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    ends.set()
    for thread in threads:
        thread.join()
    print(len(seen))


@contextmanager
def viewed(ledger: Path) -> Iterator[list[int]]:
    """Three viewers while the block lasts; how many pages they have fetched is told at its end."""
    fetched, called = list[int](), [sys.executable, "-m", "verifier_ladder.cli", "view"]
    kept = {**os.environ, "XDG_CACHE_HOME": str(ledger.parent)}
    server = subprocess.Popen(
        [*called, "--no-open", "--port", "0", "--json", str(ledger)],
        stdout=subprocess.PIPE, text=True, env=kept,
    )  # fmt: skip
    told = "".join(iter(server.stdout.readline, "}\n")) if server.stdout else ""
    port = urlsplit(json.loads(told + "}")["url"]).port
    looking = subprocess.Popen(
        [sys.executable, __file__, "--browse", str(port)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield fetched
    finally:
        fetched.append(int(looking.communicate("")[0]))
        server.terminate()
        server.communicate()


def main() -> None:
    """Print the ratios."""
    if sys.argv[1:2] == ["--browse"]:
        browsers(int(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="rounds with viewers")
    parser.add_argument("--seconds", type=float, default=6.0, help="how long a round is")
    parser.add_argument("--samples", type=int, default=512, help="samples of a call")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    numbers, ladder = count(), vl.Ladder("viewed", [trivial])
    kinds = ("viewed", "alone", "alone again")
    used: dict[str, list[float]] = {kind: [] for kind in kinds}
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    pages = list[int]()
    draw = random.Random(3)  # noqa: S311 - an order

    def calls(campaign: vl.Campaign, kind: str) -> None:
        until = perf_counter() + options.seconds
        while (begun := perf_counter()) < until:
            new = [f"the answer to question {next(numbers):09d}" for _ in range(options.samples)]
            begun, cpu = perf_counter(), process_time()
            campaign.score(new)
            used[kind].append(process_time() - cpu)
            took[kind].append(perf_counter() - begun)

    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "viewed.db"
        with vl.Campaign.open("viewed", ladder=ladder, ledger=ledger) as campaign:
            campaign.score(["warm up"])
            for _ in range(options.rounds):
                for kind in draw.sample(kinds, len(kinds)):
                    if kind == "viewed":
                        with viewed(ledger) as fetched:
                            calls(campaign, kind)
                        pages += fetched
                    else:
                        calls(campaign, kind)
            log = Path(f"{ledger}-wal").stat().st_size / 2**20
    figures = {
        f"{name}, {other}": statistics.median(of[kind]) / statistics.median(of["alone"])
        for name, of in (("processor time", used), ("time", took))
        for other, kind in (("viewed", "viewed"), ("machine", "alone again"))
    }  # fmt: skip
    figures |= {"pages fetched": sum(pages), "calls, viewed": len(used["viewed"])}
    figures["the ledger's log, MiB"] = log
    for name, value in figures.items():
        print(f"{name:<32}{value:>10.3f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
