"""Tables are complete or not there, and hold text as text."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.table import check_target, write_table

NAMES = ["line", "content", "reward", "passed", "score_exact", "error"]
ROWS: list[dict[str, Any]] = [
    {"line": 1, "content": "=1+1", "reward": -1.5, "passed": True, "score_exact": 1.0},
    {"line": 2, "content": '\ud800,\n"', "reward": None, "passed": None},
    {"line": 3, "error": "not JSON"},
]  # fmt: skip


def test_json_lines_hold_every_row(tmp_path: Path) -> None:
    write_table(tmp_path / "t.jsonl", NAMES, ROWS)

    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]

    assert [1, 2, 3] == [line["line"] for line in lines]
    assert [-1.5, None, None] == [line["reward"] for line in lines]
    assert '?,\n"' == lines[1]["content"]


def test_parquet_has_the_same_columns_whatever_is_known(tmp_path: Path) -> None:
    from pyarrow import parquet

    write_table(tmp_path / "t.parquet", NAMES, ROWS)

    table = parquet.read_table(tmp_path / "t.parquet")

    assert NAMES == table.column_names
    assert [-1.5, None, None] == table["reward"].to_pylist()
    assert "double" == str(table.schema.field("score_exact").type)


def test_formulas_are_quoted_in_csv_and_numbers_are_not(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", NAMES, ROWS)

    with (tmp_path / "t.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))

    assert ["1", "'=1+1", "-1.5", "True", "1.0", ""] == rows[1]


def test_an_interrupted_table_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("old")

    def rows() -> Iterator[dict[str, Any]]:
        yield ROWS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(path, NAMES, rows())

    assert "old" == path.read_text()
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out", "out.xlsx", "no/such/folder.csv"])
def test_a_place_that_can_t_be_written_is_refused_beforehand(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"can't (tell the format|write)"):
        check_target(tmp_path / name)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.csv").mkdir()

    with pytest.raises(ConfigError, match="can't write"):
        check_target(tmp_path / "out.csv")
