"""`vladder campaign` reads a recorded campaign, for people and for programs."""

import json
from pathlib import Path
from typing import Any


def test_ls_lists_campaigns(run: Any, ledger: Path) -> None:
    done = run("campaign", "ls", "--ledger", ledger)

    assert 0 == done.exit_code
    assert "solvation" in done.stdout
    assert "fast → simulation → high_fidelity → world" in done.stdout


def test_ls_as_json(run: Any, ledger: Path) -> None:
    (row,) = json.loads(run("campaign", "ls", "--json", "--ledger", ledger).stdout)

    assert ("solvation", "solvation") == (row["name"], row["ladder"])


def test_show_as_json_has_counts_costs_and_rewards_per_tier(run: Any, ledger: Path) -> None:
    done = run("campaign", "show", "solvation", "--json", "--ledger", ledger)

    made = json.loads(done.stdout)
    tiers = {tier["tier"]: tier for tier in made["tiers"]}
    assert ["fast", "simulation", "high_fidelity", "world"] == list(tiers)
    assert (1, 1) == (tiers["fast"]["accepted"], tiers["fast"]["rejected"])
    assert (2.0, 1) == (tiers["simulation"]["settled"], tiers["world"]["waiting"])
    assert 0.47 == made["rewards"]["best"]


def test_show_keeps_failures_apart_from_rejects(run: Any, ledger: Path) -> None:
    text = run("campaign", "show", "--ledger", ledger).stdout

    assert text.index("Rejected") < text.index("Failed") < text.index("SCF diverged")


def test_show_prints_no_control_characters(run: Any, ledger: Path) -> None:
    text = run("campaign", "show", "--ledger", ledger).stdout

    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_campaign_that_is_not_there_lists_those_that_are(run: Any, ledger: Path) -> None:
    done = run("campaign", "show", "other", "--ledger", ledger)

    assert 2 == done.exit_code
    assert "holds no campaign 'other'; it holds solvation" in done.stderr


def test_the_ledger_may_come_from_the_environment(
    run: Any, ledger: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("VLADDER_LEDGER", str(ledger))

    assert 0 == run("campaign", "show").exit_code


def test_watch_once_shows_every_tier(run: Any, ledger: Path) -> None:
    done = run("campaign", "watch", "--once", "--ledger", ledger)

    assert 0 == done.exit_code
    assert all(tier in done.stdout for tier in ("fast", "simulation", "high_fidelity", "world"))


def test_watch_as_json_gives_one_line(run: Any, ledger: Path) -> None:
    done = run("campaign", "watch", "--once", "--json", "--ledger", ledger)

    (line,) = done.stdout.splitlines()
    assert [0, 0, 0, 1] == [tier["waiting"] for tier in json.loads(line)["tiers"]]
