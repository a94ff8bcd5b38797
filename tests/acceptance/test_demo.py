"""The demo, run for real: four tiers, a summary, a report; the second run does no new work."""

import io
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from verifier_ladder.cli.app import app
from verifier_ladder.demo import running
from verifier_ladder.demo.outputs import LADDER, read_outputs
from verifier_ladder.demo.running import run_demo
from verifier_ladder.errors import ConfigError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import open_ledger
from verifier_ladder.resource import Resource
from verifier_ladder.summary import Summary, summarise
from verifier_ladder.tier import Tier

NEEDED = ("rdkit", "ase", "tblite", "pyscf", "jinja2")


@pytest.fixture
def chemistry(require: Any) -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    require("chemistry", not missing, f"runs the demo; missing {', '.join(missing)}")


def demo(folder: Path) -> tuple[Summary, str]:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    summary = run_demo(ledger=folder / "ledger.db", quick=True, console=console)
    assert isinstance(console.file, io.StringIO)
    return summary, console.file.getvalue()


def summary_of(folder: Path) -> Summary:
    with open_ledger(folder / "ledger.db") as ledger:
        return summarise(ledger, running.QUICK_CAMPAIGN)


@pytest.mark.usefixtures("chemistry")
def test_the_demo_climbs_sums_up_and_needs_no_second_payment(tmp_path: Path) -> None:
    """One test for both runs, because the first takes most of the time."""
    told, text = demo(tmp_path)
    first = summary_of(tmp_path)

    assert first.samples == told.samples
    assert first.samples > 20
    assert 0 < first.candidates < first.samples
    assert first.tiers[1].accepted > 0
    assert first.rejects != ()
    assert first.rewards.unknown is not None
    assert first.rewards.unknown < first.samples
    dear = next(tier for tier in first.tiers if tier.tier is Tier.HIGH_FIDELITY)
    assert dear.cap == 10.0
    assert dear.spent <= dear.cap
    assert "new check" in text
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<svg class="molecule"' in html

    _, text = demo(tmp_path)
    second = summary_of(tmp_path)

    after = next(tier for tier in second.tiers if tier.tier is Tier.HIGH_FIDELITY)
    more = dear.parked - after.parked  # What waited for the budget may fit into what is left.
    assert second.samples == first.samples
    assert [tier.checks for tier in second.tiers[:2]] == [tier.checks for tier in first.tiers[:2]]
    ended = [tier.checks + tier.failed for tier in (dear, after)]
    assert ended[1] == ended[0] + more  # It may also run out of it, which is no answer.
    assert after.spent <= dear.cap
    assert ("0 new checks, 0 new cpu-seconds" in text) is (more == 0)
    assert more or (second.spent, second.best) == (first.spent, first.best)


def test_missing_packages_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_NEEDED", ("json", "no_such_package"))

    with pytest.raises(ConfigError, match=r"needs no_such_package: pip install .*\[demo\]"):
        run_demo()


@pytest.mark.parametrize(
    ("name", "extras"),
    [("cheaters", "report"), ("crystal", "materials,report"), ("market", "report")],
)
def test_a_demo_without_what_writes_its_report_does_not_begin(
    name: str, extras: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    folder = tmp_path / "demo"

    done = CliRunner().invoke(app, ["demo", name, "--ledger", str(folder / "ledger.db")])

    assert done.exit_code == 2
    assert f"needs jinja2: pip install '.[{extras}]'" in " ".join(done.stderr.split())
    assert not folder.exists()


@pytest.mark.usefixtures("chemistry")
def test_ctrl_c_leaves_a_campaign_that_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_climb", stop)
    place = ["--ledger", str(tmp_path / "ledger.db")]

    done = CliRunner().invoke(app, ["demo", "--quick", *place])

    assert done.exit_code == 130
    assert "run the same command again" in done.stderr


def test_the_outputs_are_about_sixty_in_a_few_steps() -> None:
    steps = read_outputs()

    assert 55 <= sum(map(len, steps)) <= 70
    assert 2 <= len(steps) <= 8
    assert all(s.position == i for step in steps for i, s in enumerate(step))


@pytest.mark.usefixtures("chemistry")
def test_the_ladder_has_four_tiers_and_a_budget() -> None:
    ladder = Ladder.from_toml(LADDER)

    assert ladder.tiers == tuple(Tier)
    assert ladder.budget[Tier.HIGH_FIDELITY, Resource.CPU_SECONDS] == 100.0
