"""The guard: ends the process of a service that can't end itself.

A call may hold Python's interpreter lock for ever: one regular expression on a hostile text does.
Then no thread of the process can see that whoever asked has gone. Its guard is the process that it
was forked from, before anything was loaded, and needs nothing but what the kernel tells it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
from contextlib import suppress
from typing import NoReturn

from verifier_ladder import metering

_CALL = struct.Struct("qd")
_CREDENTIALS = struct.Struct("3i")
"""What the kernel tells of who has connected: process, user and group."""
_ROUNDS = 20
"""How often those below a process are looked for: they may start others meanwhile."""


class Guard:
    """What the process of a service tells its guard: who waits for the call that it begins."""

    def __init__(self, pipe: int | None) -> None:
        """Tell it through a pipe; None where there is no guard."""
        self._pipe = pipe

    @classmethod
    def begin(cls, *other: int) -> Guard:
        """Fork: this returns in the new process, and what was the process becomes its guard.

        Args:
            other: Open files that are none of the guard's business.
        """
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError:  # Linux before 5.3, or a filter of system calls.
            return cls(None)
        told, tells = os.pipe()
        served = os.fork()
        if not served:
            os.close(told)
            os.set_blocking(tells, False)
            return cls(tells)
        for number in (tells, *other):
            os.close(number)
        metering.keep_tree()
        try:
            _watch(served, told)
        finally:
            os._exit(1)

    def begins(self, connection: socket.socket, grace: float) -> None:
        """A call begins, which is to end `grace` seconds after the process that asked."""
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        self._tell(_CREDENTIALS.unpack(told)[0], grace)

    def ends(self) -> None:
        """The call has ended."""
        self._tell(0, 0.0)

    def _tell(self, pid: int, grace: float) -> None:
        if self._pipe is not None:
            with suppress(OSError):  # Without a guard, the service goes on.
                os.write(self._pipe, _CALL.pack(pid, grace))


def _watch(served: int, told: int) -> NoReturn:
    """Wait until the process ends, or must end; and end with all that it has started."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    poll, life, asker = select.poll(), os.pidfd_open(served), -1
    poll.register(life, select.POLLIN)
    poll.register(told, select.POLLIN)
    grace, wait = 0.0, None
    while True:
        ready = {number for number, _ in poll.poll(wait)}
        message = os.read(told, _CALL.size) if told in ready else b""
        if not ready or life in ready or (told in ready and not message):
            end_family()
        if asker in ready or (message and asker >= 0):
            poll.unregister(asker)
            os.close(asker)
            asker, wait = -1, 1000.0 * grace
        if message:
            pid, grace = _CALL.unpack(message)
            asker, wait = _opened(pid), None
            if asker >= 0:
                poll.register(asker, select.POLLIN)
            elif pid:
                wait = 1000.0 * grace


def _opened(pid: int) -> int:
    """A file that tells of the end of a process; -1 if there is none of this number."""
    try:
        return os.pidfd_open(pid) if pid > 0 else -1
    except OSError:
        return -1


def end_family() -> NoReturn:
    """End this process, its group, and all below it, which may have sessions of their own.

    The kernel refuses to end a process of another user. It is left, named in the log, and what is
    below it is ended.
    """
    spared = {os.getpid()}
    refused: list[int] = []
    for _ in range(_ROUNDS):
        below = [
            each.pid for each in metering.family(os.getpid()) or ()
            if each.pid not in spared and each.fields[0] != "Z"
        ]  # fmt: skip
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            except PermissionError:
                refused.append(pid)
        spared.update(refused)
        if not below:
            break
    if refused:
        with suppress(OSError):  # Nobody may read it any more.
            os.write(2, f"left running, for they belong to another user: {refused}\n".encode())
    os.killpg(os.getpgid(0), signal.SIGKILL)
    raise AssertionError("it was ended")
