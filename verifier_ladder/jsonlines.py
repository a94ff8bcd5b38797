"""Programs that speak JSON lines: started, asked, and killed with everything they started."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import IO, Any

from verifier_ladder.environment import DESCRIPTOR, harmless, hide_declared
from verifier_ladder.errors import AnswerError, ToolError

LARGEST_LINE = 1024 * 1024
"""Bytes that one answer may have."""
_CHUNK = 64 * 1024
_LOG = 2048
_PR_SET_PDEATHSIG = 1
_GRACE = 2.0
_TICK = 0.05


def _find_prctl() -> Any:
    try:
        return ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # not Linux
        return None


_PRCTL = _find_prctl()  # before any fork, because a forked child must not import


class _ExitError(ToolError):
    """The program ended with an exit code, as it may for an outage or for what it was asked."""

    cause = "error"


class JsonLines:
    """One running program that answers a line for every line.

    It is the leader of a process group, which is killed as a whole. Where the kernel can do
    that, it dies with the process that started it.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: str | None,
        environment: Mapping[str, str],
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        """Start it.

        Args:
            command: The program and its arguments.
            folder: Where it is started; None for here.
            environment: Variables that it gets beside the harmless ones.
            secrets: What it finds at the descriptor that `VLADDER_SECRETS_FD` names.

        Raises:
            ToolError: If it can't be started.
        """
        self._name = command[0]
        hide_declared()
        given = {**harmless(), **environment}
        with _offered(secrets) as (passed, variable):
            self._process = self._begun(command, folder, {**given, **variable}, passed)
        self._pending = b""
        self._read = b""
        self._log = b""
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)

    def _begun(
        self, command: Sequence[str], folder: str | None, environment: Mapping[str, str],
        descriptors: Sequence[int],
    ) -> subprocess.Popen[bytes]:  # fmt: skip
        try:
            return subprocess.Popen(  # noqa: S603 - the command is the user's
                list(command), cwd=folder, env=environment, bufsize=0, pass_fds=descriptors,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                process_group=0,
                preexec_fn=die_with_parent if _PRCTL else None,  # noqa: PLW1509 - one thread
            )  # fmt: skip
        except OSError as error:
            raise ToolError(
                f"{self._name} can't be started: {error.strerror}; install it or give its path"
            ) from None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def log(self) -> str:
        """The last lines it wrote to its standard error; … stands where there were more."""
        text = self._log.decode("utf-8", "replace").strip()
        return f"… {text}" if len(self._log) == _LOG else text

    @property
    def stale(self) -> bool:
        """Whether it has ended or said more than it was asked: it can't be asked again."""
        return bool(self._read) or self._process.poll() is not None

    @property
    def _stdin(self) -> IO[bytes]:
        return _open(self._process.stdin)

    @property
    def _stdout(self) -> IO[bytes]:
        return _open(self._process.stdout)

    @property
    def _stderr(self) -> IO[bytes]:
        return _open(self._process.stderr)

    def ask(self, lines: Sequence[bytes], *, timeout: float, last: bool = False) -> list[bytes]:
        """Send lines and wait for as many answers.

        Args:
            lines: Each without its line end.
            timeout: Seconds to wait for each answer.
            last: Whether these are the last lines; the program then sees the end of its input
                and may answer only before it ends.

        Raises:
            ToolError: If it ends too early, fails, or stays silent for too long.
            AnswerError: If it answers more or fewer lines than asked, or one that is too long, or
                crashes.
        """
        self._pending = b"".join(line + b"\n" for line in lines)
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        answers: list[bytes] = []
        deadline = monotonic() + timeout
        while len(answers) < len(lines):
            left = deadline - monotonic()
            if left <= 0:
                raise ToolError(f"{self._name} gave no answer in {timeout:g} s")
            before = len(answers)
            ended = not self._exchange(left, last=last)
            if ended and self._read:
                self._read += b"\n"  # a last line may lack its end
            answers += self._lines(len(lines) - before)
            if ended and len(answers) < len(lines):
                raise self._ended(len(answers), len(lines))
            if len(answers) > before:
                deadline = monotonic() + timeout
        if last:
            self._finish(len(lines), deadline)
        return answers

    def _exchange(self, seconds: float, *, last: bool) -> bool:
        """Write and read what can be; False when its output has ended."""
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._process.stdin:
                self._write(last=last)
            elif key.fileobj is self._process.stderr:
                self._hear()
            elif not self._receive():
                return False
        return True

    def _write(self, *, last: bool) -> None:
        try:
            written = os.write(self._stdin.fileno(), self._pending[:_CHUNK])
            self._pending = self._pending[written:]
        except BlockingIOError:
            return
        except OSError:  # it reads no more; its answers or its end tell the rest
            self._pending = b""
        if not self._pending:
            self._selector.unregister(self._stdin)
            if last:
                self._stdin.close()

    def _hear(self) -> None:
        chunk = os.read(self._stderr.fileno(), _CHUNK)
        self._log = (self._log + chunk)[-_LOG:]
        if not chunk:
            self._selector.unregister(self._stderr)

    def _receive(self) -> bool:
        chunk = os.read(self._stdout.fileno(), _CHUNK)
        self._read += chunk
        if self._read.rfind(b"\n") < 0 and len(self._read) > LARGEST_LINE:
            raise AnswerError(f"{self._name} answered with more than {LARGEST_LINE} bytes a line")
        return bool(chunk)

    def _lines(self, most: int) -> list[bytes]:
        """Up to so many lines of what was read; blank ones are passed over."""
        *whole, rest = self._read.split(b"\n")
        found: list[bytes] = []
        while whole and len(found) < most:
            line = whole.pop(0)
            found += [line] if line.strip() else []
        self._read = b"\n".join([*whole, rest])
        return found

    def finish(self, *, timeout: float) -> None:
        """End its input and wait for the end of its output, which must hold no more lines.

        Raises:
            ToolError: If it does not end.
            AnswerError: If it says more.
        """
        if self._selector.get_map().get(self._stdin):
            self._selector.unregister(self._stdin)
        self._stdin.close()
        self._hear_out(monotonic() + timeout)

    def _finish(self, asked: int, deadline: float) -> None:
        """Wait for its end, which must be a good one."""
        self._hear_out(deadline)
        if self._code() != 0:
            raise self._ended(asked, asked)

    def _hear_out(self, deadline: float) -> None:
        is_open = True
        while is_open:
            has_ended = self._has_ended  # What it has started may keep its output open.
            is_open = self._exchange(min(_TICK, max(0.0, deadline - monotonic())), last=True)
            if self._read.strip():
                raise AnswerError(f"{self._name} answered with more lines than it was asked")
            if has_ended and not self._read:
                return
            self._read = b""
            if is_open and monotonic() >= deadline:
                raise ToolError(
                    f"{self._name} answered and did not end when its input did; have it end then"
                )

    @property
    def _has_ended(self) -> bool:
        """Whether it has; what it took can still be read."""
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._process.pid, how) is not None
        return True

    def _ended(self, answered: int, asked: int) -> ToolError | AnswerError:
        code = self._code()
        while self._selector.get_map().get(self._stderr) and self._selector.select(0):
            self._hear()
        if code == 0:
            return AnswerError(
                f"{self._name} ended after {answered} answers to {asked} candidates"
            )
        if code is None or code > 0:
            return _ExitError(f"{self._name} ended with exit code {code}")
        is_told = -code in (signal.SIGKILL, signal.SIGTERM)  # By somebody else.
        return (ToolError if is_told else AnswerError)(f"{self._name} ended with signal {-code}")

    def _code(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_GRACE)
        return None

    def kill(self) -> None:
        """End it and everything in its group; killing twice is allowed."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@contextlib.contextmanager
def _offered(secrets: Mapping[str, str] | None) -> Iterator[tuple[list[int], dict[str, str]]]:
    """A descriptor at which secrets can be read once, and the variable that tells its number."""
    if not secrets:
        yield [], {}
        return
    with _nameless() as file:
        file.write(json.dumps(dict(secrets)).encode("ascii"))
        file.seek(0)
        yield [file.fileno()], {DESCRIPTOR: str(file.fileno())}


def _nameless() -> IO[bytes]:
    """An empty file without a name, in memory where the kernel has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("secrets"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - all three are pipes
    return stream


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, where it can."""
    if _PRCTL:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
