"""A worker that is killed in the midst of a trajectory: another host goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.tiers.high_fidelity.dynamics import CONTROL, OpenmmStability

pytest.importorskip("openmm")

SCRIPT = """
import json, os, sys, time
from pathlib import Path
import verifier_ladder as vl
from verifier_ladder.tiers import checkpoints
from verifier_ladder.tiers.high_fidelity.dynamics import CONTROL, STEPS, Model, OpenmmStability

class Held(OpenmmStability):
    def setup(self):
        super().setup()
        checkpoints.EVERY, further = 0.0, Model.further
        def held(model, run, seed):
            if run.steps == 3 * STEPS:
                Path("started").touch()
                while not Path("go").exists():
                    time.sleep(0.01)
            with open("stretches", "a") as file:
                print(Path(os.environ["TMPDIR"]).name, run.steps // STEPS, file=file)
            return further(model, run, seed)
        Model.further = held

@vl.verifier(tier="fast", kind="structure", version="1", isolation="inline")
def cheap(candidate):
    return 1.0

ladder = vl.Ladder("l", [cheap, Held(equilibration=1, duration=4)])
with vl.Campaign.open("c", ladder=ladder, ledger="ledger.db", run=sys.argv[1]) as campaign:
    if sys.argv[1] == "first":
        campaign.score([CONTROL], deadline=300)
    campaign.drain(300)
    print(json.dumps([r.reward.value for r in campaign.revisions()]))
"""


def started(folder: Path, run: str, **more: Any) -> subprocess.Popen[str]:
    """A process of a host of its own, which shares the ledger and the folder of checkpoints."""
    host = folder / run
    host.mkdir()
    told = {"TMPDIR": str(host), "VLADDER_CHECKPOINTS": str(folder / "checkpoints")}
    return subprocess.Popen(
        [sys.executable, "script.py", run], cwd=folder, env={**os.environ, **told}, text=True,
        **more,
    )  # fmt: skip


@pytest.mark.slow  # The unit's tests go on with a run that was killed, in one process.
def test_another_host_goes_on_where_a_killed_one_stopped_and_ends_the_same(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    first = started(tmp_path, "first")
    while not (tmp_path / "started").exists():
        assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=300)
    (tmp_path / "go").touch()

    second = started(tmp_path, "second", stdout=subprocess.PIPE)
    said, _ = second.communicate(timeout=300)

    undisturbed = OpenmmStability(equilibration=1, duration=4)
    expected = undisturbed.judge([Candidate("structure", CONTROL)])[0]
    assert 0 == second.returncode
    computed = (tmp_path / "stretches").read_text().splitlines()
    told = [f"first {n}" for n in range(3)]
    assert [*told, "second 3", "second 4"] == computed
    assert [expected.score] == json.loads(said)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        (check,) = ledger.checks()
        assert (CheckState.DONE, 2) == (check.state, check.attempt)
    assert [] == list((tmp_path / "checkpoints").iterdir())
