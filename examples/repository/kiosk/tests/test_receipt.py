"""Receipts."""

from kiosk import receipt, text
from kiosk.basket import Basket


def test_rows_tell_lines_and_total(catalogue):
    basket = Basket(catalogue, {"a": lambda item, count: 50})
    basket.add("a", 2)
    assert receipt.rows(basket) == [
        ("Apple juice", "2", "5.00"),
        ("  offer", "", "-0.50"),
        ("total", "", "4.50"),
    ]


def test_no_rows_are_no_lines():
    assert text.columns([]) == []


def test_columns_of_one_width():
    assert text.columns([("ab", "1"), ("cd", "2")]) == ["ab  1", "cd  2"]


def test_an_empty_basket_has_a_total(catalogue):
    assert receipt.receipt(Basket(catalogue)) == "total    0.00"
