"""Money."""

import pytest
from kiosk import money
from kiosk.errors import PriceError


def test_prices_are_read():
    assert money.parse("12.50") == 1250
    assert money.parse(" 3 ") == 300
    assert money.parse("-0.05") == -5


@pytest.mark.parametrize("text", ["", "12,50", "1.5", "one", "1.234"])
def test_other_texts_are_no_price(text):
    with pytest.raises(PriceError):
        money.parse(text)


def test_prices_are_shown():
    assert money.show(1250) == "12.50"
    assert money.show(5) == "0.05"
    assert money.show(-1205) == "-12.05"


@pytest.mark.parametrize(("cents", "rate", "share"), [(1000, 19, 190), (5, 10, 1), (4, 10, 0)])
def test_a_share_is_rounded_half_up(cents, rate, share):
    assert money.percent(cents, rate) == share


def test_an_amount_is_divided_by_weights():
    assert money.allocate(900, [1, 2]) == [300, 600]
    assert money.allocate(0, [5, 5]) == [0, 0]


def test_weights_must_make_sense():
    with pytest.raises(ValueError):
        money.allocate(100, [0, 0])
    with pytest.raises(ValueError):
        money.allocate(100, [3, -1])
