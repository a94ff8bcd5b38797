"""The sandbox as a verifier has it: declared with the verifier, started by the first run."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Generator, Sequence
from threading import Lock
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from verifier_ladder import metering
from verifier_ladder.arguments import checked
from verifier_ladder.errors import ConfigError, SandboxError
from verifier_ladder.tiers.sandbox import machine, values
from verifier_ladder.tiers.sandbox.backend import (
    AUTO,
    CAPABILITIES,
    FILES,
    INSTALL,
    TALK,
    Backend,
    chosen,
    gives,
    lacking,
    strength_of,
)
from verifier_ladder.tiers.sandbox.candidate import packed
from verifier_ladder.tiers.sandbox.outcome import UNREADABLE, Told, result_of
from verifier_ladder.tiers.sandbox.program import Input, Limits, Program, Result, Warmth
from verifier_ladder.tiers.sandbox.remote import Remote
from verifier_ladder.tiers.sandbox.wrapped import Wrapped
from verifier_ladder.tiers.sandbox.zygoteprocess import GoneError, Reply, Zygote

Running = Zygote | Wrapped | Remote
_PROBES = (
    Program({"main.py": "def solve(x): return x + 1"}),
    Program({"main.py": "import csv\ndef solve(x): return x + 1"}),
)
"""The second imports what is not warm, and so finds out whether Python's files can be read."""
_PAGE = 4096
"""Bytes by which a file system in memory counts."""
_STARVED_SECONDS = 30.0
"""For so long beyond twice its wall's time an input may wait for a core."""
_GONE: list[float] = []
"""What sandboxes took that are no more."""
_ALL: WeakSet[Sandbox] = WeakSet()
_SHARED: dict[tuple[Backend | None, Warmth, tuple[str, ...]], Sandbox] = {}


class Sandbox:
    """Runs hostile programs, one fresh process for each input.

    A verifier declares one as its attribute `sandbox`, and runs programs in it. Nothing is started
    before; then it stays warm, and ends with its process.

    Candidates are kept from the machine's files, network, processes and memory; what they say of
    themselves is their own word, so compare values out here and let no expected value in.
    The kernel is shared: a hole in it is a way out (docs, *The sandbox*).

    One run at a time: threads wait for each other. A process that is forked can't use it. What it
    was pickled from and all copies in another process share one there.

    Example:
        >>> program = Program({"main.py": "def solve(n): return n * n"})
        >>> with Sandbox() as sandbox:  # doctest: +SKIP
        ...     [result.value for result in sandbox.run(program, [Input((3,)), Input((4,))])]
        [9, 16]
    """

    def __init__(
        self,
        warmth: Warmth | None = None,
        *,
        needs: Sequence[str] = (),
        backend: Backend | None = None,
    ) -> None:
        """Declare a sandbox; nothing is started.

        Args:
            warmth: What each input starts with.
            needs: Capabilities without which no check makes sense, such as `"files"`: where the
                machine's sandbox lacks one, nothing is run, and the verifier abstains.
            backend: Which; by default the one that this machine's owner has chosen with
                `VLADDER_SANDBOX`, or the strongest that works.

        Raises:
            ConfigError: If there is no such capability.
        """
        if isinstance(needs, str) or not set(needs) <= CAPABILITIES:
            known = ", ".join(sorted(CAPABILITIES))
            raise ConfigError(f"needs={needs!r} of a sandbox: give a list of {known}")
        self.warmth, self.needs = warmth or Warmth(), tuple(sorted(set(needs)))
        self._backend = backend
        self._zygote: Running | None = None
        self._owner = 0
        self._lost = self._start = 0.0
        self._lock = Lock()
        _ALL.add(self)

    @classmethod
    def open(cls, *, backends: Sequence[str] = AUTO, warmth: Warmth | None = None) -> Self:
        """Start the first of some back ends that works on this machine.

        Args:
            backends: Their classes, in the order to try.
            warmth: What each input starts with.

        Raises:
            SandboxError: If none works; it says why, and what to install.
            ConfigError: If a class is unknown, or a module to warm is not installed.
        """
        reasons = []
        for kind in backends:
            sandbox = cls(warmth, backend=Backend(kind))
            if not (why := _failing(sandbox)):
                return sandbox
            sandbox.close()
            reasons.append(f"{kind}: {why}")
        raise SandboxError(f"no sandbox works here ({'; '.join(reasons)}). To have one: {INSTALL}")

    def fresh(self) -> Sandbox:
        """The same declaration, not started."""
        return Sandbox(self.warmth, needs=self.needs, backend=self._backend)

    def on(self, backend: Backend) -> Sandbox:
        """The same declaration on a certain back end, not started."""
        return Sandbox(self.warmth, needs=self.needs, backend=backend)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a declaration that names its back end; the other process starts its own."""
        return _shared, (self._backend, self.warmth, self.needs)

    @property
    def backend(self) -> Backend:
        """The back end; chosen when it is first asked for, and kept."""
        if self._backend is None:
            self._backend = chosen()
        return self._backend

    @property
    def name(self) -> str:
        """The back end's class and version, such as `namespaces/2`."""
        return self.backend.name

    @property
    def strength(self) -> int:
        """How much it keeps from a candidate (`STRENGTHS`)."""
        return strength_of(self.backend.kind)

    @property
    def identity(self) -> dict[str, Any]:
        """All of it that results may depend on, as part of a check's key."""
        return {
            "class": self.name, "modules": self.warmth.modules, "read": self.warmth.read,
        }  # fmt: skip

    def problem(self) -> str:
        """Why nothing can be run in it on this machine, and what to do; "" if it can."""
        for need in self.needs:
            if not self.backend.gives(need):
                return lacking(self.backend, need)
        if why := self.backend.problem():
            return f"the {self.backend.kind} sandbox does not work here ({why}): {INSTALL}"
        try:
            self.warmth.paths()
        except ConfigError as error:
            return str(error)
        return ""

    @property
    def process(self) -> int:
        """The id of the process whose descendants are all that runs in here; 0 for none."""
        return self._zygote.pid if self._zygote else 0

    @property
    def seconds(self) -> float:
        """Seconds of processor time of all inputs so far, what carries them out included.

        None of those on another machine: they are charged as they end.
        """
        zygote = self._zygote
        return self._lost + (zygote.seconds if zygote else 0.0)

    def start(self) -> None:
        """Start it if it does not run, so that no candidate is charged for that.

        Raises:
            SandboxError: If it does not work here, or lacks what is needed.
        """
        with self._lock:
            self._running()

    def _running(self) -> Running:
        if self._zygote is None:
            before = _children_seconds()
            try:
                self._zygote, self._owner = _started(self.backend, self.warmth), os.getpid()
            finally:
                self._spare_what_failed(_children_seconds() - before)
            self._start = metering.seconds_of(self._zygote.pid) if self._zygote.pid else 0.0
            metering.spare(self._start)
        for need in self.needs:
            self._demand(need)
        return self._zygote

    def _spare_what_failed(self, seconds: float) -> None:
        """Charge nobody for starts that came to nothing: the kernel tells of them as of others."""
        self._lost -= seconds
        metering.spare(seconds)

    def _demand(self, capability: str) -> None:
        if not self.gives(capability):
            raise SandboxError(lacking(self.backend, capability))

    def gives(self, capability: str) -> bool:
        """Whether it has a capability; of a command that is known for sure once it runs."""
        inside = self._zygote.kind if self._zygote else self.backend.kind
        return self.backend.gives(capability) and gives(inside, capability)

    @checked()
    def run(
        self, program: Program, inputs: Sequence[Input], limits: Limits | None = None
    ) -> list[Result]:
        """Run a program once for each input, in a fresh process and fresh namespaces each.

        Returns:
            One result for each input, in their order. Whatever the program does is there.

        Raises:
            SandboxError: If the sandbox itself failed, or can't give what `limits` ask for.
            ConfigError: If an argument is of another type, or one of the function no plain data.
        """
        return self._results(program, inputs, limits or Limits())

    @checked("partner")
    def talk(
        self,
        program: Program,
        partner: Generator[bytes, bytes, None],
        limits: Limits | None = None,
    ) -> Result:
        r"""Run a program once, in conversation: all that it reads depends on what it has written.

        Args:
            program: A script or a command.
            partner: Gives what the program reads first, then takes each line of its standard
                output, without its end, and gives what it reads next. The program is ended when
                the partner is done.
            limits: What it may take.

        Returns:
            How the program ended; if the partner was done first, that means nothing.

        Raises:
            SandboxError: If the sandbox itself failed, or can't hold a conversation.
            ConfigError: If an argument is of another type, or the partner does not begin.

        Example:
            >>> program = Program({"main.py": "print(int(input()) + 1)"}, entry="main.py")
            >>> def partner():
            ...     told.append((yield b"41\n"))
            >>> told = []
            >>> with Sandbox(needs=("talk",)) as sandbox:  # doctest: +SKIP
            ...     sandbox.talk(program, partner()), told
        """
        opening, said = _opening(partner), _Partner(partner)
        (result,) = self._results(program, [Input(stdin=opening)], limits or Limits(), said.reply)
        if said.error is not None:
            raise said.error
        return result

    def _results(
        self,
        program: Program,
        inputs: Sequence[Input],
        limits: Limits,
        reply: Reply | None = None,
    ) -> list[Result]:
        arguments = [_arguments(each) for each in inputs]
        if self._zygote is not None and self._owner != os.getpid():
            # Not only told by the zygote: a thread that is not here may hold the lock.
            raise SandboxError("this sandbox belongs to another process: open one after the fork")
        with self._lock:
            self._running()
            if limits.files:
                self._demand(FILES)
            if reply is not None:
                self._demand(TALK)
            before, results = machine.failures(), []
            for told, each in zip(arguments, inputs, strict=True):
                request = _request(program, told, each, limits)
                results.append(self._run(program, request, each.stdin, limits, reply))
            self._blame_nobody_for_the_machine(before, results, limits)
            return results

    def _run(
        self, program: Program, request: bytes, stdin: bytes, limits: Limits, reply: Reply | None
    ) -> Result:
        try:
            told = self._told(request, stdin, limits, reply)
        except BaseException:
            self.close()
            raise
        try:
            return result_of(told, program, limits)
        except UNREADABLE as error:
            raise SandboxError(f"the sandbox told what can't be read: {error}") from None

    def _told(self, request: bytes, stdin: bytes, limits: Limits, reply: Reply | None) -> Told:
        """Run one input; where the process that it is to run in has ended before, in another."""
        try:
            return self._asked(request, stdin, limits, reply)
        except GoneError:
            self.close()
            return self._asked(request, stdin, limits, reply)

    def _asked(self, request: bytes, stdin: bytes, limits: Limits, reply: Reply | None) -> Told:
        running = self._running()
        if reply is not None and isinstance(running, Zygote):
            return running.run(request, stdin, limits, reply)
        return running.run(request, stdin, limits)

    def _blame_nobody_for_the_machine(
        self, before: machine.Failures, results: Sequence[Result], limits: Limits
    ) -> None:
        """See that what programs came to is their own doing.

        Raises:
            SandboxError: If the machine had too little of something that they may have.
        """
        after, zygote = machine.failures(), self.process if self.backend.kind in AUTO else 0
        for ended in {result.ended for result in results}:
            if why := machine.why_not_its_own(ended, before, after, limits, zygote):
                raise SandboxError(why)

    def close(self) -> None:
        """End all its processes; a later run starts them again."""
        if self._zygote is not None:
            zygote, self._zygote, before = self._zygote, None, _children_seconds()
            zygote.close()
            # What the kernel tells from now on, by itself, is not to be told twice, and its start
            # not at all.
            self._lost += max(zygote.seconds - (_children_seconds() - before), -self._start)

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        """End its processes with whoever held it; what they took stays counted."""
        # It was made whole, and the interpreter is not ending, which takes names away, `sys` too.
        if hasattr(self, "_lock") and not is_ending():
            self.close()
            _GONE.append(self._lost)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


class _Partner:
    """Whoever answers a program, and what went wrong there.

    An error is kept until the program has ended: it says nothing of the sandbox.
    """

    def __init__(self, partner: Generator[bytes, bytes, None]) -> None:
        self._partner = partner
        self.error: Exception | None = None

    def reply(self, line: bytes) -> bytes | None:
        """What is said next; None once nothing is."""
        try:
            return self._partner.send(line)
        except StopIteration:
            return None
        except Exception as error:  # noqa: BLE001 - it is raised again where it belongs
            self.error = error
            return None


def _opening(partner: Any) -> bytes:
    """What a partner says first.

    Raises:
        ConfigError: If it is none.
    """
    opening = next(partner, None) if isinstance(partner, Generator) else None
    if not isinstance(opening, bytes):
        raise ConfigError(
            f"Sandbox.talk: partner={partner!r:.80}: give a generator that has not begun and "
            "yields bytes, first those that the program is to read first"
        )
    return opening


def _shared(backend: Backend | None, warmth: Warmth, needs: tuple[str, ...]) -> Sandbox:
    """The one of this process that was declared so: verifiers that are alike share it."""
    name = (backend, warmth, needs)
    if name not in _SHARED:
        _SHARED[name] = Sandbox(warmth, needs=needs, backend=backend)
    return _SHARED[name]


def _started(backend: Backend, warmth: Warmth) -> Running:
    """Start what runs the inputs.

    Raises:
        SandboxError: If it does not work here.
    """
    if backend.kind == "remote":
        return Remote(backend.url, backend.token, warmth)
    if backend.kind != "command":
        try:
            return Zygote(backend.kind, warmth)
        except OSError as error:  # Such as a full disk, on which nothing can be noted.
            raise SandboxError(f"the sandbox can't be started: {error}") from error
    reasons = []
    for kind in AUTO:
        try:
            return Wrapped(backend.command, kind, warmth)
        except SandboxError as error:
            reasons.append(f"{kind} inside it: {error}")
    raise SandboxError("; ".join(reasons))


def _children_seconds() -> float:
    """Seconds of processor time of children that this process has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tried(backend: Backend) -> str:
    """Why a harmless program does not run in a sandbox of this back end; "" if it does."""
    with Sandbox(backend=backend) as sandbox:
        return _failing(sandbox)


def _failing(sandbox: Sandbox) -> str:
    try:
        (result,) = sandbox.run(_PROBES[sandbox.backend.kind in AUTO], [Input((1,))])
    except SandboxError as error:
        return str(error)
    if result.value == 2:  # noqa: PLR2004 - of the probe
        return ""
    return f"a plain program {result.ended}: {result.message}"


def _taken() -> float:
    """Seconds of processor time of all sandboxes of this process, as far as it can't see them."""
    return sum(_GONE) + sum(sandbox.seconds for sandbox in list(_ALL))


metering.report(_taken, lambda: [sandbox.process for sandbox in list(_ALL)])


def _arguments(given: Input) -> str:
    """The arguments of a function as text.

    Raises:
        ConfigError: If they are no plain data.
    """
    try:
        return values.encode((given.args, dict(given.kwargs))).decode()
    except values.ValueTextError as error:
        raise ConfigError(f"the arguments can't be given to a sandbox: {error}") from None


def _request(program: Program, arguments: str, given: Input, limits: Limits) -> bytes:
    """What a supervisor and a candidate read."""
    file, _, function = program.entry.partition(":")
    sizes = [[name, len(each)] for name, each in zip(program.files, program.contents, strict=True)]
    request = {
        "start": program.kind,
        "files": sizes,
        "file": file,
        "function": function,
        "command": program.command,
        "programs": program.programs,
        "arguments": arguments,
        "argv": given.argv,
    }
    folders = {name.rpartition("/")[0] for name in program.files} - {""}
    allowed = {
        "cpu": limits.cpu,
        "wall": limits.wall,
        "longest": 2 * limits.wall + _STARVED_SECONDS,
        "memory": limits.memory,
        "processes": limits.processes,
        "files": limits.files,
        "file_bytes": limits.file_bytes,
        "own_files": 1 + len(sizes) + sum(1 + name.count("/") for name in folders),
        "own_bytes": sum(_PAGE + len(each) for each in program.contents),
        "keep": program.keep,
    }
    return packed(allowed, request, program.contents)
