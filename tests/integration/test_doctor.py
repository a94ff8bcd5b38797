"""The doctor finds what is broken and says what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from verifier_ladder.cli.app import app
from verifier_ladder.doctor import Finding, State, _extra, _ledger, examine
from verifier_ladder.registry import REGISTRY, Problem
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.sandbox.backend import chosen
from verifier_ladder.tiers.sandbox.language import MISSING, Language

pytestmark = pytest.mark.usefixtures("forked_workers")


def findings(ledger: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(str(ledger))}


def test_a_sound_installation_has_no_failures(tmp_path: Path) -> None:
    found = findings(tmp_path / "ledger.db")

    assert [] == [f for f in found.values() if f.state is State.FAIL]
    assert "a crash costs only its own candidate" in found["worker pool"].text


def test_the_sandbox_shows_what_it_stops(
    tmp_path: Path, require: Callable[[str, bool, str], None]
) -> None:
    found = findings(tmp_path / "ledger.db")["sandbox"]

    require("a sandbox", "none works here" not in found.text, found.text)
    assert State.FAIL is not found.state
    assert "host file, loopback, parent's environment, fork bomb, daemon, full disk" in found.text
    assert f"{chosen().name} (VLADDER_SANDBOX=auto)" in found.text


def test_a_missing_compiler_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Language, "installed", lambda _: MISSING)

    found = findings(tmp_path / "ledger.db")["compiler c++17"]

    assert (State.WARN, True) == (found.state, found.text.startswith("g++ is not installed"))
    assert "apt-get install g++" in found.advice


def test_a_machine_without_a_sandbox_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Backend, "problem", lambda _: "not allowed")

    found = findings(tmp_path / "ledger.db")["sandbox"]

    assert State.WARN is found.state
    assert "not allowed" in found.text
    assert "user namespaces" in found.advice


def test_a_sandbox_that_lets_something_out_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require: Callable[[str, bool, str], None]
) -> None:
    monkeypatch.setattr(
        "verifier_ladder.tiers.sandbox.controls._ESCAPES", {"wide": "def solve(out): return True"}
    )

    found = findings(tmp_path / "ledger.db")["sandbox"]

    require("a sandbox", "none works here" not in found.text, found.text)
    assert State.FAIL is found.state
    assert "wide" in found.text


def test_a_missing_extra_names_the_command_that_installs_it() -> None:
    found = _extra("chem", ["no-such-package-at-all"])

    assert (State.WARN, "if you need it: pip install '.[chem]' in a clone") == (
        found.state, found.advice
    )  # fmt: skip


def test_a_broken_plugin_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem("boiling", "boiling-point", "No module named 'steam'")
    monkeypatch.setattr(REGISTRY, "problems", lambda: [problem])

    found = findings(tmp_path / "ledger.db")["plugin boiling"]

    assert (State.WARN, "No module named 'steam'") == (found.state, found.text)
    assert "boiling-point" in found.advice


@pytest.mark.parametrize("place", ["folder", "no/such/ledger.db", "text.db"])
def test_a_ledger_that_can_t_be_opened_fails(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("not a database at all")

    assert State.FAIL is findings(tmp_path / place)["ledger"].state


def test_the_command_exits_with_1_on_a_failure(tmp_path: Path) -> None:
    arguments = ["doctor", "--json", "--ledger", str(tmp_path)]

    done: Any = CliRunner().invoke(app, arguments)

    assert 1 == done.exit_code
    assert not json.loads(done.stdout)["ok"]


def test_a_database_without_a_ledger_is_no_failure(postgresql: str) -> None:
    found = list(_ledger(postgresql))

    assert found
    assert State.FAIL not in {finding.state for finding in found}
