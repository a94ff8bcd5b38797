"""A cable: what lies between the processes and a server, and can be struck."""

from __future__ import annotations

import asyncio
import socket
import struct
from asyncio import StreamReader, StreamWriter, Task
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Thread
from typing import Self

from verifier_ladder.testing.servers import HOST

_PIECE = 1 << 16
_COMMIT = b"COMMIT\0"
"""How a process's last word of a transaction ends, in PostgreSQL's protocol."""
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a socket that is closed says at once that the connection is broken."""


_PATIENCE = 10.0


class _Line:
    """One connection through a cable: a process at the near end, the server at the far end."""

    def __init__(self, near: StreamWriter) -> None:
        self.near, self.far = near, near
        self.is_deaf = self.has_committed = False

    async def reach(self, port: int) -> StreamReader:
        """Connect to the server."""
        reader, self.far = await asyncio.open_connection(HOST, port)
        return reader

    def cut(self) -> None:
        """Break it, for both ends."""
        for end in (self.near, self.far):
            with suppress(OSError):  # It may have gone by itself.
                end.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, _RESET
                )
            end.transport.abort()


class Cable:
    """Carries connections to a server of this machine, and does to them what networks do.

    **Threads.** It has a thread of its own; any thread may strike.

    Example:
        with Cable(server.port) as cable:
            url = server.url("ledger").replace(str(server.port), str(cable.port))
            cable.cut()
    """

    def __init__(self, port: int) -> None:
        """Lead to a port of this machine."""
        self._far_port = port
        self._delay = 0.0
        self._lines: set[_Line] = set()
        self._losing: Event | None = None
        self._loop = asyncio.new_event_loop()
        self._passing = asyncio.Event()
        self._passing.set()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._carry, HOST, 0))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = Thread(target=self._loop.run_forever, name="cable", daemon=True)
        self._thread.start()

    # -- what can happen to it -------------------------------------------------------------------

    def slow(self, delay: float) -> None:
        """Have everything arrive later by so many seconds, in each direction."""
        self._delay = delay

    def cut(self) -> None:
        """Break every connection; new ones are carried."""
        self._do(self._cut)

    def deafen(self) -> None:
        """Close the server's half of every connection: what it answers is not heard any more."""
        self._do(self._deafen)

    def hold(self) -> None:
        """Carry nothing any more, and tell nobody: not even that a new connection stands."""
        self._do(self._passing.clear)

    def go_on(self) -> None:
        """Carry again; what was under way is lost, with its connections."""
        self._do(self._cut)
        self._do(self._passing.set)

    def lose_commit(self) -> Event:
        """Break the next connection that commits, after the server has done so.

        Returns:
            What is set when it has happened.
        """
        lost = Event()
        self._losing = lost
        return lost

    def _do(self, call: Callable[[], None]) -> None:
        done = Event()
        self._loop.call_soon_threadsafe(call)
        self._loop.call_soon_threadsafe(done.set)
        done.wait()

    def _cut(self) -> None:
        for line in self._lines:
            line.cut()

    def _deafen(self) -> None:
        for line in self._lines:
            line.is_deaf = True
            with suppress(OSError):
                line.near.write_eof()

    # -- carrying --------------------------------------------------------------------------------

    async def _carry(self, near: StreamReader, writer: StreamWriter) -> None:
        line = _Line(writer)
        self._lines.add(line)
        try:
            await self._passing.wait()
            far = await line.reach(self._far_port)
            answering = asyncio.create_task(self._answer(line, far))
            await self._ask(line, near)
            await answering
        except OSError:
            pass  # One end has gone; the other is to hear of it.
        finally:
            self._lines.discard(line)
            line.cut()

    async def _ask(self, line: _Line, near: StreamReader) -> None:
        """Carry what a process says to the server."""
        while said := await self._piece(near):
            if self._losing is not None and said.endswith(_COMMIT):
                line.has_committed = True
            line.far.write(said)
            await line.far.drain()
        if line.far.can_write_eof():
            line.far.write_eof()

    async def _answer(self, line: _Line, far: StreamReader) -> None:
        """Carry what the server answers."""
        while said := await self._piece(far):
            if line.has_committed and self._losing is not None:
                self._losing.set()
                self._losing = None
                break
            if not line.is_deaf:
                line.near.write(said)
                await line.near.drain()
        line.cut()

    async def _piece(self, reader: StreamReader) -> bytes:
        """What comes next, when it may pass; nothing if the connection is broken."""
        with suppress(OSError):
            said = await reader.read(_PIECE)
            await asyncio.sleep(self._delay)
            await self._passing.wait()
            return said
        return b""

    # -- life ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Break everything, for good."""
        self._do(self._server.close)
        self.go_on()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        left = asyncio.all_tasks(self._loop)
        self._loop.run_until_complete(asyncio.wait_for(_all(left), _PATIENCE))
        self._loop.close()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Break everything."""
        self.close()


async def _all(tasks: Iterable[Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
