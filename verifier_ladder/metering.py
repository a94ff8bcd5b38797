"""Metering: processor time of a process and of all that it has started, and its time on GPUs.

The kernel tells a process what its children took once they have ended and were waited for. A child
that stays, such as a model's server, is looked at while it lives. What a child took moves from the
one place to the other when it is waited for, so that nothing counts twice.

A helper that knows exactly what its processes took reports that: it counts instead of what can be
seen of them. What the kernel shows nobody here, as of a service or of another machine, is charged
when it is known.

Time on a GPU is counted by the clock, by whoever takes it (`on_gpu`).

A process that keeps its tree (`keep_tree`) stays the ancestor of everything below it, also of what
a child leaves behind when it ends.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.popen_fork import Popen
from typing import NamedTuple, TypeAlias

TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36
_ANY_CHILD = os.WEXITED | os.WNOHANG | os.WNOWAIT | 0x40000000  # __WALL
_MOST_DEAD = 32
"""Dead children that may wait for somebody to ask after them."""
_WAITERS = (subprocess.Popen, Popen)
"""What waits for children by itself."""


class Member(NamedTuple):
    """One process of a tree, as the kernel shows it."""

    pid: int
    fields: list[str]
    """What `/proc/PID/stat` tells after the name, from the state on."""

    @property
    def seconds(self) -> float:
        """Cpu-seconds of the process itself, and of children that it has waited for."""
        own = sum(map(int, self.fields[11:13])) / TICKS
        with suppress(OSError):  # Exact, where ticks are hundredths of a second.
            own = time.clock_gettime((~self.pid << 3) | 2)
        return own + sum(map(int, self.fields[13:15])) / TICKS


_SOURCES: list[tuple[Callable[[], float], Callable[[], Iterable[int]]]] = []
Cell: TypeAlias = "list[float] | memoryview[float]"
_CHARGED: list[Cell] = [[0.0]]
_SPARED: list[Cell] = [[0.0]]
_ON_GPU = [0.0]


def charge(seconds: float) -> None:
    """Count what was done for this process where the kernel does not show it.

    Args:
        seconds: Cpu-seconds that a service, or another machine, says it took.

    Example:
        >>> before = charged()
        >>> charge(0.5)
        >>> charged() > before
        True
    """
    _CHARGED[0][0] += seconds


def charged() -> float:
    """Cpu-seconds that were charged so far, or since `charge_to`."""
    return _CHARGED[0][0]


def charge_to(cell: Cell) -> None:
    """Count in a cell from now on, such as one that another process reads."""
    cell[0] = 0.0
    _CHARGED[0] = cell


def spare(seconds: float) -> None:
    """Count what the kernel shows of this process's tree and nobody is to be charged for.

    Args:
        seconds: Cpu-seconds, such as those that starting a helper took.
    """
    _SPARED[0][0] += seconds


def spare_to(cell: Cell) -> None:
    """Count that in a cell from now on."""
    cell[0] = 0.0
    _SPARED[0] = cell


@contextmanager
def on_gpu() -> Iterator[None]:
    """Count as time on a GPU what the clock shows until the end, also of an error.

    Example:
        >>> before = gpu_seconds()
        >>> with on_gpu():
        ...     _ = sum(range(10_000))
        >>> gpu_seconds() > before
        True
    """
    began = time.monotonic()
    try:
        yield
    finally:
        _ON_GPU[0] += time.monotonic() - began


def gpu_seconds() -> float:
    """Seconds that this process, or a program that it ran, has had a GPU or room on one so far."""
    return _ON_GPU[0]


def report(source: Callable[[], float], instead_of: Callable[[], Iterable[int]]) -> None:
    """Have a source asked from now on, instead of looking at some processes.

    Args:
        source: Cpu-seconds that its helpers have taken by now, and that the kernel has not told
            this process as those of children that it waited for.
        instead_of: The processes that it speaks for, each with all below it.

    Example:
        >>> report(lambda: 0.0, lambda: ())
    """
    _SOURCES.append((source, instead_of))


def family(pid: int, without: Collection[int] = ()) -> list[Member] | None:
    """A process and all below it, parents first; None where the kernel doesn't show it.

    Args:
        pid: The process.
        without: Processes that are left out, each with all below it.
    """
    first = stat(f"/proc/{pid}/stat")
    if first is None:
        return None
    if not os.path.exists(f"/proc/{pid}/task/{pid}/children"):  # noqa: PTH110 - hot
        return _searched(pid, without)
    return [Member(pid, first), *_below(pid, without)]


def _below(pid: int, without: Collection[int]) -> Iterator[Member]:
    parents = [pid]
    while parents:
        parent = parents.pop()
        for task in names(f"/proc/{parent}/task"):
            for child in map(int, read(f"/proc/{parent}/task/{task}/children").split()):
                if child not in without and (fields := stat(f"/proc/{child}/stat")):
                    yield Member(child, fields)
                    parents.append(child)


def _searched(pid: int, without: Collection[int]) -> list[Member]:
    """The same where the kernel doesn't tell of children: all processes are looked at."""
    every = [int(name) for name in names("/proc") if name.isdecimal()]
    found = {member: fields for member in every if (fields := stat(f"/proc/{member}/stat"))}
    ours = {pid}
    # A parent mostly has a smaller id than its child, but ids are used again.
    while more := {
        member
        for member, fields in found.items()
        if member not in {*ours, *without} and (int(fields[1]) in ours or int(fields[3]) == pid)
    }:
        ours |= more
    return [Member(member, found[member]) for member in ours if member in found]


def seconds() -> float:
    """Cpu-seconds of this process, of all that it has started, and of helpers that report.

    Example:
        >>> before = seconds()
        >>> seconds() >= before
        True
    """
    return reported() + in_tree({pid for _, instead_of in _SOURCES for pid in instead_of()})


def reported() -> float:
    """Cpu-seconds that helpers of this process report, and those that were charged."""
    return charged() + sum(source() for source, _ in _SOURCES)


def in_tree(without: Collection[int] = ()) -> float:
    """Cpu-seconds of this process and of all that it has started, as another process sees it.

    Args:
        without: Processes that are left out, each with all below it.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = time.process_time() + ended.ru_utime + ended.ru_stime
    if not _has_children():
        return own
    here = os.getpid()
    tree = family(here, without) or ()
    return own + sum(member.seconds for member in tree if member.pid != here)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, _ANY_CHILD)
    except ChildProcessError:
        return False
    return True


def seconds_of(pid: int) -> float:
    """Cpu-seconds of another process and of all that it has started; 0.0 if there is none."""
    tree = family(pid)
    if tree is not None:
        return sum(member.seconds for member in tree)
    import psutil  # Here: most machines tell by themselves.

    total = 0.0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


class Counter:
    """Counts what this process and its tree take from one reading to the next.

    A process that ends during a look is in neither place for that moment. So a smaller reading
    than before counts as nothing, and the one after it goes on from the larger; what is still
    missing then is lost, as of a child whose parent did not want to know of its end.
    """

    def __init__(self) -> None:
        """Count from now on."""
        self._since, self._is_low = seconds(), False

    def taken(self) -> float:
        """Cpu-seconds since the last reading."""
        now = seconds()
        took = max(0.0, now - self._since)
        is_low = now < self._since
        if not is_low or self._is_low:
            self._since = now
        self._is_low = is_low and not self._is_low
        return took


def keep_tree() -> None:
    """Stay the ancestor of everything below this process; on Linux only."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def bury() -> None:
    """Wait for dead children that nobody will ask after, once there are many.

    Among them are children of children, which came here when these ended. Those that a `Popen` of
    this process still knows are left to it.
    """
    here = os.getpid()
    tree = family(here) if _has_children() else None
    dead = [m.pid for m in tree or () if m.fields[0] == "Z" and int(m.fields[1]) == here]
    if len(dead) <= _MOST_DEAD:
        return
    known = {each.pid for each in gc.get_objects() if issubclass(type(each), _WAITERS)}
    for pid in dead:
        if pid not in known:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def stat(path: str) -> list[str] | None:
    """What the kernel tells of a task, from its state on: its name may hold anything."""
    told = read(path)
    return told[told.rindex(b")") + 2 :].decode("ascii").split() if told else None


def names(folder: str) -> list[str]:
    """What a folder holds; nothing when its process has ended."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - hot
    except OSError:
        return []


def read(path: str) -> bytes:
    """What a file holds; nothing when its process has ended."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - hot
            return file.read()
    except OSError:
        return b""
