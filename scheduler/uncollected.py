"""Uncollected: stretches of work in which Python's garbage collector waits."""

from __future__ import annotations

import gc

from verifier_ladder.scheduler.held import Held


class Uncollected(Held):
    """Holds the garbage collector back for some milliseconds of our own work.

    A batch makes thousands of small objects that stay: nothing of it is garbage, and yet the
    collector looks through all of it many times, and now and then through all that the learner
    holds. That took a tenth of a call, and when it looked at everything, half as long again as
    the whole call. Never to be held while somebody else's code runs, or while waiting.

    A collector that was off before stays off.

    Example:
        >>> with uncollected:
        ...     gc.isenabled()
        False
    """

    _was_on = False

    def _begin(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def _end(self) -> None:
        if self._was_on:
            gc.enable()


uncollected = Uncollected()
"""The process has one garbage collector, and so one of these."""
