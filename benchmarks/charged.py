"""What checks are charged, against the processor time that the kernel counts for their processes.

Run: `python benchmarks/charged.py [--checks 4] [--rounds 3]`

Checks of each kind are scored by a campaign in a process of its own, with one worker. This process
looks from outside at what the campaign's process and all below it have taken, before and after;
so the campaign's own work for the checks counts as used, though it is nobody's charge. What loses
its parent comes to this process, and stays in sight.

Each kind is told as soon as it is measured. All of them take some two minutes of processor time,
so many times as long where others use the machine.

Goal: what is charged differs from what was used by at most 10 %.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import verifier_ladder as vl
from verifier_ladder.metering import keep_tree
from verifier_ladder.resource import Resource

LIMIT = 0.1
BURNT = 0.5
"""Seconds of processor time that each check is made to take."""
SPIN = """
import hashlib, os, threading, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""
PROGRAMS = {
    "a program": """
def solve(seconds):
    spin(seconds)
    return 1
""",
    "its children": """
def solve(seconds):
    for _ in range(4):
        if os.fork() == 0:
            spin(seconds / 4)
            os._exit(0)
    return sum(os.wait()[1] == 0 for _ in range(4)) // 4
""",
    "many short children": """
def solve(seconds):
    for _ in range(50):
        if os.fork() == 0:
            spin(seconds / 50)
            os._exit(0)
        os.wait()
    return 1
""",
    "an orphan": """
def solve(seconds):
    told, tell = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            spin(seconds)
            os.write(tell, b"x")
        os._exit(0)
    os.wait()
    return len(os.read(told, 1))
""",
    "many threads": """
def solve(seconds):
    end, data = time.process_time() + seconds, bytes(1 << 16)
    def work():
        while time.process_time() < end: hashlib.sha256(data)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return 1
""",
}
"""What programs in the sandbox do."""
OUTSIDE = ("a verifier", "its child", "a service")
"""Who works outside the sandbox."""


def spin(seconds: float) -> None:
    """Take so much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class Model(vl.Service):
    """A service that works for whoever calls it."""

    name, version, grace = "charged-model", "1", 1.0

    def work(self) -> float:
        """Take the time of one check."""
        spin(BURNT)
        return 1.0


@vl.verifier(
    name="charged-works", tier="fast", kind="text", version="1", timeout=300.0,
    cost=vl.Cost(seconds=BURNT), services={"model": Model()},
)  # fmt: skip
def works(candidate: vl.Candidate, services: Mapping[str, vl.Service]) -> float:
    """Take the time of one check, by whom the candidate names."""
    match str(candidate.content).partition("#")[0]:
        case "a verifier":
            spin(BURNT)
        case "its child":
            subprocess.run([sys.executable, "-S", "-c", f"{SPIN}\nspin({BURNT})"], check=True)
        case _:
            return float(services["model"].call("work"))
    return 1.0


def candidate(kind: str, number: int) -> vl.Candidate:
    """A new candidate of a kind."""
    if kind in OUTSIDE:
        return vl.Candidate("text", f"{kind}# {number}")
    task = {"calls": [f"solve({BURNT})"], "expected": ["1"], "limits": {"memory": 1 << 30}}
    return vl.Candidate("text", f"{SPIN}{PROGRAMS[kind]}# {number}\n", task=task)


def score(kind: str, checks: int) -> None:
    """Be the campaign: score one, and all others when told to; print what each call is charged."""
    verifier = works if kind in OUTSIDE else "code-functions"
    ladder = vl.Ladder("charged", [verifier])
    with vl.Campaign.open("bench", ladder=ladder, ledger="memory://", workers=1) as campaign:
        for first, last in ((0, 1), (1, checks + 1)):
            before = charged(campaign)
            rewards = campaign.score([candidate(kind, number) for number in range(first, last)])
            if reasons := [each.reason for each in rewards if each.value != 1.0]:
                raise SystemExit(f"{kind}: not accepted: {reasons[0]}")
            print(charged(campaign) - before, flush=True)
            sys.stdin.readline()


def charged(campaign: vl.Campaign) -> float:
    """Cpu-seconds on the campaign's accounts."""
    accounts = campaign.ledger.accounts(campaign.name)
    return sum(each.spent for each in accounts if each.resource is Resource.CPU_SECONDS)


def seen() -> float:
    """Cpu-seconds of all that this process has started, living or waited for, by the kernel."""
    return sum(map(process_seconds, descendants(os.getpid())[1:]))


def descendants(process: int) -> list[int]:
    """A process and the processes that it has started."""
    found = [process]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):  # That thread has ended.
                found += map(int, children.read_text().split())
    return found


def process_seconds(process: int) -> float:
    """Seconds of processor time of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / 100


def measured(kind: str, checks: int) -> tuple[float, float]:
    """Cpu-seconds that were used and that were charged."""
    command = [sys.executable, __file__, "--score", kind, "--checks", str(checks)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as campaign:
        if campaign.stdin is None or campaign.stdout is None or not campaign.stdout.readline():
            raise SystemExit(f"{kind}: the campaign has ended")
        before = seen()
        print(file=campaign.stdin, flush=True)
        told = float(campaign.stdout.readline())
        used = seen() - before
    with suppress(ChildProcessError):  # A service ends a while after who has called it.
        while True:
            os.wait()
    return used, told


def main() -> None:
    """Print one line for each kind, and whether all of them are charged for what they used."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--score", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.score:
        score(options.score, options.checks)
        return
    keep_tree()
    print(f"{'cpu-seconds, in all':22} used  charged  ratio (range)", flush=True)
    medians = [
        report(kind, [measured(kind, options.checks) for _ in range(options.rounds)])
        for kind in (*PROGRAMS, *OUTSIDE)
    ]
    worst = max(medians, key=lambda ratio: abs(ratio - 1))
    is_met = abs(worst - 1) <= LIMIT
    print(
        f"the worst is charged {worst:.3f} of what it used (goal within {LIMIT:.0%}): "
        f"{'met' if is_met else 'missed'}"
    )


def report(kind: str, rounds: list[tuple[float, float]]) -> float:
    """Print one kind's line; the median of its ratios."""
    used, told = map(sum, zip(*rounds, strict=True))
    ratios = [charged / used for used, charged in rounds]
    median = statistics.median(ratios)
    print(
        f"{kind:20} {used:6.2f}  {told:7.2f}  {median:.3f} ({min(ratios):.3f}–{max(ratios):.3f})",
        flush=True,
    )
    return median


if __name__ == "__main__":
    main()
