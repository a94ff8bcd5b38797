"""Values keep their exact types on the way; bytes that are no value are refused."""

import math
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.tiers.sandbox.values import LARGEST, ValueTextError, decode, encode

_hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
_plain = st.recursive(
    _hashable | st.binary().map(bytearray),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_hashable, inner, max_size=4)
        | st.sets(_hashable, max_size=4)
        | st.tuples(inner)
    ),
    max_leaves=10,
)


def typed(value: Any) -> Any:
    """A value with the type of all its parts, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return dict, [(typed(k), typed(v)) for k, v in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, map(typed, value)))
    if isinstance(value, (list, tuple)):
        return type(value), [typed(item) for item in value]
    return type(value), repr(value)


@given(_plain)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert typed(value) == typed(decode(encode(value)))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        decode(data)
    except ValueTextError:
        return


@pytest.mark.parametrize(
    "value", [10**4000, -(10**400), -0.0, math.inf, "\ud800", "", b"", ()], ids=ascii
)
def test_odd_values_come_back(value: Any) -> None:
    assert repr(typed(value)) == repr(typed(decode(encode(value)))) or value == decode(
        encode(value)
    )


def test_nan_comes_back() -> None:
    assert math.isnan(decode(encode(math.nan)))


class _Int(int):
    pass


@pytest.mark.parametrize(
    "value", [object(), _Int(1), int, len, iter([]), range(3), memoryview(b"")]
)
def test_what_is_no_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(ValueTextError, match="no plain data"):
        encode(value)


def test_size_and_depth_are_bounded() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]

    for value in (deep, "x" * (LARGEST + 1), b"x" * LARGEST, 1 << (5 * LARGEST), [0] * LARGEST):
        with pytest.raises(ValueTextError):
            encode(value)


def test_members_with_one_hash_are_refused() -> None:
    alike = [["i", format(n * (2**61 - 1), "x")] for n in range(1, 1000)]
    text = str(["s", *alike]).replace("'", '"').encode()

    with pytest.raises(ValueTextError, match="same hash"):
        decode(text)
    assert 40 == len(decode(str(["s", *alike[:40]]).replace("'", '"').encode()))


def test_deep_bytes_do_not_use_up_the_stack_of_a_judge_that_allows_deep_calls() -> None:
    source = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from verifier_ladder.tiers.sandbox import values\n"
        "for text in (b'[' * 900_000, b'{\"a\":' * 150_000, b'[\"l\",' * 150_000):\n"
        "    try: values.decode(text)\n"
        "    except values.ValueTextError: print('refused')\n"
        "print(values.decode(values.encode(['[' * 500, '\\\\\"[' * 500])) != [])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-P", "-c", source], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert (0, ["refused"] * 3 + ["True"]) == (told.returncode, told.stdout.split())
