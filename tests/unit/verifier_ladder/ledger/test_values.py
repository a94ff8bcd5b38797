"""Free values survive JSON."""

from enum import StrEnum
from math import copysign, inf, isnan, nan

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.ledger.values import dumps, loads, pack, unpack

TEXT = st.text(st.characters(codec=None, exclude_categories=()))
ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT, st.binary()
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(TEXT, st.just("$bytes"), st.integers()), inner, max_size=4),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_comes_back_equal(value: object) -> None:
    assert loads(dumps(value)) == value


@given(VALUES)
def test_a_packed_value_is_plain_json(value: object) -> None:
    assert unpack(orjson.loads(orjson.dumps(pack(value)))) == value


@given(st.floats(allow_nan=False))
def test_a_float_keeps_every_bit(value: float) -> None:
    found = loads(dumps([value]))[0]
    assert (found, copysign(1.0, found)) == (value, copysign(1.0, value))


def test_not_a_number_stays_one() -> None:
    assert isnan(loads(dumps({"x": nan}))["x"])


def test_types_are_kept_apart() -> None:
    value = [1, 1.0, True, "1", (1,), [1], inf]
    assert [type(item) for item in loads(dumps(value))] == [type(item) for item in value]


def test_a_users_marks_are_not_ours() -> None:
    value = {"$bytes": "not base64"}
    assert loads(dumps(value)) == value


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, "red"),
        (np.float64(0.5), 0.5),
        (np.int32(3), 3),
        (np.array([1.0, 2.0]), [1.0, 2.0]),
        ({1}, "{1}"),
        (ValueError("odd"), "odd"),
    ],
)
def test_a_strange_value_costs_no_verdict(value: object, expected: object) -> None:
    assert loads(dumps({"evidence": value})) == {"evidence": expected}
