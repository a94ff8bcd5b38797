"""Answers are read strictly, because they become measurements."""

import pytest

from verifier_ladder.cli.cases import FAILURE, read_answer
from verifier_ladder.errors import ConfigError
from verifier_ladder.measurement import Bound


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-4.7", -4.7), ("1e-3", 0.001), (" 0 ", 0.0), ("yes", True), ("N", False),
        ("Accept", True), ("reject", False), ("decline", None),
        ("< 0.1", Bound("<", 0.1)), (" ≥ 1E2", Bound(">=", 100.0)), ("Failed", FAILURE),
    ],
)  # fmt: skip
def test_an_answer_is_read(text: str, value: object) -> None:
    assert value == read_answer(text)


@pytest.mark.parametrize("text", ["", "maybe", "nan", "inf", "-inf", "1,5", "4 kcal"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no answer"):
        read_answer(text)


@pytest.mark.parametrize("text", ["<", "< nan", "< 1 µM", "<1,5"])
def test_half_a_bound_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no bound"):
        read_answer(text)
