"""`vladder campaign` reads a recorded campaign, for people and for programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.analysis import overview
from verifier_ladder.budget import TOTAL
from verifier_ladder.ledger import open_ledger
from verifier_ladder.resource import Resource


def test_ls_lists_campaigns(run: Any, ledger: Path) -> None:
    done = run("campaign", "ls", "--ledger", ledger)

    assert 0 == done.exit_code
    assert "solvation" in done.stdout
    assert "fast → simulation → high_fidelity → world" in done.stdout


def test_ls_as_json(run: Any, ledger: Path) -> None:
    (row,) = json.loads(run("campaign", "ls", "--json", "--ledger", ledger).stdout)

    assert ("solvation", "solvation") == (row["name"], row["ladder"])


def test_report_writes_the_page_where_it_is_told(run: Any, ledger: Path, tmp_path: Path) -> None:
    done = run("campaign", "report", "--ledger", ledger, "--out", tmp_path / "new" / "page.html")

    page = (tmp_path / "new" / "page.html").read_text()
    assert 0 == done.exit_code
    assert "report of solvation written to" in done.stderr
    assert "hydration free energy" in page
    assert "CCO" in page


def test_report_of_an_unknown_campaign_names_those_there_are(run: Any, ledger: Path) -> None:
    done = run("campaign", "report", "other", "--ledger", ledger)

    assert 0 != done.exit_code
    assert "solvation" in done.stderr
    assert not Path("report.html").exists()


def test_show_as_json_has_counts_costs_and_rewards_per_tier(run: Any, ledger: Path) -> None:
    done = run("campaign", "show", "solvation", "--json", "--ledger", ledger)

    made = json.loads(done.stdout)
    tiers = {tier["tier"]: tier for tier in made["tiers"]}
    assert ["fast", "simulation", "high_fidelity", "world"] == list(tiers)
    assert (1, 1) == (tiers["fast"]["accepted"], tiers["fast"]["rejected"])
    assert (2.0, 1) == (tiers["simulation"]["settled"], tiers["world"]["waiting"])
    assert 0.5 == made["rewards"]["best"]


def test_show_keeps_failures_apart_from_rejects(run: Any, ledger: Path) -> None:
    text = run("campaign", "show", "--ledger", ledger).stdout

    assert text.index("Rejected") < text.index("Failed") < text.index("SCF diverged")


def test_show_prints_no_control_characters(run: Any, ledger: Path) -> None:
    text = run("campaign", "show", "--ledger", ledger).stdout

    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_large_campaign_is_told_by_its_counters_and_read_where_that_is_asked(
    run: Any, ledger: Path, monkeypatch: Any
) -> None:
    show = ("campaign", "show", "--ledger", ledger)
    whole, numbers = run(*show).stdout, json.loads(run(*show, "--json").stdout)
    monkeypatch.setattr(overview, "MOST_READ", 0)

    text, made = run(*show).stdout, json.loads(run(*show, "--json").stdout)

    assert whole == run(*show, "--full").stdout
    assert numbers == json.loads(run(*show, "--full", "--json").stdout)
    assert "counted and not read" in text
    assert "vladder campaign show solvation --full" in text
    assert "Failed, by boundary (no reward was lowered): tool 1." in text
    assert "1 open case for the world to answer: CCO" in text
    assert "\x1b" not in text
    assert (made["candidates"], made["rejects"]) == (None, None)
    assert (numbers["samples"], numbers["spent"]) == (made["samples"], made["spent"])


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


def test_a_paused_tier_is_shown_until_it_is_resumed(run: Any, ledger: Path) -> None:
    tier = ("--tier", "simulation", "--ledger", ledger)
    done = run("campaign", "pause", "solvation", *tier)
    assert 0 == done.exit_code
    assert "vladder campaign resume solvation --tier simulation" in done.stderr
    assert "simulation (paused)" in run("campaign", "show", "--ledger", ledger).stdout
    assert "simulation (paused)" in run("campaign", "watch", "--once", "--ledger", ledger).stdout

    assert 0 == run("campaign", "resume", *tier).exit_code
    assert "paused" not in run("campaign", "show", "--ledger", ledger).stdout


def test_a_tier_that_the_ladder_lacks_cannot_be_paused(run: Any, ledger: Path) -> None:
    done = run("campaign", "pause", "--tier", "slow", "--ledger", ledger)

    assert 2 == done.exit_code
    assert "unknown tier 'slow'" in done.stderr


def test_budgets_of_other_resources_are_shown(run: Any, ledger: Path) -> None:
    with open_ledger(ledger) as store:
        store.set_caps("solvation", {(TOTAL, Resource.CPU_SECONDS): 10.0})
        store.set_caps("solvation", {(3, Resource.MONEY): 50.0})

    shown = run("campaign", "show", "--ledger", ledger).stdout
    assert "total, cpu-seconds" in shown
    assert "world, money" in shown
    assert "of 50.00" in shown
    assert "money" in run("campaign", "watch", "--once", "--ledger", ledger).stdout
    made = json.loads(run("campaign", "show", "--json", "--ledger", ledger).stdout)
    assert [("total", "cpu_seconds"), ("world", "money")] == [
        (budget["tier"], budget["resource"]) for budget in made["budgets"]
    ]


def test_forecast_tells_what_will_be_spent(run: Any, ledger: Path) -> None:
    done = run("campaign", "forecast", "--ledger", ledger)

    assert 0 == done.exit_code
    assert "an estimate" in done.stdout
    assert "simulation, cpu-seconds" in done.stdout


def test_forecast_as_json(run: Any, ledger: Path) -> None:
    made = json.loads(run("campaign", "forecast", "--json", "--ledger", ledger).stdout)

    assert ("solvation", 2, True) == (made["name"], made["samples"], made["is_assumed"])


def test_forecast_looks_ahead_of_a_ladder_that_has_not_begun(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "l.toml"
    path.write_text(
        'name = "ahead"\nverifiers = ["molecule-gate", "expert-case"]\n'
        '[budget]\nworld = { person_minutes = "1 h" }\n'
    )

    made = json.loads(
        run("campaign", "forecast", "--ladder", path, "--samples", "100", "--json").stdout
    )

    minutes = next(a for a in made["accounts"] if a["resource"] == "person_minutes")
    assert (100, 60.0) == (made["horizon"], minutes["cap"])


def test_spend_is_told_apart(run: Any, ledger: Path) -> None:
    text = run("campaign", "spend", "--by", "verifier", "--ledger", ledger).stdout

    assert "xtb 1" in text
    assert "2 s" in text


def test_spend_as_json(run: Any, ledger: Path) -> None:
    done = run("campaign", "spend", "--all", "--by", "tier", "--json", "--ledger", ledger)

    lines = {line["name"]: line for line in json.loads(done.stdout)}
    assert {"cpu_seconds": 2.0} == lines["simulation"]["settled"]
    assert {} == lines["simulation"]["failed"]


def test_spend_by_what_nobody_knows_says_by_what(run: Any, ledger: Path) -> None:
    done = run("campaign", "spend", "--by", "colour", "--ledger", ledger)

    assert 2 == done.exit_code
    assert "label:KEY" in done.stderr


def test_a_bundle_holds_the_pages_of_the_newest_campaign(
    run: Any, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("verifier_ladder.report.drawings._can_draw", lambda: False)
    done = run("campaign", "bundle", "--into", "pages", "--ledger", ledger)
    again = run("campaign", "bundle", "--into", "pages", "--ledger", ledger)

    assert 0 == done.exit_code, done.output
    assert "pages of solvation written to pages; open pages/index.html" in done.stderr
    assert "solvation" in (tmp_path / "pages" / "index.html").read_text()
    assert 2 == again.exit_code
    assert "exists already" in again.stderr
