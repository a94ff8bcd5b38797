"""The demo of a market, run for real: prices are told by a process, and copies come too late."""

import io
import json
import re
import sys
from pathlib import Path

import forked
import pytest
from rich.console import Console
from typer.testing import CliRunner

from verifier_ladder.cli.app import app
from verifier_ladder.demo import market
from verifier_ladder.demo.market import Market, run_market
from verifier_ladder.ledger.offline import main as check


def shown(folder: Path, *, seconds: float, every: float) -> tuple[Market, str, str]:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    made = run_market(
        ledger=folder / "market.db", seed=3, console=console, seconds=seconds, every=every
    )
    assert isinstance(console.file, io.StringIO)
    return made, console.file.getvalue(), (folder / "market.html").read_text("utf-8")


def test_forecasts_are_paid_by_the_price_and_who_came_late_is_not(tmp_path: Path) -> None:
    """A horizon that may be too near: then they are sealed for one twice as far away."""
    made, text, page = shown(tmp_path, seconds=0.5, every=0.05)

    assert {True} == set(made.claims.values())
    assert 9 == len(made.claims)
    assert 4 == len(made.honest)
    *_, looks, copies = made.forecasters
    assert (0.0, 0.0) == (looks.pays, copies.pays)
    assert 9 == text.count("   yes  ")
    assert made.seal is not None
    assert made.seal.sha256 in page
    assert f"entry {made.seal.entry}, sha256 {made.seal.sha256[:16]}" in text
    assert 2 == page.count("late: samples are taken only before")
    assert "<script" not in page
    published, proof = tmp_path / "market-checkpoint.txt", tmp_path / "proof.json"
    (command,) = re.findall(r"<code>vladder (ledger prove .*?) --out", page)
    done = CliRunner().invoke(app, [*command.split(), "--out", str(proof)])
    assert 0 == done.exit_code, done.output
    assert made.seal.note == published.read_text("utf-8")
    assert 0 == check([str(proof)])
    cells = re.findall(r'data-label="at once">([^<]+)<', page)
    assert ["–", "–"] == cells[-2:]
    assert all(float(cell) >= 0 for cell in cells[:-2])


@pytest.mark.slow
def test_the_command_takes_its_twenty_seconds(tmp_path: Path) -> None:
    place = ["--ledger", str(tmp_path / "market.db")]
    done = CliRunner().invoke(app, ["demo", "market", "--json", *place])

    assert 0 == done.exit_code, done.output
    facts = json.loads(done.stdout)
    assert all(facts["claims"].values())
    assert facts["seal"]["recorded"] < facts["horizon"]


def test_the_command_fails_where_a_claim_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> Market:
        return Market("market-1", claims={"it is so": True, "it is not": False})

    monkeypatch.setattr(market, "run_market", broken)
    assert 1 == CliRunner().invoke(app, ["demo", "market"]).exit_code


@pytest.mark.slow
def test_the_example_of_the_tutorial_shows_the_same() -> None:
    example = Path(__file__).parents[2] / "examples" / "trading" / "run.py"

    done = forked.run([sys.executable, example], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    told = re.findall(r"^(at once|settled|copied|corrected) +([\d.]+)", done.stdout, re.MULTILINE)
    assert ["0.88", "0.50", "0.00"] == [value for when, value in told if when == "settled"]
    assert ["0.71", "0.70", "0.00"] == [value for when, value in told if when == "corrected"]
    assert [("copied", "0.00")] == [one for one in told if one[0] == "copied"]
