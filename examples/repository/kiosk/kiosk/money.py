"""Money in whole cents."""

import re

from kiosk.errors import PriceError

_PRICE = re.compile(r"(-?)(\d+)(?:\.(\d{2}))?")


def parse(text):
    """The cents that a text such as "12.50" says."""
    found = _PRICE.fullmatch(text.strip())
    if found is None:
        raise PriceError(f"{text!r} is no price")
    sign, whole, cents = found.groups()
    value = int(whole) * 100 + int(cents or 0)
    return -value if sign else value


def show(cents):
    """Cents as people write them: 1250 is "12.50"."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d}"


def percent(cents, rate):
    """A share of an amount in percent, rounded half up."""
    return (cents * rate + 50) // 100


def allocate(cents, weights):
    """Divide an amount by weights, in whole cents.

    No cent gets lost: what is left over goes, cent by cent, to the first ones that have a weight.
    """
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise ValueError("weights must not be negative, and one must be above 0")
    return [cents * weight // total for weight in weights]
