"""Own clocks: how long a worker ran or slept, without the time in which it waited for a core.

A time limit that counts wall time rejects honest work on a busy machine. Neither the processes
beside a worker nor a quota of its container are its own doing, and the kernel shows both in the
same way: a task is ready to run, and its cpu time stands still.
"""

from __future__ import annotations

import os
from time import monotonic
from typing import NamedTuple

from verifier_ladder.metering import TICKS, family, names, stat

MOST_WAITING = 100
"""A worker may take so many times its limit when the machine leaves it no core. One of the dear
tiers, which give way to everything else, gets about a thirtieth of a core beside six busy ones."""
_LOOKS = 20
"""Looks in one limit."""
_LEAST_PAUSE = 0.02
_LATE = 4.0
"""Pauses after which a look is late: this process had no core either, and can't tell."""
_READY, _ON_DISK = "R", "D"
"""States of a task that runs or waits for a core, and of one that waits for a disk."""
_STALLED = 0.1
"""Part of the time that counts where nothing comes from the disk. Disks stall, too; but a network
may never answer, and a task looks alike that waits for a child of its own (vfork)."""
_YIELDING = (3, 5)
"""SCHED_BATCH and SCHED_IDLE."""


class Seen(NamedTuple):
    """All processes of a worker at one moment."""

    cpu: float
    """Cpu-seconds that they have taken, with their threads, and children that have ended."""
    is_waiting: bool
    """Whether one of their tasks runs, or would if the machine let it."""
    is_on_disk: bool = False
    """Whether all that do wait for a disk."""


class OwnClock:
    """Counts a worker's own seconds: for its set-up, or for one candidate.

    It looks now and then at every thread of the worker and its children. Where one is ready to
    run, the cpu time that all of them took counts, no faster than a clock. Where all sleep, are
    stopped or are dead, the time itself counts: nobody keeps them from going on. Where they only
    wait for a disk and nothing comes from there, a tenth of it does.

    Where the kernel shows no processes below `/proc`, every second counts.
    """

    def __init__(self, pid: int, limit: float) -> None:
        """Watch the process `pid` from now on; its limit is so many seconds."""
        self._pid, self.limit = pid, limit
        self.pause = max(limit / _LOOKS, _LEAST_PAUSE)
        """Seconds after which it looks again."""
        self.own = self.slept = 0.0
        self._since = self._looked = monotonic()
        self._seen: Seen | None = None
        self._carried = 0.0

    @property
    def wall(self) -> float:
        """Seconds since it began."""
        return monotonic() - self._since

    @property
    def left(self) -> float:
        """Seconds of the wall that it has left at least."""
        left = self.limit - min(self.own, self.wall)
        return min(left, MOST_WAITING * self.limit - self.wall)

    @property
    def is_spent(self) -> bool:
        """Whether it was its own doing that there was not enough."""
        return self.own >= self.limit

    @property
    def starved(self) -> str:
        """What to say of a worker that had no core."""
        return f"had {self.own:.3g} s of its own in {self.wall:.3g} s, for the machine is too busy"

    def look(self, *, waits: bool) -> None:
        """Count what has passed since the last look, if that is some time ago.

        Args:
            waits: Whether the worker waits for a service that is busy for others: none counts.
        """
        now = monotonic()
        if waits:
            self._looked, self._seen = now, None
            return
        passed = now - self._looked
        if passed < self.pause:
            return
        seen, before = see(self._pid), self._seen
        self._seen, self._looked = seen, now
        if seen is None:
            self.own += passed
        elif not seen.is_waiting:
            counted = min(passed, _LATE * self.pause)
            self.own += counted
            self.slept += counted
        elif before is not None:  # The first look only tells from where to count.
            # The kernel counts in ticks: what a short time can't hold belongs to the next one.
            took = max(0.0, self._carried + seen.cpu - before.cpu)
            self.own += min(took, passed)
            if seen.is_on_disk and seen.cpu == before.cpu:
                self.own += _STALLED * min(passed, _LATE * self.pause)
            self._carried = min(max(took - passed, 0.0), 2.0 / TICKS)


def see(pid: int) -> Seen | None:
    """Look at a process and all its children; None if there is no such process to be seen."""
    tree = family(pid)
    if tree is None:
        return None
    cpu, states = 0.0, set[str]()
    for member in tree:
        cpu += member.seconds
        states |= _states(*member)
    is_on_disk = _READY not in states and _ON_DISK in states
    return Seen(cpu, _READY in states or is_on_disk, is_on_disk)


def gives_way(pid: int, nice: int) -> bool:
    """Whether a worker, or a process of its, has made itself wait.

    By a lower priority than it was given, by a policy that runs when nobody else wants to, or by
    keeping to fewer cores. What it waits then is not its neighbours' doing.

    Args:
        pid: The worker.
        nice: The niceness that it was given.
    """
    return any(
        int(task[16]) > nice or int(task[38]) in _YIELDING or _is_pinned(member)
        for member, fields in family(pid) or ()
        for task in _tasks(member, fields)
    )


def _is_pinned(pid: int) -> bool:
    try:
        return os.sched_getaffinity(pid) < os.sched_getaffinity(0)
    except OSError:
        return False


def _states(pid: int, fields: list[str]) -> set[str]:
    """States of a process's threads."""
    return {task[0] for task in _tasks(pid, fields)}


def _tasks(pid: int, fields: list[str]) -> list[list[str]]:
    """What the kernel tells of a process's threads."""
    if fields[17] == "1":
        return [fields]
    stats = (stat(f"/proc/{pid}/task/{name}/stat") for name in names(f"/proc/{pid}/task"))
    return [told for told in stats if told]
