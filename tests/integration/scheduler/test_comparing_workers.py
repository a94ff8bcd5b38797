"""Groups above the fast tier before worker processes and hosts, which may be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from comparing import (
    assert_replays,
    spent,
)

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState

SCRIPT = """
import json, os, sys, time
from pathlib import Path
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def cheap(candidate):
    return len(candidate.content) / 10

@vl.verifier(tier="simulation", kind="text", version="1", scope="group", timeout=300,
             cost=vl.Cost(0.01, money=1.0))
def rank(members):
    Path("worker").write_text(str(os.getpid()))
    Path("started").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return [sum(len(a.content) > len(b.content) for b in members) / len(members) for a in members]

ladder = vl.Ladder("l", [cheap, rank], policy="all_tiers")
if __name__ == "__main__":
    with vl.Campaign.open("c", ladder=ladder, ledger=sys.argv[1], run="r", engine=sys.argv[2],
                          budget={"simulation": "unlimited"}, workers=1) as campaign:
        if sys.argv[3:]:
            campaign.score(sys.argv[3:], groups=["p"] * len(sys.argv[3:]), deadline=300)
        campaign.drain(300)
        print(json.dumps([r.reward.value for r in campaign.revisions() if r.reward.revision == 2]))
"""


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Run the script."""
    (folder / "mine.py").write_text(SCRIPT)
    return forked.Popen(
        [sys.executable, "mine.py", *words], cwd=folder, text=True, stdout=subprocess.PIPE
    )


def await_file(file: Path, process: subprocess.Popen[str]) -> None:
    while not file.exists():
        assert process.poll() is None


def test_a_worker_and_a_home_that_are_killed_cost_the_group_attempts_and_no_second_payment(
    tmp_path: Path,
) -> None:
    first = started(tmp_path, "ledger.db", "local", "a", "aaa", "aa")
    await_file(tmp_path / "started", first)
    (tmp_path / "started").unlink()
    os.kill(int((tmp_path / "worker").read_text()), signal.SIGKILL)
    await_file(tmp_path / "started", first)  # Another worker has taken it up.
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=300)
    assert first.stdout is not None
    first.stdout.close()
    (tmp_path / "go").touch()

    second = started(tmp_path, "ledger.db", "local")
    said, _ = second.communicate(timeout=300)
    assert json.loads(said) == pytest.approx([0, 2 / 3, 1 / 3])
    with open_ledger(tmp_path / "ledger.db") as ledger:
        (check,) = ledger.checks()
        assert (check.state, check.attempt >= 2) == (CheckState.DONE, True)
        blocks = [ledger.read(entry) for entry in ledger.entries(kind="check")]
        answers = [row for one in blocks for row in one.verdicts if row.verdict.is_answer]
        assert [row.check_key for row in answers] == [check.check_key]
        # What a lost attempt had reserved is taken as spent; the answer is paid once.
        assert spent(ledger) <= 1.25 * (check.attempt - 1) + 1.0
        assert_replays(ledger)


def test_a_worker_of_the_command_line_takes_a_group_on_postgresql(
    tmp_path: Path, postgresql: str
) -> None:
    campaign = started(tmp_path, postgresql, "workers", "a", "aaa", "aa")
    (tmp_path / "go").touch()
    worker = forked.Popen(
        [sys.executable, "-m", "verifier_ladder.cli", "worker", "start", "--import", "mine.py",
         "--ledger", postgresql],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        said, _ = campaign.communicate(timeout=300)
    finally:
        worker.kill()
        worker.wait(timeout=300)
    assert json.loads(said) == pytest.approx([0, 2 / 3, 1 / 3])
    with open_ledger(postgresql) as ledger:
        (check,) = ledger.checks()
        assert (check.state, check.attempt) == (CheckState.DONE, 1)
        assert spent(ledger) == pytest.approx(1.0)
