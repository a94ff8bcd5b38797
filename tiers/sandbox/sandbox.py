"""The sandbox as a worker sees it: open one, run programs in it, close it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

from verifier_ladder.errors import ConfigError, SandboxError
from verifier_ladder.tiers.sandbox import values, zygote
from verifier_ladder.tiers.sandbox.outcome import Told, result_of
from verifier_ladder.tiers.sandbox.program import Input, Limits, Program, Result

STRENGTHS: Mapping[str, int] = {"landlock": 1, "namespaces": 2}
"""Back ends, and how much each keeps from a candidate; more is stronger."""
INSTALL = (
    "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0; in Docker --security-opt "
    "seccomp=unconfined), or use Linux 6.12 or newer with landlock (lsm=landlock)"
)
"""What to do where no back end works."""
_VERSION = 1
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""All that there is: no secret of the worker's gets in. Sets have one order in all runs."""
_BOOT = """
import sys, types
name = ""
for part in ("verifier_ladder", ".tiers", ".sandbox"):
    name += part
    sys.modules[name] = module = types.ModuleType(name)
    module.__path__ = [sys.argv[2]]
from verifier_ladder.tiers.sandbox.zygote import main
main()
"""
"""Loads the zygote's files alone, not the package around them."""
_START_SECONDS, _GRACE_SECONDS = 60.0, 60.0
_CHUNK = 1 << 16
_LARGEST_RESULT = values.LARGEST + _CHUNK
_PROBE = Program({"main.py": "def solve(x): return x + 1"})


@dataclass(frozen=True, slots=True)
class Warmth:
    """What the interpreter has loaded before the first input, and what programs may read.

    Example:
        >>> Warmth(modules=("numpy",)).modules
        ('numpy',)
    """

    modules: tuple[str, ...] = ()
    """Imported once; each input starts with them. All else beside them can be imported too."""
    read: tuple[str, ...] = ()
    """More files and folders that programs may read, at their own absolute paths."""

    def paths(self) -> list[str]:
        """The folders that hold the modules.

        Raises:
            ConfigError: If one of them is not installed.
        """
        found = []
        for name in self.modules:
            spec = find_spec(name.partition(".")[0])
            if spec is None or spec.origin is None:
                raise ConfigError(f"the sandbox can't warm {name}: it is not installed")
            if spec.origin not in {"built-in", "frozen"}:
                levels = 2 if spec.submodule_search_locations else 1
                found.append(str(Path(spec.origin).resolve().parents[levels - 1]))
        return list(dict.fromkeys(found))


class Sandbox:
    """Runs hostile programs, one fresh process for each input.

    Candidates are kept from the machine's files, network, processes and memory; what they say of
    themselves is their own word, so compare values out here and let no expected value in.
    The kernel is shared: a hole in it is a way out (docs, *The sandbox*).

    One run at a time: threads wait for each other. A process that is forked can't use it.

    Example:
        >>> program = Program({"main.py": "def solve(n): return n * n"})
        >>> with Sandbox.open() as sandbox:  # doctest: +SKIP
        ...     [result.value for result in sandbox.run(program, [Input((3,)), Input((4,))])]
        [9, 16]
    """

    def __init__(self, kind: str, warmth: Warmth) -> None:
        """Describe a sandbox of one back end; `open` finds one that works here."""
        self._kind, self._warmth = kind, warmth
        self._zygote: _Zygote | None = None
        self._lock = Lock()

    @classmethod
    def open(
        cls, *, backends: Sequence[str] = ("namespaces", "landlock"), warmth: Warmth | None = None
    ) -> Self:
        """Open the first back end that works on this machine.

        Args:
            backends: Names to try, in this order.
            warmth: What each input starts with.

        Raises:
            SandboxError: If none works; it says why, and what to install.
            ConfigError: If a name is unknown, or a module to warm is not installed.
        """
        reasons = []
        for kind in backends:
            if kind not in STRENGTHS:
                known = ", ".join(STRENGTHS)
                raise ConfigError(f"no sandbox is named {kind!r}; there are {known}")
            sandbox = cls(kind, warmth or Warmth())
            try:
                (result,) = sandbox.run(_PROBE, [Input((1,))])
            except SandboxError as error:
                sandbox.close()
                reasons.append(f"{kind}: {error}")
                continue
            if result.value == 2:  # noqa: PLR2004 - of the probe
                return sandbox
            sandbox.close()
            reasons.append(f"{kind}: a plain program {result.ended}: {result.message}")
        raise SandboxError(f"no sandbox works here ({'; '.join(reasons)}). To have one: {INSTALL}")

    @property
    def name(self) -> str:
        """The back end and its version, such as `namespaces/1`; it belongs into a check's key."""
        return f"{self._kind}/{_VERSION}"

    @property
    def strength(self) -> int:
        """How much it keeps from a candidate (`STRENGTHS`)."""
        return STRENGTHS[self._kind]

    @property
    def process(self) -> int:
        """The id of the process whose descendants are all that runs in here; 0 for none.

        What an input took is told by its result; whoever meters a worker finds the rest here.
        """
        return self._zygote.pid if self._zygote else 0

    def run(
        self, program: Program, inputs: Sequence[Input], limits: Limits | None = None
    ) -> list[Result]:
        """Run a program once for each input, in a fresh process and fresh namespaces each.

        Returns:
            One result for each input, in their order. Whatever the program does is there.

        Raises:
            SandboxError: If the sandbox itself failed, or can't give what `limits` ask for.
            ConfigError: If an argument is no plain data.
        """
        limits = limits or Limits()
        if limits.files and self._kind == "landlock":
            raise SandboxError(
                "the landlock sandbox has no folder to write into; use limits with files=0, or a "
                f"machine with namespaces: {INSTALL}"
            )
        requests = [_request(program, each, limits) for each in inputs]
        with self._lock:
            killed = _killed_for_memory()
            return [
                self._run(program, request, each.stdin, limits, killed)
                for request, each in zip(requests, inputs, strict=True)
            ]

    def _run(
        self, program: Program, request: bytes, stdin: bytes, limits: Limits, killed: int
    ) -> Result:
        if self._zygote is None:
            self._zygote = _Zygote(self._kind, self._warmth)
        try:
            told = self._zygote.run(request, stdin, limits)
        except BaseException:
            self.close()
            raise
        result = result_of(told, program, limits)
        if result.signal == signal.SIGKILL and _killed_for_memory() > killed:
            raise SandboxError("the machine ran out of memory while a candidate ran")
        return result

    def close(self) -> None:
        """End all its processes; a later run starts them again."""
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


def _request(program: Program, given: Input, limits: Limits) -> bytes:
    """What a supervisor reads."""
    file, _, function = program.entry.partition(":")
    try:
        arguments = values.encode((given.args, dict(given.kwargs))).decode()
    except values.ValueTextError as error:
        raise ConfigError(f"the arguments can't be given to a sandbox: {error}") from None
    sources = {
        name: base64.b64encode(text.encode() if isinstance(text, str) else text).decode()
        for name, text in program.files.items()
    }
    request = {
        "start": program.kind,
        "files": sources,
        "file": file,
        "function": function,
        "command": program.command,
        "programs": program.programs,
        "keep": program.keep,
        "arguments": arguments,
        "argv": given.argv,
        "limits": {
            "cpu": limits.cpu,
            "wall": limits.wall,
            "memory": limits.memory,
            "files": limits.files,
            "file_bytes": limits.file_bytes,
            "processes": limits.processes,
        },
    }
    return json.dumps(request).encode()


def _killed_for_memory() -> int:
    """How many processes of this machine the kernel has killed because its memory was full."""
    try:
        counts = Path("/proc/vmstat").read_bytes().split(b"\noom_kill ")[1:]
    except OSError:
        return 0
    return int(counts[0].split(maxsplit=1)[0]) if counts else 0


class _Pipe(NamedTuple):
    here: int
    there: int


class _Zygote:
    """The worker's end of a zygote process."""

    def __init__(self, kind: str, warmth: Warmth) -> None:
        """Start it, and wait until it is warm.

        Raises:
            SandboxError: If it can't be started, or this back end does not work here.
        """
        self._owner = os.getpid()
        # In namespaces, files lie where nothing has to be removed.
        self._folder = tempfile.mkdtemp(prefix="vladder-box-") if kind == "landlock" else ""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long
        try:
            self._channel, self._process = self._started(kind, warmth)
        except OSError as error:
            self._remove()
            raise SandboxError(f"the sandbox can't be started: {error}") from error
        try:
            self._greet()
        except SandboxError:
            self.close()
            raise

    def _started(self, kind: str, warmth: Warmth) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair()
        options = {
            "kind": kind,
            "worker": os.getpid(),
            "channel": theirs.fileno(),
            "warm": warmth.modules,
            "paths": warmth.paths(),
            "read": warmth.read,
            "folder": self._folder,
        }
        # The file itself, not a link in a virtual environment: programs may start it again.
        python = os.path.realpath(sys.executable)
        here = str(Path(zygote.__file__).parent)
        command = [python, "-s", "-P", "-S", "-c", _BOOT, json.dumps(options), here]
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                    command,
                    env=_ENVIRONMENT,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._errors,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        return ours, process

    @property
    def pid(self) -> int:
        """The id of its first process."""
        return self._process.pid

    def _greet(self) -> None:
        self._channel.settimeout(_START_SECONDS)
        try:
            said = self._channel.recv(_CHUNK)
        except OSError as error:
            said = str(error).encode()
        if said != zygote.READY:
            raise SandboxError(self._why(said.removeprefix(zygote.FAILED)))

    def _why(self, said: bytes) -> str:
        """What is known of a zygote that failed."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return said.decode(errors="replace") or (lines or ["its zygote has ended"])[-1]

    def run(self, request: bytes, stdin: bytes, limits: Limits) -> Told:
        """Run one input.

        Raises:
            SandboxError: If the sandbox failed.
        """
        if os.getpid() != self._owner:
            raise SandboxError("this sandbox belongs to another process: open one after the fork")
        try:
            run = _Run(self._channel, request, stdin, limits)
            told = run.finish()
            if self._channel.recv(1) != zygote.DONE:
                raise SandboxError(self._why(b""))
        except OSError as error:
            raise SandboxError(f"the sandbox failed: {self._why(str(error).encode())}") from error
        return told

    def close(self) -> None:
        """End it with all that runs in it."""
        self._channel.close()
        if os.getpid() == self._owner:
            self._end()
        self._remove()

    def _end(self) -> None:
        try:
            self._process.wait(timeout=5.0)  # It sees that its channel is closed.
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _remove(self) -> None:
        self._errors.close()
        if self._folder and os.getpid() == self._owner:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(slots=True)
class _Stream:
    """What comes out of one pipe, up to a limit."""

    most: int
    data: bytearray = field(default_factory=bytearray)

    def add(self, part: bytes) -> bool:
        """Take a part; False when there is too much."""
        room = self.most - len(self.data)
        self.data += part[:room]
        return len(part) <= room


class _Run:
    """One input on its way: its pipes, and what has come out of them."""

    def __init__(
        self, channel: socket.socket, request: bytes, stdin: bytes, limits: Limits
    ) -> None:
        """Send it off.

        Raises:
            OSError: If there are no descriptors left, or the zygote is gone.
        """
        self._limits = limits
        self._open: list[int] = []
        try:
            # stdout, stderr, result, report: written there. Control: closed here to stop.
            pipes = [self._pipe() for _ in range(4)]
            control, self._control = self._pipe()
            sent = [self._sealed(request), self._sealed(stdin), *(p.there for p in pipes), control]
            socket.send_fds(channel, [zygote.RUN], sent)
        except BaseException:
            self._close(*self._open)
            raise
        self._close(*sent)
        self._streams = dict(
            zip(
                (pipe.here for pipe in pipes),
                map(_Stream, (limits.output, limits.output, _LARGEST_RESULT, 1 << 40)),
                strict=True,
            )
        )

    def _pipe(self) -> _Pipe:
        pipe = _Pipe(*os.pipe())
        self._open += pipe
        return pipe

    def _sealed(self, content: bytes) -> int:
        """A file in memory that can't be changed by whom it is given to."""
        fd = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._open.append(fd)
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        _seal(fd)
        return fd

    def finish(self) -> Told:
        """Gather what comes out until the supervisor has reported.

        Raises:
            SandboxError: If it reports its own failure, or never.
        """
        output, errors, result, report = self._streams
        deadline = monotonic() + 2 * self._limits.wall + _GRACE_SECONDS
        try:
            flooded = self._gather(deadline)
            streams = {fd: bytes(stream.data) for fd, stream in self._streams.items()}
        finally:
            self._close(*self._open)
        found: dict[str, Any] = json.loads(streams[report] or b'{"error": "no report came"}')
        if "error" in found:
            raise SandboxError(f"the sandbox failed: {found['error']}")
        room = self._limits.output - len(streams[output])
        flooded |= len(streams[errors]) > room
        shown = streams[errors][: max(room, 0)]
        return Told(found, streams[output], shown, streams[result], flooded)

    def _gather(self, deadline: float) -> bool:
        """Read all pipes to their ends; True if more came than is allowed."""
        flooded = False
        poller = select.poll()
        waiting = dict(self._streams)
        for fd in waiting:
            poller.register(fd, select.POLLIN)
        while waiting:
            ready = poller.poll(max(deadline - monotonic(), 0) * 1000)
            if not ready:
                raise SandboxError("the sandbox does not answer: the machine may be overloaded")
            for fd, _ in ready:
                part = os.read(fd, _CHUNK)
                if not part:
                    poller.unregister(fd)
                    del waiting[fd]
                elif not waiting[fd].add(part) and not flooded:
                    flooded = True
                    self._close(self._control)
        return flooded

    def _close(self, *fds: int) -> None:
        for fd in fds:
            if fd in self._open:
                self._open.remove(fd)
                os.close(fd)


def _seal(fd: int) -> None:
    import fcntl

    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
