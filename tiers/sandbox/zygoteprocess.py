"""The worker's end of a zygote: a process outside, the pipes of one input, and what came out."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import IO, Any, NamedTuple

from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox import values, zygote
from verifier_ladder.tiers.sandbox.outcome import Told
from verifier_ladder.tiers.sandbox.program import Limits, Warmth

_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}
"""All that there is: no secret of the worker's gets in. Sets have one order in all runs.

By default the C library reserves 64 MiB of address space for each thread that allocates, up to 8
times for each core, so that 7 threads would use up the usual limit of memory. With one such heap
beside the first, threads that allocate without pause take some 1.4 times the processor time; with
none, twice.
"""
_NAME = "verifier-ladder-sandbox"
"""What lists of processes show of it. Options come by a pipe: programs may read a command line."""
_BOOT = """
import sys, types
name = ""
for part in ("verifier_ladder", ".tiers", ".sandbox"):
    name += part
    sys.modules[name] = module = types.ModuleType(name)
    module.__path__ = [{here}]
from verifier_ladder.tiers.sandbox.zygote import main
main({options})
"""
"""Loads the zygote's files alone, not the package around them."""
_START_SECONDS, _GRACE_SECONDS = 60.0, 60.0
_MEMORY, _LEAST_ROOM = "/dev/shm", 1 << 28  # noqa: S108 - a folder of its own is made there
"""A file system in memory, and the bytes that must be free to use it."""
_CHUNK = 1 << 16
_LARGEST_RESULT = values.LARGEST + _CHUNK
Reply = Callable[[bytes], bytes | None]
"""What is said to a program that has written a line; None ends it."""


class _Pipe(NamedTuple):
    here: int
    there: int


class GoneError(SandboxError):
    """The process had ended before it was given anything to run."""


class Zygote:
    """The worker's end of a zygote process."""

    def __init__(self, kind: str, warmth: Warmth) -> None:
        """Start it, and wait until it is warm.

        Raises:
            SandboxError: If it can't be started, or this back end does not work here.
        """
        self.kind = kind
        self._owner = os.getpid()
        self.seconds = 0.0
        """Seconds of processor time that its inputs have taken, as far as they are done."""
        # The zygote makes it, and its guard removes it; in namespaces nothing lies outside.
        self._folder = str(Path(_place(), f"vladder-box-{os.urandom(8).hex()}"))
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
        boot = _BOOT.format(here=ascii(here), options=ascii(options)).encode()
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                    [python, "-s", "-P", "-S", "-", _NAME],
                    env=_ENVIRONMENT,
                    cwd="/",
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._errors,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
                _send(process.stdin, boot)
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

    def run(
        self, request: bytes, stdin: bytes, limits: Limits, reply: Reply | None = None
    ) -> Told:
        """Run one input.

        Args:
            request: What is run.
            stdin: All that it can read, or what is said to it first.
            limits: What it may take.
            reply: Answers each line that it writes; None where it is only listened to.

        Raises:
            GoneError: If it had ended before, so that nothing was run.
            SandboxError: If the sandbox failed.
        """
        if os.getpid() != self._owner:
            raise SandboxError("this sandbox belongs to another process: open one after the fork")
        try:
            run = _Run(self._channel, request, stdin, limits, reply)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise GoneError(f"the sandbox failed: {self._why(str(error).encode())}") from error
        except OSError as error:
            raise SandboxError(f"the sandbox failed: {self._why(str(error).encode())}") from error
        try:
            told = run.finish()
            self.seconds = self._done()
        except OSError as error:
            raise SandboxError(f"the sandbox failed: {self._why(str(error).encode())}") from error
        return told

    def _done(self) -> float:
        """Wait until it is ready for the next input; what all took together."""
        said = self._channel.recv(zygote.DONE.size, socket.MSG_WAITALL)
        if len(said) != zygote.DONE.size:
            raise SandboxError(self._why(b""))
        return float(zygote.DONE.unpack(said)[0])

    def close(self) -> None:
        """End it with all that runs in it."""
        if os.getpid() == self._owner:
            with suppress(OSError):  # It has ended before.
                # A child of this process may hold it too, so that closing it alone tells nothing.
                self._channel.shutdown(socket.SHUT_RDWR)
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
        if os.getpid() == self._owner:
            shutil.rmtree(self._folder, ignore_errors=True)


def _send(pipe: IO[bytes] | None, text: bytes) -> None:
    """Write all to a pipe; who has ended before it was read tells why elsewhere."""
    if pipe is not None:
        with suppress(BrokenPipeError), pipe:
            pipe.write(text)


def _place() -> str:
    """Where a folder for programs is made: in memory, if they may be started there.

    On a disk, a folder with a file that comes and goes with each input is a seventh of its cost:
    ext4 takes no inode twice within seconds, and looks through all of them for another.
    """
    try:
        about = os.statvfs(_MEMORY)
    except OSError:
        return tempfile.gettempdir()
    is_fit = os.access(_MEMORY, os.W_OK) and not about.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)
    has_room = about.f_bavail * about.f_frsize >= _LEAST_ROOM
    return _MEMORY if is_fit and has_room else tempfile.gettempdir()


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


class _Talk:
    """A conversation with a program, line by line; nothing is said before a line has come."""

    def __init__(self, fd: int, opening: bytes, reply: Reply) -> None:
        """Begin it.

        Args:
            fd: What the program reads from.
            opening: What is said first.
            reply: Answers each line, which it gets without its end.
        """
        self.fd, self._unsent, self._reply = fd, bytearray(opening), reply
        self._line = b""
        os.set_blocking(fd, False)

    def hear(self, part: bytes) -> bool:
        """Answer the lines that are whole by now; False once nothing more is to be said."""
        *lines, self._line = (self._line + part).split(b"\n")
        for line in lines:
            answer = self._reply(line)
            if answer is None:
                return False
            self._unsent += answer
        return True

    def send(self) -> bool:
        """Say what is still to be said; whether some of it is left."""
        try:
            del self._unsent[: os.write(self.fd, self._unsent)]
        except BlockingIOError:
            return True
        except BrokenPipeError:  # Nobody is there any more.
            self._unsent.clear()
        return bool(self._unsent)


class _Run:
    """One input on its way: its pipes, and what has come out of them."""

    def __init__(
        self,
        channel: socket.socket,
        request: bytes,
        stdin: bytes,
        limits: Limits,
        reply: Reply | None,
    ) -> None:
        """Send it off.

        Raises:
            OSError: If there are no descriptors left, or the zygote is gone.
        """
        self._limits = limits
        self._open: list[int] = []
        self._talk: _Talk | None = None
        self._poller = select.poll()
        try:
            # stdout, stderr, result, report: written there. Control: written here to stop.
            pipes = [self._pipe() for _ in range(4)]
            control, self._control = self._pipe()
            given = self._sealed(stdin) if reply is None else self._begun(stdin, reply)
            sent = [self._sealed(request), given, *(p.there for p in pipes), control]
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

    def _begun(self, opening: bytes, reply: Reply) -> int:
        """Begin a conversation; what the program reads from."""
        given, ours = self._pipe()
        self._talk = _Talk(ours, opening, reply)
        self._poller.register(ours, select.POLLOUT)
        return given

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
        try:
            found: dict[str, Any] = json.loads(streams[report] or b'{"error": "no report came"}')
        except ValueError:
            found = {"error": "its supervisor was ended while it reported"}
        if "error" in found:
            raise SandboxError(f"the sandbox failed: {found['error']}")
        room = self._limits.output - len(streams[output])
        flooded |= len(streams[errors]) > room
        shown = streams[errors][: max(room, 0)]
        return Told(found, streams[output], shown, streams[result], flooded)

    def _gather(self, deadline: float) -> bool:
        """Read until the report has come, and then what lies in the pipes of the candidate.

        Not to their ends: what a candidate has sent through a socket, the kernel may close late.

        Returns:
            Whether more came than is allowed.
        """
        flooded, poller = False, self._poller
        output, *_, report = waiting = dict(self._streams)
        for fd in waiting:
            os.set_blocking(fd, False)
            poller.register(fd, select.POLLIN)
        while report in waiting:
            ready = poller.poll(max(deadline - monotonic(), 0) * 1000)
            if not ready:
                raise SandboxError("the sandbox does not answer: the machine may be overloaded")
            for fd, _ in ready:
                if fd not in waiting:
                    self._say()
                    continue
                try:
                    part = os.read(fd, _CHUNK)
                except BlockingIOError:
                    continue  # The candidate has read it itself.
                if not part:
                    poller.unregister(fd)
                    del waiting[fd]
                elif not waiting[fd].add(part) and not flooded:
                    flooded = True
                    self._stop()
                elif fd == output:
                    self._answer(part)
        return any(_drain(fd, stream) for fd, stream in waiting.items()) or flooded

    def _say(self) -> None:
        """Say what there is to say to a program that can take it."""
        if self._talk is not None and not self._talk.send():
            self._poller.unregister(self._talk.fd)

    def _answer(self, part: bytes) -> None:
        """Answer what a program has written, if anybody talks to it."""
        if self._talk is None:
            return
        if self._talk.hear(part):
            self._poller.register(self._talk.fd, select.POLLOUT)
        else:
            with suppress(KeyError):  # Nothing may have been left to say.
                self._poller.unregister(self._talk.fd)
            self._talk = None
            self._stop()

    def _stop(self) -> None:
        with suppress(BrokenPipeError):  # It is about to end anyhow.
            os.write(self._control, b"x")

    def _close(self, *fds: int) -> None:
        for fd in fds:
            if fd in self._open:
                self._open.remove(fd)
                os.close(fd)


def _drain(fd: int, stream: _Stream) -> bool:
    """Read what is there; True if that is more than is allowed."""
    with suppress(BlockingIOError):
        while part := os.read(fd, _CHUNK):
            if not stream.add(part):
                return True
    return False


def _seal(fd: int) -> None:
    import fcntl

    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
