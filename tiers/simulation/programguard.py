"""The guard of a host's program: its parent, which ends it with all that it has started.

It is a process of its own, run from this file with Python's own library alone, and outlives the
worker that asked: what the worker can't do once it was killed is done here. Whatever the program
starts stays below its guard, in whatever session and with whatever environment.

Its arguments are three open files, the folder of the run, and the program's command. From the
first it reads a byte by which the worker asks for the end; or its end, which is the worker's, and
then the folder is removed too. To the second it tells how the program ended, as `os.waitpid` tells
it, or `E` and the number of the error for which it could not be started. The third is the folder's
lock, which the program is not to hold.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import shutil
import signal
import sys
from contextlib import suppress
from time import monotonic, sleep
from typing import NoReturn

_PDEATHSIG, _SUBREAPER = 1, 36
_PATIENCE, _PAUSE = 10.0, 0.01
"""Seconds after which it is left what does not die, and between two looks at it."""


def guard(life: int, tells: int, lock: int, folder: str, command: list[str]) -> None:
    """Run a program, and end what is left of it when it ends or must end."""
    for number in (life, tells, lock):
        os.set_inheritable(number, False)  # noqa: FBT003 - it takes no name
    _prctl(_SUBREAPER, 1)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    here, program = os.getpid(), os.fork()
    if not program:
        _become(command, here, tells)
    said, is_over = b"", False
    status: int | None = None
    poll = select.poll()
    poll.register(life, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while status is None and not is_over:
        ready = {number for number, _ in poll.poll()}
        if woken in ready:
            os.read(woken, 4096)
            status = _reaped(program)
        if life in ready:
            said, is_over = os.read(life, 1), True
    last = _end_all(program)
    with suppress(OSError):  # Nobody may listen any more.
        os.write(tells, b"%d" % (last if status is None else status))
    if is_over and not said:
        remove(folder)


def _become(command: list[str], guard: int, tells: int) -> NoReturn:
    """Become the program: in a group of its own, since some end their whole group."""
    try:
        os.setpgid(0, 0)
        _prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)  # It died before the kernel knew of it.
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))  # The worker's is not for it.
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)  # Python changes these.
        os.execvp(command[0], command)  # noqa: S606 - the command is the host's
    except OSError as error:
        os.write(tells, b"E%d " % (error.errno or 0))
    finally:
        os._exit(127)


def _reaped(program: int) -> int | None:
    """How the program ended, if it has; whatever else has ended below the guard is forgotten."""
    status = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == program:
                status = found[1]
    return status


def _end_all(program: int) -> int:
    """End all below this process, as long as there is any; how the program ended.

    What the kernel does not end, as of another user, is left in the end.
    """
    status, until = 0, monotonic() + _PATIENCE
    while monotonic() < until:
        for pid in below(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        status = _reaped(program) or status
        try:
            if not os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                sleep(_PAUSE)
        except ChildProcessError:
            break
    return status


def remove(folder: str) -> None:
    """Remove a folder with all that is in it, also where even its owner may not write.

    Some programs keep what they have unpacked in folders that nobody may write to.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        return
    _open(folder)
    for here, folders, _ in os.walk(folder):  # Each is opened before it is looked into.
        for name in folders:
            _open(f"{here}/{name}")
    shutil.rmtree(folder, ignore_errors=True)


def _open(folder: str) -> None:
    with suppress(OSError):
        if not os.path.islink(folder):  # noqa: PTH114 - Python's own library alone, and quick
            os.chmod(folder, 0o700)  # noqa: PTH101 - the same


def below(pid: int) -> list[int]:
    """The processes below one, parents first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - Python's own library alone, and quick
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found[1:]


def _prctl(option: int, value: int) -> None:
    with suppress(OSError, AttributeError):  # On Linux only.
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    _life, _tells, _lock = map(int, sys.argv[1:4])
    guard(_life, _tells, _lock, sys.argv[4], sys.argv[5:])
