"""What this machine has too little of for a program, which is no fault of the program's.

The kernel counts for each control group the processes that it has refused there (`pids.max`), and
those that it has ended because memory was full. Limits of the machine's owner (`ulimit`) it does
not count: there, what a program was promised is compared with what is left.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from verifier_ladder.tiers.sandbox.boxes import threads_of
from verifier_ladder.tiers.sandbox.program import Ending, Limits

_GROUPS, _MOUNTED, _ALL = "/proc/self/cgroup", "/sys/fs/cgroup", "/proc/vmstat"
_REFUSED = ("pids", "pids.events.local", "pids.events")
_KILLED = ("memory", "memory.events.local", "memory.oom_control")
"""A controller, and the files in which newer and older kernels tell of a group itself."""
_SEEN = {Ending.CPU, Ending.WALL, Ending.OUTPUT}
"""Endings that are seen from outside, whatever else the machine had too little of."""
_OWNED = {
    Ending.MEMORY: (resource.RLIMIT_AS,),
    Ending.FILES: (resource.RLIMIT_FSIZE,),
    Ending.PROCESSES: (resource.RLIMIT_NPROC,),
    Ending.THREADS: (resource.RLIMIT_NPROC, resource.RLIMIT_AS),
}
_NAMES = {
    resource.RLIMIT_AS: "bytes of address space (ulimit -v)",
    resource.RLIMIT_FSIZE: "bytes in a file (ulimit -f)",
    resource.RLIMIT_NPROC: "processes of this user (ulimit -u)",
}


class Failures(NamedTuple):
    """How often the machine has failed, up to now."""

    killed: int
    """Processes that were ended because memory was full."""
    refused: int
    """Processes and threads for which a control group had no room."""


def failures() -> Failures:
    """How often the machine has failed processes that are where this one is."""
    killed, refused = _files()
    return Failures(
        sum(_number_in(path, b"oom_kill") for path in killed),
        sum(_number_in(path, b"max") for path in refused),
    )


def why_not_its_own(
    ended: Ending, before: Failures, after: Failures, limits: Limits, zygote: int
) -> str:
    """Why an ending may be the machine's doing; "" if it is the program's own.

    Args:
        ended: How a run ended.
        before: What the machine had failed at before it.
        after: What it has by now.
        limits: What the program was promised.
        zygote: The process that the program began as a copy of; 0 if it is not on this machine.
    """
    if ended in _SEEN:
        return ""
    if after.killed > before.killed:
        return "the machine ran out of memory while a candidate ran"
    if after.refused > before.refused:
        return (
            "a control group was full while a candidate ran (pids.max): let the workers have "
            "more processes"
        )
    return next(filter(None, (_short(each, limits, zygote) for each in _OWNED.get(ended, ()))), "")


def _short(number: int, limits: Limits, zygote: int) -> str:
    """Why a program can't have what it was promised of one thing; "" if it can."""
    _, most = resource.getrlimit(number)
    if not zygote or most == resource.RLIM_INFINITY or most >= _needed(number, limits, zygote):
        return ""
    return f"a candidate may have more than this machine allows: {most} {_NAMES[number]}"


def _needed(number: int, limits: Limits, zygote: int) -> int:
    if number == resource.RLIMIT_AS:
        return limits.memory + _size_of(zygote)
    if number == resource.RLIMIT_FSIZE:
        return limits.file_bytes
    # Started as root, programs run as a user that nobody else has.
    return limits.processes + (threads_of(os.getuid()) if os.geteuid() else 0)


def _size_of(process: int) -> int:
    """Bytes of address space; 0 if it has ended."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


@cache
def _files() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where kills and refusals are counted. Looked for once: a process is rarely moved."""
    try:
        with open(_GROUPS, encoding="utf-8") as file:  # noqa: PTH123
            groups = file.read()
    except OSError:
        groups = ""
    return files_of(groups, _MOUNTED, *_KILLED) or (_ALL,), files_of(groups, _MOUNTED, *_REFUSED)


def files_of(groups: str, mounted: str, controller: str, *names: str) -> tuple[str, ...]:
    """The files that tell of a process's control group, and of those around it.

    Args:
        groups: What `/proc/self/cgroup` says.
        mounted: Where control groups are mounted.
        controller: Which of them, where each has a tree of its own.
        names: Of the files: the first that is there tells of a group.
    """
    found = []
    for folder in _folders(groups, mounted, controller):
        paths = (f"{folder}/{name}" for name in names)
        found += [path for path in paths if os.access(path, os.R_OK)][:1]
    return tuple(dict.fromkeys(found))


def _folders(groups: str, mounted: str, controller: str) -> Iterator[str]:
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        top = f"{mounted}/{controller}" if controllers else mounted
        parts = [part for part in group.split("/") if part]
        # In a container, the first may be the container's own, of which it sees only the inside.
        yield from ("/".join((top, *parts[:end])) for end in range(len(parts), -1, -1))


def _number_in(path: str, name: bytes) -> int:
    """The number behind a name, in a file of such lines."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            lines = file.read().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(name + b" "))
