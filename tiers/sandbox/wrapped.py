"""A zygote inside a command of the machine's owner: bubblewrap, nsjail, runsc, docker."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any

from verifier_ladder import errors, text
from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox.outcome import Told
from verifier_ladder.tiers.sandbox.program import Limits, Warmth
from verifier_ladder.tiers.sandbox.relay import asked, framed, said_in, told_in

_HERE = Path(__file__).parent
_SENT = (
    "relay", "zygoteprocess", "zygote", "boxes", "candidate", "meter", "kernel", "values",
    "outcome", "program",
)  # fmt: skip
UNPACK = """
folder = tempfile.mkdtemp(prefix="vladder-")
zipfile.ZipFile(io.BytesIO(sources)).extractall(folder)
sys.path.insert(0, folder)
from verifier_ladder.tiers.sandbox import relay
"""
_BOOT = f"""
import io, sys, tempfile, zipfile
sources = sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))
{UNPACK}
relay.serve(folder)
"""
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
"""All that the command gets: what it starts may be able to read it."""
_START_SECONDS, _GRACE_SECONDS = 60.0, 90.0
_LARGEST = 256 << 20
_LONGEST_LINE = 4096
_WHO = "the command"


def sources() -> bytes:
    """The relay and what it imports, as an archive."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for package in ("", "tiers/", "tiers/sandbox/"):
            file.writestr(f"verifier_ladder/{package}__init__.py", "")
        for module in (errors, text):
            source = Path(str(module.__file__))
            file.write(source, f"verifier_ladder/{source.name}")
        for name in _SENT:
            file.write(_HERE / f"{name}.py", f"verifier_ladder/tiers/sandbox/{name}.py")
    return archive.getvalue()


def options(kind: str, warmth: Warmth) -> dict[str, Any]:
    """What a relay begins with."""
    return {"kind": kind, "warmth": {"modules": warmth.modules, "read": warmth.read}}


class Wrapped:
    """The worker's end of a command that holds a zygote.

    The command ends with a Python interpreter, to which the arguments are added that start it.
    Around each input stand both: the command, and what the zygote makes inside.
    """

    def __init__(self, command: tuple[str, ...], kind: str, warmth: Warmth) -> None:
        """Start it, and wait until it is warm.

        Args:
            command: The command.
            kind: What stands around each input inside: `namespaces` or `landlock`.
            warmth: What each input starts with.

        Raises:
            SandboxError: If it can't be started, or that does not work inside it.
        """
        self.kind, self.seconds = kind, 0.0
        self._owner = os.getpid()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the machine's owner gave it
                [*command, "-I", "-c", _BOOT], env=_ENVIRONMENT, cwd="/",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._errors.close()
            raise SandboxError(f"{command[0]} can't be started: {error.strerror}") from None
        self._input, self._output = map(_there, (self._process.stdin, self._process.stdout))
        try:
            archive = sources()
            self._send(f"{len(archive)}\n".encode() + archive + framed(options(kind, warmth)))
            said_in(self._receive(_START_SECONDS), _WHO)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The id of the command's process."""
        return self._process.pid

    def run(self, request: bytes, stdin: bytes, limits: Limits) -> Told:
        """Run one input.

        Raises:
            SandboxError: If the sandbox failed, or what came is no answer.
        """
        if os.getpid() != self._owner:
            raise SandboxError("this sandbox belongs to another process: open one after the fork")
        sent = asked(request, stdin, limits)
        self._send(framed(sent))
        said = self._receive(2 * limits.wall + _GRACE_SECONDS)
        told, seconds = told_in(said, sent, limits, _WHO)
        self.seconds = max(self.seconds, seconds)
        return told

    def _send(self, data: bytes) -> None:
        # A command that has ended is noticed when its answer is read: what it said tells why.
        with suppress(OSError):
            self._input.write(data)
            self._input.flush()

    def _receive(self, seconds: float) -> bytes:
        deadline = monotonic() + seconds
        size = int.from_bytes(self._read(8, deadline), "big")
        if size > _LARGEST:
            raise SandboxError("the command wrote to its output what is no answer")
        return self._read(size, deadline)

    def _read(self, size: int, deadline: float) -> bytes:
        fd, parts = self._output.fileno(), bytearray()
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        while len(parts) < size:
            if not poller.poll(max(deadline - monotonic(), 0) * 1000):
                raise SandboxError("the command does not answer: the machine may be overloaded")
            part = os.read(fd, min(size - len(parts), 1 << 20))
            if not part:
                raise SandboxError(self._why())
            parts += part
        return bytes(parts)

    def _why(self) -> str:
        """What is known of a command that ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(size - _LONGEST_LINE, 0))
        lines = self._errors.read(_LONGEST_LINE).decode(errors="replace").strip().splitlines()
        return f"the command has ended: {text.printable((lines or ['it said nothing'])[-1], 500)}"

    def close(self) -> None:
        """End it with all that runs in it."""
        for pipe in (self._input, self._output):
            with suppress(OSError):
                pipe.close()
        try:
            if os.getpid() == self._owner:
                self._end()
        finally:
            self._errors.close()

    def _end(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5.0)  # It sees that its input has ended.
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:  # Waiting for it could take for ever.
            raise SandboxError(
                f"the command does not end, and belongs to another user: end process {self.pid}"
            ) from None
        self._process.wait()


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise SandboxError("the command has no pipe")
    return pipe
