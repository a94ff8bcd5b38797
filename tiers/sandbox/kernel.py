"""What the sandbox asks of Linux: namespaces, mounts, landlock, seccomp, capabilities.

Only the standard library is imported here: the zygote loads this file into a bare interpreter,
whose every module would be copied for every input. Python has functions for few of these calls
(`os.unshare` only since 3.12, none for landlock or seccomp), so they are made by ctypes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Sequence

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x20000, 0x2000000, 0x4000000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x8000000, 0x10000000, 0x20000000
CLONE_NEWNET, CLONE_NEWTIME = 0x40000000, 0x80
_NEW_NAMESPACES = (
    CLONE_NEWNS
    | CLONE_NEWCGROUP
    | CLONE_NEWUTS
    | CLONE_NEWIPC
    | CLONE_NEWUSER
    | CLONE_NEWPID
    | CLONE_NEWNET
    | CLONE_NEWTIME
)

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
_MNT_DETACH = 2
_AT_RECURSIVE = 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_SET_MM = 1, 4, 8, 35
_PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 22, 24, 36, 38
_CAPABILITY_VERSION = 0x20080522
CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN = 0, 2, 6, 7, 21

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine → column in the table of calls, and the number by which seccomp knows it."""

_DENIED = """
# Other processes.
ptrace 101 117; process_vm_readv 310 270; process_vm_writev 311 271; kcmp 312 272;
pidfd_open 434 434; pidfd_getfd 438 438; pidfd_send_signal 424 424; process_madvise 440 440;
process_mrelease 448 448; setpriority 141 140; ioprio_set 251 30; sched_setaffinity 203 122;
sched_setscheduler 144 119; sched_setparam 142 118; sched_setattr 314 274; move_pages 279 239;
migrate_pages 256 238
# Keys, and parts of the kernel that had many holes.
keyctl 250 219; add_key 248 217; request_key 249 218; bpf 321 280; userfaultfd 323 282;
perf_event_open 298 241; seccomp 317 277; io_uring_setup 425 425; io_uring_enter 426 426;
io_uring_register 427 427; modify_ldt 154 -; personality 135 92; mbind 237 235;
set_mempolicy 238 237; lookup_dcookie 212 18
# What all users of the machine have together, or no limit counts.
io_setup 206 0; inotify_init 253 -; inotify_init1 294 26
# Mounts and namespaces.
mount 165 40; umount2 166 39; pivot_root 155 41; chroot 161 51; move_mount 429 429;
open_tree 428 428; open_tree_attr 467 467; fsopen 430 430; fsconfig 431 431; fsmount 432 432;
fspick 433 433; mount_setattr 442 442; statmount 457 457; listmount 458 458; unshare 272 97;
setns 308 268; name_to_handle_at 303 264; open_by_handle_at 304 265; fanotify_init 300 262;
fanotify_mark 301 263
# The machine.
swapon 167 224; swapoff 168 225; reboot 169 142; kexec_load 246 104; kexec_file_load 320 294;
init_module 175 105; finit_module 313 273; delete_module 176 106; acct 163 89; quotactl 179 60;
quotactl_fd 443 443; settimeofday 164 170; clock_settime 227 112; clock_adjtime 305 266;
adjtimex 159 171; sethostname 170 161; setdomainname 171 162; syslog 103 116; iopl 172 -;
ioperm 173 -; vhangup 153 58
# Sockets by any name (pairs are allowed), and what outlives a process or is no file.
socket 41 198; memfd_create 319 279; memfd_secret 447 447; shmget 29 194; shmat 30 196;
shmctl 31 195; semget 64 190; semop 65 193; semctl 66 191; semtimedop 220 192; msgget 68 186;
msgsnd 69 189; msgrcv 70 188; msgctl 71 187; mq_open 240 180; mq_unlink 241 181
"""
"""Calls that are refused: name, number on x86_64, number on aarch64, `-` where there is none."""
_OUTSIDE_NAMESPACES = """
# Only its process group tells there what a candidate has started.
setsid 112 157; setpgid 109 154
# Landlock does not keep from these, and files of the same user are in sight.
chmod 90 52; fchmod 91 52; fchmodat 268 53; fchmodat2 452 452; chown 92 55; fchown 93 55;
lchown 94 54; fchownat 260 54; utime 132 88; utimes 235 88; futimesat 261 88; utimensat 280 88;
setxattr 188 5; lsetxattr 189 6; fsetxattr 190 7; setxattrat 463 463; removexattr 197 14;
lremovexattr 198 15; fremovexattr 199 16; removexattrat 466 466; file_setattr 469 469
"""
"""Calls that are refused too where a candidate shares the namespaces of everybody else."""
_CLONE3, _PRLIMIT64 = (435, 435), (302, 261)
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY, _F_SETPIPE_SZ = (
    8, 10, 15, 1024, 1026, 1031,
)  # fmt: skip
_TIOCSTI, _TIOCLINUX, _FIOSETOWN, _SIOCSPGRP = 0x5412, 0x541C, 0x8901, 0x8902
_SO_SNDBUF, _SO_SNDBUFFORCE = 7, 32
_SHARED_ANONYMOUS = 0x21
_ALL_BITS, _LETTER = 0xFFFFFFFF, 0xFF00
_Test = tuple[int, int]
_REFUSED: tuple[tuple[tuple[int, int], int, tuple[_Test, ...]], ...] = (
    # clone: each of the flags.
    ((56, 220), 0, tuple((1 << n, 1 << n) for n in range(32) if _NEW_NAMESPACES >> n & 1)),
    # prctl
    ((157, 167), 0, tuple(
        (_ALL_BITS, n) for n in (_PR_SET_PDEATHSIG, _PR_SET_MM, _PR_SET_SECCOMP)
    )),
    # fcntl: signals to whoever is named, leases that make others wait, larger pipes.
    ((72, 25), 1, tuple((_ALL_BITS, n) for n in (
        _F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY, _F_SETPIPE_SZ,
    ))),
    # ioctl: terminals, signals, and what file systems change though a file is open to be read.
    ((16, 29), 1, (
        *((_ALL_BITS, n) for n in (_TIOCSTI, _TIOCLINUX, _FIOSETOWN, _SIOCSPGRP)),
        *((_LETTER, ord(letter) << 8) for letter in "fXv\x94"),
    )),
    # setsockopt: larger buffers, which no limit counts.
    ((54, 208), 2, ((_ALL_BITS, _SO_SNDBUF), (_ALL_BITS, _SO_SNDBUFFORCE))),
    # mmap: memory that stays though nobody has it in sight any more.
    ((9, 222), 3, ((_SHARED_ANONYMOUS, _SHARED_ANONYMOUS),)),
)  # fmt: skip
"""Calls refused where an argument has certain bits: numbers, which argument, (mask, value)."""

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> int:
    """Call the C library.

    Raises:
        OSError: With the call's name, if it fails.
    """
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _syscall(number: int, *arguments: object) -> int:
    return _call("syscall", ctypes.c_long(number), *arguments)


def unshare(flags: int) -> None:
    """Move this process into new namespaces (`CLONE_NEW*`); children only, for `NEWPID`."""
    _call("unshare", flags)


def next_pid_namespace(own: int) -> None:
    """Have the next child be process 1 of a new namespace, however often this is called.

    Args:
        own: Descriptor of `/proc/self/ns/pid`.
    """
    # The kernel refuses a second one unless the first is taken back.
    _call("setns", own, CLONE_NEWPID)
    _call("unshare", CLONE_NEWPID)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system; `kind` None changes or binds what is mounted already."""
    _call(
        "mount",
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )


def make_read_only(target: str, *, devices: bool = False) -> None:
    """Take the right to write away from a mount and all below it; nothing there gains rights."""
    attributes = _ATTR_RDONLY | _ATTR_NOSUID | (0 if devices else _ATTR_NODEV)
    wanted = ctypes.create_string_buffer(struct.pack("=QQQQ", attributes, 0, 0, 0), 32)
    size = ctypes.c_size_t(32)
    _syscall(442, -100, target.encode(), _AT_RECURSIVE, wanted, size)


def change_root(folder: str) -> None:
    """Make a mount the root of this mount namespace, and let go of the old root."""
    os.chdir(folder)
    number = 155 if platform.machine() == "x86_64" else 41
    _syscall(number, b".", b".")
    _call("umount2", b".", _MNT_DETACH)
    os.chdir("/")


def become(user: int, keep: Sequence[int] = ()) -> None:
    """Take another user and group id, with no supplementary groups.

    Args:
        user: The id of both.
        keep: Capabilities that outlive the change.
    """
    _call("prctl", _PR_SET_KEEPCAPS, 1 if keep else 0, 0, 0, 0)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    set_capabilities(keep)
    set_dumpable(on=True)


def set_dumpable(*, on: bool) -> None:
    """Say whether others of the same user may look into this process."""
    _call("prctl", _PR_SET_DUMPABLE, int(on), 0, 0, 0)


def die_with_parent(signal: int) -> None:
    """Be sent a signal when the thread that started this process ends."""
    _call("prctl", _PR_SET_PDEATHSIG, signal, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends."""
    _call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def set_capabilities(kept: Sequence[int] = ()) -> None:
    """Drop all capabilities but these."""
    mask = sum(1 << each for each in kept)
    header = struct.pack("=II", _CAPABILITY_VERSION, 0)
    _call("capset", header, struct.pack("=IIIIII", mask, mask, 0, 0, 0, 0))


def has_capabilities(wanted: Sequence[int]) -> bool:
    """Whether this process may make use of all these capabilities."""
    with open("/proc/self/status", "rb") as file:  # noqa: PTH123
        (mask,) = (int(line.split()[1], 16) for line in file if line.startswith(b"CapEff:"))
    return all(mask >> each & 1 for each in wanted)


def gain_nothing() -> None:
    """Give up, for this process and all that it starts, the means to gain rights by a program."""
    for capability in range(64):
        try:
            _call("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError as error:
            # It has no rights to drop them with, or the kernel knows no more of them.
            if error.errno in {errno.EPERM, errno.EINVAL}:
                break
            raise
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


# ---- landlock

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_FS_EXECUTE, _FS_WRITE, _FS_READ, _FS_READ_DIR, _FS_IOCTL = 1, 2, 4, 8, 1 << 15
_ALL_FS, _ALL_NET, _ALL_SCOPES = (1 << 16) - 1, 3, 3
SCOPED_SIGNALS = 6
"""Version of landlock (Linux 6.12) that keeps signals inside."""


def landlock_version() -> int:
    """The version of landlock that the kernel has; 0 for none."""
    try:
        return _syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    except OSError:
        return 0


class Ruleset:
    """Which files a process may still read.

    All else is refused to it: other files, signals to others, abstract sockets, TCP ports.

    Example:
        >>> rules = Ruleset() if landlock_version() >= SCOPED_SIGNALS else None
    """

    def __init__(self) -> None:
        """Begin with a set that allows nothing.

        Raises:
            OSError: If the kernel has no landlock of `SCOPED_SIGNALS`.
        """
        handled = struct.pack("=QQQ", _ALL_FS, _ALL_NET, _ALL_SCOPES)
        buffer = ctypes.create_string_buffer(handled, len(handled))
        self.fd = _syscall(_LANDLOCK_CREATE, buffer, ctypes.c_size_t(len(handled)), 0)

    def allow(self, path: str, *, write: bool = False) -> None:
        """Allow to read and execute all below a path, or to read and write one device."""
        rights = _FS_READ | (_FS_WRITE | _FS_IOCTL if write else _FS_EXECUTE)
        if os.path.isdir(path):  # noqa: PTH112 - pathlib is not loaded here
            rights |= _FS_READ_DIR
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, fd), 12)
            _syscall(_LANDLOCK_ADD, self.fd, 1, rule, 0)
        finally:
            os.close(fd)

    def apply(self) -> None:
        """Hold this process, and all that it starts, to the rules; `no_new_privs` must be set."""
        _syscall(_LANDLOCK_RESTRICT, self.fd, 0)


# ---- seccomp

_LOAD, _EQUAL, _ABOVE, _RETURN, _AND = 0x20, 0x15, 0x35, 0x06, 0x54
_KILL, _ERROR, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER, _MACHINE, _ARGUMENT = 0, 4, 16
_X32 = 0x40000000
_LEAF = 4


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


class Filter:
    """The calls of the kernel that a process may no longer make.

    It is a list of what is refused, so that ordinary programs of any language run: other
    processes, mounts, namespaces, keys, sockets, io_uring, memory that no limit counts and what
    changes the machine. Calls of another architecture end the process.

    Example:
        >>> Filter(shared_namespaces=True).length > 99
        True
    """

    def __init__(self, *, shared_namespaces: bool) -> None:
        """Make the filter for this machine.

        Args:
            shared_namespaces: Whether the process sees the machine's processes and files.

        Raises:
            OSError: If the machine is neither x86_64 nor aarch64.
        """
        if platform.machine() not in _MACHINES:
            raise OSError(errno.ENOSYS, f"no list of calls for {platform.machine()}")
        column, machine = _MACHINES[platform.machine()]
        refused = _numbers(_DENIED + (_OUTSIDE_NAMESPACES if shared_namespaces else ""), column)
        code = b"".join(_filter(column, machine, refused))
        self.length = len(code) // 8
        self._program = _Program(self.length, code)

    def apply(self) -> None:
        """Hold this process, and all that it starts, to the filter; `no_new_privs` must be set."""
        _call("prctl", _PR_SET_SECCOMP, 2, ctypes.byref(self._program), 0, 0)


def _numbers(table: str, column: int) -> list[int]:
    """The numbers of a table's calls on one machine."""
    lines = (line for line in table.splitlines() if not line.startswith("#"))
    entries = (entry.split() for line in lines for entry in line.split(";") if entry.strip())
    return [int(entry[1 + column]) for entry in entries if entry[1 + column] != "-"]


def _filter(column: int, machine: int, refused: Iterable[int]) -> Iterable[bytes]:
    """The instructions of a filter, eight bytes each."""
    yield _step(_LOAD, _MACHINE)
    yield _step(_EQUAL, machine, 1, 0)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER)
    yield _step(_ABOVE, _X32, 0, 1)
    yield _step(_RETURN, _KILL)
    # Its flags lie in memory, where a filter can't look: the C library then uses clone.
    yield _step(_EQUAL, _CLONE3[column], 0, 1)
    yield _step(_RETURN, _ERROR | errno.ENOSYS)
    for numbers, argument, tests in _REFUSED:
        yield from _refuse(numbers[column], argument, tests)
    # Limits of other processes: any process but 0, which is the one that asks.
    yield _step(_EQUAL, _PRLIMIT64[column], 0, 4)
    yield _step(_LOAD, _ARGUMENT)
    yield _step(_EQUAL, 0, 1, 0)
    yield _step(_RETURN, _ERROR | errno.EPERM)
    yield _step(_RETURN, _ALLOW)
    yield from _tree(sorted(set(refused)))


def _tree(refused: Sequence[int]) -> list[bytes]:
    """Refuse all of some calls.

    A search by halves: the kernel tries a new filter with every call that there is, which a list
    of a hundred comparisons would make a third of what an input costs.
    """
    if len(refused) <= _LEAF:
        tests = [_step(_EQUAL, number, len(refused) - at) for at, number in enumerate(refused)]
        return [*tests, _step(_RETURN, _ALLOW), _step(_RETURN, _ERROR | errno.EPERM)]
    middle = len(refused) // 2
    below, above = _tree(refused[:middle]), _tree(refused[middle:])
    return [_step(_ABOVE, refused[middle], len(below), 0), *below, *above]


def _refuse(number: int, argument: int, tests: Sequence[_Test]) -> list[bytes]:
    """Refuse a call whose argument passes one of the tests."""
    steps = []
    for mask, value in tests:
        steps += [
            _step(_LOAD, _ARGUMENT + 8 * argument),
            _step(_AND, mask),
            _step(_EQUAL, value, 0, 1),
            _step(_RETURN, _ERROR | errno.EPERM),
        ]
    return [_step(_EQUAL, number, 0, len(steps) + 1), *steps, _step(_RETURN, _ALLOW)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


# ---- descriptors

_CHUNK = 1 << 16
"""Bytes to read at once: more than the C library would map, and so fault in, for each read."""


def read_all(fd: int) -> bytes:
    """Read to the end."""
    parts = []
    while part := os.read(fd, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def read_file(path: str) -> bytes:
    """Read a file, without Python's file objects, whose memory each fresh process would copy."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return read_all(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_file(path: str, data: bytes | memoryview, mode: int = 0o644) -> None:
    """Write a file, with a mode if it is new; a link in its place is not followed."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, mode)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)
