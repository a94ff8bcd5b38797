"""The processes inside: a zygote that stays warm, and for each input a supervisor and a candidate.

    worker ── guard ── zygote         in namespaces of its own, or only warm (landlock)
                         └─ supervisor  process 1 of new namespaces; under landlock the zygote
                              └─ candidate  limited, without rights, filtered; runs what was sent

The supervisor writes the files, waits, ends all that the candidate has started, and counts. It is
trusted: how the candidate ended and what it took, it tells on a pipe that the candidate never
holds. What the candidate tells of itself, its value, comes on another one and is judged by nobody
in here.

Everything ends with the worker: the zygote watches it, and the guard cleans up after the zygote.
Only the standard library is imported here.
"""

from __future__ import annotations

import _sitebuiltins
import base64
import builtins
import fcntl
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic, process_time
from typing import Any

from verifier_ladder.tiers.sandbox import kernel
from verifier_ladder.tiers.sandbox.boxes import BOXES, FIRST_FREE, Landlock, Namespaces
from verifier_ladder.tiers.sandbox.candidate import ANNOUNCED, RESULT, become_candidate

READY, RUN, FAILED = b"+", b">", b"!"
DONE = struct.Struct("d")
"""After each input: seconds of processor time that all inputs have taken by now."""
DESCRIPTORS = 7
"""Sent with each input: request, stdin, stdout, stderr, result, report, control."""
_REPORT, _CONTROL = 5, 6
_CHANNEL = 10
_LOOK_SECONDS = 0.05
"""How often the processes of an input are looked at together."""
_TICKS, _PAGE_OF_MEMORY = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")
_PAGE = 4096
"""Bytes by which a file system in memory counts."""
_WARM = (
    "bisect",
    "collections",
    "copy",
    "datetime",
    "decimal",
    "fractions",
    "functools",
    "heapq",
    "io",
    "itertools",
    "math",
    "operator",
    "random",
    "re",
    "statistics",
    "string",
    "typing",
)
"""Modules that most programs import."""


# ---- the zygote


def main() -> None:
    """Become a zygote as the first argument (JSON) says, and serve until the worker is gone."""
    _let_go()
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
        box = BOXES[options["kind"]](options)
    except (OSError, ImportError) as error:
        channel.sendall(FAILED + str(error).encode())
        return
    _make_plain(options["paths"])
    gc.collect()
    gc.freeze()
    with suppress(BrokenPipeError):
        _serve(channel, worker, box)


def _let_go() -> None:
    """Undo what a worker has set for itself, and a program that it starts would inherit."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _channel(number: int) -> socket.socket:
    """The socket to the worker, at a number that candidates don't use."""
    channel = socket.socket(fileno=fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _CHANNEL))
    os.dup2(0, RESULT)
    os.closerange(FIRST_FREE, _CHANNEL)
    return channel


def _make_plain(paths: Sequence[str]) -> None:
    """Have programs find what they would find in an interpreter of their own."""
    sys.path.extend(paths)
    vars(builtins).update(
        exit=_sitebuiltins.Quitter("exit", "Ctrl-D"), quit=_sitebuiltins.Quitter("quit", "Ctrl-D")
    )
    os.environ.update(PATH="/usr/bin:/bin")


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
        if isinstance(box, Namespaces):
            _forked(box, descriptors, channel, worker)
        else:
            _supervise(box, descriptors, (channel.fileno(), worker))
        for descriptor in descriptors:
            os.close(descriptor)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        channel.sendall(DONE.pack(process_time() + children.ru_utime + children.ru_stime))


def _forked(
    box: Namespaces, descriptors: Sequence[int], channel: socket.socket, worker: int
) -> None:
    """Have a child supervise, the first process of a namespace that ends with it."""
    try:
        child = box.fork()
    except OSError as error:
        _tell(descriptors[_REPORT], {"error": f"can't fork: {error}"})
        return
    if not child:
        channel.close()
        try:
            _supervise(box, descriptors, ())
        finally:
            os._exit(0)
    ended = os.pidfd_open(child)
    if ended not in _first_of(ended, channel.fileno(), worker):
        os.kill(child, signal.SIGKILL)
    os.close(ended)
    os.waitpid(child, 0)


def _first_of(awaited: int, *closing: int, seconds: float | None = None) -> set[int]:
    """Wait until a descriptor can be read, or one of others is closed or ends; which of them."""
    poller = select.poll()
    poller.register(awaited, select.POLLIN)
    for fd in closing:
        # Of the channel only its end counts: nothing is asked while an input runs.
        poller.register(fd, select.POLLIN | select.POLLRDHUP)
    return {fd for fd, _ in poller.poll(None if seconds is None else seconds * 1000)}


# ---- the supervisor


def _supervise(
    box: Namespaces | Landlock, descriptors: Sequence[int], closing: Sequence[int]
) -> None:
    """Run one candidate, and report on it."""
    report: dict[str, Any]
    try:
        request = json.loads(kernel.read_all(descriptors[0]))
        report = _watched(box, request, descriptors, closing)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the candidate is not to blame
        report = {"error": f"{type(error).__name__}: {error}"}
    _tell(descriptors[_REPORT], report)


def _tell(fd: int, report: dict[str, Any]) -> None:
    """Report to the worker, if it still listens."""
    with suppress(BrokenPipeError):
        kernel.write_all(fd, json.dumps(report).encode())


def _watched(
    box: Namespaces | Landlock,
    request: dict[str, Any],
    descriptors: Sequence[int],
    closing: Sequence[int],
) -> dict[str, Any]:
    limits, files = request["limits"], request["files"]
    sources = {name: base64.b64decode(text) for name, text in files.items()}
    folders = {os.path.dirname(name) for name in sources}  # noqa: PTH120
    nodes = 1 + len(sources) + sum(1 + name.count("/") for name in folders if name)
    own = sum(_PAGE + len(source) for source in sources.values()) + _PAGE * (1 + limits["files"])
    box.prepare(limits["files"] + nodes, limits["file_bytes"] + own)
    try:
        _write_sources(box.folder, sources, set(request["programs"]))
        if not limits["files"]:
            box.seal()
        child, said = _start(box, request, descriptors)
        begun, limit = monotonic(), ""
        if said == ANNOUNCED:
            limit = _wait(box, child, limits, (descriptors[_CONTROL], *closing))
        wall = monotonic() - begun
        found = _reap(box, child)
        if said != ANNOUNCED:
            return {"error": said.decode(errors="replace") or f"it ended early: {found['status']}"}
        is_full = bool(limits["files"]) and box.is_full()
        kept = _kept(box.folder, request["keep"], limits["file_bytes"])
        return {**found, "wall": wall, "limit": limit, "full": is_full, "kept": kept}
    finally:
        box.clear()


def _start(
    box: Namespaces | Landlock, request: dict[str, Any], descriptors: Sequence[int]
) -> tuple[int, bytes]:
    """Fork a candidate; its id, and what it said when it was confined."""
    started, starting = os.pipe()
    try:
        child = os.fork()
        if not child:
            become_candidate(box, request, descriptors, starting)
    finally:
        os.close(starting)
    said = kernel.read_all(started)
    os.close(started)
    return child, said


def _write_sources(folder: str, sources: dict[str, bytes], programs: set[str]) -> None:
    for name, source in sources.items():
        path = f"{folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        kernel.write_file(path, source)
        os.chmod(path, 0o755 if name in programs else 0o644)  # noqa: PTH101


def _wait(
    box: Namespaces | Landlock, child: int, limits: dict[str, Any], closing: Sequence[int]
) -> str:
    """Wait until the candidate ends, is to end, or has used up a limit; "" or why it is killed.

    Time in which it wanted to run and the machine gave it no core is not counted.
    """
    ended, begun = os.pidfd_open(child), monotonic()
    own = _taken([os.getpid()])[1]
    try:
        while (left := begun + limits["wall"] + _starved(child) - monotonic()) > 0:
            found = _first_of(ended, *closing, seconds=min(left, _LOOK_SECONDS))
            if found:
                return "" if ended in found else "stopped"
            cpu, memory = _taken(box.processes(), own)
            if cpu > limits["cpu"]:
                return "cpu"
            if memory > limits["memory"]:
                return "memory"
        return "wall"
    finally:
        os.close(ended)


def _taken(processes: Sequence[int], shared: int = 0) -> tuple[float, int]:
    """Seconds of processor time, and bytes beyond what each shares with the zygote.

    The kernel holds each process to its limits; this holds all of them together.
    """
    cpu, memory = 0, 0
    for process in processes:
        try:
            with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # It has ended.
        cpu += sum(map(int, fields[11:15]))
        memory += max(int(fields[21]) * _PAGE_OF_MEMORY - shared, 0)
    return cpu / _TICKS, memory


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
        about = os.fstat(fd)
        if stat.S_ISREG(about.st_mode) and about.st_size <= most:
            found[name] = base64.b64encode(kernel.read_all(fd)).decode()
        os.close(fd)
    return found
