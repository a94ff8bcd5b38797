"""Owners: how the processes that lease checks are called, and whether they still live."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from uuid import uuid4

_PROC = Path("/proc")
_OWNER = re.compile(r"(?P<place>.+):(?P<pid>[0-9]{1,10}):(?P<started>[0-9]+):[0-9a-f]{8}")
_STATE, _START = 0, 19
"""Fields of `/proc/PID/stat` after the program's name: its state, and when it started, in ticks
since the machine did."""


def new_owner() -> str:
    """A name for something in this process that leases checks.

    It tells the process apart from every other, on this machine and elsewhere: containers share
    host names and process ids, and ids are used again. The parts are those of `_here`, the
    process id, when it started, and a random number.
    """
    pid = os.getpid()
    return ":".join([*_here(), f"{pid}", _started(pid) or "?", uuid4().hex[:8]])


def has_died(owner: str) -> bool:
    """Whether the process that leased a check is certainly no more.

    Where that can't be known, as for processes of other machines and containers, the lease has
    to run out.

    Example:
        >>> has_died(new_owner()), has_died("another machine:1:x")
        (False, False)
    """
    found = _OWNER.fullmatch(owner)
    if found is None or found["place"] != ":".join(_here()):
        return False
    pid = int(found["pid"])
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # Another user's process.
    now = _started(pid)
    return now is not None and now != found["started"]


def _here() -> tuple[str, ...]:
    """Where process ids and start times mean the same as for this process.

    The host's name, for people; the boot of the kernel, which no two machines share; and the
    namespaces that ids and times belong to. Nothing of it is equal to anything where that can't
    be told, as under a `/proc` of other processes' ids.
    """
    try:
        if (_PROC / "self").readlink().name != f"{os.getpid()}":
            return (uuid4().hex,)
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        spaces = [(_PROC / "self/ns" / name).stat().st_ino for name in ("pid", "time")]
    except OSError:
        return (uuid4().hex,)
    return socket.gethostname().replace(":", ""), boot, *map(str, spaces)


def _started(pid: int) -> str | None:
    """When a process started; "dead" if it only waits to be reaped, None if it can't be seen."""
    try:
        fields = (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()
        threads = len(list((_PROC / f"{pid}/task").iterdir()))
    except (OSError, ValueError):
        return None
    return "dead" if fields[_STATE] in "ZX" and threads <= 1 else fields[_START]
