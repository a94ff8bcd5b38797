"""The process of a service: answers calls one by one until nobody is connected any more."""

from __future__ import annotations

import os
import pickle
import queue
import resource
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import IO, Any, NamedTuple

from verifier_ladder import metering
from verifier_ladder.containment import text_of, words_of
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.services.connection import BOUND, FULL, TAKEN
from verifier_ladder.services.guard import Guard, end_family
from verifier_ladder.services.messages import pack, receive, send
from verifier_ladder.services.places import Place
from verifier_ladder.services.service import Service

_LOOK = 0.1
"""Seconds between two looks whether anybody is there."""
_IDLE = 0.5
"""Seconds without a call before a service makes room for another one."""
_LARGEST_LOG = 1 << 20
_PATIENCE = struct.pack("ll", 30, 0)
"""How long a connected process may take to read an answer: seconds and microseconds."""
_LONGEST = 4000


class Asked(NamedTuple):
    """A call that somebody waits for."""

    connection: socket.socket
    method: str
    arguments: list[Any]
    options: dict[str, Any]


class Server:
    """Answers the calls of all connected processes, one after the other, in its main thread.

    **Threads.** One takes connections, one each reads the calls of a connection, and one looks
    whether the process still has a reason to live.
    """

    def __init__(
        self, service: Service, place: Place, listener: socket.socket, guard: Guard
    ) -> None:
        """Begin to take connections."""
        self._guard = guard
        self._service, self._place, self._listener = service, place, listener
        self._calls: queue.Queue[Asked] = queue.Queue()
        self._is_set_up = Event()
        self._lock = Lock()
        self._connected: set[socket.socket] = set()
        self._at: socket.socket | None = None
        self._last = monotonic()
        """When somebody was last there, or asked."""
        self.failed = ""
        """Why it could not be set up."""
        for thread in (self._accept, self._keep):
            Thread(target=thread, daemon=True).start()

    def run(self) -> None:
        """Set it up, and answer calls for ever: the process ends by itself."""
        try:
            self._service.setup()
        except BaseException as error:  # noqa: BLE001 - it is its author's code
            self.failed = text_of(error)[:_LONGEST]
        self._last = monotonic()
        self._is_set_up.set()
        while True:
            self._answer(self._calls.get())

    # -- the main thread -------------------------------------------------------------------------

    def _answer(self, asked: Asked) -> None:
        """Answer a call, unless who asked has gone meanwhile."""
        with self._lock:
            if asked.connection not in self._connected:
                return
            self._at, self._last = asked.connection, monotonic()
        self._guard.begins(asked.connection, self._service.grace)
        try:
            send(asked.connection, pack("begun", ""))
            send(asked.connection, self._result(asked))
        except OSError:
            with suppress(OSError):
                asked.connection.shutdown(socket.SHUT_RDWR)
        finally:
            self._guard.ends()
            with self._lock:
                self._at, self._last = None, monotonic()
                if asked.connection not in self._connected:
                    asked.connection.close()

    def _result(self, asked: Asked) -> bytes:
        counter, began = metering.Counter(), monotonic()
        kind, value = self._called(asked)
        took = counter.taken(), monotonic() - began
        metering.bury()
        try:
            return pack((kind, *took, value), f"what {asked.method} of {self._service} returned")
        except ConfigError as error:
            return pack(("raised", *took, ("ConfigError", f"{error}", "")), "")

    def _called(self, asked: Asked) -> tuple[str, Any]:
        try:
            self._service.check_method(asked.method)
            method = getattr(self._service, asked.method)
            return "done", method(*asked.arguments, **asked.options)
        except BaseException as error:  # noqa: BLE001 - also sys.exit: it goes to who asked
            feedback = error.feedback if isinstance(error, CandidateError) else ""
            text = words_of(error)[:_LONGEST]
            return "raised", (_kind(error), text, feedback)

    # -- the others ------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
            with self._lock:
                self._connected.add(connection)
            Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        """Take the calls of one connection until it ends."""
        try:
            self._is_set_up.wait()
            send(connection, pack(("failed" if self.failed else "ready", self.failed), ""))
            while not self.failed:
                method, arguments, options = receive(connection)
                self._calls.put(Asked(connection, method, arguments, options))
        except (OSError, EOFError, ValueError, TypeError):
            pass
        finally:
            with self._lock:
                self._connected.discard(connection)
                if self._at in {None, connection}:  # Others come and go beside a call without end.
                    self._last = monotonic()
                if self._at is not connection:
                    connection.close()

    def _keep(self) -> None:
        """End the process when it has no reason to live any more."""
        wait = select.poll()
        while True:
            wait.poll(_LOOK * 1000)
            if os.fstat(1).st_size > _LARGEST_LOG:
                os.ftruncate(1, 0)
            if self._is_over():
                self._end()

    def _is_over(self) -> bool:
        with self._lock:
            is_idle = self._at is None and self._calls.empty()
            is_lonely = self._at not in self._connected if self._at else not self._connected
            quiet = monotonic() - self._last
        if is_lonely and (self.failed or quiet > self._service.grace):
            return True
        if not (self._service.gpu_memory and is_idle and self._is_set_up.is_set()):
            return False
        from verifier_ladder.services.gpumemory import is_in_the_way  # see _life

        return quiet > _IDLE and is_in_the_way(self._place)

    def _end(self) -> None:
        """End with all that it has started."""
        self._place.path("socket").unlink(missing_ok=True)
        end_family()


def _kind(error: BaseException) -> str:
    """The name of an error's class, or of what it is a kind of, as the other side knows it."""
    if isinstance(error, MemoryError):
        return "MemoryError"
    known = {"builtins", "verifier_ladder.errors"}
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ in known)


def main(code: bytes, nice: int, pipe: int) -> None:
    """Be the process of a service, and its guard; for the program that `Connection` starts.

    Args:
        code: The service, pickled.
        nice: The priority of the process that is behind the worker.
        pipe: Where to say that it listens.
    """
    os.set_inheritable(pipe, False)  # noqa: FBT003 - its only form
    guard = Guard.begin(pipe)
    _reset(nice)
    service: Service = pickle.loads(code)  # noqa: S301 - written by the worker that starts it
    place = Place(service.digest)
    try:
        life, device = _life(place, service)
    except MemoryError:
        os.write(pipe, FULL)
        return
    if life is None:
        os.write(pipe, TAKEN)
        return
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = device
    listener = place.listen()
    os.write(pipe, BOUND)
    os.close(pipe)
    Server(service, place, listener, guard).run()


def _life(place: Place, service: Service) -> tuple[IO[str] | None, str | None]:
    """Take the lock that says that this process lives, and the GPU that it is to use, if any.

    Raises:
        MemoryError: If there is no room on any GPU now.
    """
    if not service.gpu_memory:
        return place.lock("life"), None
    # What it takes to read settings would double the start of all other services.
    from verifier_ladder.services.gpumemory import begin_life

    return begin_life(place, service)


def _reset(nice: int) -> None:
    """Be as if no worker had started it: no limit of memory, no lower priority, no input."""
    for what in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
        with suppress(ValueError, OSError):
            hard = resource.getrlimit(what)[1]
            resource.setrlimit(what, (hard, hard))
    with suppress(PermissionError):  # A user may not raise it everywhere.
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    metering.keep_tree()
    sys.stdout = sys.stderr = open(  # noqa: SIM115 - for as long as the process lives
        1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
