"""Answers are read strictly, because they become measurements."""

import pytest

from verifier_ladder.cli.cases import read_answer
from verifier_ladder.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-4.7", -4.7), ("1e-3", 0.001), (" 0 ", 0.0), ("yes", True), ("N", False),
        ("Accept", True), ("reject", False), ("decline", None),
    ],
)  # fmt: skip
def test_an_answer_is_read(text: str, value: object) -> None:
    assert value == read_answer(text)


@pytest.mark.parametrize("text", ["", "maybe", "nan", "inf", "-inf", "1,5", "4 kcal"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no answer"):
        read_answer(text)
