"""Baskets and offers."""

import pytest
from kiosk import offers
from kiosk.basket import Basket


def test_an_empty_basket_costs_nothing(catalogue):
    assert Basket(catalogue).total == 0


def test_pieces_are_counted(catalogue):
    basket = Basket(catalogue)
    basket.add("a")
    basket.add("b", 2)
    basket.add("a", 3)
    assert [(line.item.code, line.count) for line in basket.lines] == [("a", 4), ("b", 2)]
    assert basket.total == 4 * 250 + 2 * 395


def test_pieces_are_taken_out_again(catalogue):
    basket = Basket(catalogue)
    basket.add("c", 2)
    basket.add("c", -2)
    assert basket.lines == []
    with pytest.raises(ValueError):
        basket.add("c", -1)


def test_percents_are_saved(catalogue):
    basket = Basket(catalogue, {"b": offers.percentage(10)})
    basket.add("b", 2)
    assert basket.lines[0].saved == 79
    assert basket.total == 711


def test_nothing_is_free_below_two(catalogue):
    assert offers.three_for_two(catalogue["a"], 0) == 0
    assert offers.three_for_two(catalogue["a"], 1) == 0


def test_the_best_offer_counts(catalogue):
    best = offers.best([offers.percentage(1), offers.percentage(50)])
    assert best(catalogue["a"], 2) == 250
    assert offers.best([])(catalogue["a"], 2) == 0
