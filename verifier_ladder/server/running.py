"""Running: an application behind a socket, from the first line it prints to its orderly end."""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI

_SWITCH = 0.0005
"""Seconds after which a thread that computes lets the event loop go on; Python's own 5 ms would be
the answer time of everything."""
_COLLECT = (20_000, 10, 10)
"""How much garbage may gather: some hundred calls under way are no reason to look for it."""
_LAST_PORT = 65535
_BACKLOG = 4096
_GRACE = 3600
_IDLE = 75
"""Seconds for which a connection is kept that nobody uses; learners call in bursts."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens.

    Example:
        >>> Address("127.0.0.1", 8420).url, Address("0.0.0.0", 80).is_loopback
        ('http://127.0.0.1:8420', False)
    """

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else (
            f"http://{self.host}:{self.port}"
        )  # fmt: skip


def listen(address: Address) -> tuple[socket.socket, Address]:
    """Take the port, before anything else is opened; 0 takes a free one.

    Raises:
        ConfigError: If it can't be had.
    """
    if not 0 <= address.port <= _LAST_PORT:
        raise ConfigError(f"port={address.port}: give one from 0, for any, to {_LAST_PORT}")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = _bound(socket.socket(family, kind, protocol), place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"port {address.port} of {address.host} is taken; give another with --port, or "
                "--port 0 for any that is free"
            ) from None
        raise ConfigError(f"can't listen at {address.host}:{address.port}: {error}") from None
    return found, Address(address.host, found.getsockname()[1])


def _bound(found: socket.socket, place: Any) -> socket.socket:
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
    except OSError:
        found.close()
        raise
    return found


@contextmanager
def _many_files() -> Iterator[None]:
    """Let this process open as many files as its user allows: every connection is one."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # Where there is no limit, the kernel has one of its own.
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def run(app: FastAPI, sock: socket.socket, *, linger: float, started: Callable[[], None]) -> None:
    """Serve until SIGTERM or Ctrl-C, and until everything that was accepted is answered.

    With SIGTERM `/readyz` says so for a while, so that a load balancer sends the next calls
    elsewhere, before no more connections are taken. A second signal ends at once.

    Args:
        app: The application.
        sock: A bound socket.
        linger: Seconds between SIGTERM and the end of listening.
        started: Called once the server answers.
    """
    import uvicorn

    from verifier_ladder.server.connections import Connection

    service = app.state.service

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            loop = asyncio.get_running_loop()

            def end(number: int) -> None:
                if service.is_leaving:
                    self.force_exit = self.should_exit = True
                service.leave()
                wait = linger if number == signal.SIGTERM else 0.0
                loop.call_later(wait, lambda: setattr(self, "should_exit", True))

            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, end, number)
            try:
                yield
            finally:
                for number in (signal.SIGTERM, signal.SIGINT):
                    loop.remove_signal_handler(number)

    config = uvicorn.Config(
        app, http=Connection, ws="none", log_level="warning", access_log=False, backlog=_BACKLOG,
        timeout_graceful_shutdown=_GRACE, timeout_keep_alive=_IDLE, server_header=False,
        date_header=False, proxy_headers=False,
    )  # fmt: skip
    gc.collect()
    gc.freeze()  # What is there for good need not be looked at with every batch.
    before = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH)
    gc.set_threshold(*_COLLECT)
    try:
        with _many_files():
            Server(config).run(sockets=[sock])
    finally:
        sys.setswitchinterval(before[0])
        gc.set_threshold(*before[1])
