"""Tables as a task describes them."""

import csv
import io
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.tableschema import TableSchema
from verifier_ladder.verdict import Outcome, Verdict


def has_columns(text: str, task: Mapping[str, Any]) -> bool:
    names = [column["name"] for column in task["table"]["columns"]]
    return next(csv.reader(io.StringIO(text))) == names


def converts(text: str, task: Mapping[str, Any]) -> bool:
    kinds: dict[str, Any] = {"integer": int, "number": float, "timestamp": datetime.fromisoformat}
    for row in csv.DictReader(io.StringIO(text)):
        for column in task["table"]["columns"]:
            kinds.get(column["type"], str)(row[column["name"]])
    return True


class TestTableSchema(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "the header is right": Twin(has_columns),
        "every cell converts": Twin(converts),
    }
    mutated = ("verifier_ladder.tiers.fast.tableschema",)
    mutants: Mapping[str, Any] = {
        "equivalent": [
            # No key has room for such a file; a test below does.
            "if len(content) > _FILE: raise self._too_large() -> if len(content) > _FILE: pass",
            # Refused before a row is read, to save time; the rows themselves tell the same.
            (
                "about.num_rows > self._rows or sum((g.total_byte_size for g in groups)) > "
                "self._bytes -> about.num_rows > self._rows and "
                "sum((g.total_byte_size for g in groups)) > self._bytes"
            ),
            (
                "if about.num_rows > self._rows or sum((g.total_byte_size for g in groups)) > "
                "self._bytes: raise s... -> if about.num_rows > self._rows or "
                "sum((g.total_byte_size for g in groups)) > self._bytes: pass"
            ),
            # Words of the feedback, which a test below reads.
            "bad + 1 -> bad - 1",
            "bad >= 0 -> bad < 0",
        ],
    }

    @pytest.fixture
    def verifier(self) -> TableSchema:
        return TableSchema()


def judge(content: str | bytes, columns: list[Any], *, settings: Any = None, **of: Any) -> Verdict:
    task = {"table": {"columns": columns, **of}}
    return TableSchema(**settings or {}).judge([Candidate("text", content, task=task)])[0]


def file(table: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def test_feedback_names_the_column_and_row_but_no_bound() -> None:
    column = {"name": "age", "type": "integer", "maximum": 117}

    large = judge("age\n3\n118\n", [column])
    word = judge("age\n3\nten\n", [column])

    assert "column 'age' holds a value that is too large" in large.feedback
    assert "117" not in large.feedback + large.reason
    assert "row 2 of column 'age' is no integer" in word.feedback


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        ("2024-03-01T01:00:00+02:00", Outcome.REJECT),  # In UTC it is still February.
        ("2024-03-01T00:00:00Z", Outcome.ACCEPT),
        ("2024-03-01 00:00:00", Outcome.ACCEPT),
        ("2024-02-29T23:59:59.999999Z", Outcome.REJECT),
    ],
)
def test_times_are_compared_in_utc(cell: str, outcome: Outcome) -> None:
    column = {"name": "t", "type": "timestamp", "minimum": "2024-03-01T00:00:00+00:00"}

    assert outcome is judge(f"t\n{cell}\n", [column]).outcome


def test_bounds_of_a_file_in_another_zone_are_compared_in_utc() -> None:
    column = {"name": "t", "type": "timestamp", "maximum": "2024-03-01T00:00:00"}
    times = pa.array([datetime(2024, 3, 1, 1)], pa.timestamp("ns", "Europe/Berlin"))  # noqa: DTZ001

    assert Outcome.REJECT is judge(file(pa.table({"t": times})), [column],
                                   format="parquet").outcome  # fmt: skip


def test_a_null_is_allowed_where_it_is_declared_but_never_in_a_key() -> None:
    column = {"name": "a", "type": "integer", "nullable": True}
    text = "a,b\n,1\n2,1\n"
    other = {"name": "b", "type": "integer"}

    assert Outcome.ACCEPT is judge(text, [column, other]).outcome
    assert "key is null" in judge(text, [column, other], key=["a"]).reason


def test_a_table_may_be_empty_where_that_is_declared() -> None:
    column = {"name": "a", "type": "integer", "minimum": 3, "values": [3], "unique": True}
    empty = file(pa.table({"a": pa.array([], pa.int64())}))

    assert "too few rows" in judge("a\n", [column]).reason
    assert Outcome.ACCEPT is judge("a\n", [column], least_rows=0).outcome
    assert Outcome.ACCEPT is judge(empty, [column], least_rows=0, format="parquet").outcome


def test_decimals_in_a_file_are_numbers() -> None:
    data = file(pa.table({"v": pa.array([Decimal("1.50"), None])}))
    column = {"name": "v", "type": "number", "nullable": True, "maximum": 1.5}

    assert Outcome.ACCEPT is judge(data, [column], format="parquet").outcome


def test_texts_of_a_file_may_be_a_dictionary_but_must_be_utf8() -> None:
    column = {"name": "v", "type": "text"}
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())

    assert Outcome.ACCEPT is judge(file(pa.table({"v": words})), [column],
                                   format="parquet").outcome  # fmt: skip
    assert Outcome.REJECT is judge(file(pa.table({"v": broken})), [column],
                                   format="parquet").outcome  # fmt: skip


@pytest.mark.parametrize("settings", [{"max_rows": 1}, {"max_bytes": 40}])
def test_a_file_beyond_the_bounds_is_rejected(settings: dict[str, int]) -> None:
    data = file(pa.table({"v": ["x" * 100, "y"]}))

    verdict = judge(data, [{"name": "v", "type": "text"}], format="parquet", settings=settings)

    assert "too large" in verdict.reason


def test_a_file_of_too_many_bytes_is_not_opened() -> None:
    verdict = judge(b"PAR1" + bytes(16 << 20), [{"name": "v", "type": "text"}], format="parquet")

    assert "too large" in verdict.reason


@pytest.mark.parametrize("settings", [{"find": ["page"]}, {"max_rows": 0}, {"max_bytes": 0}])
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        TableSchema(**settings)


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(min_size=1)), min_size=1))
def test_what_the_standard_library_writes_is_read(rows: list[tuple[int, str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(["n", "t"])
    writer.writerows((n, t.replace("\r", " ")) for n, t in rows)
    columns = [{"name": "n", "type": "integer"}, {"name": "t", "type": "text"}]
    text = out.getvalue()
    if not any(mark in text for mark in ("<answer", "think>", "```", "~~~")):
        assert Outcome.ACCEPT is judge(text, columns).outcome


_NUMBER = {"name": "n", "type": "number"}
_ONE_APART = ["9007199254740992", "9007199254740993"]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("number", pa.array([2**53, 2**53 + 1])),
        ("number", pa.array([Decimal(f"{each}.5") for each in _ONE_APART])),
        ("integer", pa.array([2**64 - 1, 0], pa.uint64())),
        ("timestamp", pa.array([1, 2], pa.timestamp("ns"))),
        ("timestamp", pa.array([2**62, -(2**62)], pa.timestamp("us"))),
        ("date", pa.array([2**31 - 1, 0], pa.date32())),
        ("text", pa.array(["a", "b"]).dictionary_encode()),
    ],
)
def test_values_of_a_file_that_are_nearly_the_same_are_two(kind: str, values: pa.Array) -> None:
    column = {"name": "n", "type": kind, "unique": True}
    content = file(pa.table({"n": values}))

    assert Outcome.ACCEPT is judge(content, [column], format="parquet", key=["n"]).outcome
    bounded = {**column, "minimum": "1970-01-01" if kind == "date" else "1970-01-01T00:00:00"}
    if kind in {"date", "timestamp"}:
        least = min(values.cast("int32" if kind == "date" else "int64").to_pylist())
        wanted = Outcome.ACCEPT if least >= 0 else Outcome.REJECT
        assert wanted is judge(content, [bounded], format="parquet").outcome


def test_numbers_of_csv_are_compared_as_they_are_written() -> None:
    unique = {**_NUMBER, "unique": True}
    exact = {**_NUMBER, "minimum": 0.3, "maximum": 0.3, "values": [0.3]}

    def outcome(column: Any, *cells: str, **of: Any) -> Outcome:
        return judge("\n".join(["n", *cells, ""]), [column], **of).outcome

    assert Outcome.ACCEPT is outcome(unique, *_ONE_APART, "1e-400", "1e-401", key=["n"])
    assert Outcome.ACCEPT is outcome(exact, "0.3", "0.30", "3e-1", "30E-2")
    assert Outcome.REJECT is outcome(exact, "0.30000000000000000001")
    assert [Outcome.REJECT] * 3 == [
        outcome(unique, *cells) for cells in (("1", "1.0"), ("0", "-0"), ("10", "1e1"))
    ]
    assert Outcome.REJECT is outcome(_NUMBER, "0", "-0.0", key=["n"])


def test_a_text_that_stands_twice_in_a_files_dictionary_is_read_as_it_is() -> None:
    """A reader that takes texts by their place would read a, b, d where the file says a, a, b."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["a", "c", "b", "d"])
    out, before = io.BytesIO(), b"\x01\0\0\0a\x01\0\0\0c\x01\0\0\0b"
    parquet.write_table(pa.table({"s": texts}), out, compression="none")
    content = out.getvalue().replace(before, before.replace(b"c", b"a"))
    column = {"name": "s", "type": "text", "values": ["a", "b"]}

    assert Outcome.ACCEPT is judge(content, [column], format="parquet").outcome
    assert Outcome.REJECT is judge(content, [column], format="parquet", key=["s"]).outcome
