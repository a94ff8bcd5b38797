"""Admission: what a busy server takes on, and when those it turns away may come again."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import ceil
from time import monotonic

from verifier_ladder.errors import EngineError

_LONGEST_PAUSE = 60
_MEMORY = 0.8
"""How much of the measured speed is kept when another call ends."""


class BusyError(EngineError):
    """The server has as much work as it takes; ask again later, nothing was accepted."""

    def __init__(self, what: str, pause: int) -> None:
        """Say what there is too much of, and for how many seconds to stay away."""
        super().__init__(f"the server is busy: {what}; ask again in {pause} s")
        self.pause = pause


class Admission:
    """Counts accepted samples until they are answered.

    What is accepted is never dropped. A server without work takes any call, however large.

    Example:
        >>> admission = Admission(samples=10)
        >>> with admission.hold(8):
        ...     admission.waiting
        8
    """

    def __init__(self, samples: int) -> None:
        """Allow so many samples at one time."""
        self._limit = samples
        self._speed = 0.0
        self.waiting = 0
        """Samples that are accepted and not answered yet."""

    def hold(self, samples: int) -> AbstractContextManager[None]:
        """Accept samples until the block ends.

        Raises:
            BusyError: If there are too many already when it begins.
        """
        return _Hold(self, samples)

    def begin(self, samples: int) -> None:
        """Accept samples; `end` must follow, so use `hold` where there is a block.

        Raises:
            BusyError: If there are too many already.
        """
        if self.waiting and self.waiting + samples > self._limit:
            raise BusyError(f"{self.waiting} samples wait for their rewards", self.pause())
        self.waiting += samples

    def end(self, samples: int, seconds: float) -> None:
        """Say that samples are answered, and after how many seconds."""
        self.waiting -= samples
        # Calls run beside each other, so one sees only its share of the server's speed.
        now = (self.waiting + samples) / max(seconds, 1e-3)
        self._speed = _MEMORY * self._speed + (1 - _MEMORY) * now if self._speed else now

    def pause(self) -> int:
        """Seconds after which there should be room: when half of what waits is answered."""
        if not self._speed:
            return 1
        return min(_LONGEST_PAUSE, max(1, ceil(self.waiting / self._speed / 2)))


class _Hold:
    """One call's samples; a generator would take four times as long as all that it does."""

    __slots__ = ("_admission", "_began", "_samples")

    def __init__(self, admission: Admission, samples: int) -> None:
        self._admission, self._samples, self._began = admission, samples, 0.0

    def __enter__(self) -> None:
        self._admission.begin(self._samples)
        self._began = monotonic()

    def __exit__(self, *_: object) -> None:
        self._admission.end(self._samples, monotonic() - self._began)
