"""Waiting: a worker tells its lane that a service is busy for others, which is no time of its own.

Light, for every worker loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_TELL: list[Callable[[bool], None]] = []


def tell_waits_to(tell: Callable[[bool], None]) -> None:
    """Have `tell` called when this process begins to wait for a service, and when that ends."""
    _TELL[:] = [tell]


@contextmanager
def waiting() -> Iterator[None]:
    """Wait for a service inside this context, until it begins with what it is asked.

    Example:
        >>> tell_waits_to(print)
        >>> with waiting():
        ...     pass
        True
        False
        >>> tell_waits_to(lambda _: None)
    """
    for tell in _TELL:
        tell(True)  # noqa: FBT003 - its only argument
    try:
        yield
    finally:
        for tell in _TELL:
            tell(False)  # noqa: FBT003
