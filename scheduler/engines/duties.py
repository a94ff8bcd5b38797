"""Duties: what a dispatcher does now and then, and when it is due next."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

HEARTBEAT = 5.0
"""Seconds between two renewals of leases; a lost attempt is charged up to the last."""


@dataclass(slots=True)
class Duties:
    """When each is due next, by the monotonic clock.

    Example:
        >>> duties = Duties()
        >>> duties.next == duties.reap
        True
    """

    heartbeat: float = field(default_factory=lambda: monotonic() + HEARTBEAT)
    reap: float = 0.0

    @property
    def next(self) -> float:
        """When the first of them is."""
        return min(self.heartbeat, self.reap)
