"""The clock watch: notices when a ledger's clock jumps, by another one that never does."""

from __future__ import annotations

from time import monotonic

from verifier_ladder.ledger import Ledger

LEAST = 5.0
"""Seconds that count as a jump. Clocks are corrected by less all the time."""


class ClockWatch:
    """Compares a ledger's clock with this machine's own count of seconds.

    A machine that slept looks the same as one whose clock was put forward.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(None) as ledger:
        ...     watch = ClockWatch(ledger)
        ...     [watch.look(), watch.look()]
        [0.0, 0.0]
    """

    def __init__(self, ledger: Ledger) -> None:
        """Look for the first time with the first `look`."""
        self._ledger = ledger
        self._ahead: float | None = None

    def look(self) -> float:
        """Seconds by which it has jumped since the last look; 0 if it only went on."""
        ahead = self._ledger.clock() - monotonic()
        jump = 0.0 if self._ahead is None else ahead - self._ahead
        self._ahead = ahead
        return jump if abs(jump) >= LEAST else 0.0
