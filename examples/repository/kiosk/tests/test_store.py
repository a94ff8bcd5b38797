"""Catalogues in files."""

import io
import json

from kiosk import store


def test_what_is_saved_is_loaded(catalogue):
    file = io.StringIO()
    store.save(catalogue, file)
    file.seek(0)
    assert list(store.load(file)) == list(catalogue)


def test_prices_are_texts(catalogue):
    file = io.StringIO()
    store.save(catalogue, file)
    assert [row["price"] for row in json.loads(file.getvalue())] == ["2.50", "3.95", "4.20"]


def test_a_unit_may_be_left_out():
    file = io.StringIO('[{"code": "x", "name": "Figs", "price": "7"}]')
    assert store.load(file)["x"].unit == "pc"
