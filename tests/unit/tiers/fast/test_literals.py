"""Literals: read, written, and changed to another value."""

import ast
from random import Random
from typing import Any

import plainvalues
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.tiers.fast.literals import another, read, written


@given(plainvalues.VALUES, st.integers(0, 99))
def test_another_value_is_another(value: Any, seed: int) -> None:
    assert another(value, Random(seed)) != value  # noqa: S311


@given(plainvalues.VALUES.filter(lambda value: value is not None), st.integers(0, 99))
def test_it_has_the_same_type(value: Any, seed: int) -> None:
    assert type(value) is type(another(value, Random(seed)))  # noqa: S311


def test_a_set_keeps_the_types_of_its_members() -> None:
    other = another({"a", "b"}, Random(0))  # noqa: S311

    assert all(isinstance(each, str) for each in other)


@pytest.mark.parametrize("value", [9, 0.75])
def test_what_is_equal_to_each_third_number_meets_one(value: float) -> None:
    others = {another(value, Random(seed)) for seed in range(99)}  # noqa: S311

    assert {0, 1, 2} == {round(each * 100) % 3 for each in others}
    assert min(others) < value < max(others)


@given(st.text(alphabet="abcABC", max_size=3), st.integers(0, 99))
def test_another_text_differs_in_more_than_case(value: str, seed: int) -> None:
    assert value.lower() != another(value, Random(seed)).lower()  # noqa: S311


@given(plainvalues.VALUES.filter(lambda value: "nan" not in repr(value)))
def test_what_is_written_evaluates_to_the_value(value: Any) -> None:
    assert eval(ast.unparse(written(value))) == value  # noqa: S307 - our own


@given(st.recursive(st.integers(0) | st.text(max_size=3), st.lists))
def test_literals_are_read_as_their_values(value: Any) -> None:
    assert read(ast.parse(repr(value), mode="eval").body) == value
