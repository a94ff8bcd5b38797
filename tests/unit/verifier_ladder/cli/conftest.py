"""A ledger with one recorded campaign, and the command line on it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from histories import ESTIMATE, GATE, MEASURED, XTB, History, Item, cost
from typer.testing import CliRunner

from verifier_ladder.cli.app import app
from verifier_ladder.decision import Action
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

Run = Callable[..., Any]
HOSTILE = "C\x1b[31m\u202e[bold]X"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Ethanol climbs to the world, a broken text is rejected, one check fails."""
    path = tmp_path / "ledger.db"
    with open_ledger(path) as store:
        _record(History(store, "solvation"))
    return path


def _record(history: History) -> None:
    ethanol = Item(
        "OCC", "CCO", {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(-5.0), 0.5)},
        Reward(0.5, 0.1, Tier.FAST, pending=True), -5.0, 1.0, Action.ESCALATE, Tier.SIMULATION, 1,
    )  # fmt: skip
    broken = Item(HOSTILE, Verdict.reject(f"can't read '{HOSTILE}'"), {}, Reward(0.0, 0.0))
    history.score([ethanol, broken])
    history.check(ethanol, XTB, cost(Verdict.abstain("SCF diverged", failed_at="tool"), 1.0))
    known = cost(Verdict.accept(-4.5, uncertainty=0.2, unit="kcal/mol"), 2.0)
    history.check(ethanol, XTB, known)
    better = Reward(0.47, 0.05, Tier.SIMULATION, revision=1)
    history.revise(
        0, 0, replace(ethanol, verdicts={**ethanol.verdicts, XTB: known}, reward=better)
    )
    history.enqueue(ethanol, MEASURED, CheckState.WAITING)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `vladder` in an empty folder; the result has exit_code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VLADDER_LEDGER", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    runner = CliRunner()

    def call(*arguments: object, typed: str | None = None) -> Any:
        return runner.invoke(app, [str(a) for a in arguments], input=typed, prog_name="vladder")

    return call
