"""What can go wrong in a shop."""


class KioskError(Exception):
    """Base of all errors of this library."""


class PriceError(KioskError, ValueError):
    """A text is no price."""


class UnitError(KioskError, ValueError):
    """There is no such unit, or two units measure different things."""


class UnknownItemError(KioskError, KeyError):
    """No item has this code."""
