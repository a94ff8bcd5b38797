"""Whatever JSON came in can go out again."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from verifier_ladder.server.bodies import InvalidBodyError, encoded
from verifier_ladder.server.messages import ScoreRequest

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


MANY = {str(n): 0 for n in range(1000)}
WRONG_EVERYWHERE = {
    "samples": {"samples": [0] * 1000},
    "turns": {"samples": [{"content": "a", "turns": [0] * 1000}] * 1000},
    "groups": {"samples": ["a"], "groups": [0] * 1000},
    "chat": {"samples": ["a"], "prompts": {"g": [0] * 1000}},
    "fields": {"samples": ["a"], **MANY},
    "fields-of-sample": {"samples": [{"content": "a", **MANY}]},
    "prompts": {"samples": ["a"], "prompts": MANY},
}


@pytest.mark.parametrize("body", WRONG_EVERYWHERE.values(), ids=WRONG_EVERYWHERE)
def test_of_a_body_that_is_wrong_everywhere_little_is_told(body: Any) -> None:
    """What is built of each error holds up every other call."""
    with pytest.raises(ValidationError) as raised:
        ScoreRequest.model_validate_json(json.dumps(body))
    built: list[int] = []

    class Counted:
        """A validation error that counts what is asked of it."""

        error_count = raised.value.error_count

        def errors(self, **options: Any) -> Any:
            found = raised.value.errors(**options)
            built.append(len(found))
            return found

    told = InvalidBodyError(Counted()).errors  # type: ignore[arg-type]

    assert len(told) <= 2
    assert sum(built) < 10


def test_a_body_with_too_many_unknown_fields_is_told_how_many(serve: Any) -> None:
    told = serve()("POST", "/v1/score", json={"samples": ["a"], **MANY})

    assert 422 == told.status_code
    assert (
        "body: this is wrong in 1000 places; /openapi.json says which fields there are"
        == (told.json()["detail"])
    )
