"""Admission: what a busy server takes on, and when those it turns away may come again."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import ceil
from time import monotonic

from verifier_ladder.errors import EngineError
from verifier_ladder.server.shares import Shares

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

    What is accepted is never dropped. A server without work takes any call, however large; what
    one caller has accepted leaves others room (see `Shares`).

    Example:
        >>> admission = Admission(samples=10)
        >>> with admission.hold(8):
        ...     admission.waiting
        8
    """

    def __init__(self, samples: int) -> None:
        """Allow so many samples at one time."""
        self._shares = Shares(samples)
        self._speed = 0.0

    @property
    def waiting(self) -> int:
        """Samples that are accepted and not answered yet."""
        return self._shares.taken

    def hold(self, samples: int, caller: str = "") -> AbstractContextManager[None]:
        """Accept samples of a caller until the block ends.

        Raises:
            BusyError: If there are too many already when it begins.
        """
        return _Hold(self, samples, caller)

    def begin(self, samples: int, caller: str) -> None:
        """Accept samples; `end` must follow, so use `hold` where there is a block.

        Raises:
            BusyError: If there are too many already.
        """
        if self.waiting and not self._shares.has_room(caller, samples):
            raise BusyError(self._why(caller), self.pause())
        self._shares.take(caller, samples)

    def _why(self, caller: str) -> str:
        own = self._shares.of(caller)
        yours = f", {own} of them yours" if own else ""
        return f"{self.waiting} samples wait for their rewards{yours}"

    def end(self, samples: int, caller: str, seconds: float) -> None:
        """Say that samples are answered, and after how many seconds."""
        self._shares.give_back(caller, samples)
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

    __slots__ = ("_admission", "_began", "_caller", "_samples")

    def __init__(self, admission: Admission, samples: int, caller: str) -> None:
        self._admission, self._samples, self._caller = admission, samples, caller
        self._began = 0.0

    def __enter__(self) -> None:
        self._admission.begin(self._samples, self._caller)
        self._began = monotonic()

    def __exit__(self, *_: object) -> None:
        self._admission.end(self._samples, self._caller, monotonic() - self._began)
