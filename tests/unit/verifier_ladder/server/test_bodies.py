"""Whatever JSON came in can go out again."""

import json
import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import HTTPException
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from verifier_ladder.server import bodies
from verifier_ladder.server.bodies import InvalidBodyError, check_parts, encoded
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


JSON_HEADERS = {"Content-Type": "application/json"}
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


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which bodies are parsed and validated."""
    threads, read = [], ScoreRequest.model_validate_json

    def noted(body: bytes) -> ScoreRequest:
        threads.append(threading.get_ident())
        return read(body)

    monkeypatch.setattr(ScoreRequest, "model_validate_json", noted)
    return threads


@pytest.mark.parametrize("text", ["long " * 10_000, "half \ud800 " * 10_000])
def test_a_long_body_is_read_beside_the_event_loop(
    serve: Any, reading: list[int], text: str
) -> None:
    body = json.dumps({"samples": [text]}).encode()
    told = serve()("POST", "/v1/score", content=body, headers=JSON_HEADERS)

    assert 200 == told.status_code
    assert reading
    assert threading.get_ident() not in reading


FIELDS = {f"f{n}": 0 for n in range(300_000)}
TOO_MANY = {
    "unknown": ({"samples": ["a"], **FIELDS}, "an object may have 65,536 fields"),
    "of-a-sample": ({"samples": [{"content": "a", **FIELDS}]}, "an object may have 65,536 fields"),
    "of-a-task": (
        {"samples": [{"content": "a", "task": FIELDS}]}, "an object may have 65,536 fields",
    ),
    "lists": (
        {"samples": [{"content": "a", "task": {"x": [[]] * 1_100_000}}]},
        "a body may have 1,048,576 fields, objects and lists; send it in parts",
    ),
    "entries": (
        {"samples": [{"content": "a", "task": {"x": [0] * 8_400_000}}]},
        "a body may have 8,388,608 commas; send it in parts",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "why"), TOO_MANY.values(), ids=TOO_MANY)
def test_a_body_of_too_many_parts_is_refused_before_it_is_read(
    serve: Any, reading: list[int], body: Any, why: str
) -> None:
    told = serve()("POST", "/v1/score", content=encoded(body), headers=JSON_HEADERS)

    assert (413, why) == (told.status_code, told.json()["detail"])
    assert [] == reading


def test_what_stands_inside_of_texts_is_no_part(serve: Any) -> None:
    text = json.dumps(FIELDS)[:1_000_000] + '[{"a": ' * 20_000

    assert 4.0 == serve().score([text, "abcd"])["rewards"][1]["value"]


def containers(value: Any) -> Iterator[Any]:
    """All objects and lists of a value."""
    if isinstance(value, (dict, list)):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


@given(JSON, st.integers(-2, 2), st.integers(0, 4), st.sampled_from([None, 2]))
def test_parts_are_counted_as_they_are_read(
    value: Any, more: int, of_one: int, indent: int | None
) -> None:
    body = json.dumps(value, ensure_ascii=False, indent=indent).encode(errors="replace")
    found = list(containers(json.loads(body)))
    fields = [len(inner) for inner in found if isinstance(inner, dict)]
    parts = len(found) + sum(fields)
    most = max(0, parts + more)
    of_one = min(most, of_one)

    is_refused = parts > most or max(fields, default=0) > of_one

    assert is_refused == is_too_large(body, most, of_one)


@pytest.mark.parametrize("body", [b"}[:", b"{}}:", b'["\\', b'[" [[[[', b"[:" + b"}" * 9])
def test_of_what_is_no_json_only_what_could_be_read_is_counted(body: bytes) -> None:
    assert not is_too_large(body, 2, 1)


def is_too_large(body: bytes, most: int, of_one: int) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "MOST_PARTS", most)
        patch.setattr(bodies, "MOST_FIELDS", of_one)
        try:
            check_parts(body)
        except HTTPException as error:
            return error.status_code == 413
    return False
