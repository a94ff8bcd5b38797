"""A file of old verdicts is read row by row, whatever its format."""

import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.badrow import BadRow
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.records import Record
from verifier_ladder.rollouts.verdictfile import VerdictFile

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def written(folder: Path, text: str, name: str = "old.csv") -> VerdictFile:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return VerdictFile(path)


@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_every_row_of_a_table_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("table") / "old.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("content", "score"), *rows])

    found = [r.values for r in VerdictFile(path).records() if isinstance(r, Record)]

    assert [{"content": a or None, "score": b or None} for a, b in rows] == found


def test_an_empty_cell_is_null(tmp_path: Path) -> None:
    assert [Record(2, {"content": "a", "score": None})] == [
        *written(tmp_path, "content,score\na,\n").records()
    ]


def test_a_row_is_named_by_the_line_on_which_it_begins(tmp_path: Path) -> None:
    text = 'content,score\n"two\nlines",1\nb,2\n\nc,3\n'

    assert [2, 4, 6] == [record.line for record in written(tmp_path, text).records()]


def test_a_row_of_another_length_is_bad_and_the_rest_is_read(tmp_path: Path) -> None:
    first, second = written(tmp_path, "content,score\na\nb,2\n").records()

    assert BadRow(2, "has 1 cells under 2 column names") == first
    assert 3 == second.line


@pytest.mark.parametrize("name", ["old.csv", "old.csv.gz"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path, name: str) -> None:
    (record,) = written(tmp_path, "\ufeffcontent\na\n", name).records()

    assert Record(2, {"content": "a"}) == record


def test_a_table_with_tabs_is_read_too(tmp_path: Path) -> None:
    (record,) = written(tmp_path, "content\tscore\na,b\t1\n", "old.tsv").records()

    assert Record(2, {"content": "a,b", "score": "1"}) == record


def test_json_lines_are_read_as_ever(tmp_path: Path) -> None:
    (record,) = written(tmp_path, '{"content": "a", "score": 1.5}\n', "old.jsonl").records()

    assert Record(1, {"content": "a", "score": 1.5}) == record


def test_a_table_is_read_from_the_start_each_time(tmp_path: Path) -> None:
    file = written(tmp_path, "content\na\n")

    assert list(file.records()) == list(file.records())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"content,content\na,b\n", "two columns called 'content'"),
        (b'content\n"never ends\n', "can't read"),
        (b"content\n\xff\xfe\n", "can't read"),
    ],
)
def test_a_table_that_can_not_be_understood_is_refused(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes(data)

    with pytest.raises(ConfigError, match=message):
        list(VerdictFile(path).records())


def test_a_spreadsheet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"old\.xlsx is a table"):
        written(tmp_path, "anything", "old.xlsx")
