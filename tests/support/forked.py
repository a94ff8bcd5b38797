"""Python programs that begin with the library imported: forks of a process that has done so.

A program that opens a campaign computes for most of a second before all that it needs is imported,
and tests start hundreds. `Popen` and `run` are those of `subprocess`, for programs of this
interpreter: `-c`, `-m`, a script, or the command `vladder`. Such a program is a child of its
caller, and has its own folder, environment and files. It lacks what only a process has that was
executed: flags of the interpreter other than `-P` and `-u`, and its own `/proc/PID/environ`. What
becomes of these, of imports and of memory is tested with programs of `subprocess`.

Run as a program, this module is the process that forks.
"""

import atexit
import builtins
import contextlib
import ctypes
import fcntl
import gc
import importlib
import marshal
import os
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from select import select
from threading import Lock
from time import sleep
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

PROGRAMS = ("verifier_ladder.campaign", "verifier_ladder.cli.app")
"""What programs of users import: who opens a campaign, and who types a command, has both."""
WORKERS = ("verifier_ladder.scheduler.engines.worker",)
"""What each worker of the library imports as it starts."""
_FOLDER = tempfile.gettempdir()
_ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
"""Both as they are before a test has changed them for itself."""
_SET_CHILD_SUBREAPER = 36
_FREE = 512
"""Descriptors below may be those that a program is to have."""
_SHIM = """#!{python} -IS
import marshal, os, signal, sys
from array import array
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

told = marshal.dumps((["vladder", *sys.argv[1:]], os.getcwd(), dict(os.environ), [0, 1, 2], True))
to = socket(AF_UNIX, SOCK_STREAM)
to.connect({address!r})
to.sendmsg([len(told).to_bytes(4, "little")], [(SOL_SOCKET, SCM_RIGHTS, array("i", [0, 1, 2]))])
while told:
    told = told[to.send(told):]
pid = int.from_bytes(to.recv(4), "little")
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(pid, number))
status = os.waitstatus_to_exitcode(int.from_bytes(to.recv(4), "little"))
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


class Program(NamedTuple):
    """What is to begin."""

    words: list[str]
    """Of its command line, without the interpreter."""
    folder: str
    environment: dict[str, str]
    descriptors: list[int]
    """Numbers of the files that come along, as the program is to have them."""
    is_waited_for: bool
    """Whether the one who asks is told how it ended; otherwise it becomes his child."""
    is_apart: bool = False
    """Whether it has a session of its own."""


# -- for tests ------------------------------------------------------------------------------------


class Popen(subprocess.Popen[Any]):
    """A program that begins with `modules` imported; the arguments are those of `subprocess`."""

    modules: tuple[str, ...] = PROGRAMS

    def _execute_child(self, *told: Any) -> None:
        """Begin it; the base class calls this with what it was given, and with the pipes' ends."""
        command, _, before, _, kept, folder, environment, *_ = told
        if before is not None:
            raise ValueError("nothing can be called in the fork")
        ends = told[10:16]
        near = [place if end == -1 else end for place, end in enumerate([*ends[::3], ends[5]])]
        program = Program(
            _words([os.fspath(word) for word in command]),
            str(Path(folder or ".").absolute()),
            dict(os.environ if environment is None else environment),
            [0, 1, 2, *kept],
            is_waited_for=False,
            is_apart=told[21],
        )
        try:
            self.pid = _server(self.modules).begin(program, [*near, *kept])
            self._child_created = True
        finally:
            self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


class WorkerPopen(Popen):
    """The same for a worker of the library."""

    modules = WORKERS


workers = SimpleNamespace(**{**vars(subprocess), "Popen": WorkerPopen})
"""Stands for `subprocess` where the library starts its workers."""


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    input: Any = None,  # noqa: A002 - its name there
    timeout: float | None = None,
    check: bool = False,
    capture_output: bool = False,
    **how: Any,
) -> "subprocess.CompletedProcess[Any]":
    """Run such a program to its end; the arguments are those of `subprocess.run`."""
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        how["stdin"] = subprocess.PIPE
    with Popen(command, **how) as process:
        try:
            out, said = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, said)
    if check:
        done.check_returncode()
    return done


def commands() -> Path:
    """A folder for `PATH`, whose `vladder` begins with the library imported."""
    return _server(PROGRAMS).folder


def _words(command: list[str]) -> list[str]:
    program, *words = command
    if program == sys.executable:
        return words
    if "vladder" != Path(program).name:
        raise ValueError(f"{program} is neither this interpreter nor vladder")
    return ["vladder", *words]


class _Server:
    """The process that forks, and how it is asked."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="verifier-ladder-forked-", dir=_FOLDER))
        self._address = str(self.folder / "socket")
        self._lock, self._owner = Lock(), os.getpid()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self._address)
            listening.listen(64)
            number = listening.fileno()
            # It lives as long as the pipe to it is open.
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(number), *modules], pass_fds=[number],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                env=_ENVIRONMENT,
            )  # fmt: skip
        shim = self.folder / "vladder"
        shim.write_text(_SHIM.format(python=sys.executable, address=self._address))
        shim.chmod(0o755)
        atexit.register(self._close)

    def _close(self) -> None:
        if os.getpid() == self._owner:
            self._process.terminate()
            self._process.communicate()
            shutil.rmtree(self.folder)

    def begin(self, program: Program, files: Sequence[int]) -> int:
        """Start a program as a child of this process; its process id."""
        told = marshal.dumps(tuple(program))
        with self._lock, socket.socket(socket.AF_UNIX) as to, _adopting():
            to.connect(self._address)
            socket.send_fds(to, [len(told).to_bytes(4, "little")], files)
            to.sendall(told)
            said = to.recv(4)
        if not said:
            raise RuntimeError("the process that forks has ended")
        return int.from_bytes(said, "little")


@cache
def _server(modules: Sequence[str]) -> _Server:
    return _Server(modules)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Become the parent of those whose own ends meanwhile."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert 0 == prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0), os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


# -- the process that forks -----------------------------------------------------------------------


def _serve(listening: socket.socket) -> Program | None:
    """Fork as asked, until who started this process ends; a fork returns what it is to be."""
    while True:
        ready, _, _ = select([listening.fileno(), 0], [], [])
        if 0 in ready:
            return None
        connection, _ = listening.accept()
        with connection:
            size, files, _, _ = socket.recv_fds(connection, 4, 250)
            told = connection.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL)
            program = Program(*marshal.loads(told))  # noqa: S302 - of who started this process
            if _is_fork(connection, program):
                _take(files, program.descriptors)
                connection.detach()
                listening.detach()
                return program
        for file in files:
            os.close(file)


def _is_fork(connection: socket.socket, program: Program) -> bool:
    """Fork, and tell the process id; true in the fork.

    Between the two stands a process that ends at once, so that the fork becomes the child of the
    one who asked, or waits for the fork's end.
    """
    reading, writing = os.pipe()
    if between := os.fork():
        os.close(writing)
        if not program.is_waited_for:
            pid = os.read(reading, 4)
            os.waitpid(between, 0)
            connection.sendall(pid)
        os.close(reading)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return False
    between = os.getpid()
    if not (number := os.fork()):
        while not program.is_waited_for and os.getppid() == between:
            sleep(0.0005)
        return True
    pid = number.to_bytes(4, "little")
    if program.is_waited_for:
        connection.sendall(pid)
        connection.sendall(os.waitpid(number, 0)[1].to_bytes(4, "little"))
    else:
        os.write(writing, pid)
    os._exit(0)


def _take(files: Sequence[int], descriptors: Sequence[int]) -> None:
    """Have these files under these numbers, and no others."""
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, _FREE) for file in files]
    for file, number in zip(moved, descriptors, strict=True):
        os.dup2(file, number)
    for name in list(Path("/proc/self/fd").iterdir()):
        if (number := int(name.name)) not in descriptors:
            with contextlib.suppress(OSError):
                os.close(number)


def _become(program: Program) -> None:
    """Run the program as the interpreter would that was started for it."""
    if program.is_apart:
        os.setsid()
    os.chdir(program.folder)
    os.environ.clear()
    os.environ.update(program.environment)
    tempfile.tempdir = None
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    words = list(program.words)
    flags = {words.pop(0) for _ in range(len(words)) if words[0] in ("-P", "-u")}
    if "-u" in flags or os.environ.get("PYTHONUNBUFFERED") or sys.stdout.isatty():
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    kind, *rest = words
    sys.argv = [kind, *rest[1:]] if kind in ("-c", "-m") else words
    first = {"-c": "", "-m": program.folder}.get(kind, str(Path(kind).absolute().parent))
    if "-P" not in flags:
        sys.path.insert(0, first)
    _execute(kind, rest)


def _execute(kind: str, rest: Sequence[str]) -> None:
    if kind == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    main = ModuleType("__main__")
    if kind == "-c":
        code = compile(rest[0], "<string>", "exec")
    elif kind == "vladder":
        code = compile("from verifier_ladder.cli import main; main()", "<vladder>", "exec")
    else:
        main.__file__ = kind
        code = compile(Path(kind).read_bytes(), kind, "exec")
    vars(main)["__builtins__"] = builtins
    sys.modules["__main__"] = main
    exec(code, vars(main))  # noqa: S102 - as the interpreter does


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        told = _serve(listening)
    if told is not None:
        _become(told)
