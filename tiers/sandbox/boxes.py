"""The two kinds of box that a candidate is put into: namespaces of its own, or landlock.

A box is made once by the zygote; for each input it forks a supervisor, prepares what this input
has of its own, and confines the candidate. Only the standard library is imported here.
"""

from __future__ import annotations

import math
import os
import signal
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from verifier_ladder.tiers.sandbox import kernel

FIRST_FREE = 4
"""Descriptors from here on are ours, and closed in a candidate."""
_BOX = "/box"
_USER_INSIDE = 1000
_FIRST_USER, _LAST_USER = 0x70000000, 0x7F000000
"""User ids between these belong to nobody; each zygote that begins as root takes one."""
_PLACES = ("/tmp", "/mnt", "/media", "/opt")  # noqa: S108 - nothing is written there
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_ZERO = "/dev/zero"
"""To be read only: who may write to it has memory that no limit counts."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
_LINKS = {
    "/tmp": "box",  # noqa: S108 - a link to the input's own folder
    "/dev/shm": "/box",  # noqa: S108
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
_MEMORY_OF_ROOT = "size=1m,mode=755"
_APART = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)
_RECOUNT = 1.0
_OTHERS_MAY_START = 2048
_SWEEPS = 3


class Namespaces:
    """Processes, files, network and users of its own: nothing of the machine is in sight."""

    folder = _BOX
    shared = 3
    """Processes of the candidate's user that are ours: guard, zygote and supervisor."""
    watched: tuple[int, ...] = ()
    """Descriptors of processes without which the zygote ends; this one is ended by the kernel."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Move this process into new namespaces, whose root holds what programs need.

        Raises:
            OSError: If the kernel, or whoever runs this container, does not allow it.
        """
        self.filter = kernel.Filter(shared_namespaces=False)
        read = [*options["paths"], *options["read"]]
        if not _may_become_nobody(kernel.CAP_SYS_ADMIN):
            _own_users(os.geteuid(), _APART | kernel.CLONE_NEWPID)
            _go_on_in_child(_nothing)
            _build_root(read)
        else:
            # Built as root, who reaches the folders of a home; from here on as nobody.
            kernel.unshare(_APART)
            _build_root(read)
            kernel.become(_nobody())
            _own_users(os.getuid(), kernel.CLONE_NEWPID)
            _go_on_in_child(_nothing)
        self.follow()
        kernel.gain_nothing()
        self.proc = _proc()
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def fork(self) -> int:
        """Fork a supervisor that is process 1 of a new namespace."""
        kernel.next_pid_namespace(self._own)
        return os.fork()

    def prepare(self, files: int, size: int) -> None:
        """Make the input's own file system, sized, and its own view of the processes."""
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
        plain = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("proc", "/proc", "proc", plain | kernel.MS_NOEXEC | kernel.MS_RDONLY)
        kernel.mount("box", _BOX, "tmpfs", plain, f"size={size},nr_inodes={files},mode=755")
        kernel.set_dumpable(on=False)

    def seal(self) -> None:
        """Let nothing be written any more."""
        flags = kernel.MS_REMOUNT | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("box", _BOX, None, flags)

    def follow(self) -> None:
        """End with the process that started this one."""
        kernel.die_with_parent(signal.SIGKILL)

    def confine(self) -> None:
        """Give up all that the supervisor holds; the candidate calls it."""
        kernel.set_capabilities()
        self.filter.apply()

    def kill(self, candidate: int) -> None:
        """End everything that the candidate has started."""
        del candidate
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)

    def processes(self) -> list[int]:
        """All that the candidate has started, itself included."""
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]  # noqa: PTH208

    def is_full(self) -> bool:
        """Whether the file system is used up."""
        found = os.statvfs(_BOX)
        return not found.f_bavail or not found.f_favail

    def clear(self) -> None:
        """Nothing: all ends with the namespace; the zygote calls it."""

    def close(self) -> None:
        """Nothing: all ends with the zygote, which is process 1 of a namespace."""


def _own_users(outside: int, more: int) -> None:
    """Enter a namespace of users that has one, with all capabilities in there."""
    group = os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | more)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_USER_INSIDE} {outside} 1"),
        ("gid_map", f"{_USER_INSIDE} {group} 1"),
    ):
        kernel.write_file(f"/proc/self/{name}", text.encode())


def _go_on_in_child(at_end: Callable[[], None]) -> None:
    """Go on in a child; what is left of this process waits for it, cleans up, and ends."""
    child = os.fork()
    if not child:
        return
    try:
        os.closerange(FIRST_FREE, 1 << 16)
        os.waitpid(child, 0)
        at_end()
    finally:
        os._exit(0)


def _nothing() -> None:
    """Process 1 has taken all with it."""


def _build_root(read: Sequence[str]) -> None:
    """Make a root that holds, read-only, the system's programs and libraries, and Python's."""
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    # Opened first: the new root may cover some of them.
    sources = {path: os.open(path, os.O_PATH) for path in _needed(read)}
    base = next(place for place in _PLACES if os.path.isdir(place))  # noqa: PTH112
    root_flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("root", base, "tmpfs", root_flags, _MEMORY_OF_ROOT)
    for path in ("/proc", _BOX):
        os.makedirs(base + path)  # noqa: PTH103
    kernel.mount("proc", f"{base}/proc", "proc", root_flags | kernel.MS_NOEXEC)
    for path, fd in sources.items():
        _bind(path, fd, base)
        os.close(fd)
    for path, target in _LINKS.items():
        if not os.path.lexists(base + path):  # A folder to read may lie below /tmp.
            os.symlink(target, base + path)  # noqa: PTH211
    with open(base + _ZERO, "wb") as file:  # noqa: PTH123
        file.truncate(sys.maxsize)
    users = f"box:x:{_USER_INSIDE}:{_USER_INSIDE}::{_BOX}:/bin/sh\n"
    kernel.write_file(f"{base}/etc/passwd", users.encode())
    kernel.change_root(base)
    kernel.mount(
        "root", "/", None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | root_flags
    )


def _needed(read: Sequence[str]) -> list[str]:
    """What programs may read, without what lies below something else of the list."""
    wanted = [*_SYSTEM, *_SYSTEM_FILES, *_DEVICES, sys.base_prefix, sys.base_exec_prefix, *read]
    found: list[str] = []
    for path in sorted(set(filter(os.path.exists, wanted)), key=len):
        if not any(path == other or path.startswith(f"{other}/") for other in found):
            found.append(path)
    return found


def _bind(path: str, fd: int, base: str) -> None:
    """Show a file or folder of the machine at its own path below `base`, read-only."""
    target = base + path
    os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
    if os.path.islink(path):  # noqa: PTH114 - /bin and /lib are links into /usr
        os.symlink(os.readlink(path), target)  # noqa: PTH115, PTH211
        return
    # The descriptor, not the path: the new root may cover that.
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.mkdir(target)  # noqa: PTH102
    else:
        kernel.write_file(target, b"")
    kernel.mount(f"/proc/self/fd/{fd}", target, None, kernel.MS_BIND | kernel.MS_REC)
    kernel.make_read_only(target, devices=path in _DEVICES)


class Landlock:
    """The machine's own processes and files, of which the kernel shows a candidate only some.

    Signals, TCP and abstract sockets stay inside too; there is no folder to write into.
    """

    may_read_past_modes = True

    def __init__(self, options: dict[str, Any]) -> None:
        """Take a user of its own if this process is root, and a folder for programs.

        Raises:
            OSError: If the kernel's landlock is missing or too old.
        """
        self._check()
        self.filter = kernel.Filter(shared_namespaces=True)
        needed = _needed([*options["paths"], *options["read"]])
        self._read = [path for path in needed if path not in _DEVICES]
        self._kept: tuple[int, ...] = ()
        self._is_alone = _may_become_nobody(kernel.CAP_CHOWN)
        os.mkdir(options["folder"], 0o700)  # noqa: PTH102
        if self._is_alone:
            # A Python below a closed home folder: the rules decide what is read, not its modes.
            if self.may_read_past_modes and not all(map(_is_open, self._read)):
                self._kept = (kernel.CAP_DAC_READ_SEARCH,)
            user = _nobody()
            os.chown(options["folder"], user, user)
            kernel.become(user, self._kept)
        self._home, self.folder = options["folder"], f"{options['folder']}/box"
        self._counted, self._others = -math.inf, 0
        self.proc = _proc()
        kernel.adopt_orphans()
        _go_on_in_child(self.close)
        # Nothing but this process finds what a candidate leaves: it outlives its guard for that.
        self.watched = (os.pidfd_open(os.getppid()),)
        kernel.adopt_orphans()
        kernel.gain_nothing()
        self._rules = self._what_may_be_read()

    def _check(self) -> None:
        """Find out whether the kernel has what it takes."""
        if kernel.landlock_version() < kernel.SCOPED_SIGNALS:
            raise OSError("landlock that keeps signals inside needs Linux 6.12 or newer")

    def _what_may_be_read(self) -> kernel.Ruleset | None:
        rules = kernel.Ruleset()
        for path in (*self._read, self._home):
            rules.allow(path)
        for path in filter(os.path.exists, _DEVICES):
            rules.allow(path, write=True)
        rules.allow(_ZERO)
        return rules

    @property
    def shared(self) -> int:
        """Processes of the candidate's user that are not its own."""
        return 2 if self._is_alone else self._others

    def prepare(self, files: int, size: int) -> None:
        """Make the input's folder; count the processes that are not its own."""
        del files, size
        if not self._is_alone and monotonic() - self._counted > _RECOUNT:
            self._counted, self._others = monotonic(), threads_of(os.getuid()) + _OTHERS_MAY_START
        os.mkdir(self.folder)  # noqa: PTH102

    def seal(self) -> None:
        """Nothing: the rules allow no writing."""

    def follow(self) -> None:
        """End with the process that started this one."""
        kernel.die_with_parent(signal.SIGKILL)

    def confine(self) -> None:
        """Apply the rules; the candidate calls it."""
        kernel.set_capabilities(self._kept)
        if self._rules is not None:
            self._rules.apply()
        self.filter.apply()

    def kill(self, candidate: int) -> None:
        """End everything that the candidate has started: it can't leave its process group."""
        with suppress(ProcessLookupError):
            os.killpg(candidate, signal.SIGKILL)

    def processes(self) -> list[int]:
        """All that the candidate has started, itself included."""
        found = _children("self")
        for each in found:
            found += _children(str(each))
        return found

    def is_full(self) -> bool:
        """No file system is given."""
        return False

    def clear(self) -> None:
        """End what an input has left, and remove its folder; the zygote calls it."""
        _end_children()
        _remove(self.folder)

    def close(self) -> None:
        """End what is left, and remove all folders."""
        _end_children()
        _remove(self._home)


class Bare(Landlock):
    """No box of its own: the machine is one, whose files its candidates may see."""

    may_read_past_modes = False

    def _check(self) -> None:
        """Nothing is asked of the kernel."""

    def _what_may_be_read(self) -> None:
        """Whatever the machine lets its users read."""

    def follow(self) -> None:
        """End with the process that started this one, if the machine lets that be asked for."""
        with suppress(OSError):
            super().follow()

    def confine(self) -> None:
        """Give up capabilities, and what calls the machine lets be given up."""
        for give_up in (kernel.set_capabilities, self.filter.apply):
            with suppress(OSError):
                give_up()

    def kill(self, candidate: int) -> None:
        """End everything that the candidate has started, also what has left its group."""
        super().kill(candidate)
        for _ in range(_SWEEPS):
            for process in self.processes():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)


BOXES: dict[str, Callable[[dict[str, Any]], Namespaces | Landlock]] = {
    "namespaces": Namespaces,
    "landlock": Landlock,
    "bare": Bare,
}


def _may_become_nobody(*capabilities: int) -> bool:
    """Whether this is a root that can take a user id that nobody has; in a container, not all can.

    Args:
        capabilities: What else it has to be allowed.
    """
    wanted = (kernel.CAP_SETUID, kernel.CAP_SETGID, *capabilities)
    with open("/proc/self/uid_map", encoding="ascii") as file:  # noqa: PTH123
        ranges = [tuple(map(int, line.split())) for line in file]
    is_mapped = any(first <= _FIRST_USER and first + n > _LAST_USER for first, _, n in ranges)
    return os.geteuid() == 0 and is_mapped and kernel.has_capabilities(wanted)


def _nobody() -> int:
    """A user id that nobody has, not even in other containers of this machine."""
    return _FIRST_USER + int.from_bytes(os.urandom(4), "big") % (_LAST_USER - _FIRST_USER)


def _proc() -> int:
    """The folder that tells of processes, as it is now."""
    return os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _is_open(path: str) -> bool:
    """Whether everybody may go through all folders down to a path, and read it."""
    parts = path.split("/")
    above = ["/".join(parts[:end]) or "/" for end in range(1, len(parts))]
    return all(os.stat(each).st_mode & 1 for each in above) and bool(os.stat(path).st_mode & 4)  # noqa: PTH116


def _remove(folder: str) -> None:
    """Remove a folder with all that lies in it."""
    try:
        for name in os.listdir(folder):  # noqa: PTH208
            try:
                os.unlink(f"{folder}/{name}")  # noqa: PTH108
            except IsADirectoryError:
                _remove(f"{folder}/{name}")
        os.rmdir(folder)  # noqa: PTH106
    except FileNotFoundError:
        return


def _children(process: str) -> list[int]:
    """The processes that any thread of a process is to wait for."""
    found: list[int] = []
    with suppress(OSError):  # It has ended.
        for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208
            with open(f"/proc/{process}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                found += map(int, file.read().split())
    return found


def _end_children() -> None:
    """End all that this process is to wait for, and what comes to it while it does so."""
    with suppress(ChildProcessError):  # There is none, or none any more.
        os.waitpid(-1, os.WNOHANG)
        while children := _children("self"):
            for child in children:
                _end(child)
            os.wait()


def _end(child: int) -> None:
    with suppress(ProcessLookupError):
        # A candidate can't leave its group; whoever is in ours is no candidate.
        if (group := os.getpgid(child)) == os.getpgrp():
            os.kill(child, signal.SIGKILL)
        else:
            os.killpg(group, signal.SIGKILL)


def threads_of(user: int) -> int:
    """How many threads of a user run on this machine."""
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            if os.stat(f"/proc/{name}").st_uid == user:  # noqa: PTH116
                count += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208
        except OSError:
            continue  # It has ended.
    return count
