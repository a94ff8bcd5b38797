"""Whatever JSON came in can go out again."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.server.bodies import encoded

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)  # fmt: skip


@given(JSON)
def test_json_is_written_as_it_was(value: Any) -> None:
    assert value == json.loads(encoded(value))


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (2**70, 2**70), ({"a\ud800": ["\udfff"]}, {"a\ufffd": ["\ufffd"]}), (math.nan, None),
        ([2**70, math.inf], [2**70, None]),
    ],
)  # fmt: skip
def test_what_json_has_no_word_for_is_repaired(value: Any, read: Any) -> None:
    assert read == json.loads(encoded(value))
