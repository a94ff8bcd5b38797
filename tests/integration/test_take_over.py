"""An engine that is killed in the middle of a check: the next one goes on at once."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import forked

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState

SCRIPT = """
import json, sys, time
from pathlib import Path
import verifier_ladder as vl

STARTED, GO = Path("started"), Path("go")

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def cheap(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", timeout=300, cost=vl.Cost(0.01))
def costly(candidate):
    STARTED.touch()
    while not GO.exists():
        time.sleep(0.01)
    return 2.0

ladder = vl.Ladder("l", [cheap, costly])
with vl.Campaign.open("c", ladder=ladder, ledger="ledger.db", run=sys.argv[1]) as campaign:
    if sys.argv[1] == "first":
        campaign.score(sys.argv[2:], deadline=300)
    campaign.drain(300)
    print(json.dumps([r.reward.value for r in campaign.revisions()]))
"""


def test_a_check_whose_engine_was_killed_is_run_again_without_waiting_for_its_lease(
    tmp_path: Path,
) -> None:
    """The lease would last a minute; the next engine on the machine takes over at once."""
    kill_at_work(tmp_path, "a")

    assert taken_over(tmp_path) == [2.0]
    with open_ledger(tmp_path / "ledger.db") as ledger:
        check = ledger.checks()[0]
        assert (check.state, check.attempt) == (CheckState.DONE, 2)


def test_of_a_batch_whose_engine_was_killed_only_the_check_at_work_has_lost_an_attempt(
    tmp_path: Path,
) -> None:
    kill_at_work(tmp_path, *"abcdef")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert len(ledger.checks(states=[CheckState.LEASED])) == 6

    assert taken_over(tmp_path) == [2.0] * 6
    with open_ledger(tmp_path / "ledger.db") as ledger:
        checks = ledger.checks()
        assert {check.state for check in checks} == {CheckState.DONE}
        assert sorted(check.attempt for check in checks) == [1, 1, 1, 1, 1, 2]


def kill_at_work(folder: Path, *candidates: str) -> None:
    """Kill an engine in the midst of the first of some checks."""
    (folder / "script.py").write_text(SCRIPT)
    first = forked.Popen([sys.executable, "script.py", "first", *candidates], cwd=folder)
    while not (folder / "started").exists():
        assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=300)
    (folder / "go").touch()


def taken_over(folder: Path) -> list[float]:
    """The rewards that the next engine comes to."""
    second = forked.run(
        [sys.executable, "script.py", "second"], cwd=folder, capture_output=True, text=True,
        timeout=300, check=True,
    )  # fmt: skip
    told: list[float] = json.loads(second.stdout)
    return told
