"""Literals: read, written, and changed to another value."""

import ast
from random import Random
from typing import Any

import plainvalues
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.tiers.fast.literals import another, read, written


@given(plainvalues.VALUES, st.integers(0, 99))
def test_another_value_is_another(value: Any, seed: int) -> None:
    assert another(value, Random(seed)) != value  # noqa: S311


@given(plainvalues.VALUES.filter(lambda value: "nan" not in repr(value)))
def test_what_is_written_evaluates_to_the_value(value: Any) -> None:
    assert eval(ast.unparse(written(value))) == value  # noqa: S307 - our own


@given(st.recursive(st.integers(0) | st.text(max_size=3), st.lists))
def test_literals_are_read_as_their_values(value: Any) -> None:
    assert read(ast.parse(repr(value), mode="eval").body) == value
