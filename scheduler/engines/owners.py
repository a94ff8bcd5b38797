"""Owners: how the processes that lease checks are called, and whether they still live."""

from __future__ import annotations

import os
import socket
from uuid import uuid4

import psutil


def new_owner() -> str:
    """A name for something in this process that leases checks."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


def has_died(owner: str) -> bool:
    """Whether the process of this machine that leased a check is no more.

    Example:
        >>> has_died(new_owner()), has_died("another machine:1:x")
        (False, False)
    """
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return host == socket.gethostname() and pid.isdigit() and not psutil.pid_exists(int(pid))
