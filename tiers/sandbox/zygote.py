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

import _sitebuiltins
import base64
import builtins
import fcntl
import gc
import importlib
import json
import os
import select
import socket
import stat
import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any, NoReturn

from verifier_ladder.tiers.sandbox import kernel
from verifier_ladder.tiers.sandbox.boxes import BOXES, FIRST_FREE, Landlock, Namespaces
from verifier_ladder.tiers.sandbox.candidate import ANNOUNCED, RESULT, become_candidate

READY, DONE, RUN, FAILED = b"+", b".", b">", b"!"
DESCRIPTORS = 7
"""Sent with each input: request, stdin, stdout, stderr, result, report, control."""
_CHANNEL = 10
_LAST_SECONDS = 5.0
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
    try:
        _serve(channel, worker, box)
    finally:
        box.close()


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
        try:
            child = box.fork()
        except OSError as error:
            kernel.write_all(
                descriptors[5], json.dumps({"error": f"can't fork: {error}"}).encode()
            )
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
    is_wanted = worker not in found and channel.fileno() not in found
    if not is_wanted:
        # The supervisor sees it too, and knows what there is to end.
        poller.unregister(worker)
        poller.unregister(channel)
        found = {fd for fd, _ in poller.poll(_LAST_SECONDS * 1000)}
    if ended in found:
        os.waitpid(child, 0)
    os.close(ended)
    return is_wanted


# ---- the supervisor


def _supervise(box: Namespaces | Landlock, descriptors: Sequence[int]) -> NoReturn:
    """Run one candidate, and report on it."""
    report: dict[str, Any]
    zygote = os.getppid()
    try:
        request = json.loads(kernel.read_all(descriptors[0]))
        report = _watched(box, request, descriptors)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the candidate is not to blame
        report = {"error": f"{type(error).__name__}: {error}"}
    try:
        if os.getppid() != zygote:
            box.close()  # Nobody else is left to do it.
        kernel.write_all(descriptors[5], json.dumps(report).encode())
    finally:
        os._exit(0)


def _watched(
    box: Namespaces | Landlock, request: dict[str, Any], descriptors: Sequence[int]
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
        started, starting = os.pipe()
        child = os.fork()
        if not child:
            become_candidate(box, request, descriptors, starting)
        os.close(starting)
        said = kernel.read_all(started)
        begun = monotonic()
        if said == ANNOUNCED:
            limit = _wait(box, child, descriptors[6], limits["wall"])
        wall = monotonic() - begun
        found = _reap(box, child)
        if said != ANNOUNCED:
            return {"error": said.decode(errors="replace") or f"it ended early: {found['status']}"}
        is_full = bool(limits["files"]) and box.is_full()
        kept = _kept(box.folder, request["keep"], limits["file_bytes"])
        return {**found, "wall": wall, "limit": limit, "full": is_full, "kept": kept}
    finally:
        box.clear()


def _write_sources(folder: str, sources: dict[str, bytes], programs: set[str]) -> None:
    for name, source in sources.items():
        path = f"{folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        kernel.write_file(path, source)
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
        about = os.fstat(fd)
        if stat.S_ISREG(about.st_mode) and about.st_size <= most:
            found[name] = base64.b64encode(kernel.read_all(fd)).decode()
        os.close(fd)
    return found
