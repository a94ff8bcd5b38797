"""Connections: how long each and its headers may be, and how many of unknown senders."""

from __future__ import annotations

import asyncio
import resource
import sys
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from verifier_ladder.server.access import CONNECTION

STRANGERS = 1024
"""Connections on which nobody has shown yet who they are; one more ends the oldest. Fewer would
spare little memory, and those who come back would have to be taken on and ended all the time."""
_SHARE = 4
"""They are no more than one in so many of the files that the process may open."""
_HEADERS = 10.0
"""Seconds within which the headers of a request must be there."""
LARGEST_HEAD = 2**16
"""Bytes of the headers of a request. Python's own readers of some take time in the square of them,
and the parser keeps what it is given."""
_TOO_LONG = "the headers are too long"
_REST = 10.0
"""Seconds for which the rest of a body is awaited whose request is answered already."""
_strangers: dict[Connection, None] = {}
"""Those of unknown senders, oldest first."""


def _files() -> int:
    """How many files this process may open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if most == resource.RLIM_INFINITY else most


class Connection(HttpToolsProtocol):
    """A connection that nobody can hold open by being silent or slow.

    Headers have a limit of time and of bytes, and so has what is left of a body after the answer;
    bodies that are read have theirs in `Door`. Senders who are not known yet have a thousand
    connections in all: one who comes ends the oldest of them, so callers with a token always get
    in.
    """

    _clock: asyncio.TimerHandle | None = None
    _is_whole = True
    """Whether the last request has come to its end."""
    _is_head = False
    """Whether headers are coming."""
    _unread = 0
    """Bytes that have come since the last of a body: of headers, and of what stands between chunks
    and behind the last."""

    def connection_made(self, transport: Any) -> None:
        """Begin as a stranger."""
        super().connection_made(transport)
        self._end_in(_HEADERS)
        _strangers[self] = None
        if len(_strangers) > min(STRANGERS, _files() // _SHARE):
            oldest = next(iter(_strangers))
            oldest.let_in()
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count no more."""
        self._end_never()
        self.let_in()
        super().connection_lost(exc)

    def let_in(self) -> None:
        """Be a stranger no more."""
        _strangers.pop(self, None)

    def on_message_begin(self) -> None:
        """Wait for the headers of a request.

        Raises:
            ValueError: If the request before it is not answered yet; it is answered with 400.
        """
        last: RequestResponseCycle | None = self.cycle
        if last is not None and not last.response_complete:
            raise ValueError("a request before the answer to the last one")
        super().on_message_begin()
        self.scope[CONNECTION] = self.let_in  # type: ignore[literal-required]
        self._is_whole, self._is_head, self._unread = False, True, 0
        self._end_in(_HEADERS)

    def data_received(self, data: bytes) -> None:
        """Read what has come; headers that go on for too long are answered with 400."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread <= LARGEST_HEAD or self.transport.is_closing():
            return
        if self._is_head:
            self.send_400_response(_TOO_LONG)
        else:
            self.transport.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; of those behind the last chunk nobody asks."""
        if self._is_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._unread = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Wait for the body, which has its own limit.

        Raises:
            ValueError: If the headers are too long; that is answered with 400.
        """
        self._is_head = False
        self._end_never()
        if len(self.url) + sum(len(n) + len(value) for n, value in self.headers) > LARGEST_HEAD:
            raise ValueError(_TOO_LONG)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Know that the request has come to its end."""
        self._is_whole, self._unread = True, 0
        self._end_never()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the rest of a body that nobody reads any more."""
        super().on_response_complete()
        if not self._is_whole and self._clock is None:
            self._end_in(_REST)

    def _end_in(self, seconds: float) -> None:
        self._end_never()
        self._clock = self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        self._clock = None
        if not self.transport.is_closing():
            self.transport.abort()

    def _end_never(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
