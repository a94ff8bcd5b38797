"""Open cases are all found, and answers are read strictly, because they become measurements."""

from types import SimpleNamespace
from typing import Any

import pytest

from verifier_ladder.casework.opencases import (
    _FIRST,
    _MORE,
    FAILURE,
    read_answer,
    waiting_checks,
)
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


@pytest.mark.parametrize("count", [0, 1, _FIRST - 1, _FIRST, _FIRST + 1, 3 * _MORE])
def test_each_open_case_is_read_once_however_many_there_are(count: int) -> None:
    rows = [SimpleNamespace(check_key=bytes([n // 256, n % 256])) for n in range(count)]

    class Queue:
        def checks(self, *, limit: int, after: bytes | None, **_: Any) -> list[Any]:
            first = 0 if after is None else 256 * after[0] + after[1]
            return rows[first : first + limit]  # The one behind which to begin has sunk.

    assert rows == list(waiting_checks(Queue(), "c"))  # type: ignore[arg-type]
