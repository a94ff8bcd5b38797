"""No command writes over what it reads."""

from pathlib import Path
from typing import Any

import pytest
from recordedruns import RecordedRun, Told

from verifier_ladder.ledger import open_ledger


@pytest.mark.parametrize(
    "words",
    [
        "campaign report --out",
        "run report --out",
        "run curriculum --out",
        "ledger checkpoint --out",
        "ledger prove 1 --out",
        "ledger export --format jsonl --out",
    ],
)
def test_the_ledger_is_no_place_to_write_to(run: Any, ledger: Path, words: str) -> None:
    before = ledger.read_bytes()

    done = run(*words.split(), "./ledger.db")

    assert done.exit_code == 2
    assert "ledger.db would be lost" in done.stderr
    assert ledger.read_bytes() == before


def test_the_scored_file_stays(run: Any, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"completion": "a", "more": 1}\n')
    (tmp_path / "link.jsonl").symlink_to(rows)
    (tmp_path / "l.toml").write_text('name = "l"\nverifiers = ["short"]\n')
    before = rows.read_text()

    for out in ("rows.jsonl", "link.jsonl"):
        done = run("score", "rows.jsonl", "--ladder", "l.toml", "--out", out)

        assert done.exit_code == 2
        assert f"{out} would be lost" in done.stderr
        assert rows.read_text() == before


def test_prompts_that_lie_in_the_folder_of_an_export_stay(run: Any, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "runs.db") as store:
        RecordedRun(store, "c", run={"name": "r"}).score([Told("1", 1.0, "g")])
    prompts = tmp_path / "set" / "train.jsonl"
    prompts.parent.mkdir()
    prompts.write_text('{"group": "g", "prompt": "1 · 1 ="}\n')
    before, words = prompts.read_text(), ("run", "export", "--ledger", "runs.db", "--out", "set")

    made = run(*words, "--prompts", "set/train.jsonl")  # The export is train.parquet: a neighbour.
    again = run(*words, "--prompts", "set/train.jsonl")  # It would remove the set of before.
    other = run(*words, "--prompts", "set/train.jsonl", "--form", "jsonl")

    assert (0, 2, 2) == (made.exit_code, again.exit_code, other.exit_code)
    assert "set/train.jsonl would be lost" in again.stderr
    assert prompts.read_text() == before


def test_a_ledger_is_not_replaced_by_its_own_export(ledger: Path) -> None:
    from verifier_ladder import ConfigError
    from verifier_ladder.ledger.export import export_jsonl
    from verifier_ladder.report import write_report

    before = ledger.read_bytes()
    with open_ledger(ledger) as store:
        with pytest.raises(ConfigError, match="would be lost"):
            export_jsonl(store, ledger)
        with pytest.raises(ConfigError, match="would be lost"):
            write_report(store, "solvation", ledger)

    assert ledger.read_bytes() == before
