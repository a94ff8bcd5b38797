"""The candidate's own process, from the moment it gives up its rights.

What it tells, its value or its error, is its own word: whoever runs here can forge it, and
nothing else. Only the standard library is imported here.
"""

from __future__ import annotations

import atexit
import math
import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

from verifier_ladder.tiers.sandbox import kernel, values
from verifier_ladder.tiers.sandbox.boxes import FIRST_FREE, Landlock, Namespaces

RESULT = 3
"""Descriptor of the result in the candidate's process."""
ANNOUNCED = b"ok"
"""What it says to the supervisor when it is confined and begins."""
_OPEN_FILES = 256
_MOST_WORDS = 2000


def become_candidate(
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
            box.follow()
            _limit(request["limits"], box.shared)
            box.confine()
        except BaseException as error:  # noqa: BLE001 - the supervisor tells of it
            kernel.write_all(starting, f"{type(error).__name__}: {error}".encode())
            os._exit(1)
        kernel.write_all(starting, ANNOUNCED)
        os.closerange(FIRST_FREE, 1 << 16)
        os.environ["HOME"] = box.folder
        os.chdir(box.folder)
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
    # As the interpreter does at its end.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    _flush()
    return status


def _run_command(request: dict[str, Any], _folder: str) -> int:
    """Become another program."""
    os.close(RESULT)
    for number in range(1, signal.NSIG):
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue  # Kept by the C library.
    command = [*request["command"], *request["argv"]]
    try:
        os.execvpe(command[0], command, dict(os.environ))  # noqa: S606 - as it was sent
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
        kernel.write_all(RESULT, answer)
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # Closed, or nobody reads it any more.
