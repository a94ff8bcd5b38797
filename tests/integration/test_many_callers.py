"""Many processes, one ledger: they share one engine, and survive the death of any of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import forked

from verifier_ladder.ledger import open_ledger

RANK = """
import json, os, sys
from pathlib import Path
import verifier_ladder as vl

LOG = Path(sys.argv[2])

@vl.verifier(tier="fast", kind="text", version="1")
def counted(candidate):
    with LOG.open("a") as log:
        log.write(candidate.content + "\\n")
    return float(len(candidate.content))

rank = int(sys.argv[1])
ladder = vl.Ladder("counted", [counted])
campaign = vl.Campaign.open(
    "ranks", ladder=ladder, ledger="ledger.db", run=f"rank-{rank}", workers=2
)
print("open", flush=True)
for line in sys.stdin:
    step = int(line)
    texts = [f"shared {step} {i}" for i in range(20)] + [f"rank {rank} {step}"]
    rewards = campaign.score(texts, step=step)
    print(json.dumps([r.value if r.value is not None else r.reason for r in rewards]), flush=True)
campaign.close()
"""


class Rank:
    """One process of a training run."""

    def __init__(self, folder: Path, number: int) -> None:
        """Start it."""
        self.process = forked.Popen(
            [sys.executable, str(folder / "rank.py"), str(number), str(folder / "log.txt")],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        self.number = number

    def line(self) -> str:
        """What it says next."""
        assert self.process.stdout is not None
        return str(self.process.stdout.readline())

    def ask(self, step: int) -> None:
        """Tell it to score one step."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{step}\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Let it finish, if it is alive."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=300)
        self.process.stdout.close()


def expected(rank: int, step: int) -> list[float]:
    """What a rank must be told for a step."""
    texts = [f"shared {step} {i}" for i in range(20)] + [f"rank {rank} {step}"]
    return [float(len(text)) for text in texts]


def test_eight_processes_share_one_engine_and_survive_the_death_of_its_owner(
    tmp_path: Path,
) -> None:
    """Every answer is right, before and after the first process, which owns the engine, dies."""
    (tmp_path / "rank.py").write_text(RANK)
    first = Rank(tmp_path, 0)
    assert first.line() == "open\n"
    others = [Rank(tmp_path, number) for number in range(1, 8)]
    for rank in others:
        assert rank.line() == "open\n"
    for rank in (first, *others):
        rank.ask(0)
    for rank in (first, *others):
        assert json.loads(rank.line()) == expected(rank.number, 0)

    first.process.send_signal(signal.SIGKILL)
    for rank in others:
        rank.ask(1)
    for rank in others:
        assert json.loads(rank.line()) == expected(rank.number, 1)
    for rank in (first, *others):
        rank.end()

    runs = Counter((tmp_path / "log.txt").read_text().splitlines())
    assert {text: n for text, n in runs.items() if text.startswith("shared 0") and n > 1} == {}
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for rank in others:
            for step in (0, 1):
                rows = ledger.recorded("ranks", f"rank-{rank.number}", step)
                assert [rows[i].reward.value for i in sorted(rows)] == expected(rank.number, step)
    assert not _alive(first.process.pid)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
