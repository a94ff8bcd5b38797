"""The commands that a summary proposes work as printed."""

import shlex
import sys
from pathlib import Path

import forked
from histories import ESTIMATE, GATE, History, Item

from verifier_ladder.ledger import open_ledger
from verifier_ladder.reward import Reward
from verifier_ladder.summary import summarise
from verifier_ladder.summary.terminal import commands
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

VLADDER = Path(sys.executable).with_name("vladder")


def test_each_proposed_command_runs(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "a ledger.db") as ledger:
        history = History(ledger, "solvation")
        verdicts = {GATE: Verdict.accept(), ESTIMATE: Verdict.accept(-5.0)}
        history.score([Item("O=C(O)C", "CC(=O)O", verdicts, Reward(0.5, 0.1, Tier.FAST))])
        proposed = [command for command, _ in commands(summarise(ledger, "solvation"))]

    for command in proposed:
        _, *arguments = shlex.split(command)
        done = forked.run(
            [VLADDER, *arguments], capture_output=True, text=True, timeout=300, cwd=tmp_path,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert (tmp_path / "solvation.jsonl").exists()
