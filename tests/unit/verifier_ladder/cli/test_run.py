"""`vladder run`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recordedruns import CHEAP, RecordedRun, Told

from verifier_ladder.ledger import open_ledger
from verifier_ladder.transcript import Transcript
from verifier_ladder.verdict import Verdict

Run = Callable[..., Any]
HOSTILE = "2 + 2 =\x1b[31m[bold]"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Two runs; the newer one has prompts, and is called as a path would be."""
    path = tmp_path / "ledger.db"
    with open_ledger(path) as store:
        RecordedRun(store, "c", run={"name": "old"}).score([Told("1", 1.0, "g")])
        book = RecordedRun(store, "c", run={"name": "new/1", "project": "sums", "user": "ada"})
        for i in range(6):
            prompt = HOSTILE if i == 0 else f"{i} + {i} ="
            book.keep(Transcript(group=f"g{i}", prompt=prompt, capability="reasoning"))
            said = {CHEAP: Verdict.reject("wrong", feedback="add again")}
            told = [Told(f"good {i}", 1.0, f"g{i}"), Told(f"bad {i}", 0.0, f"g{i}", said)]
            book.score([*told, Told(f"dark {i}", None, f"g{i}")])
    return path


def test_runs_are_listed_newest_first(ledger: Path, run: Run) -> None:
    told = json.loads(run("run", "ls", "--ledger", ledger, "--json").stdout)
    shown = run("run", "ls", "--ledger", ledger).stdout

    assert [("new/1", 5, "sums"), ("old", 0, "")] == [
        (row["name"], row["last_step"], row["project"]) for row in told
    ]
    assert shown.index("new/1") < shown.index("old")


def test_the_report_card_is_markdown_or_json(ledger: Path, run: Run, tmp_path: Path) -> None:
    done = run("run", "report", "--ledger", ledger)
    told = json.loads(run("run", "report", "old", "--ledger", ledger, "--json").stdout)
    written = run("run", "report", "--ledger", ledger, "--out", tmp_path / "card.md")

    assert 0 == done.exit_code, done.stderr
    assert done.stdout.startswith("# Report card of new/1\n")
    assert "| reasoning | 18 | 6 | 6 |" in done.stdout
    assert ("old", 1) == (told["run"], told["samples"])
    assert "written to" in written.stderr
    assert (tmp_path / "card.md").read_text().startswith("# Report card of new/1\n")


def test_an_export_counts_what_it_leaves_out(ledger: Path, run: Run, tmp_path: Path) -> None:
    done = run(
        "run", "export", "--as", "preferences", "--split", "train=0.5", "--split", "test=0.5",
        "--form", "jsonl", "--ledger", ledger,
    )  # fmt: skip

    assert 0 == done.exit_code, done.stderr
    assert "6 rows of preferences from run new/1 (18 samples, 0 of them pending)" in done.stdout
    assert "unknown: nobody has judged it" in done.stdout
    folder = tmp_path / "new-1-preferences"
    card = json.loads((folder / "export.json").read_text())
    rows = [json.loads(line) for name in card["splits"] if (folder / f"{name}.jsonl").exists()
            for line in (folder / f"{name}.jsonl").read_text().splitlines()]  # fmt: skip
    assert {(f"good {i}", f"bad {i}") for i in range(6)} == {
        (row["chosen"], row["rejected"]) for row in rows
    }
    assert card["checkpoint"]["root"] in done.stdout


def test_an_empty_split_is_explained(ledger: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"group": "g", "prompt": "1 · 1 ="}\n')

    done = run("run", "export", "old", "--prompts", "p.jsonl", "--split", "train=1",
               "--split", "test=0", "--ledger", ledger)  # fmt: skip

    assert "none, so no file" in done.stdout
    assert "1 task fell into splits by its hash" in done.stderr


def test_an_export_is_told_as_json(ledger: Path, run: Run) -> None:
    command = ("run", "export", "--as", "hints", "--ledger", ledger, "--out", "set", "--json")
    told = json.loads(run(*command).stdout)

    assert ({"train": 6}, ["set/train.parquet", "set/export.json"]) == (
        told["splits"], told["files"]
    )  # fmt: skip


def test_prompts_may_come_from_a_file(ledger: Path, run: Run, tmp_path: Path) -> None:
    command = ("run", "export", "old", "--ledger", ledger)
    (tmp_path / "prompts.jsonl").write_text('{"prompt_id": "g", "prompt": "1 · 1 ="}\n')
    (tmp_path / "none.jsonl").write_text('{"question": "1 · 1 ="}\n')

    without = run(*command)
    given = run(*command, "--prompts", "prompts.jsonl")
    none = run(*command, "--prompts", "none.jsonl")

    assert (2, 0, 2) == (without.exit_code, given.exit_code, none.exit_code)
    assert "--prompts" in without.stderr
    assert "1 rows of sft" in given.stdout
    assert "has no column prompt" in none.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--split", "train"), "write the split and its share"),
        (("--split", "train=0"), "give each split its share"),
        (("--tier", "moon"), "moon"),
        (("--at", "99"), "no checkpoint of size 99"),
        (("--as", "turns"), "no sample for turns: 12 its turns were not kept"),
        (("--campaign", "x"), "no run 'new/1'"),
    ],
)
def test_what_can_not_be_exported_says_why(
    ledger: Path, run: Run, options: tuple[str, ...], message: str
) -> None:
    done = run("run", "export", "new/1", "--ledger", ledger, *options)

    assert 2 == done.exit_code
    assert message in " ".join(done.stderr.split())


def test_the_curriculum_is_told_by_step_and_task(ledger: Path, run: Run, tmp_path: Path) -> None:
    done = run("run", "curriculum", "--ledger", ledger, "--limit", "2", "--out", "weights.jsonl")
    told = json.loads(run("run", "curriculum", "--ledger", ledger, "--json").stdout)
    rows = [json.loads(line) for line in (tmp_path / "weights.jsonl").read_text().splitlines()]

    assert 0 == done.exit_code, done.stderr
    assert "6 tasks of run new/1; a sample passes at 0.5 or more" in done.stdout
    assert "4 more tasks" in done.stderr
    assert "\x1b" not in done.stdout
    assert (6, 12, 6, 0.5) == (told["mixed"], told["known"], told["passed"], told["rate"])
    assert 1.0 == pytest.approx(sum(row["weight"] for row in rows))
