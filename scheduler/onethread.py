"""One thread: stretches of work in which linear algebra takes no other core."""

from __future__ import annotations

from typing import Any

from verifier_ladder.scheduler.held import Held


class OneThread(Held):
    """Keeps BLAS to the thread that calls it.

    Beliefs are small: their matrices have some dozens of rows. OpenBLAS cuts them up for all cores
    all the same, and its threads then wait for each other in a loop. On two cores an inverse of 40
    rows takes three times as long, and the learner's own work has no core left.

    Example:
        >>> with one_thread:
        ...     pass
    """

    _limits: Any = None
    _blas: Any = None

    def _begin(self) -> None:
        if self._blas is None:
            import numpy as np  # noqa: F401 - brings the library that is looked for
            from threadpoolctl import ThreadpoolController

            self._blas = ThreadpoolController().select(user_api="blas")
        self._limits = self._blas.limit(limits=1)

    def _end(self) -> None:
        self._limits.restore_original_limits()


one_thread = OneThread()
"""The process has one BLAS, and so one of these."""
