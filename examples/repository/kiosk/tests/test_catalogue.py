"""The catalogue."""

import pytest
from kiosk.catalogue import Item
from kiosk.errors import UnknownItemError


def test_items_are_found_by_code(catalogue):
    assert catalogue["b"].name == "Brown bread"
    assert len(catalogue) == 3


def test_an_unknown_code_is_an_error(catalogue):
    with pytest.raises(UnknownItemError):
        catalogue["z"]


def test_an_item_is_replaced(catalogue):
    catalogue.add(Item("a", "Apple juice", 275))
    assert catalogue["a"].price == 275
    assert len(catalogue) == 3


def test_items_are_sorted(catalogue):
    catalogue.add(Item("aa", "Almonds", 600))
    assert [item.code for item in catalogue] == ["a", "aa", "b", "c"]


def test_names_are_searched(catalogue):
    assert [item.code for item in catalogue.search("BR")] == ["b"]
    assert [item.code for item in catalogue.search("jam cherry")] == ["c"]
    assert catalogue.search("milk") == []
