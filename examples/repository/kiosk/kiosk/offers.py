"""Offers: what a line of a basket costs less."""

from kiosk import money


def three_for_two(item, count):
    """Of each three pieces one is free."""
    return count // 2 * item.price


def percentage(rate):
    """So many percent off."""

    def offer(item, count):
        return money.percent(item.price * count, rate)

    return offer


def best(offers):
    """Whichever of some offers saves most."""

    def offer(item, count):
        return max((each(item, count) for each in offers), default=0)

    return offer
