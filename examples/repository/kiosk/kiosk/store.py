"""Catalogues in files."""

import json

from kiosk import money
from kiosk.catalogue import Catalogue, Item


def load(file):
    """Read a catalogue from an open file of JSON."""
    return Catalogue(
        Item(row["code"], row["name"], money.parse(row["price"]), row.get("unit", "pc"))
        for row in json.load(file)
    )


def save(catalogue, file):
    """Write a catalogue to an open file, sorted by code."""
    rows = [
        {"code": item.code, "name": item.name, "price": money.show(item.price), "unit": item.unit}
        for item in catalogue
    ]
    json.dump(rows, file, indent=1)
