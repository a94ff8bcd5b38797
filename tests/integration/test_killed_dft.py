"""An engine that is killed in the midst of a field by DFT: its check is done once more."""

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
from verifier_ladder.resource import Resource
from verifier_ladder.tiers.high_fidelity.dftproperties import DftProperties

pytest.importorskip("pyscf")

SCRIPT = """
import json, sys, time
from pathlib import Path
import verifier_ladder as vl
from verifier_ladder.tiers.high_fidelity.dft import Dft
from verifier_ladder.tiers.high_fidelity.dftproperties import DftProperties

class Held(DftProperties):
    def setup(self):
        super().setup()
        made = Dft._unfitted
        def held(method, molecule):
            field = made(method, molecule)
            def at(cycle):
                if cycle["cycle"] == 2:
                    with open("fields", "a") as file:
                        print(sys.argv[1], molecule.charge, file=file)
                    Path("started").touch()
                    while not Path("go").exists():
                        time.sleep(0.01)
            field.callback = at
            return field
        Dft._unfitted = held

@vl.verifier(tier="fast", kind="molecule", version="1", isolation="inline")
def cheap(candidate):
    return 1.0

ladder = vl.Ladder("l", [cheap, Held(level="hf/3-21g", score="ionisation_energy")])
with vl.Campaign.open("c", ladder=ladder, ledger="ledger.db", run=sys.argv[1]) as campaign:
    if sys.argv[1] == "first":
        campaign.score([vl.Candidate("molecule", "O")], deadline=300)
    campaign.drain(300)
    print(json.dumps([r.reward.value for r in campaign.revisions()]))
"""


def started(folder: Path, run: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "script.py", run], cwd=folder, text=True,
        env={**os.environ, "TMPDIR": str(folder / "scratch")}, **more,
    )  # fmt: skip


@pytest.mark.slow  # A field that is cut off in one process, and every engine's, are in make test.
def test_a_killed_calculation_is_done_again_paid_once_and_has_the_same_verdict(
    tmp_path: Path,
) -> None:
    """What the killed attempt took is told apart, as spent on no answer."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "scratch").mkdir()
    first = started(tmp_path, "first")
    while not (tmp_path / "started").exists():
        assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=300)
    (tmp_path / "go").touch()

    second = started(tmp_path, "second", stdout=subprocess.PIPE)
    said, _ = second.communicate(timeout=300)

    undisturbed = DftProperties(level="hf/3-21g", score="ionisation_energy")
    (expected,) = undisturbed.judge([Candidate("molecule", "O")])
    assert 0 == second.returncode
    assert [expected.score] == json.loads(said)
    computed = (tmp_path / "fields").read_text().splitlines()
    assert ["first 1", "second 1", "second 0"] == computed
    with open_ledger(tmp_path / "ledger.db") as ledger:
        (check,) = ledger.checks()
        assert (CheckState.DONE, 2) == (check.state, check.attempt)
        rows = [row for entry in ledger.entries() for row in ledger.read(entry).verdicts]
        (told,) = [row.verdict for row in rows if row.verdict.evidence]
        (account,) = [
            each for each in ledger.accounts("c")
            if each.resource is Resource.CPU_SECONDS and each.tier == check.tier
        ]  # fmt: skip
    assert told.cost is not None
    assert (1, 0.0) == (account.checks, account.reserved)
    assert account.settled == pytest.approx(told.cost.seconds, abs=1e-6)
    assert expected.evidence == told.evidence
    assert [] == list((tmp_path / "scratch").iterdir())
