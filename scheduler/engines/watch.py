"""Watches: how long a worker may take, what it may spend, and what went wrong when it did not."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, Protocol

from verifier_ladder.verdict import Verdict

_LEAST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0


class Limit(Protocol):
    """**Protocol:** what the budget has reserved for a batch."""

    seconds: float
    """Cpu-seconds reserved for the whole batch, all attempts together."""

    def extend(self) -> bool:
        """Reserve more and raise `seconds`; False when the budget does not allow it."""
        ...


class Failure(NamedTuple):
    """What brought a worker down, or kept it from starting."""

    cause: str
    """start, load, stuck (while loading), refused, crash, oom (killed by the kernel for want of
    memory), hang, starved (the machine left it no core), gpu (it can't use its GPU any more),
    memory, raised (an error instead of an answer; the worker lives), budget or abandoned."""
    message: str
    """What happened, in words for a person; reads on after the verifier's name."""
    position: int | None = None
    """Index in the batch of the candidate it was at, if known."""
    seconds: float = 0.0
    """Cpu-seconds it took; without those for answers that stand."""
    log: str = ""
    """The last lines it printed."""
    boundary: str = "engine"
    """The boundary that failed."""
    slept: bool = False
    """Whether a hang slept for most of its time."""
    said: Verdict | None = None
    """The verdict that an error amounts to."""


class Watch(NamedTuple):
    """How long a worker may take, and what it may spend."""

    patience: float
    """Seconds of its own (`OwnClock`) without progress that count as a hang."""
    loading: float
    """Seconds of its own to start, import and set up."""
    limit: Limit | None = None
    is_abandoned: Callable[[], bool] = lambda: False
    """Tells whether nobody waits for the answer any more."""
    spent: float = 0.0
    """Cpu-seconds that earlier attempts at the batch have taken."""
    on_pause: Callable[[float], None] | None = None
    """Hears for how many seconds a service wants not to be asked."""


class Spending:
    """Compares what a process has spent with what is reserved, no more often than needed."""

    def __init__(self, watch: Watch, taken: Callable[[], float]) -> None:
        """Add what earlier attempts have taken to what the process has `taken` by now."""
        self._limit, self._earlier, self._taken = watch.limit, watch.spent, taken
        self._next = monotonic()

    @property
    def pause(self) -> float:
        """Seconds until it makes sense to look again."""
        return max(0.01, self._next - monotonic()) if self._limit else float("inf")

    def exceeded(self) -> float | None:
        """The reservation that was spent and not extended, if so."""
        limit = self._limit
        if limit is None or monotonic() < self._next:
            return None
        spent = self._earlier + self._taken()
        while spent >= limit.seconds:
            reserved = limit.seconds
            try:
                extended = limit.extend()
            except Exception:  # noqa: BLE001 - a ledger that can't say yes says no
                extended = False
            if not extended or limit.seconds <= reserved:
                return reserved
        pause = max(_LEAST_PAUSE, limit.seconds - spent)
        # What is reserved shrinks when checks of the batch are settled meanwhile.
        self._next = monotonic() + min(pause, _LONGEST_PAUSE)
        return None
