"""Rates: how many checks of a verifier may begin in a time, on all hosts together.

A rate is a bucket of tokens. All that is kept of one is a moment, at which the bucket will be
full again if nobody takes more: each token moves it on by the rate's period.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, cast

from verifier_ladder.errors import ConfigError

BURST: Final = 0.5
"""Seconds' worth of checks that may begin at once after a rest; one check at least."""
LONGEST_PAUSE: Final = 300.0
"""Seconds that a service's `Retry-After` may put a rate off."""
_SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0}
_FORM: Final = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*/\s*(s|min|h)\s*", re.ASCII)
_MOST: Final = 100_000
_LEAST: Final = 1 / 86_400
_ROUNDING: Final = 1e-6
"""Seconds by which sums of moments may be off."""
_LONGEST_NAME: Final = 200

_TELL: ContextVar[Callable[[float], None] | None] = ContextVar("_TELL", default=None)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many checks may begin in a time.

    Verifiers whose rates have one name share it, as where they ask the same endpoint; one that
    names none has it for itself. Hosts share rates by the ledger.

    Example:
        >>> Rate("600/min", name="openai").period
        0.1
    """

    limit: str
    """Checks in a second, minute or hour: `"10/s"`, `"600/min"`, `"50/h"`."""
    name: str = ""
    period: float = field(init=False, repr=False, compare=False)
    """Seconds from one check to the next."""

    def __post_init__(self) -> None:
        """Read the limit.

        Raises:
            ConfigError: If it is none, or the name is no text.
        """
        limit, name = cast("object", self.limit), cast("object", self.name)
        found = _FORM.fullmatch(limit) if isinstance(limit, str) else None
        number = float(found[1]) / _SECONDS[found[2]] if found else 0.0
        if not _LEAST <= number <= _MOST:
            raise ConfigError(
                f'rate={self.limit!r}: write how many checks may begin in a time, such as "10/s", '
                f'"600/min" or "50/h": one a day at least, and {_MOST:,} a second at most'
            )
        if not isinstance(name, str) or len(name) > _LONGEST_NAME:
            raise ConfigError(f"name={self.name!r:.100} of a rate: give up to 200 characters")
        object.__setattr__(self, "period", 1.0 / number)

    @property
    def burst(self) -> float:
        """Seconds in which an empty bucket is full again."""
        return max(self.period, BURST)

    def tokens(self, full_at: float, now: float) -> int:
        """How many checks may begin now, if the bucket will be full at that moment.

        Example:
            >>> Rate("10/s").tokens(full_at=100.2, now=100.0)
            3
        """
        left = now + self.burst - self._begun(full_at, now)
        return max(0, int((left + _ROUNDING) / self.period))

    def taken(self, full_at: float, now: float, count: int) -> float:
        """When the bucket will be full, once so many tokens have been taken."""
        return self._begun(full_at, now) + count * self.period

    def due(self, full_at: float, now: float) -> float:
        """When the next check may begin; not after `now` if one may."""
        return self._begun(full_at, now) + self.period - self.burst

    def put_off(self, full_at: float, now: float, seconds: float) -> float:
        """When the bucket will be full, if nothing may begin for so many seconds."""
        until = now + min(max(0.0, seconds), LONGEST_PAUSE)
        return max(self._begun(full_at, now), until + self.burst)

    def _begun(self, full_at: float, now: float) -> float:
        """The moment to reckon from; one that can't be was set by a clock that was ahead."""
        is_possible = full_at <= now + LONGEST_PAUSE + self.burst + _ROUNDING
        return max(now, full_at) if is_possible else now


def as_rate(given: object, name: str) -> Rate | None:
    """A verifier's rate, of what it declares; its own name stands for one that is not given.

    Raises:
        ConfigError: If that is no rate.

    Example:
        >>> as_rate("10/s", "judge").name
        'verifier judge'
    """
    if given is None:
        return None
    rate = Rate(given) if isinstance(given, str) else given
    if not isinstance(rate, Rate):
        raise ConfigError(
            f'rate={given!r} of verifier {name}: write "10/s", or Rate("10/s", name="openai") '
            "where several share it"
        )
    return rate if rate.name else Rate(rate.limit, name=f"verifier {name}"[:_LONGEST_NAME])


@contextmanager
def pauses_told_to(tell: Callable[[float], None] | None) -> Iterator[None]:
    """Have `tell`, if any, called with the seconds that services ask for inside this context."""
    before = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(before)


def tell_pause(seconds: float) -> None:
    """Say that a service wants not to be asked for so many seconds.

    Example:
        >>> with pauses_told_to(print):
        ...     tell_pause(2.0)
        2.0
    """
    tell = _TELL.get()
    if tell is not None:
        tell(seconds)
