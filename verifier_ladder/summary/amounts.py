"""Amounts in words: times, shares and numbers with their uncertainty, as a person reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, log10

from verifier_ladder.resource import Resource
from verifier_ladder.summary.times import Latency

_MOST_DIGITS = 6
_LARGEST = 1e12
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

    Example:
        >>> number(-4.731, 0.62), number(0.5), number(None), number(-2.5e30)
        ('−4.7 ± 0.6', '0.50', '–', '−2.5e+30')
    """
    if value is None:
        return "–"
    size = abs(value) + (uncertainty or 0.0)
    if not size < _LARGEST:  # Nobody counts so many digits; some are no numbers at all.
        told = f"{value:.3g}" if uncertainty is None else f"{value:.3g} ± {uncertainty:.2g}"
        return told.replace("-", "−")
    if not uncertainty:
        return f"{value:.2f}".replace("-", "−")
    leading = max(-_MOST_DIGITS - 1, floor(log10(uncertainty)))
    # One digit of the uncertainty is enough, unless it is a 1 or a 2.
    digits = max(0, min(_MOST_DIGITS, -leading + (uncertainty / 10**leading < 3)))  # noqa: PLR2004
    return f"{value:.{digits}f} ± {uncertainty:.{digits}f}".replace("-", "−")


def share(part: float, whole: float | None) -> str:
    """A part of a whole, in per cent.

    Example:
        >>> share(98.0, 100.0), share(1.0, None)
        ('98 %', '–')
    """
    return f"{100 * part / whole:.0f} %" if whole else "–"


def plural(count: int, noun: str, more: str | None = None) -> str:
    """A count with its noun.

    Example:
        >>> plural(1, "molecule"), plural(2_000, "check")
        ('1 molecule', '2\u202f000 checks')
    """
    word = noun if count == 1 else more or f"{noun}s"
    return f"{count:,} {word}".replace(",", "\N{NARROW NO-BREAK SPACE}")
