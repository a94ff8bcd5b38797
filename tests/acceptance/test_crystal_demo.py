"""The demo of a crystal, run for real: a search is paid for atoms in one place, and is caught."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from verifier_ladder.cli.app import app
from verifier_ladder.cli.output import Exit
from verifier_ladder.demo import crystals, crystalsearch
from verifier_ladder.demo.crystalsearch import Pair, Trial, run_crystal


def shown(folder: Path, seed: int) -> tuple[Pair, str, str]:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    made = run_crystal(ledger=folder / "crystal.db", seed=seed, console=console)
    assert isinstance(console.file, io.StringIO)
    return made, console.file.getvalue(), (folder / "crystal.html").read_text("utf-8")


def test_a_force_field_pays_atoms_in_one_place_and_the_gate_keeps_them_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three small generations, whose children mostly have an atom moved close to another one."""
    monkeypatch.setattr(crystalsearch, "STEPS", 3)
    monkeypatch.setattr(crystals, "AUDITED", 0.5)
    monkeypatch.setattr(crystals.Search, "MOVES", (0.1, 0.2, 0.7))
    monkeypatch.setattr(crystals.Search, "REACH", 0.5)
    for module in (crystals, crystalsearch):
        monkeypatch.setattr(module, "GROUP", 24)

    made, text, page = shown(tmp_path, seed=2)

    first, second = made.both
    assert first.best is not None
    assert not first.best.crystal.contact.is_possible
    assert 1.0 == first.best.reward
    assert made.found.field < 0 < made.found.cores
    assert second.impossible > 0 == second.let_through
    assert first.let_through == first.impossible
    assert second.alarm is None
    assert all(each.true is not None for each in (*first.generations, *second.generations))
    assert "<script" not in page
    picture = page.index("Å apart, and beside them")
    assert picture < page.index("The same search, without the gate and with it")
    assert page.count("Told and true by step</title>") == 2
    distance = f"{first.best.crystal.contact.distance:.2f} Å"
    assert f">{distance}<" in page
    assert distance in text
    assert f"crystal-gate{' ' * 22}" in text
    assert re.search(r"of them, the force field saw +[1-9]\d* +0\n", text)
    assert text.count("\n   yes  ") + text.count("\n   NO   ") == len(made.claims)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_everything_that_it_claims_is_so(tmp_path: Path, seed: int) -> None:
    made, text, page = shown(tmp_path, seed)

    assert {True} == set(made.claims.values()), made.claims
    assert "emt is being gamed or has changed" in text
    assert 'class="alarm"' in page


@pytest.mark.slow
def test_the_command_tells_programs_what_came_of_it(tmp_path: Path) -> None:
    place = ["--ledger", str(tmp_path / "crystal.db")]
    done = CliRunner().invoke(app, ["demo", "crystal", "--seed", "1", "--json", *place])

    assert 0 == done.exit_code, done.output
    facts = json.loads(done.stdout)
    assert all(facts["claims"].values())
    assert facts["ungated"]["best"]["distance"] < 0.6
    assert facts["gated"]["costs"].keys() == {"crystal-gate 1", "emt 1", "core-repulsion 1"}


def test_the_command_fails_where_a_claim_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> Pair:
        return Pair(Trial("a"), Trial("b"), claims={"it is so": True, "it is not": False})

    monkeypatch.setattr(crystalsearch, "run_crystal", broken)
    assert Exit.FAILED == CliRunner().invoke(app, ["demo", "crystal"]).exit_code
