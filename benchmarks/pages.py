"""What a large ledger costs those who look at it: `campaign show`, the index, and each page.

Run: `python benchmarks/pages.py [--samples 1000000] [--json FILE]`

A ledger is filled by calls of 4,096 samples with a verifier that does nothing, of which two in a
thousand are audited; one of a hundred is rejected. `campaign show` is a process of its own: its
wall and processor time, and what it uses at most, beside those of `campaign ls`. The index is
filled in another, and what its last batches take is told over what the first do. Then each page
is asked seven times after a first one: the median of the processor time of the process that serves
and asks, and the bytes, compressed.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from urllib.parse import quote
from zlib import crc32

import verifier_ladder as vl
from verifier_ladder.analysis.candidates import CandidateIndex, Listing, Order
from verifier_ladder.ledger.opening import open_evidence
from verifier_ladder.scheduler.policies import Thresholds

CALL = 4096
AUDITED = 0.002
TIMES = 7
NAME = "pages"
_MIB = 2**20
Figures = dict[str, float]


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def cheap(candidates: list[vl.Candidate]) -> list[vl.Verdict]:
    """Reject one of a hundred, and give the others some number."""
    numbers = [crc32(str(candidate.content).encode()) for candidate in candidates]
    return [
        vl.Verdict.accept(n / 2**32) if n % 100 else vl.Verdict.reject(f"{n % 7} is too few")
        for n in numbers
    ]


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline", batch=True)
def dear(candidates: list[vl.Candidate]) -> list[float]:
    """Give each some other number."""
    return [crc32(str(candidate.content).encode()[::-1]) / 2**32 for candidate in candidates]


def texts(first: int, count: int) -> list[str]:
    """Distinct texts of 39 bytes."""
    return [f"the answer to question {number:09d} is 42" for number in range(first, first + count)]


def fill(ledger: Path, samples: int) -> Figures:
    """Score samples until the ledger holds this many."""
    policy = Thresholds(thresholds={"simulation": 2.0})
    ladder = vl.Ladder(NAME, [cheap, dear], policy=policy, audit=AUDITED)
    begun = process_time()
    with vl.Campaign.open(NAME, ladder=ladder, ledger=ledger, run="r", workers=1) as campaign:
        for first in range(0, samples, CALL):
            campaign.score(texts(first, min(CALL, samples - first)))
        campaign.drain("600 s")
    took = process_time() - begun
    return {"ledger, MiB": ledger.stat().st_size / _MIB, "filling it, cpu s": took}


def show(ledger: Path, samples: int) -> Figures:
    """The command that tells where a campaign stands, and one that only lists campaigns."""
    del samples
    found: Figures = {}
    for name in ("ls", "show"):
        call = [sys.executable, "-m", "verifier_ladder.cli", "campaign", name]
        took, used = [], []
        for _ in range(TIMES):
            begun, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*call, "--ledger", str(ledger)], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.append(perf_counter() - begun)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        found[f"campaign {name}, s"] = statistics.median(took)
        found[f"campaign {name}, cpu s"] = statistics.median(used)
        found[f"campaign {name}, MiB"] = after.ru_maxrss * 1024 / _MIB
    return found


def index(ledger: Path, samples: int) -> Figures:
    """The index, from nothing."""
    path, ends = ledger.with_suffix(".index"), [process_time()]
    made = CandidateIndex(path)
    with open_evidence(ledger) as store:
        while made.catch_up(store):
            ends.append(process_time())
    made.close()
    took, used = ends[-1] - ends[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    batches = [end - begun for begun, end in pairwise(ends)]
    some = 1 + len(batches) // 20
    first, last = batches[:-1][:some] or batches, batches[:-1][-some:] or batches
    return {
        "filling the index, cpu s": took, "a sample, cpu ms": took / samples * 1e3,
        "the last batches over the first": statistics.median(last) / statistics.median(first),
        "index, MiB": path.stat().st_size / _MIB, "its process, MiB": used * 1024 / _MIB,
    }  # fmt: skip


def pages(ledger: Path, samples: int) -> Figures:
    """Every page of the campaign, the list in each order and by each filter."""
    from fastapi.testclient import TestClient

    from verifier_ladder.server.pages.app import create_viewer

    app = create_viewer(ledger, index=ledger.with_suffix(".index"), draws=False)
    app.state.viewer.catch_up()
    (best,) = app.state.viewer.index.page(Listing(NAME, Order.TRUTH), 1).rows
    place = f"campaign={NAME}"
    rare = quote(f"question {samples // 2:09d}")
    asked = {
        "ledger": "/ledger",
        "campaign": f"/campaign?{place}",
        "failures": f"/failures?{place}",
        "candidate": f"/candidate?{place}&key={best.key}",
        "group": f"/group?{place}&run=r&step=0&position=0",
        **{f"list, {o.value}": f"/candidates?{place}&order={o.value}" for o in Order},
        "list, rejected": f"/candidates?{place}&outcome=rejected",
        "list, audited": f"/candidates?{place}&reached=simulation",
        "search, one": f"/candidates?{place}&text={rare}",
        "search, all": f"/candidates?{place}&text=answer",
    }
    found: Figures = {}
    with TestClient(app, base_url="http://127.0.0.1:8421") as client:
        for name, address in asked.items():
            took = []
            for _ in range(TIMES + 1):
                begun = process_time()
                answer = client.get(address)
                took.append(process_time() - begun)
                answer.raise_for_status()
            found[f"{name}, the first, ms"] = took[0] * 1e3
            found[f"{name}, ms"] = statistics.median(took[1:]) * 1e3
            found[f"{name}, kB"] = int(answer.headers["content-length"]) / 1e3
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _MIB
    return found | {"its process at last, MiB": used}


PARTS = {"fill": fill, "show": show, "index": index, "pages": pages}


def main() -> None:
    """Measure and print; or be one of the parts."""
    if sys.argv[1:2] == ["--part"]:
        name, ledger, samples = sys.argv[2:]
        print(json.dumps(PARTS[name](Path(ledger), int(samples))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000, help="samples of the ledger")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in PARTS:
            call = [sys.executable, __file__, "--part", name, str(Path(folder) / "pages.db")]
            done = subprocess.run(
                [*call, str(options.samples)], stdout=subprocess.PIPE, text=True, check=True
            )
            figures |= json.loads(done.stdout)
    for name, value in figures.items():
        print(f"{name:<32}{value:>12,.2f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
