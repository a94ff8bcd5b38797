"""A rollout file is read line by line, and a bad line costs only itself."""

import csv
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from verifier_ladder.badrow import BadRow
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts import records
from verifier_ladder.rollouts.records import Record, RolloutFile, in_parts, words

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False,
    allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def written(path: Path, data: bytes) -> RolloutFile:
    path.write_bytes(data)
    return RolloutFile(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rollouts.jsonl"


def parquet_of(folder: Path, columns: dict[str, Any]) -> Path:
    parquet.write_table(pa.table(columns), folder / "rollouts.parquet")
    return folder / "rollouts.parquet"


def bad(file: RolloutFile, *once: str) -> dict[int, str]:
    return {r.line: r.reason for r in file.records(once) if isinstance(r, BadRow)}


def good(file: RolloutFile) -> dict[int, Any]:
    return {r.line: r.values for r in file.records() if isinstance(r, Record)}


@given(rows=st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=8))
def test_every_object_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("records") / "rows.jsonl"
    file = written(path, "".join(json.dumps(row) + "\n" for row in rows).encode())

    assert dict(enumerate(rows, 1)) == good(file)


@given(junk=st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b), max_size=6))
def test_junk_never_stops_the_lines_around_it(
    tmp_path_factory: pytest.TempPathFactory, junk: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("records") / "rows.jsonl"
    file = written(path, b'{"a":1}\n' + b"".join(j + b"\n" for j in junk) + b'{"a":2}')

    found = list(file.records())

    assert {"a": 1} == found[0][1]
    assert Record(len(junk) + 2, {"a": 2}) == found[-1]


def test_blank_lines_are_passed_over_and_counted(path: Path) -> None:
    file = written(path, b'\n{"a":1}\r\n  \n{"a":2}\n\n')

    assert {2: {"a": 1}, 4: {"a": 2}} == good(file)
    assert {} == bad(file)


def test_a_byte_order_mark_is_no_error(path: Path) -> None:
    assert {1: {"a": 1}} == good(written(path, b'\xef\xbb\xbf{"a":1}\n'))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense", "not JSON"),
        (b'{"a":1', "not JSON"),
        (b'{"a":NaN}', "NaN is not a JSON number"),
        (b'{"a":-Infinity}', "-Infinity is not a JSON number"),
        (b'{"a":"\xff"}', "not JSON"),
        (b"3", "not a JSON object but a number"),
        (b"null", "not a JSON object but null"),
        (b"{" + b'"a":{' * 3000, "not JSON"),
    ],
)
def test_a_bad_line_says_what_is_wrong(path: Path, line: bytes, reason: str) -> None:
    file = written(path, b'{"a":0}\n' + line + b"\n")

    assert reason in bad(file)[2]
    assert {1: {"a": 0}} == good(file)


def test_a_lone_surrogate_is_kept(path: Path) -> None:
    assert {1: {"a": "\ud800"}} == good(written(path, b'{"a":"\\ud800"}'))


def test_a_column_given_twice_is_bad_where_it_matters(path: Path) -> None:
    file = written(path, b'{"a":1,"a":2,"b":3}\n{"b":"a","c":{"a":1}}\n')

    assert {1: "the column 'a' is given twice"} == bad(file, "a", "b")
    assert {} == bad(file, "b")


def test_a_compressed_file_is_read(path: Path) -> None:
    assert {1: {"a": 1}} == good(written(path, gzip.compress(b'{"a":1}\n')))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_without_end_is_a_bad_row_that_is_never_held(
    path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 1024**2)
    file = written(path, pack(b'{"a":1}\n' + b"x" * (48 * 1024**2) + b'\n{"a":3}\n'))

    tracemalloc.start()
    try:
        found = list(file.records())
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert [1, 2, 3] == [row.line for row in found]
    assert found[1] == BadRow(2, "is longer than 1,048,576 bytes")
    assert held < 16 * 1024**2


LONG = {
    "a cell": "x" * 5000 + ",1",
    "a cell in quotes": '"' + 'x ""y"", \n' * 500 + '",1',
    "many cells": ",".join(["xxxx"] * 1000),
    "many cells in quotes": ",".join(['"a\nb"'] * 1000),
    "wide letters": "\u6f22" * 900 + ",1",
    "a line in a cell": 'a,"b\n' + "x" * 5000 + '\n\n"',
}


@pytest.mark.parametrize("row", LONG.values(), ids=list(LONG))
@pytest.mark.parametrize("name", ["old.csv", "old.csv.gz"])
def test_a_row_of_a_table_that_is_too_long_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, name: str
) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 2048)
    monkeypatch.setattr(records, "_BLOCK", 64)
    file = table(tmp_path, f"a,b\none,1\n{row}\ntwo,2\n", name)

    assert {3: "is longer than 2,048 bytes"} == bad(file)
    last = 4 + row.count("\n")
    assert {2: {"a": "one", "b": "1"}, last: {"a": "two", "b": "2"}} == good(file)


def test_a_cell_that_never_ends_is_a_bad_row_that_is_never_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 1024**2)
    file = table(tmp_path, 'a,b\none,1\ntwo,"' + ("x" * 1023 + "\n") * 48 * 1024, "old.csv.gz")

    tracemalloc.start()
    try:
        found = list(file.records())
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert BadRow(3, "is longer than 1,048,576 bytes") == found[-1]
    assert 2 == len(found)
    assert held < 16 * 1024**2


def test_names_of_columns_without_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 1024)

    with pytest.raises(ConfigError, match=r"first row of .* is longer than 1,024 bytes"):
        list(table(tmp_path, "x" * 5000).records())


@pytest.mark.parametrize("nested", [False, True])
def test_a_text_that_a_parquet_file_says_once_is_not_spelled_out_for_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, nested: bool
) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 1024**2)
    said: list[Any] = ["x" * 400_000] * 500 + ["y" * 1_100_000, "z"]
    cells = [[{"role": "user", "content": text}] for text in said] if nested else said
    file = RolloutFile(parquet_of(tmp_path, {"a": cells}))

    before = pa.default_memory_pool().max_memory()
    found = [record if isinstance(record, BadRow) else record.line for record in file.records()]

    assert [*range(1, 501), BadRow(501, "is longer than 1,048,576 bytes"), 502] == found
    assert pa.default_memory_pool().max_memory() < before + 64 * 1024**2


def test_values_of_a_parquet_file_are_read_back_whatever_their_type(tmp_path: Path) -> None:
    columns = {
        "text": ["a", None, "\u6f22"], "bytes": [b"a", b"", None], "number": [1.5, None, 3.0],
        "chat": [[{"role": "user", "content": "q"}], [], None], "list": [["a", "b"], [None], None],
        "large": pa.array(["a", None, "b"], pa.large_string()),
        "map": pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string())),
        "category": pa.array(["a", "b", "a"]).dictionary_encode(),
        "codes": pa.array([1, 2, 1]).dictionary_encode(),
    }  # fmt: skip
    path = parquet_of(tmp_path, columns)

    assert dict(enumerate(pa.table(columns).to_pylist(), 1)) == good(RolloutFile(path))


def test_long_rows_are_held_in_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_LARGEST_PART", 1000)
    long = [Record(n, {"chat": [{"content": "x" * 600}]}) for n in range(4)]
    short = [Record(n, {"a": "x"}) for n in range(4, 9)]

    assert [2, 2, 3, 2] == [len(part) for part in in_parts([*long, *short], 3)]


def test_a_row_group_that_unpacks_to_very_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_LARGEST_GROUP", 10_000, raising=False)
    path = parquet_of(tmp_path, {"a": [f"{n}" * 100 for n in range(1000)]})

    with pytest.raises(ConfigError, match="write groups of fewer rows"):
        list(RolloutFile(path).records())


def test_a_compressed_file_that_ends_early_tells_where(path: Path) -> None:
    whole = gzip.compress(b"".join(b'{"a":%d}\n' % i for i in range(50_000)))
    file = written(path, whole[: len(whole) // 2])

    found = list(file.records())

    assert isinstance(found[-1], BadRow)
    assert "broken from here on" in found[-1].reason
    assert len(found) == found[-1].line


def test_parquet_rows_are_read(tmp_path: Path) -> None:
    path = parquet_of(tmp_path, {"a": [1, 2], "t": [{"x": "y"}, None]})

    assert {1: {"a": 1, "t": {"x": "y"}}, 2: {"a": 2, "t": None}} == good(RolloutFile(path))


def test_a_file_may_be_read_again(path: Path) -> None:
    file = written(path, b'{"a":1}\n')

    assert good(file) == good(file)


def test_a_file_that_was_changed_meanwhile_is_refused(path: Path) -> None:
    file = written(path, b'{"a":1}\n')
    path.write_bytes(b'{"a":1}\n{"a":2}\n')

    with pytest.raises(ConfigError, match="was changed"):
        list(file.records())


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("array.json", b'[{"a":1}]', "one JSON array"),
        ("table.xlsx", b"PK", "is a workbook"),
        ("broken.parquet", b"PAR1 and nothing else", "as Parquet"),
    ],
)
def test_another_format_says_what_to_do(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)

    with pytest.raises(ConfigError, match=message):
        list(RolloutFile(tmp_path / name).records())


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_can_t_be_opened_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="can't read"):
        RolloutFile(tmp_path / name)


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    one, two = written(tmp_path / "a", b'{"a":1}\n'), written(tmp_path / "b", b'{"a":1}\n')

    assert one.digest() == two.digest()


def test_values_are_named_in_words() -> None:
    values: tuple[object, ...] = (None, True, 1, 1.5, "a", [], {}, b"")
    named = [words(value) for value in values]

    assert [
        "null", "a truth value", "a number", "a number", "text", "a list", "an object", "a bytes"
    ] == named  # fmt: skip


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def table(folder: Path, text: str, name: str = "old.csv") -> RolloutFile:
    data = text.encode()
    return written(folder / name, gzip.compress(data) if name.endswith(".gz") else data)


@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_every_row_of_a_table_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("table") / "old.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("content", "score"), *rows])

    found = [r.values for r in RolloutFile(path).records() if isinstance(r, Record)]

    assert [{"content": a or None, "score": b or None} for a, b in rows] == found


def test_an_empty_cell_is_null(tmp_path: Path) -> None:
    assert [Record(2, {"content": "a", "score": None})] == [
        *table(tmp_path, "content,score\na,\n").records()
    ]


def test_a_row_is_named_by_the_line_on_which_it_begins(tmp_path: Path) -> None:
    text = 'content,score\n"two\nlines",1\nb,2\n\nc,3\n'

    assert [2, 4, 6] == [record.line for record in table(tmp_path, text).records()]


def test_a_row_of_another_length_is_bad_and_the_rest_is_read(tmp_path: Path) -> None:
    first, second = table(tmp_path, "content,score\na\nb,2\n").records()

    assert BadRow(2, "has 1 cells under 2 column names") == first
    assert 3 == second.line


@pytest.mark.parametrize("name", ["old.csv", "old.csv.gz"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path, name: str) -> None:
    (record,) = table(tmp_path, "\ufeffcontent\na\n", name).records()

    assert Record(2, {"content": "a"}) == record


def test_a_table_with_tabs_is_read_too(tmp_path: Path) -> None:
    (record,) = table(tmp_path, "content\tscore\na,b\t1\n", "old.tsv").records()

    assert Record(2, {"content": "a,b", "score": "1"}) == record


def test_a_table_is_read_from_the_start_each_time(tmp_path: Path) -> None:
    file = table(tmp_path, "content\na\n")

    assert list(file.records()) == list(file.records())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"content,content\na,b\n", "two columns called 'content'"),
        (b'content\n"never ends\n', "can't read"),
        (b"\xfcber\n", "not in UTF-8"),
        (b"\xff\xfec\x00\n", "utf-16"),
    ],
)
def test_a_table_that_can_not_be_understood_is_refused(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes(data)

    with pytest.raises(ConfigError, match=message):
        list(RolloutFile(path).records())


def test_a_row_of_a_table_that_is_not_utf8_costs_only_itself(tmp_path: Path) -> None:
    file = written(tmp_path / "t.csv", b"completion\na\n\xff\nb\n")

    assert {3: "is not UTF-8"} == bad(file)
    assert {2: {"completion": "a"}, 4: {"completion": "b"}} == good(file)


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    file = written(tmp_path / "t.csv", b"completion\n" + b"a" * 300_000 + b"\n")

    assert [300_000] == [len(values["completion"]) for values in good(file).values()]
