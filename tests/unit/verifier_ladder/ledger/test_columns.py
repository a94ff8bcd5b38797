"""Columns come back equal, and short ones are short."""

from math import nan
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.ledger.columns import (
    KeyColumns,
    pack_column,
    pack_counting,
    pack_shared,
    unpack_column,
)

ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=3),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=3),
)  # fmt: skip
COLUMNS = st.one_of(
    st.lists(ATOMS),
    st.lists(st.sampled_from([0, 0.0, -0.0, 1, 1.0, True, False])),
    st.tuples(ATOMS, st.integers(0, 5)).map(lambda pair: [pair[0]] * pair[1]),
    st.lists(st.floats()),
)


def through(column: Any, count: int) -> list[Any]:
    return unpack_column(orjson.loads(orjson.dumps(column)), count)


@given(COLUMNS)
def test_a_column_comes_back_with_every_type_and_sign(values: list[Any]) -> None:
    found = through(pack_column(values), len(values))
    assert list(map(repr, found)) == list(map(repr, values))


@given(st.lists(st.integers()) | st.integers(0, 99).map(lambda n: list(range(n, n + 9))))
def test_a_counting_column_comes_back(values: list[int]) -> None:
    assert through(pack_counting(values), len(values)) == values


@given(st.lists(st.lists(st.binary(min_size=32, max_size=32), max_size=3), max_size=4))
def test_columns_of_digests_come_back(columns: list[list[bytes]]) -> None:
    writer, reader = KeyColumns(), KeyColumns()
    packed = [writer.pack(str(at), keys) for at, keys in enumerate(columns)]
    found = [
        reader.unpack(str(at), orjson.loads(orjson.dumps(column)), len(columns[at]))
        for at, column in enumerate(packed)
    ]
    assert found == columns


@given(st.lists(st.tuples(st.integers())), st.lists(st.integers(0, 9)))
def test_what_is_shared_is_written_in_every_place_and_once(
    objects: list[tuple[int]], places: list[int]
) -> None:
    values = [objects[place % len(objects)] for place in places] if objects else []
    written: list[tuple[int]] = []

    def write(value: tuple[int]) -> int:
        written.append(value)
        return value[0]

    assert pack_shared(values, write) == [value[0] for value in values]
    assert len(written) == len(set(map(id, values)))


def test_an_odd_digest_is_kept_too() -> None:
    packed = KeyColumns().pack("x", [b"short", bytes(32)])
    assert KeyColumns().unpack("x", orjson.loads(orjson.dumps(packed)), 2) == [b"short", bytes(32)]


@pytest.mark.parametrize(
    ("values", "packed"),
    [
        (["a"] * 3, {"all": "a"}),
        ([0.0, -0.0], [0.0, -0.0]),
        ([1, True], [1, True]),
        (np.array([0.5, 0.5]), {"all": 0.5}),
        ([nan, 0.5], [{"$float": "nan"}, 0.5]),
        ([], []),
    ],
)
def test_how_a_column_is_written(values: Any, packed: Any) -> None:
    assert pack_column(values) == packed


def test_equal_columns_of_digests_are_written_once() -> None:
    columns, keys = KeyColumns(), [bytes(32), b"\1" * 32]
    columns.pack("first", keys)
    assert columns.pack("second", list(keys)) == {"same": "first"}
