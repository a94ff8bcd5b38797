"""What the shop sells."""

from dataclasses import dataclass

from kiosk.errors import UnknownItemError


@dataclass(frozen=True)
class Item:
    """One article: its code, its name, and the price of one unit in cents."""

    code: str
    name: str
    price: int
    unit: str = "pc"


class Catalogue:
    """Items by code."""

    def __init__(self, items=()):
        self._items = {}
        for item in items:
            self.add(item)

    def add(self, item):
        """Add an item, or replace the one of its code."""
        self._items[item.code] = item

    def __getitem__(self, code):
        try:
            return self._items[code]
        except KeyError:
            raise UnknownItemError(code) from None

    def __iter__(self):
        return iter(sorted(self._items.values(), key=lambda item: item.code))

    def __len__(self):
        return len(self._items)

    def search(self, words):
        """Items whose names hold all of the words, whatever their case."""
        wanted = words.casefold().split()
        return [item for item in self if all(word in item.name.casefold() for word in wanted)]
