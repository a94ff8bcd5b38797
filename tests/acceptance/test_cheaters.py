"""The demo of cheaters, run for real: it cheats, an alarm rings, and a page shows both."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from verifier_ladder.cli.app import app
from verifier_ladder.cli.output import Exit
from verifier_ladder.demo import cheaters, training
from verifier_ladder.errors import SandboxError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.shadow import is_shadow
from verifier_ladder.tiers.sandbox import Sandbox


@pytest.fixture
def sandbox(require: Callable[..., None]) -> None:
    why = Sandbox().problem()
    require("a sandbox", not why, why)


def outcome(folder: Path) -> tuple[dict[str, dict[str, Any]], str]:
    place = folder / "cheaters.db"
    made = CliRunner().invoke(app, ["demo", "cheaters", "--ledger", str(place), "--json"])
    assert made.exit_code == 0, made.output
    page = place.with_name("cheaters.html").read_text("utf-8")
    return json.loads(made.stdout), page


def answers_shared(place: Path) -> set[bytes]:
    """Checks of the first training that rewards of the second rest on."""
    with open_ledger(place) as ledger:
        first, second = [c.name for c in ledger.campaigns() if not is_shadow(c.name)]
        asked = map(ledger.read, ledger.entries(campaign=first, kind="score"))
        found = {row.check_key for block in asked for row in block.verdicts}
        told = map(ledger.read, ledger.entries(campaign=second, kind="score"))
        return found & {
            key for b in told if b.samples for keys in b.samples.checks for key in keys
        }


@pytest.mark.usefixtures("sandbox")
def test_the_reward_is_fooled_and_audits_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two small steps of four tasks, half of whose samples are audited."""
    monkeypatch.setattr(training, "STEPS", 2)
    monkeypatch.setattr(training, "GROUP", 8)
    monkeypatch.setattr(cheaters, "AUDITED", 0.5)
    whole = cheaters.pool()
    few = cheaters.Pool(whole.tasks[:4], whole.cheats, whole.honest[:4])
    monkeypatch.setattr(training, "pool", lambda: few)

    found, page = outcome(tmp_path)

    for each in found.values():
        assert each["true"] < 0.2
        assert each["unknown"] == 0
    assert found["exit_code"]["told"] > 0.5
    assert found["exit_code"]["alarms"] == []
    assert str(found["audited"]["alarms"]).startswith("['exit-code is being gamed")
    assert page.count("Told and true by step</title>") == 2
    assert 'class="alarm"' in page
    assert "<h1>A reward that is gamed, and the same reward audited</h1>" in page
    ends = [f"{each['told']:.2f} told and {each['true']:.2f} true" for each in found.values()]
    assert page.index(ends[0]) < page.index("an alarm names exit-code") < page.index(ends[1])
    assert answers_shared(tmp_path / "cheaters.db")


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_the_audited_policy_ends_honest(tmp_path: Path) -> None:
    found, _ = outcome(tmp_path)

    assert found["exit_code"]["told"] > 0.95
    assert found["exit_code"]["true"] < 0.1
    assert found["audited"]["true"] > 0.8


def test_without_a_sandbox_it_shows_what_doctor_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_SANDBOX", "command")
    monkeypatch.setenv("VLADDER_SANDBOX_COMMAND", "/bin/false")

    with pytest.raises(SandboxError, match=r"doctor` says: warn sandbox: none works here.*→ "):
        training.run_cheaters(ledger=tmp_path / "ledger.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["nobody"], ["cheaters", "--quick"]])
def test_what_there_is_not_is_told(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["demo", *arguments]).exit_code == Exit.USAGE
