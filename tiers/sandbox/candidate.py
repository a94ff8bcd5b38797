"""The candidate's own process, from the moment it gives up its rights.

What it tells, its value or its error, is its own word: whoever runs here can forge it, and
nothing else. Only the standard library is imported here.
"""

from __future__ import annotations

import _thread
import atexit
import errno
import json
import math
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from verifier_ladder.tiers.sandbox import kernel, values
from verifier_ladder.tiers.sandbox.boxes import FIRST_FREE, Landlock, Namespaces

RESULT = 3
"""Descriptor of the result in the candidate's process."""
ANNOUNCED = b"ok"
"""What it says to the supervisor when it is confined and begins."""
NO_THREAD = ("RuntimeError", "can't start new thread")
"""Class and words of what is raised where a thread can't be started, whatever the reason."""
_FEWEST_FILES, _MOST_FILES = 32, 256
_BUFFER = 1 << 18
"""Bytes that an open file, such as a socket, may hold and no limit of memory counts."""
_QUEUED_SIGNALS = 1024
_handle: Callable[..., object] = vars(signal.signal).get("__wrapped__", signal.signal)
"""Sets a handler without making it an enum, which costs a fresh process 2 % of an input."""
_parse = json.JSONDecoder().raw_decode
_MOST_WORDS = 2000
_SMALL_STACK = 32 << 10
"""Bytes of the smallest stack that Python gives a thread."""
_SPARE_SIZE = 4 << 20
_SPARE = [bytes(_SPARE_SIZE)]
"""Address space to tell an error in when the program has used up its own; no page is taken."""
_LOADED: set[str] = set()
"""Modules that were there before any program."""
_KNOWN: dict[int, tuple[type[BaseException], str]] = {}
"""Exceptions that were there before any program, by identity, and as what each is told."""


def packed(limits: Mapping[str, Any], request: Mapping[str, Any], files: Sequence[bytes]) -> bytes:
    """One input as it is sent: for the supervisor, for the candidate, and its files."""
    parts = [json.dumps(each).encode() for each in (limits, request)]
    return b"".join((*(len(part).to_bytes(8, "big") + part for part in parts), *files))


def read_part(fd: int) -> dict[str, Any]:
    """The next part of what was sent; nothing is read that lies behind it."""
    found: dict[str, Any]
    found, _ = _parse(os.read(fd, int.from_bytes(os.read(fd, 8), "big")).decode())
    return found


def become_candidate(
    box: Namespaces | Landlock,
    limits: dict[str, Any],
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
            # The supervisor hides from whoever runs in here; files of what is hidden are root's.
            kernel.set_dumpable(on=True)
            _be_ended_first(box)
            request = read_part(descriptors[0])
            _write_files(descriptors[0], box.folder, request)
            if not limits["files"]:
                box.seal()
            _limit(limits, box.shared)
            box.confine()
        except BaseException as error:  # noqa: BLE001 - the supervisor tells of it
            kernel.write_all(starting, f"{type(error).__name__}: {error}".encode())
            os._exit(1)
        kernel.write_all(starting, ANNOUNCED)
        os.closerange(FIRST_FREE, 1 << 16)
        os.chdir(box.folder)
        _handle(signal.SIGINT, signal.default_int_handler)
        status = _START[request["start"]](request, box.folder)
    finally:
        os._exit(status)


def _write_files(fd: int, folder: str, request: dict[str, Any]) -> None:
    for name, size in request["files"]:
        path = f"{folder}/{name}"
        if "/" in name:
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        kernel.write_file(path, os.read(fd, size), 0o755 if name in request["programs"] else 0o644)


def _be_ended_first(box: Namespaces | Landlock) -> None:
    """Have the kernel end this process before any other when the machine's memory is full."""
    with suppress(OSError):  # Where that can't be asked for, nothing else is better.
        fd = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=box.proc)
        os.write(fd, b"1000")
        os.close(fd)


def know_exceptions() -> None:
    """Remember all exceptions: the zygote's, before any program may make others like them."""
    _LOADED.update(sys.modules)
    kinds: list[type[BaseException]] = [BaseException]
    for kind in kinds:
        kinds += type.__subclasses__(kind)
        is_own = kind.__module__ == "builtins"
        _KNOWN[id(kind)] = kind, kind.__name__ if is_own else f"{kind.__module__}.{kind.__name__}"


def limit_all() -> None:
    """Set the limits that are the same for all inputs: the zygote's, which they inherit."""
    _set_limits(
        (resource.RLIMIT_SIGPENDING, _QUEUED_SIGNALS, _QUEUED_SIGNALS),
        # With 0, a kernel that hands its dumps to a program would still start that, outside.
        (resource.RLIMIT_CORE, 1, 1),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    )


def _limit(limits: dict[str, Any], shared: int) -> None:
    cpu = math.ceil(limits["cpu"])
    own = int(kernel.read_file("/proc/self/statm").split()[0]) * resource.getpagesize()
    files = limits["memory"] // (limits["processes"] * _BUFFER)
    files = max(_FEWEST_FILES, min(files, _MOST_FILES))
    _set_limits(
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_AS, own + limits["memory"], own + limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
        (resource.RLIMIT_NPROC, shared + limits["processes"], shared + limits["processes"]),
        (resource.RLIMIT_NOFILE, files, files),
    )


def _set_limits(*limits: tuple[int, int, int]) -> None:
    """Set limits, each a number with its soft and hard value, as far as they may be raised."""
    for limit, soft, hard in limits:
        _, most = resource.getrlimit(limit)
        allowed = hard if most == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(limit, (min(soft, allowed), allowed))


def _run_function(request: dict[str, Any], folder: str) -> int:
    """Call a function; tell its value, or what it raised."""
    write, encode, flush = os.write, values.encode, _flush
    name = request["file"].rpartition("/")[2].removesuffix(".py")
    try:
        args, kwargs = values.restore(request["arguments"])
        module = _module(request, folder, name)
        value = getattr(module, request["function"])(*args, **kwargs)
        answer = b"v" + encode(value)
    except values.ValueTextError as error:
        answer = b"u" + str(error).encode(errors="replace")
    except BaseException as error:  # noqa: BLE001 - a candidate raises anything
        return _tell_error(error, name)
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
        status = _tell_error(error, "__main__")
    # As the interpreter does at its end.
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()  # noqa: SLF001
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
    sys.path.insert(0, path.rpartition("/")[0])
    source = kernel.read_file(path)
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(source, path, "exec"), vars(module))  # noqa: S102 - what the sandbox is for
    return module


def _tell_error(error: BaseException, program: str) -> int:
    """Tell what was raised: to the worker in short, to stderr in full. Gives the exit status."""
    _SPARE.clear()
    if isinstance(error, SystemExit):
        _flush()
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        os.write(2, f"{error.code}\n".encode(errors="replace"))
        return 1
    name, words = told_as(type(error), program), str(error)[:_MOST_WORDS]
    told = (name, words, _number_of(error, is_thread=(name, words) == NO_THREAD))
    answer = b"e" + values.encode(tuple(x if type(x) in {str, int} else None for x in told))
    try:
        traceback.print_exception(type(error), error, _beyond_ours(error.__traceback__))
        _flush()
    finally:
        kernel.write_all(RESULT, answer)
    return 1


def _number_of(error: BaseException, *, is_thread: bool) -> object:
    """The number by which it is known what there was too much of; None for nothing.

    The system says "try again" of threads, processes, locks and pipes alike. Which it was shows
    when that is done, as far as the program still holds what it held.
    """
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    number = getattr(error, "errno", None)
    if not is_thread and number != errno.EAGAIN:
        return number
    missing = _missing_for_a_thread()
    return missing if is_thread or missing == errno.EAGAIN else None


def _missing_for_a_thread() -> int | None:
    """Why no thread can be started now: memory for its stack, or a process; None if one can."""
    usual = _thread.stack_size()
    # What was spared is free by now, and was not when the program tried.
    for size, missing in ((usual + _SPARE_SIZE, None), (_SMALL_STACK, errno.ENOMEM)):
        _thread.stack_size(size)
        try:
            _thread.start_new_thread(_nothing, ())
        except RuntimeError:
            continue
        finally:
            _thread.stack_size(usual)
        return missing
    return errno.EAGAIN


def _nothing() -> None:
    """What a thread does that was started to see whether one can be."""


def told_as(kind: type[BaseException], program: str) -> str:
    """The bare name of a class of Python's own, that of any other behind its module's.

    By identity: what a class says of itself is the program's word. So one that was not there
    before the program is of no module that was. Of one that came later it is if it stands there.

    Args:
        kind: The class.
        program: The name of the program's module, for classes that are of no other.
    """
    if known := _KNOWN.get(id(kind)):
        return known[1]
    module = kind.__module__
    is_there = (
        type(module) is str  # Of no class that would say itself what it is equal to.
        and module not in _LOADED
        and _standing(module, kind.__qualname__) is kind
    )
    return f"{module if is_there else program}.{kind.__name__}"[:200]


def _standing(module: str, path: str) -> object:
    """What stands in a module at a path; None if nothing does."""
    found: object = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def _beyond_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without frames of ours, which only say where our files lie on the machine."""
    while trace and any(trace.tb_frame.f_globals is each for each in (globals(), vars(values))):
        trace = trace.tb_next
    return trace


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # Closed, or nobody reads it any more.
