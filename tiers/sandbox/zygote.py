"""The processes inside: a zygote that stays warm, and for each input a supervisor and a candidate.

    worker ── zygote           alone in namespaces of its own, or only warm (landlock)
                └─ supervisor  process 1 of new namespaces; writes the files, waits, kills, counts
                     └─ candidate   limited, without privileges, filtered; runs what was sent

The zygote forks and nothing else. The supervisor is trusted: it tells how the candidate ended and
what it took, on a pipe that the candidate never holds. What the candidate tells of itself, its
value, comes on another one and is judged by nobody in here.

Everything ends with the worker: the zygote watches it, each supervisor watches the zygote.
Only the standard library is imported here.
"""

from __future__ import annotations

import atexit
import base64
import builtins
import fcntl
import gc
import importlib
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from time import monotonic
from types import ModuleType
from typing import Any, NoReturn

import _sitebuiltins

from verifier_ladder.tiers.sandbox import kernel, values

READY, DONE, RUN, FAILED = b"+", b".", b">", b"!"
DESCRIPTORS = 7
"""Sent with each input: request, stdin, stdout, stderr, result, report, control."""
RESULT = 3
"""Descriptor of the result in the candidate's process."""
_FIRST_FREE, _CHANNEL = 4, 10
_BOX = "/box"
_USER_INSIDE = 1000
_FIRST_USER = 0x70000000
"""User ids from here on belong to nobody; each zygote that begins as root takes one."""
_PLACES = ("/tmp", "/mnt", "/media", "/opt")  # noqa: S108 - nothing is written there
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
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
_OPEN_FILES = 256
_MEMORY_OF_ROOT = "size=1m,mode=755"
_WARM = (
    "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq",
    "io", "itertools", "math", "operator", "random", "re", "statistics", "string", "typing",
)  # fmt: skip
"""Modules that most programs import."""
_APART = (
    kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)  # fmt: skip
_RECOUNT = 1.0
_OTHERS_MAY_START = 256
_ANNOUNCED = b"ok"
_MOST_WORDS = 2000


# ---- the zygote


def main() -> None:
    """Become a zygote as the first argument (JSON) says, and serve until the worker is gone."""
    options = json.loads(sys.argv[1])
    channel = _channel(options["channel"])
    worker = os.pidfd_open(os.getppid())
    if os.getppid() != options["worker"]:
        return
    try:
        for name in (*_WARM, *options["warm"]):
            sys.path[:0] = options["paths"]
            importlib.import_module(name)
            del sys.path[: len(options["paths"])]
        box = _BOXES[options["kind"]](options)
    except (OSError, ImportError) as error:
        channel.sendall(FAILED + str(error).encode())
        return
    _make_plain(options["paths"])
    gc.collect()
    gc.freeze()
    try:
        _serve(channel, worker, box)
    finally:
        box.close()


def _channel(number: int) -> socket.socket:
    """The socket to the worker, at a number that candidates don't use."""
    channel = socket.socket(fileno=fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _CHANNEL))
    os.dup2(0, RESULT)
    os.closerange(_FIRST_FREE, _CHANNEL)
    return channel


def _make_plain(paths: Sequence[str]) -> None:
    """Have programs find what they would find in an interpreter of their own."""
    sys.path.extend(paths)
    vars(builtins).update(
        exit=_sitebuiltins.Quitter("exit", "Ctrl-D"), quit=_sitebuiltins.Quitter("quit", "Ctrl-D")
    )
    os.environ.update(PATH="/usr/bin:/bin", HOME=_BOX)


def _serve(channel: socket.socket, worker: int, box: Namespaces | Landlock) -> None:
    """Fork a supervisor for each input; end with the worker."""
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    poller.register(worker, select.POLLIN)
    channel.sendall(READY)
    while worker not in (fd for fd, _ in poller.poll()):
        message, descriptors, _, _ = socket.recv_fds(channel, 1, DESCRIPTORS)
        if message != RUN:
            return
        try:
            child = box.fork()
        except OSError as error:
            _write(descriptors[5], json.dumps({"error": f"can't fork: {error}"}).encode())
            child = 0
        else:
            if not child:
                channel.close()
                _supervise(box, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if child and not _await(child, channel, worker):
            return
        channel.sendall(DONE)


def _await(child: int, channel: socket.socket, worker: int) -> bool:
    """Wait for a supervisor; False when the worker is gone."""
    ended = os.pidfd_open(child)
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    poller.register(worker, select.POLLIN)
    poller.register(channel, 0)  # Only that it is closed.
    found = {fd for fd, _ in poller.poll()}
    os.close(ended)
    if ended not in found:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return worker not in found and channel.fileno() not in found


# ---- the two kinds of box


class Namespaces:
    """Processes, files, network and users of its own: nothing of the machine is in sight."""

    folder = _BOX
    shared = 2
    """Processes of the candidate's user that are ours."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Move this process into new namespaces, whose root holds what programs need.

        Raises:
            OSError: If the kernel, or whoever runs this container, does not allow it.
        """
        self.filter = kernel.Filter(shared_namespaces=False)
        user = os.geteuid()
        read = [*options["paths"], *options["read"]]
        if user:
            _own_users(user, _APART | kernel.CLONE_NEWPID)
            _stay_as_process_1()
            _build_root(read)
        else:
            # Built as root, who reaches the folders of a home; from here on as nobody.
            kernel.unshare(_APART)
            _build_root(read)
            kernel.become(_FIRST_USER + os.getpid())
            _own_users(os.getuid(), kernel.CLONE_NEWPID)
            _stay_as_process_1()
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def fork(self) -> int:
        """Fork a supervisor that is process 1 of a new namespace."""
        kernel.next_pid_namespace(self._own)
        return os.fork()

    def prepare(self, files: int, size: int) -> None:
        """Make the input's own file system, sized, and its own view of the processes."""
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
        plain = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("proc", "/proc", "proc", plain | kernel.MS_NOEXEC)
        kernel.mount("box", _BOX, "tmpfs", plain, f"size={size},nr_inodes={files},mode=755")
        kernel.set_dumpable(on=False)

    def seal(self) -> None:
        """Let nothing be written any more."""
        flags = kernel.MS_REMOUNT | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("box", _BOX, None, flags)

    def confine(self) -> None:
        """Give up all that the supervisor holds; the candidate calls it."""
        kernel.set_dumpable(on=True)
        kernel.drop_privileges()
        self.filter.apply()

    def kill(self, candidate: int) -> None:
        """End everything that the candidate has started."""
        del candidate
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def is_full(self) -> bool:
        """Whether the file system is used up."""
        found = os.statvfs(_BOX)
        return not found.f_bavail or not found.f_favail

    def clear(self) -> None:
        """Nothing: the file system ends with the namespace."""

    def close(self) -> None:
        """Nothing: all ends with process 1."""


def _own_users(outside: int, more: int) -> None:
    """Enter a namespace of users that has one, with all capabilities in there."""
    group = os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | more)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_USER_INSIDE} {outside} 1"),
        ("gid_map", f"{_USER_INSIDE} {group} 1"),
    ):
        _write_file(f"/proc/self/{name}", text.encode())


def _stay_as_process_1() -> None:
    """Go on in a child, the first process of the namespace; what is left waits for it."""
    child = os.fork()
    if child:
        os.closerange(_FIRST_FREE, 1 << 16)
        os.waitpid(child, 0)
        os._exit(0)
    kernel.die_with_parent(signal.SIGKILL)


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
        os.symlink(target, base + path)  # noqa: PTH211
    _write_file(f"{base}/etc/passwd", f"box:x:{_USER_INSIDE}:{_USER_INSIDE}::/box:/bin/sh\n".encode())
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
    if os.path.isdir(path):  # noqa: PTH112
        os.mkdir(target)  # noqa: PTH102
    else:
        _write_file(target, b"")
    kernel.mount(f"/proc/self/fd/{fd}", target, None, kernel.MS_BIND | kernel.MS_REC)
    kernel.make_read_only(target, devices=path in _DEVICES)


class Landlock:
    """The machine's own processes and files, of which the kernel shows a candidate only some.

    Signals, TCP and abstract sockets stay inside too; there is no folder to write into.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        """Take a user of its own if this process is root, and a folder for programs.

        Raises:
            OSError: If the kernel's landlock is missing or too old.
        """
        if kernel.landlock_version() < kernel.SCOPED_SIGNALS:
            raise OSError("landlock that keeps signals inside needs Linux 6.12 or newer")
        self.filter = kernel.Filter(shared_namespaces=True)
        self._read = [p for p in _needed([*options["paths"], *options["read"]]) if p not in _DEVICES]
        self._kept: tuple[int, ...] = ()
        self._is_alone = os.geteuid() == 0
        if self._is_alone:
            # A Python below a closed home folder: the rules decide what is read, not its modes.
            if not all(map(_is_open, self._read)):
                self._kept = (kernel.CAP_DAC_READ_SEARCH,)
            user = _FIRST_USER + os.getpid()
            os.chown(options["folder"], user, user)
            kernel.become(user, self._kept)
        self._counted = -math.inf
        self._others = 0
        self._home = options["folder"]
        self._number = 0
        self.folder = ""
        # Only signals of the kernel and of the worker reach those that the candidate can't see.
        kernel.adopt_orphans()

    @property
    def shared(self) -> int:
        """Processes of the candidate's user that are not its own."""
        return 2 if self._is_alone else self._others

    def fork(self) -> int:
        """Fork a supervisor with a folder of its own."""
        self._number += 1
        self.folder = f"{self._home}/{self._number}"
        if not self._is_alone and monotonic() - self._counted > _RECOUNT:
            self._counted, self._others = monotonic(), _threads_of(os.getuid()) + _OTHERS_MAY_START
        return os.fork()

    def prepare(self, files: int, size: int) -> None:
        """Make the input's folder, from which it may read."""
        del files, size
        kernel.die_with_parent(signal.SIGTERM)
        kernel.adopt_orphans()
        os.mkdir(self.folder)  # noqa: PTH102
        self._rules = kernel.Ruleset()
        for path in (*self._read, self.folder):
            self._rules.allow(path)
        for path in _DEVICES:
            if os.path.exists(path):  # noqa: PTH110
                self._rules.allow(path, write=True)

    def seal(self) -> None:
        """Nothing: the rules allow no writing."""

    def confine(self) -> None:
        """Apply the rules; the candidate calls it."""
        kernel.drop_privileges(self._kept)
        self._rules.apply()
        self.filter.apply()

    def kill(self, candidate: int) -> None:
        """End everything that the candidate has started: it can't leave its process group."""
        try:
            os.killpg(candidate, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def is_full(self) -> bool:
        """No file system is given."""
        return False

    def clear(self) -> None:
        """Remove the input's folder."""
        for where, folders, files in os.walk(self.folder, topdown=False):
            for name in files:
                os.unlink(f"{where}/{name}")  # noqa: PTH108
            for name in folders:
                os.rmdir(f"{where}/{name}")  # noqa: PTH106
        os.rmdir(self.folder)  # noqa: PTH106

    def close(self) -> None:
        """Remove the folder of all inputs, for the worker may be gone."""
        try:
            os.rmdir(self._home)  # noqa: PTH106
        except OSError:
            pass


_BOXES: dict[str, Callable[[dict[str, Any]], Namespaces | Landlock]] = {
    "namespaces": Namespaces,
    "landlock": Landlock,
}


def _is_open(path: str) -> bool:
    """Whether everybody may go through all folders down to a path, and read it."""
    parts = path.split("/")
    above = ["/".join(parts[:end]) or "/" for end in range(1, len(parts))]
    return all(os.stat(each).st_mode & 1 for each in above) and bool(os.stat(path).st_mode & 4)  # noqa: PTH116


def _threads_of(user: int) -> int:
    """How many threads of a user run on this machine."""
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            if os.stat(f"/proc/{name}").st_uid == user:  # noqa: PTH116
                count += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208
        except OSError:
            continue  # It has ended.
    return count


# ---- the supervisor


def _supervise(box: Namespaces | Landlock, descriptors: Sequence[int]) -> NoReturn:
    """Run one candidate, and report on it."""
    report: dict[str, Any]
    try:
        request = json.loads(_read_all(descriptors[0]))
        report = _watched(box, request, descriptors)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the candidate is not to blame
        report = {"error": f"{type(error).__name__}: {error}"}
    try:
        _write(descriptors[5], json.dumps(report).encode())
    finally:
        os._exit(0)


def _watched(
    box: Namespaces | Landlock, request: dict[str, Any], descriptors: Sequence[int]
) -> dict[str, Any]:
    limits, files = request["limits"], request["files"]
    sources = {name: base64.b64decode(text) for name, text in files.items()}
    own = sum(-(-len(source) // 4096) * 4096 + 4096 * 2 for source in sources.values()) + 65536
    folders = sum(name.count("/") for name in sources) + 8
    box.prepare(limits["files"] + len(sources) + folders, limits["file_bytes"] + own)
    try:
        _write_sources(box.folder, sources, set(request["programs"]))
        if not limits["files"]:
            box.seal()
        started, starting = os.pipe()
        child = os.fork()
        if not child:
            _become_candidate(box, request, descriptors, starting)
        os.close(starting)
        said = _read_all(started)
        begun = monotonic()
        if said == _ANNOUNCED:
            limit = _wait(box, child, descriptors[6], limits["wall"])
        wall = monotonic() - begun
        found = _reap(box, child)
        if said != _ANNOUNCED:
            return {"error": said.decode(errors="replace") or f"it ended early: {found['status']}"}
        kept = _kept(box.folder, request["keep"], limits["file_bytes"])
        return {**found, "wall": wall, "limit": limit, "full": box.is_full(), "kept": kept}
    finally:
        box.clear()


def _write_sources(folder: str, sources: dict[str, bytes], programs: set[str]) -> None:
    for name, source in sources.items():
        path = f"{folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        _write_file(path, source)
        os.chmod(path, 0o755 if name in programs else 0o644)  # noqa: PTH101
    os.chdir(folder)


def _wait(box: Namespaces | Landlock, child: int, control: int, wall: float) -> str:
    """Wait until the candidate ends, is to end, or has used up its time; "" or why it is killed.

    Time in which it wanted to run and the machine gave it no core is not counted.
    """
    del box
    ended, begun, parent = os.pidfd_open(child), monotonic(), os.getppid()
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    poller.register(control, select.POLLIN)
    while True:
        left = begun + wall + _starved(child) - monotonic()
        if left <= 0:
            return "wall"
        # A zygote that was killed is noticed soon, where no namespace ends with it.
        found = {fd for fd, _ in poller.poll(min(left, 1.0) * 1000)}
        if ended in found:
            return ""
        if control in found or os.getppid() != parent:
            return "stopped"


def _starved(child: int) -> float:
    """Seconds that a process has waited for a core."""
    try:
        with open(f"/proc/{child}/schedstat", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _reap(box: Namespaces | Landlock, child: int) -> dict[str, Any]:
    """End the candidate and all that it started; how it ended and what they took together."""
    box.kill(child)
    status, cpu, memory = 0, 0.0, 0
    while True:
        try:
            ended, how, used = os.wait4(-1, 0)
        except ChildProcessError:
            return {"status": status, "cpu": cpu, "memory": memory * 1024}
        if ended == child:
            status = how
        cpu += used.ru_utime + used.ru_stime
        memory = max(memory, used.ru_maxrss)


def _kept(folder: str, names: Sequence[str], most: int) -> dict[str, str]:
    """Files that the candidate has left, if they are plain ones."""
    found = {}
    for name in names:
        try:
            fd = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        if os.fstat(fd).st_mode & 0o170000 == 0o100000 and os.fstat(fd).st_size <= most:
            found[name] = base64.b64encode(_read_all(fd)).decode()
        os.close(fd)
    return found


# ---- the candidate


def _become_candidate(
    box: Namespaces | Landlock,
    request: dict[str, Any],
    descriptors: Sequence[int],
    starting: int,
) -> NoReturn:
    """Limit this process, then run what was sent."""
    status = 1
    try:
        try:
            os.setsid()
            for number, descriptor in enumerate(descriptors[1:5]):
                os.dup2(descriptor, number)
            kernel.die_with_parent(signal.SIGKILL)
            _limit(request["limits"], box.shared)
            box.confine()
        except BaseException as error:  # noqa: BLE001 - the supervisor tells of it
            _write(starting, f"{type(error).__name__}: {error}".encode())
            os._exit(1)
        _write(starting, _ANNOUNCED)
        os.closerange(_FIRST_FREE, 1 << 16)
        os.environ["HOME"] = box.folder
        status = _START[request["start"]](request, box.folder)
    finally:
        os._exit(status)


def _limit(limits: dict[str, Any], shared: int) -> None:
    cpu = math.ceil(limits["cpu"])
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        own = int(file.read().split()[0]) * resource.getpagesize()
    for limit, soft, hard in (
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_AS, own + limits["memory"], own + limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
        (resource.RLIMIT_NPROC, shared + limits["processes"], shared + limits["processes"]),
        (resource.RLIMIT_NOFILE, _OPEN_FILES, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        _, most = resource.getrlimit(limit)
        allowed = hard if most == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(limit, (min(soft, allowed), allowed))


def _run_function(request: dict[str, Any], folder: str) -> int:
    """Call a function; tell its value, or what it raised."""
    write, encode, flush = os.write, values.encode, _flush
    try:
        args, kwargs = values.decode(request["arguments"].encode())
        module = _module(request, folder, os.path.basename(request["file"]).removesuffix(".py"))  # noqa: PTH119
        value = getattr(module, request["function"])(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001 - a candidate raises anything
        return _tell_error(error)
    try:
        answer = b"v" + encode(value)
    except values.ValueTextError as error:
        answer = b"u" + str(error).encode(errors="replace")
    flush()
    while answer:
        answer = answer[write(RESULT, answer) :]
    return 0


def _run_script(request: dict[str, Any], folder: str) -> int:
    """Run a file as the main program, with all that happens at the end of one."""
    sys.argv = [request["file"], *request["argv"]]
    status = 0
    try:
        _module(request, folder, "__main__")
    except BaseException as error:  # noqa: BLE001 - a candidate raises anything
        status = _tell_error(error)
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as the interpreter does
    atexit._run_exitfuncs()
    _flush()
    return status


def _run_command(request: dict[str, Any], folder: str) -> int:
    """Become another program."""
    os.close(RESULT)
    for number in range(1, signal.NSIG):
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue  # Kept by the C library.
    command = [*request["command"], *request["argv"]]
    os.chdir(folder)
    try:
        os.execvpe(command[0], command, {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"})  # noqa: S606
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        return 127


_START: dict[str, Callable[[dict[str, Any], str], int]] = {
    "function": _run_function,
    "script": _run_script,
    "command": _run_command,
}


def _module(request: dict[str, Any], folder: str, name: str) -> ModuleType:
    """Run a source file as a module of this name."""
    path = f"{folder}/{request['file']}"
    sys.path.insert(0, os.path.dirname(path))  # noqa: PTH120
    with open(path, "rb") as file:  # noqa: PTH123
        source = file.read()
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(source, path, "exec"), vars(module))  # noqa: S102 - what the sandbox is for
    return module


def _tell_error(error: BaseException) -> int:
    """Tell what was raised: to the worker in short, to stderr in full. Gives the exit status."""
    if isinstance(error, SystemExit):
        _flush()
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        os.write(2, f"{error.code}\n".encode(errors="replace"))
        return 1
    told = (type(error).__name__[:200], str(error)[:_MOST_WORDS], getattr(error, "errno", None))
    answer = b"e" + values.encode(tuple(x if type(x) in {str, int} else None for x in told))
    try:
        traceback.print_exception(error)
        _flush()
    finally:
        _write(RESULT, answer)
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # Closed, or nobody reads it any more.


# ---- descriptors


def _read_all(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _write_file(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        _write(fd, data)
    finally:
        os.close(fd)
