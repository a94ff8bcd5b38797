"""Baskets: what somebody buys."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """Some pieces of an item, and what they cost less by an offer."""

    item: object
    count: int
    saved: int

    @property
    def price(self):
        """What the line costs."""
        return self.item.price * self.count - self.saved


class Basket:
    """Counts of items, priced with offers by code."""

    def __init__(self, catalogue, offers=None):
        self._catalogue = catalogue
        self._offers = dict(offers or {})
        self._counts = {}

    def add(self, code, count=1):
        """Put pieces in; a negative count takes some out again."""
        item = self._catalogue[code]
        left = self._counts.get(item.code, 0) + count
        if left < 0:
            raise ValueError(f"there are not so many of {code}")
        self._counts[item.code] = left
        if not left:
            del self._counts[item.code]

    @property
    def lines(self):
        """One line for each item, in the order in which they were first put in."""
        return [self._line(code, count) for code, count in self._counts.items()]

    def _line(self, code, count):
        item = self._catalogue[code]
        offer = self._offers.get(code)
        return Line(item, count, offer(item, count) if offer else 0)

    @property
    def total(self):
        """What all of it costs, in cents."""
        return sum(line.price for line in self.lines)
