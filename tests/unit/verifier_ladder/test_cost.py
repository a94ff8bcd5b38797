"""Amounts of time, and costs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.cost import LARGEST, Cost, seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.protocol import micros


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2 h", 7200.0),
        ("2h", 7200.0),
        ("100 cpu-seconds", 100.0),
        ("15 MIN", 900.0),
        (" 1.5 s ", 1.5),
        (".5 s", 0.5),
        ("1e3 ms", 1.0),
        ("3 d", 259200.0),
        ("20 us", 2e-5),
        ("7", 7.0),
        (7, 7.0),
        (0, 0.0),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
    ],
)
def test_amounts_of_time_are_read_in_seconds(text: Any, amount: float) -> None:
    assert amount == pytest.approx(seconds(text))


@pytest.mark.parametrize(
    "text",
    ["2 bananas", "h", "", "-1 s", -1, True, None, "1e999 s", "1e308 w", 10**400, "1 h 30 min",
     float("nan"), float("inf"), "nan", "\uff11 s"],
)  # fmt: skip
def test_nonsense_is_refused_with_an_example(text: Any) -> None:
    with pytest.raises(ConfigError, match='such as "90 s"'):
        seconds(text)


@given(st.text(max_size=12))
def test_any_text_is_an_amount_or_a_clear_error(text: str) -> None:
    amount, message = 0.0, repr(text)
    try:
        amount = seconds(text)
    except ConfigError as error:
        message = str(error)

    assert 0.0 <= amount < float("inf")
    assert repr(text) in message


@pytest.mark.parametrize(
    "value", [-1.0, float("nan"), float("inf"), "2 h", None, 10**400, 1e300, 2**53 / 1e6]
)
@pytest.mark.parametrize("name", ["seconds", "gpu_seconds", "money", "person_minutes"])
def test_a_cost_that_no_budget_could_pay_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        Cost(**{name: value})


def test_the_error_tells_what_the_largest_cost_is() -> None:
    with pytest.raises(ConfigError, match="at least 0 and below 9,007,199,255"):
        Cost(money=1e10)


def test_what_a_cost_may_be_a_ledger_counts() -> None:
    largest = np.nextafter(LARGEST, 0.0)

    assert micros(Cost(seconds=largest)) < (2**53, 0, 0, 0)


def test_a_cost_may_be_zero() -> None:
    assert 0.0 == Cost().seconds
