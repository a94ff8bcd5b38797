"""Metering: processor time of helpers that outlive a check, by their own report.

The kernel tells a process what its children took only once they have ended. A helper that stays,
such as the process from which a sandbox forks its candidates, reports what it has taken so far;
a worker adds that to its own time, and so charges it to the candidate at hand.
"""

from __future__ import annotations

from collections.abc import Callable

_SOURCES: list[Callable[[], float]] = []


def report(source: Callable[[], float]) -> None:
    """Have a source asked from now on: seconds that its helpers have taken, never fewer.

    Example:
        >>> report(lambda: 0.0)
    """
    _SOURCES.append(source)


def reported() -> float:
    """Seconds of processor time that helpers of this process have taken by now.

    Example:
        >>> reported() >= 0.0
        True
    """
    return sum(source() for source in _SOURCES)
