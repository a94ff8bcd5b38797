"""Flat rows for other programs."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.export import COLUMNS, export_csv, export_jsonl, export_parquet
from verifier_ladder.ledger.records import Block
from verifier_ladder.testing.records import CAMPAIGN, key, score_block, verdict_row
from verifier_ladder.verdict import Verdict


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger() as opened:
        opened.append(score_block(["a", "bb"]))
        hostile = Verdict.reject(" =HYPERLINK(1)\0", feedback="\ud800", evidence={"n": [1.5]})
        opened.append(Block("check", "other", (), [verdict_row("c", hostile)]))
        yield opened


def test_verdicts_and_rewards_become_rows(ledger: Ledger, tmp_path: Path) -> None:
    assert export_jsonl(ledger, tmp_path / "out.jsonl") == 5
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["record"] for row in rows] == ["verdict"] * 2 + ["reward"] * 2 + ["verdict"]
    assert all(list(row) == list(COLUMNS) for row in rows)
    assert (rows[1]["score"], rows[3]["reward"], rows[3]["position"]) == (2.0, 2.0, 1)
    assert rows[1]["candidate"] == rows[3]["candidate"] == key("bb").hex()


def test_one_campaign_may_be_chosen(ledger: Ledger, tmp_path: Path) -> None:
    assert export_jsonl(ledger, tmp_path / "out.jsonl", campaign=CAMPAIGN) == 4
    assert export_jsonl(ledger, tmp_path / "out.jsonl", campaign="nobody's") == 0


def test_parquet_holds_the_same_rows(ledger: Ledger, tmp_path: Path) -> None:
    export_parquet(ledger, tmp_path / "out.parquet")
    export_jsonl(ledger, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == rows


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    with open_ledger() as ledger:
        export_parquet(ledger, tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet").column_names == list(COLUMNS)


def test_a_formula_is_quoted_in_csv(ledger: Ledger, tmp_path: Path) -> None:
    export_csv(ledger, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[-1]["reason"], rows[-1]["feedback"]) == ("' =HYPERLINK(1)", "?")
    assert rows[-1]["evidence"] == '{"n":[1.5]}'


def test_a_missing_folder_is_named(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        export_jsonl(ledger, tmp_path / "no" / "out.jsonl")


def test_a_failed_export_leaves_no_file(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").mkdir()
    with pytest.raises(ConfigError, match="can't be written"):
        export_jsonl(ledger, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
