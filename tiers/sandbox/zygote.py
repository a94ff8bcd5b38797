"""The processes inside: a zygote that stays warm, and for each input a supervisor and a candidate.

    worker ── guard ── zygote         in namespaces of its own, or only warm (landlock)
                         └─ supervisor  process 1 of new namespaces; under landlock the zygote
                              └─ candidate  limited, without rights, filtered; runs what was sent

The supervisor writes the files, waits, ends all that the candidate has started, and counts. It is
trusted: how the candidate ended and what it took, it tells on a pipe that the candidate never
holds. What the candidate tells of itself, its value, comes on another one and is judged by nobody
in here.

What was sent for an input, its candidate reads itself, for later ones begin as copies of the
zygote: a supervisor reads the limits only.

Everything ends with the worker: the zygote watches it, and the guard cleans up after the zygote.
Only the standard library is imported here.
"""

from __future__ import annotations

import _sitebuiltins
import _thread
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
from verifier_ladder.tiers.sandbox.candidate import (
    ANNOUNCED,
    RESULT,
    become_candidate,
    know_exceptions,
    limit_all,
    read_part,
)
from verifier_ladder.tiers.sandbox.meter import Meter

READY, RUN, FAILED = b"+", b">", b"!"
DONE = struct.Struct("d")
"""After each input: seconds of processor time that all inputs have taken by now."""
DESCRIPTORS = 7
"""Sent with each input: request, stdin, stdout, stderr, result, report, control."""
_REPORT, _CONTROL = 5, 6
_CHANNEL = 10
_PAGE = 4096
"""Bytes by which a file system in memory counts."""
_STACK = 8 << 20
"""Bytes of each stack, as on nearly all machines: they count in a program's address space."""
_KEPT_SIGNALS = {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}
"""Of which two can't be changed, and Python ignores the others."""
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


def main(options: dict[str, Any]) -> None:
    """Become a zygote as a worker asks for, and serve until that is gone."""
    _let_go()
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
    _make_plain(options["paths"], box.folder)
    know_exceptions()
    limit_all()
    gc.collect()
    gc.freeze()
    try:
        with suppress(BrokenPipeError):
            _serve(channel, box, (worker, *box.watched))
    finally:
        box.close()


def _let_go() -> None:
    """Undo what a worker has set for itself, and a program that it starts would inherit."""
    # A signal that Python handles would reach process 1 of a namespace, from inside it too.
    for number in signal.valid_signals() - _KEPT_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    size = _STACK if most == resource.RLIM_INFINITY else min(_STACK, most)
    resource.setrlimit(resource.RLIMIT_STACK, (size, most))
    # The C library has read the old limit: threads would take that, for inputs are only forked.
    _thread.stack_size(size)


def _channel(number: int) -> socket.socket:
    """The socket to the worker, at a number that candidates don't use."""
    channel = socket.socket(fileno=fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _CHANNEL))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for used in (0, RESULT):
        os.dup2(nothing, used)
    os.closerange(FIRST_FREE, _CHANNEL)
    return channel


def _make_plain(paths: Sequence[str], home: str) -> None:
    """Have programs find what they would find in an interpreter of their own."""
    sys.path.extend(paths)
    sys.argv[:] = [""]
    vars(builtins).update(
        exit=_sitebuiltins.Quitter("exit", "Ctrl-D"), quit=_sitebuiltins.Quitter("quit", "Ctrl-D")
    )
    os.environ.update(PATH="/usr/bin:/bin", HOME=home)


def _serve(channel: socket.socket, box: Namespaces | Landlock, needed: Sequence[int]) -> None:
    """Fork a supervisor for each input; end with any of the processes that are needed."""
    poller = select.poll()
    for each in (channel.fileno(), *needed):
        poller.register(each, select.POLLIN)
    channel.sendall(READY)
    while not set(needed) & {fd for fd, _ in poller.poll()}:
        message, descriptors, _, _ = socket.recv_fds(channel, 1, DESCRIPTORS)
        if message != RUN:
            return
        if isinstance(box, Namespaces):
            _forked(box, descriptors, channel, needed)
        else:
            _supervise(box, descriptors, (channel.fileno(), *needed))
            box.clear()
        for descriptor in descriptors:
            os.close(descriptor)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        channel.sendall(DONE.pack(process_time() + children.ru_utime + children.ru_stime))


def _forked(
    box: Namespaces, descriptors: Sequence[int], channel: socket.socket, needed: Sequence[int]
) -> None:
    """Have a child supervise, the first process of a namespace that ends with it."""
    try:
        child = box.fork()
    except OSError as error:
        _tell(descriptors[_REPORT], {"error": f"can't fork: {error}"})
        return
    if not child:
        try:
            channel.close()
            _supervise(box, descriptors, ())
        finally:
            os._exit(0)
    ended = os.pidfd_open(child)
    if ended not in _first_of(ended, channel.fileno(), *needed):
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
        report = _watched(box, read_part(descriptors[0]), descriptors, closing)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the candidate is not to blame
        report = {"error": f"{type(error).__name__}: {error}"}
    _tell(descriptors[_REPORT], report)


def _tell(fd: int, report: dict[str, Any]) -> None:
    """Report to the worker, if it still listens."""
    with suppress(BrokenPipeError):
        kernel.write_all(fd, json.dumps(report).encode())


def _watched(
    box: Namespaces | Landlock,
    limits: dict[str, Any],
    descriptors: Sequence[int],
    closing: Sequence[int],
) -> dict[str, Any]:
    own = limits["own_bytes"] + _PAGE * (limits["own_files"] + limits["files"] + 1)
    box.prepare(limits["files"] + limits["own_files"], limits["file_bytes"] + own)
    child, said = _start(box, limits, descriptors)
    if said != ANNOUNCED:
        status = _reap(box, child)["status"]
        return {"error": said.decode(errors="replace") or f"it ended early: {status}"}
    begun, meter = monotonic(), Meter(box.processes, limits)
    limit = _wait(child, meter, descriptors[_CONTROL], closing)
    wall = monotonic() - begun
    found = _reap(box, child)
    if limit == "alone":
        return {"error": "a process that it needs has ended"}
    if limit == "overload":
        return {"error": f"the machine gave it no processor for most of {wall:.0f} seconds"}
    found["cpu"] = max(found["cpu"], meter.cpu)
    is_full = bool(limits["files"]) and box.is_full()
    # Without files of its own, it has left what was sent, which is not for the zygote to hold.
    kept = _kept(box.folder, limits["keep"], limits["file_bytes"]) if limits["files"] else {}
    return {**found, "wall": wall, "limit": limit, "full": is_full, "kept": kept}


def _start(
    box: Namespaces | Landlock, limits: dict[str, Any], descriptors: Sequence[int]
) -> tuple[int, bytes]:
    """Fork a candidate; its id, and what it said when it was confined."""
    started, starting = os.pipe()
    try:
        child = os.fork()
        if not child:
            become_candidate(box, limits, descriptors, starting)
    finally:
        os.close(starting)
    # All at once, for no pipe divides what is so short; nothing, if it ends before it says it.
    said = os.read(started, select.PIPE_BUF)
    os.close(started)
    return child, said


def _wait(child: int, meter: Meter, control: int, closing: Sequence[int]) -> str:
    """Wait until the candidate ends, is to end, or is beyond a limit; "" or why it is killed."""
    ended = os.pidfd_open(child)
    try:
        while True:
            if found := _first_of(ended, control, *closing, seconds=meter.pause()):
                return "" if ended in found else "stopped" if control in found else "alone"
            if limit := meter.look():
                return limit
    finally:
        os.close(ended)


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
