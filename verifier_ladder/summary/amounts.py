"""Amounts in words: times, shares and numbers with their uncertainty, as a person reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, isfinite, isnan, log10

from verifier_ladder.resource import Resource
from verifier_ladder.summary.times import Latency

_MOST_DIGITS = 6
_LARGEST = 1e12
_NOTHING = 1e-9
"""Below it a number is what rounding has left of 0, and an uncertainty none."""
_FINE = 1e-4
"""Below it a number is told by a power of ten."""
_STEPS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def duration(seconds: float | None) -> str:
    """Seconds in the unit that reads best.

    Example:
        >>> duration(0.0042), duration(98.2), duration(9000.0), duration(None)
        ('4.2 ms', '98 s', '2.5 h', '–')
    """
    if seconds is None:
        return "–"
    for size, unit in _STEPS:
        if seconds >= 2 * size:
            return f"{_short(seconds / size)} {unit}"
    if seconds >= 1 or seconds == 0:
        return f"{_short(seconds)} s"
    milliseconds = seconds * 1e3
    return f"{_short(milliseconds)} ms" if milliseconds >= 1 else f"{_short(seconds * 1e6)} µs"


def shown_in(resource: Resource) -> Callable[[float], str]:
    """How to show amounts of a resource.

    Example:
        >>> shown_in(Resource.GPU_SECONDS)(7200.0), shown_in(Resource.MONEY)(12.5)
        ('2 h', '12.50')
    """
    if resource is Resource.MONEY:
        return lambda amount: f"{amount:,.2f}"
    if resource is Resource.PERSON_MINUTES:
        return lambda amount: duration(60.0 * amount)
    return duration


def latency_text(latency: Latency | None) -> str:
    """A tier's latency in words.

    Example:
        >>> latency_text(Latency(1.2, 8.0, 10)), latency_text(None)
        ('1.2 s, 95 % in 8 s', '–')
    """
    if latency is None:
        return "–"
    return f"{duration(latency.median)}, 95 % in {duration(latency.high)}"


def resource_name(label: str) -> str:
    """A resource in words, as tables head it.

    Example:
        >>> resource_name("cpu_seconds"), resource_name("person_minutes")
        ('cpu time', "people's time")
    """
    return _RESOURCES[Resource.parse(label)]


def resources_text(resources: Mapping[Resource, float]) -> list[str]:
    """What was spent of each resource that was used, with its name.

    Example:
        >>> resources_text({Resource.MONEY: 4.31, Resource.GPU_SECONDS: 90.0})
        ['90 s of gpu time', '4.31 of money']
    """
    return [
        f"{shown_in(resource)(amount)} of {_RESOURCES[resource]}"
        for resource, amount in sorted(resources.items()) if amount
    ]  # fmt: skip


_RESOURCES = {
    Resource.CPU_SECONDS: "cpu time", Resource.GPU_SECONDS: "gpu time", Resource.MONEY: "money",
    Resource.PERSON_MINUTES: "people's time",
}  # fmt: skip


def _short(value: float) -> str:
    if value >= 10:  # noqa: PLR2004 - two digits are enough
        return f"{value:.0f}"
    return f"{value:.1f}".removesuffix(".0")


def number(value: float | None, uncertainty: float | None = None) -> str:
    """A number with as many digits as its uncertainty allows.

    What is not known, or is no number, is a dash; a small number keeps two digits.

    Example:
        >>> number(-4.731, 0.62), number(0.5), number(None), number(-2.5e30)
        ('−4.7 ± 0.6', '0.50', '–', '−2.5e+30')
        >>> number(0.00042), number(-1e-17)
        ('0.00042', '0.00')
    """
    if value is None or isnan(value):
        return "–"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value) + (uncertainty or 0.0)
    if not size < _LARGEST:  # Nobody counts so many digits; some are no numbers at all.
        told = f"{value:.3g}" if uncertainty is None else f"{value:.3g} ± {uncertainty:.2g}"
        return told.replace("-", "−")
    if not uncertainty or uncertainty < _NOTHING * max(1.0, abs(value)):
        return fixed(value, _digits(value)) if _is_plain(value) else _in_powers(value)
    leading = max(-_MOST_DIGITS - 1, floor(log10(uncertainty)))
    # One digit of the uncertainty is enough, unless it is a 1 or a 2.
    digits = max(0, min(_MOST_DIGITS, -leading + (uncertainty / 10**leading < 3)))  # noqa: PLR2004
    return f"{fixed(value, digits)} ± {uncertainty:.{digits}f}"


def _is_plain(value: float) -> bool:
    return not _NOTHING <= abs(value) < _FINE


def _digits(value: float) -> int:
    """How many digits behind the point tell two of a number."""
    size = abs(value)
    return 2 if size >= 0.01 or size < _NOTHING else 1 - floor(log10(size))  # noqa: PLR2004


def _in_powers(value: float) -> str:
    return f"{value:.1e}".replace("-", "−")


def fixed(value: float, digits: int, sign: str = "-") -> str:
    """A number with so many digits behind the point; nothing is no negative number.

    Args:
        value: The number.
        digits: How many.
        sign: `+` to show that of positive numbers, too.

    Example:
        >>> fixed(-0.001, 2), fixed(-1.5, 1), fixed(0.7, 1, "+")
        ('0.00', '−1.5', '+0.7')
    """
    rounded = round(value, digits) + 0.0
    return f"{rounded:{sign if rounded else '-'}.{digits}f}".replace("-", "−")


def share(part: float, whole: float | None) -> str:
    """A part of a whole, in per cent.

    Example:
        >>> share(98.0, 100.0), share(1.0, None)
        ('98 %', '–')
    """
    return percent(part / whole) if whole else "–"


def percent(part: float | None, digits: int = 0) -> str:
    """A share of one in per cent; what is more than nothing is never told as nothing.

    Example:
        >>> percent(0.126), percent(0.0004), percent(0.9999), percent(1.0), percent(None)
        ('13 %', '< 1 %', '> 99 %', '100 %', '–')
    """
    if part is None:
        return "–"
    least = 10.0**-digits
    shown = f"{100 * part:.{digits}f}"
    if part > 0.0 and float(shown) == 0.0:
        return f"< {least:.{digits}f} %"
    if part < 1.0 and float(shown) >= 100.0:  # noqa: PLR2004 - per cent
        return f"> {100 - least:.{digits}f} %"
    return f"{shown} %"


def plural(count: int, noun: str, more: str | None = None) -> str:
    """A count with its noun.

    Example:
        >>> plural(1, "molecule"), plural(2_000, "check")
        ('1 molecule', '2\u202f000 checks')
    """
    word = noun if count == 1 else more or f"{noun}s"
    return f"{counted(count)} {word}"


def counted(count: int) -> str:
    """A count whose thousands stand apart.

    Example:
        >>> counted(12_000)
        '12\u202f000'
    """
    return f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
