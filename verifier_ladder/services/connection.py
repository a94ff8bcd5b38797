"""Connections: how a worker reaches the process of a service, and starts it if there is none."""

from __future__ import annotations

import builtins
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import process as multiprocessing
from threading import RLock
from time import sleep
from typing import IO, TYPE_CHECKING, Any

import cloudpickle

from verifier_ladder import errors, metering
from verifier_ladder.environment import THREADS, harmless
from verifier_ladder.errors import CandidateError, ServiceError, VerifierError
from verifier_ladder.private import open_shared
from verifier_ladder.services.messages import pack, receive, send
from verifier_ladder.services.places import Place
from verifier_ladder.services.waiting import waiting

if TYPE_CHECKING:
    import socket

    from verifier_ladder.services.service import Service

TRIES = 2
"""How often a call may be begun: each time but the last its process has died."""
_STARTS = 20
"""Processes that may die before a call has begun, through other calls, until it gives up."""
_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_SMALL = 4000
"""Characters of a log's end that an error tells."""
BOUND, TAKEN, FULL = b"b", b"t", b"f"
"""What a new process says: it listens; another one lives; there is no GPU memory left."""
_BEGIN = (
    "import os, sys, json; told = json.loads(sys.stdin.buffer.readline()); "
    "code = sys.stdin.buffer.read(); os.fork() and os._exit(0); "
    "sys.path[:] = told['path']; sys.argv[:] = told['argv']; "
    "from verifier_ladder.services.process import main; main(code, told['nice'], told['pipe'])"
)
"""The first process ends at once, so that the second has no parent but the system."""
_SUBREAPER, _IS_SUBREAPER = 36, 37  # of prctl


class Connection:
    """One process's connection to a service; it is opened again where it broke.

    Threads may share it: their calls are made one after the other.
    """

    def __init__(self, service: Service) -> None:
        """Connect with the first call."""
        self._service = service
        self._place = Place(service.digest)
        self._lock = RLock()
        self._open: socket.socket | None = None
        self._pid = os.getpid()
        self.busy = 0.0
        """Seconds by the wall that it was at calls."""

    def open(self) -> None:
        """Connect, if that is not done, and wait until the service is set up.

        Raises:
            ServiceError: If that can't be.
        """
        with self._lock:
            self._let_go_if_forked()
            for attempt in range(_STARTS):
                if self._open is not None:
                    return
                try:
                    self._opened(self._reached())
                except (OSError, EOFError):
                    self.close()  # It ended as we came.
                    sleep(min(_LONGEST_PAUSE, _PAUSE * 2.0**attempt))
            raise self._error(f"its process ended {_STARTS} times before it was set up")

    def call(self, method: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """See `Service.call`."""
        with self._lock:
            request = pack((method, arguments, options), f"a call of service {self._name}")
            begun = 0
            for _ in range(_STARTS):
                try:
                    connection = self._begun(request)
                    begun += 1
                    return self._told(receive(connection))
                except (OSError, EOFError):
                    self.close()
                if begun == TRIES:
                    raise self._error(f"its process died {TRIES} times at this call")
            raise self._error(f"its process died {_STARTS} times before this call began")

    def _begun(self, request: bytes) -> socket.socket:
        """Ask, and wait until the service begins with it: it may be busy for others till then.

        Raises:
            OSError: If the connection breaks.
            EOFError: If it ends.
        """
        with waiting():
            self.open()
            assert self._open is not None  # noqa: S101 - it is open
            send(self._open, request)
            receive(self._open)
            return self._open

    def close(self) -> None:
        """Hang up."""
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _name(self) -> str:
        return self._service.name

    def _error(self, why: str) -> ServiceError:
        try:
            tail = self._place.path("log").read_text("utf-8", "replace")[-_SMALL:].strip()
        except OSError:
            tail = ""
        return ServiceError(
            f"service {self._name}: {why}" + (f"; its log: {tail}" if tail else "")
        )

    def _let_go_if_forked(self) -> None:
        if self._pid != os.getpid():
            self._pid, self._open = os.getpid(), None

    def _opened(self, connection: socket.socket) -> None:
        """Wait until the service is set up."""
        try:
            said, why = receive(connection)
        except BaseException:
            connection.close()
            raise
        if said != "ready":
            connection.close()
            raise self._error(f"its set-up failed: {why}")
        self._open = connection

    def _reached(self) -> socket.socket:
        """Connect to its process, which is started if there is none."""
        with suppress(OSError):
            return self._place.connect()
        starting = self._place.lock("start", wait=True)
        try:
            with suppress(OSError):
                return self._place.connect()  # Another has started it meanwhile.
            said = self._started()
        finally:
            if starting is not None:
                starting.close()
        if said == FULL:
            raise self._error("no GPU has the memory for it that it declares just now")
        if said == b"":
            raise self._error("its process ended as it was started")
        return self._place.connect()

    def _started(self) -> bytes:
        """Start a process that no end of this one ends; what it says when it listens."""
        told, tells = os.pipe()
        log = open_shared(self._place.path("log"))
        log.truncate(0)
        try:
            with _without_descendants():
                self._spawn(tells, log)
            os.close(tells)
            tells = -1
            return os.read(told, 1)
        finally:
            log.close()
            os.close(told)
            if tells >= 0:
                os.close(tells)

    def _spawn(self, tells: int, log: IO[str]) -> None:
        here = getattr(multiprocessing, "ORIGINAL_DIR", None) or os.curdir
        told = {
            "path": [entry or here for entry in sys.path], "argv": sys.argv, "pipe": tells,
            "nice": os.getpriority(os.PRIO_PROCESS, os.getppid()),
        }  # fmt: skip
        child = subprocess.Popen(  # noqa: S603 - this interpreter, and our own code
            [sys.executable, "-P", "-c", _BEGIN, f"vl-service-{self._name}"],
            env=_environment(self._service), pass_fds=[tells], start_new_session=True,
            stdin=subprocess.PIPE, stdout=log, stderr=log,
        )  # fmt: skip
        assert child.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(BrokenPipeError), child.stdin as stdin:
            stdin.write(json.dumps(told).encode("ascii") + b"\n")
            stdin.write(cloudpickle.dumps(self._service))
        child.wait()

    def _told(self, reply: Sequence[Any]) -> Any:
        """What the method returned or raised; what it took is charged to who asks."""
        kind, cpu, wall, value = reply
        metering.charge(cpu)
        self.busy += wall
        if kind == "done":
            return value
        raise _raised(self._name, *value)


def _environment(service: Service) -> dict[str, str]:
    """What its process begins with: nothing that a verifier was lent, and its own threads."""
    return harmless() | dict.fromkeys(THREADS, str(service.threads))


def _raised(name: str, kind: str, text: str, feedback: str) -> Exception:
    """What a method has raised, as it is raised here."""
    if kind == "CandidateError":
        return CandidateError(text, feedback=feedback)
    if kind == "MemoryError":
        return ServiceError(f"service {name} ran out of memory: {text}")
    own = getattr(errors, kind, None)
    if isinstance(own, type) and issubclass(own, errors.LadderError):
        return own(text)
    known = getattr(builtins, kind, None)
    if kind in _OF_CONTENT and isinstance(known, type) and issubclass(known, Exception):
        return known(text)
    return VerifierError(f"service {name}: {kind}: {text}")


_OF_CONTENT = frozenset({
    "ArithmeticError", "AssertionError", "AttributeError", "FloatingPointError", "IndexError",
    "KeyError", "LookupError", "OverflowError", "RecursionError", "SyntaxError", "TypeError",
    "ValueError", "ZeroDivisionError",
})  # fmt: skip
"""What programs raise about values that they did not expect; see `verifiers.failure`."""


@contextmanager
def _without_descendants() -> Iterator[None]:
    """Let what loses its parent go to the system, also if this process keeps its descendants."""
    was, libc = ctypes.c_int(0), ctypes.CDLL(None)
    with suppress(AttributeError):  # Linux only
        libc.prctl(_IS_SUBREAPER, ctypes.byref(was), 0, 0, 0)
    if not was.value:
        yield
        return
    libc.prctl(_SUBREAPER, 0, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_SUBREAPER, 1, 0, 0, 0)
