"""`vladder ledger` tells what was recorded, entry by entry and candidate by candidate."""

import json
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.analysis.history import newest_entries, sentence
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block


def shown(run: Any, ledger: Path, *what: str) -> Any:
    done = run("ledger", "show", *what, "--json", "--ledger", ledger)
    assert 0 == done.exit_code, done.stderr
    return json.loads(done.stdout)


def test_ls_lists_the_newest_first(run: Any, ledger: Path) -> None:
    rows = json.loads(run("ledger", "ls", "--json", "--ledger", ledger).stdout)

    ids = [row["id"] for row in rows]
    assert sorted(ids, reverse=True) == ids
    assert "campaign" == rows[-1]["kind"]


def test_ls_pages(run: Any, ledger: Path) -> None:
    first = json.loads(run("ledger", "ls", "--json", "--limit", 2, "--ledger", ledger).stdout)
    last = first[-1]["id"]
    then = json.loads(
        run("ledger", "ls", "--json", "--before", last, "--limit", 1, "--ledger", ledger).stdout
    )

    assert 2 == len(first)
    assert [last - 1] == [row["id"] for row in then]


def test_ls_filters_by_kind(run: Any, ledger: Path) -> None:
    rows = json.loads(
        run("ledger", "ls", "--kind", "revision", "--json", "--ledger", ledger).stdout
    )

    assert ["revision"] == [row["kind"] for row in rows]


def test_a_candidate_tells_its_story_in_order(run: Any, ledger: Path) -> None:
    story = shown(run, ledger, "CCO")

    told = [(e["what"], e["facts"].get("verifier")) for e in story["events"]]
    assert told[:4] == [
        ("verdict", "gate"), ("verdict", "estimate"), ("decision", None), ("reward", None)
    ]  # fmt: skip
    outcomes = [e["facts"]["outcome"] for e in story["events"] if e["facts"].get("tier") and
                e["what"] == "verdict" and e["facts"]["verifier"] == "xtb"]  # fmt: skip
    assert ["abstain", "accept"] == outcomes


def test_a_decision_gives_its_reason_with_the_numbers(run: Any, ledger: Path) -> None:
    story = shown(run, ledger, "CCO")

    reason = next(e["facts"]["reason"] for e in story["events"] if e["what"] == "decision")
    assert "believed -5 ± 1, good enough for the simulation tier (-4)" == reason


def test_rewards_and_revisions_are_told(run: Any, ledger: Path) -> None:
    story = shown(run, ledger, "CCO")

    rewards = [e["facts"]["value"] for e in story["events"] if e["what"] == "reward"]
    assert [0.5, 0.47] == rewards


def test_a_candidate_is_found_by_the_start_of_its_key(run: Any, ledger: Path) -> None:
    key = shown(run, ledger, "CCO")["key"]

    assert "CCO" == shown(run, ledger, key[:10])["canonical"]


def test_the_story_is_readable(run: Any, ledger: Path) -> None:
    text = run("ledger", "show", "CCO", "--ledger", ledger).stdout

    assert "simulation xtb 1: abstain, failed at tool: SCF diverged (1 s)" in text
    assert "simulation xtb 1: accept -4.5 ± 0.2 kcal/mol (2 s)" in text


def test_an_entry_is_shown_and_intact(run: Any, ledger: Path) -> None:
    entry = shown(run, ledger, "1", "--entry")

    assert ("campaign", True) == (entry["kind"], entry["intact"])


def test_an_unknown_candidate_is_a_wrong_name(run: Any, ledger: Path) -> None:
    done = run("ledger", "show", "nothing", "--ledger", ledger)

    assert 2 == done.exit_code
    assert "knows no candidate 'nothing'" in done.stderr


def test_hostile_text_is_shown_without_control_characters(run: Any, ledger: Path) -> None:
    text = run("ledger", "ls", "--ledger", ledger).stdout
    text += run("ledger", "show", "C\x1b[31m\u202e[bold]X", "--ledger", ledger).stdout

    assert "can't read 'C[bold]X'" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_the_newest_entries_are_complete(limit: int) -> None:
    with open_ledger(None) as store:
        for number in range(30):
            store.append(Block("odd" if number % 2 else "even", "c"))

        found = newest_entries(store, limit, kind="even")

    assert list(range(29, 0, -2))[:limit] == [entry.id for entry in found]


@pytest.mark.parametrize(
    "template", ["{mean:.3q}", "{unknown}", "{mean.x}", "{0}", "{", "{mean:>1000000000}"]
)
def test_a_reason_that_can_t_be_filled_in_stays_as_it_is(template: str) -> None:
    assert template == sentence(template, {"mean": 1.0})


def exported(run: Any, ledger: Path, *more: object) -> Any:
    done = run("ledger", "export", "--ledger", ledger, *more)
    assert 0 == done.exit_code, done.stderr
    return done


def test_export_goes_to_stdout(run: Any, ledger: Path) -> None:
    rows = [json.loads(line) for line in exported(run, ledger).stdout.splitlines()]

    assert {"verdict", "reward"} == {row["record"] for row in rows}
    assert "SCF diverged" in {row["reason"] for row in rows}


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_export_takes_the_format_from_the_name(
    run: Any, ledger: Path, tmp_path: Path, name: str
) -> None:
    done = exported(run, ledger, "--out", tmp_path / name)

    assert (tmp_path / name).stat().st_size > 0
    assert "rows written to" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "parquet"], "--out"),
        (["--out", "out.xls"], "can't tell the format"),
        (["--campaign", "other"], "holds no campaign 'other'"),
    ],
)
def test_export_that_can_t_be_says_what_to_do(
    run: Any, ledger: Path, options: list[str], words: str
) -> None:
    done = run("ledger", "export", "--ledger", ledger, *options)

    assert 2 == done.exit_code
    assert words in done.stderr
