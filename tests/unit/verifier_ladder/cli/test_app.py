"""What all commands share: help, version, exit codes, errors in one sentence."""

import re
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder
from verifier_ladder.cli.app import app

NOUNS = ("demo", "doctor", "score", "campaign", "ledger", "verifier", "review")


def test_help_names_every_noun(run: Any) -> None:
    done = run("--help")

    assert 0 == done.exit_code
    assert all(noun in done.stdout for noun in NOUNS)


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_explains_itself(run: Any, noun: str) -> None:
    assert 0 == run(noun, "--help").exit_code


def test_the_version_is_printed(run: Any) -> None:
    assert f"verifier-ladder {verifier_ladder.__version__}\n" == run("--version").stdout


@pytest.mark.parametrize("arguments", [["nonsense"], ["campaign", "nonsense"], ["score"]])
def test_wrong_usage_exits_with_2(run: Any, arguments: list[str]) -> None:
    assert 2 == run(*arguments).exit_code


def test_a_wrong_configuration_exits_with_2_and_no_traceback(run: Any) -> None:
    done = run("campaign", "ls", "--ledger", "missing.db")

    assert 2 == done.exit_code
    assert done.stderr.startswith("vladder: there is no ledger at missing.db; give its place")
    assert "Traceback" not in done.stderr
    assert "" == done.stdout


def test_names_too_long_for_a_file_or_a_campaign_are_told_cut(run: Any, ledger: Path) -> None:
    name = "a" * 10**5

    place = run("ledger", "ls", "--ledger", name)
    campaign = run("campaign", "show", name, "--ledger", ledger)

    assert (2, 2) == (place.exit_code, campaign.exit_code)
    assert "… (File name too long); give its place with --ledger" in place.stderr
    assert "…'; it holds solvation" in campaign.stderr


def test_a_wrong_setting_exits_with_2(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_WORKERS", "many")

    done = run("doctor")

    assert 2 == done.exit_code
    assert "VLADDER_WORKERS='many'" in done.stderr


def test_a_broken_ledger_exits_with_3(run: Any, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("not a database at all")

    done = run("campaign", "ls")

    assert 3 == done.exit_code
    assert "not an SQLite file" in done.stderr


def test_every_exit_code_is_documented() -> None:
    from verifier_ladder.cli.output import Exit

    page = Path(__file__).parents[4] / "docs" / "reference" / "cli.md"
    documented = {
        int(code) for code in re.findall(r"^\| (\d+) \|", page.read_text(), re.MULTILINE)
    }

    assert {int(code) for code in Exit} == documented


def test_every_command_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "cli.md").read_text()
    flat = [command.name for command in app.registered_commands]
    nested = [
        f"{group.name} {command.name}"
        for group in app.registered_groups
        for command in (group.typer_instance or app).registered_commands
    ]

    missing = [name for name in [*flat, *nested] if f"`vladder {name}" not in page]

    assert [] == missing
