"""Real processes on one ledger file: killed while writing, and sharing the work."""

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import monotonic

import forked
import pytest

from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.encoding import leaf
from verifier_ladder.ledger.records import Block, CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.testing.records import CAMPAIGN, check_row, enqueue, key

WRITER = """
import sys
from time import time
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, Charged
from verifier_ladder.testing.records import *
ledger, start = open_ledger(sys.argv[1]), int(sys.argv[2])
for n in range(start, start + 100000):
    words = [f"{n}.{i}" for i in range(300)]
    asked = check_row(f"q{n}", reserve=Cost(1.0))
    ledger.append(score_block(words, step=n), enqueue=[(asked, [request(f"q{n}")])],
                  charges={Charged(0): (Cost(0.001), 300)})
    for claimed in ledger.claim(owner="w", lease=1e9, limit=10, now=time()):
        ledger.complete([completion(claimed)], now=time())
    print(n, flush=True)
"""

WORKER = """
import sys
from time import time
from verifier_ladder.ledger import open_ledger
from verifier_ladder.cost import Cost
from verifier_ladder.testing.records import completion
from verifier_ladder.verdict import Verdict
ledger = open_ledger(sys.argv[1])
# Without a cost its time is charged, and a slow machine would use up the cap.
said = Verdict.accept(1.0, cost=Cost(0.01))
print("ready", flush=True)
sys.stdin.readline()
while claims := ledger.claim(owner=sys.argv[2], lease=60, limit=7, now=time()):
    for ended in ledger.complete([completion(c, said) for c in claims], now=time()):
        print(ended.claim.check.payload["content"], flush=True)
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return forked.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True,
    )  # fmt: skip


def kill_while_writing(path: Path, first: int, seed: int) -> int:
    """Kill a writer −9 somewhere after some writes; return the last number it reported."""
    draw, last = random.Random(seed), first - 1  # noqa: S311 - moments to kill at
    with start(WRITER, str(path), str(first)) as writer:
        assert writer.stdout is not None
        for _ in range(draw.randrange(1, 12)):
            last = int(writer.stdout.readline())
        moment = monotonic() + draw.random() * 0.02
        while monotonic() < moment:
            pass
        writer.kill()
        for line in writer.stdout:
            if line.endswith("\n"):
                last = int(line)
    return last


def check_whole(ledger: Ledger, path: Path, reported: int) -> int:
    """Nothing that was reported is lost, nothing is half there; return the next number."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    steps = set()
    for entry in ledger.entries(kind="score"):
        assert entry.leaf == leaf(entry.body)
        block = ledger.read(entry)
        assert block.samples is not None
        steps.add(block.samples.step)
        assert len(ledger.verdicts([row.check_key for row in block.verdicts])) == 300
    assert steps == set(range(len(steps)))
    assert len(steps) > reported
    assert ledger.next_step(CAMPAIGN, "run") == len(steps)
    assert len(ledger.checks()) == len(ledger.requests()) == len(steps)
    check_accounts(ledger, len(steps))
    return len(steps)


def check_accounts(ledger: Ledger, steps: int) -> None:
    """What was charged is what was written; what is done is answered once."""
    fast, simulation = ledger.accounts(CAMPAIGN)
    done = ledger.checks(states=[CheckState.DONE])
    assert fast.checks == 300 * steps
    assert round(fast.settled * 1000) == steps
    assert simulation.checks == len(done)
    assert round(simulation.reserved) == len(ledger.checks(states=[CheckState.LEASED]))
    paid = [
        row.check_key
        for entry in ledger.entries(kind="check")
        for row in ledger.read(entry).verdicts
    ]
    assert sorted(paid) == sorted(row.check_key for row in done)


@pytest.mark.parametrize("rounds", [6, pytest.param(40, marks=pytest.mark.slow)])
def test_a_writer_killed_at_any_moment_loses_nothing(tmp_path: Path, rounds: int) -> None:
    path, following = tmp_path / "ledger.db", 0
    for seed in range(rounds):
        reported = kill_while_writing(path, following, seed)
        with open_ledger(path) as ledger:
            following = check_whole(ledger, path, reported)


def test_four_processes_complete_every_check_exactly_once(tmp_path: Path) -> None:
    path, words = tmp_path / "ledger.db", [f"w{n}" for n in range(200)]
    with open_ledger(path) as ledger:
        ledger.set_caps(CAMPAIGN, {(1, Resource.CPU_SECONDS): 200.0})
        enqueue(ledger, *(check_row(word) for word in words))
        workers = [start(WORKER, str(path), str(n)) for n in range(4)]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        finished = [line for worker in workers for line in worker.communicate("go\n")[0].split()]
        assert sorted(finished) == sorted(words)
        assert len(ledger.verdicts([key(f"check {word}") for word in words])) == 200
        (account,) = ledger.accounts(CAMPAIGN)
        assert (account.checks, account.reserved) == (200, 0.0)
        assert {row.attempt for row in ledger.checks()} == {1}


def test_many_processes_may_make_one_ledger(tmp_path: Path) -> None:
    script = (
        "import sys; from verifier_ladder.ledger import open_ledger; "
        "from verifier_ladder.testing.records import score_block; "
        "open_ledger(sys.argv[1]).append(score_block([sys.argv[2]]))"
    )
    makers = [start(script, str(tmp_path / "ledger.db"), f"w{n}") for n in range(6)]
    for maker in makers:
        maker.communicate()
    assert [maker.returncode for maker in makers] == [0] * 6
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert len(list(ledger.entries())) == 6
        ledger.append(Block("score", CAMPAIGN))
