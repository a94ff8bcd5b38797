"""Memory: what a text is said to take is what it takes."""

from sys import getsizeof

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder import memory
from verifier_ladder.memory import written


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_text_is_weighed_as_json_and_beyond_ascii_with_what_python_keeps(text: str) -> None:
    held = getsizeof(text * 3) - getsizeof(text * 2) + len(text.encode())

    assert written(text) == len(orjson.dumps(text)) - 2 + (0 if text.isascii() else held)


@given(st.text(min_size=1), st.integers(1, 9))
def test_a_text_that_is_weighed_in_parts_weighs_what_it_does_as_a_whole(
    text: str, part: int
) -> None:
    whole = written(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_SLICE", part)

        assert whole == written(text)


def test_what_no_json_can_hold_is_weighed_too() -> None:
    assert written("\ud800" * 10) == 10 * (3 + 3 + 2)
