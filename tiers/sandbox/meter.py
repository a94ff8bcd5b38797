"""What all processes of one input take together, and whether that is more than they may.

The kernel holds each process to its limits; the meter looks at all of them together, time and
again, at moments that nobody can foresee. Only the standard library is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, NamedTuple

_LOOK_SECONDS, _BUSY_LOOK_SECONDS, _FIRST_LOOK_SECONDS = 0.05, 0.02, 0.01
"""Between two looks: at one process, at several, and at the beginning."""
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")
_ROUNDING = 2.0 / _TICKS
"""Seconds that the kernel may leave out where it tells of a process's children."""
_PROVEN = 0.1
_LATE_SECONDS = 0.2
"""Beyond a pause, from which on a look is late: whoever looks was stopped, and so, it may be, was
the input, as all processes of a container are that is paused."""
_STATE, _OWN, _CHILDREN, _STARTED, _RESIDENT = 0, slice(11, 13), slice(13, 15), 19, 21


class _Thread(NamedTuple):
    """Seconds that a thread has been on a core, and has waited for one."""

    ran: float
    waited: float
    runs: bool
    """Whether it wants a core, or has one."""


class Meter:
    """Counts what the processes of one input take.

    Processor time is what the kernel tells of living processes and of children that were waited
    for. A program that ignores the end of its children has their time told to nobody: what each
    was seen to have taken counts then, and once it is proven that such time is missing, each
    look stands for all the time since the one before.

    The wall's time does not run while the machine gives the input no core, the wait that a thread
    is in included. Its own processes may be what takes it: so that is believed for a while only,
    and in the end where never more than one of its threads wanted to run. Nor does it run while
    the meter itself is stopped: then nobody has seen whether the input went on, and a paused
    machine is no fault of it.

    Example:
        >>> meter = Meter(lambda: [os.getpid()], {"cpu": 1e6, "wall": 1e6, "longest": 1e6})
        >>> meter.pause() <= 0.05
        True
    """

    def __init__(self, processes: Callable[[], list[int]], limits: dict[str, Any]) -> None:
        """Begin now.

        Args:
            processes: Tells the ids of all that the candidate has started, itself included.
            limits: `cpu`, `wall`, `memory`, `processes`, and `longest`: seconds after which the
                input ends, however long it has waited for a core.
        """
        self.cpu = 0.0
        """Seconds of processor time, as far as it was seen."""
        self._processes, self._limits = processes, limits
        self._shared = 0
        self._begun = self._looked = monotonic()
        self._next = self._planned = _FIRST_LOOK_SECONDS
        self._starved = self._doubtful = self._sampled = self._share = 0.0
        self._seen: dict[tuple[int, bytes], float] = {}
        self._threads: dict[tuple[int, str], _Thread] = {}
        self._is_told = any(each.ran for _, each in _threads_of(os.getpid(), b"R"))
        """Whether this kernel tells how long threads run and wait."""

    def pause(self) -> float:
        """Seconds until the next look."""
        left: float = self._begun + self._limits["wall"] + self._starved - monotonic()
        self._planned = max(min(left, self._next * (0.5 + os.urandom(1)[0] / 256)), 0.0)
        return self._planned

    def look(self) -> str:
        """Look at all processes; the limit that they are beyond, "overload", or ""."""
        self._shared = self._shared or _resident(os.getpid())
        now = monotonic()
        step, self._looked = now - self._looked, now
        if (missed := step - self._planned) > _LATE_SECONDS:
            step, self._begun = self._planned, self._begun + missed
        before, self._threads = self._threads, {}
        told, memory, missing = 0.0, 0, _PROVEN
        moments: list[tuple[float, float, bool]] = []
        found = self._processes()
        for process in found:
            try:
                fields = _fields(f"/proc/{process}/stat")
                threads = dict(_threads_of(process, fields[_STATE]))
            except (OSError, IndexError, ValueError):
                continue  # It has ended.
            own = max(_seconds(fields[_OWN]), sum(each.ran for each in threads.values()))
            told += own + _seconds(fields[_CHILDREN])
            memory += max(int(fields[_RESIDENT]) * _PAGE - self._shared, 0)
            missing += _ROUNDING
            start = (process, fields[_STARTED])
            self._seen[start] = max(self._seen.get(start, 0.0), own)
            if fields[_STATE] != b"Z":
                for name, each in threads.items():
                    then = before.get((process, name))
                    here = _with_wait(each, then, step) if self._is_told else each
                    self._threads[process, name] = here
                    moments.append(_moment(here, then, step))
        self._count_wait(step, moments, is_same=before.keys() == self._threads.keys())
        seen = sum(self._seen.values())
        self._sampled += step * sum(share for share, _, runs in moments if runs)
        is_missing = seen > 1.1 * told + missing
        self.cpu = max(self.cpu, told, seen, self._sampled if is_missing else 0.0)
        self._next = _LOOK_SECONDS if len(found) == 1 else _BUSY_LOOK_SECONDS
        return self._excess(now - self._begun, memory)

    def _count_wait(
        self, step: float, moments: list[tuple[float, float, bool]], *, is_same: bool
    ) -> None:
        """Count the time in which the thread that fared worst waited for a core."""
        before, self._share = self._share, max((waits for _, waits, _ in moments), default=0.0)
        # Those that have ended can't be asked any more: they fared as at the last look.
        starved = step * (self._share if is_same else max(before, self._share))
        self._starved += starved
        if sum(runs for _, _, runs in moments) > 1:
            self._doubtful += starved

    def _excess(self, wall: float, memory: int) -> str:
        limits = self._limits
        if self.cpu > limits["cpu"]:
            return "cpu"
        if memory > limits["memory"]:
            return "memory"
        if len(self._threads) > limits["processes"]:
            return "processes"
        if wall - self._starved >= limits["wall"]:
            return "wall"
        if wall <= limits["longest"]:
            return ""
        return "wall" if wall - self._starved + self._doubtful > limits["wall"] else "overload"


def _with_wait(now: _Thread, then: _Thread | None, step: float) -> _Thread:
    """A thread with the wait that it is in, which the kernel counts only when it is over.

    One that wanted a core at the last look and wants one now has waited when it did not run.
    """
    if then is None or not (then.runs and now.runs):
        return now
    return now._replace(waited=max(now.waited, then.waited + step - (now.ran - then.ran)))


def _moment(now: _Thread, then: _Thread | None, step: float) -> tuple[float, float, bool]:
    """Shares of the time on a core and of waiting for one; whether it runs."""
    ran = now.ran - (then.ran if then else 0.0)
    waited = now.waited - (then.waited if then else 0.0)
    wanted = max(ran + waited, 1e-9)
    # A new one has not lived for the whole step: it stands for those before it.
    return min(ran / wanted, 1.0), min(waited / (step if then else wanted), 1.0), now.runs


def _fields(path: str) -> list[bytes]:
    """The fields of a `stat` file after the name."""
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read().rpartition(b")")[2].split()


def _state(process: int, thread: str) -> bytes:
    try:
        return _fields(f"/proc/{process}/task/{thread}/stat")[_STATE]
    except (OSError, IndexError):
        return b""  # It has ended.


def _seconds(ticks: list[bytes]) -> float:
    return sum(map(int, ticks)) / _TICKS


def _resident(process: int) -> int:
    return int(_fields(f"/proc/{process}/stat")[_RESIDENT]) * _PAGE


def _threads_of(process: int, state: bytes) -> Iterator[tuple[str, _Thread]]:
    """The threads of a process, by their ids."""
    names = os.listdir(f"/proc/{process}/task")  # noqa: PTH208
    for name in names:
        try:
            with open(f"/proc/{process}/task/{name}/schedstat", "rb") as file:  # noqa: PTH123
                ran, waited = map(int, file.read().split()[:2])
        except (OSError, ValueError):
            ran = waited = 0  # It has ended; or a kernel that does not tell.
        runs = (state if len(names) == 1 else _state(process, name)) == b"R"
        yield name, _Thread(ran / 1e9, waited / 1e9, runs)
