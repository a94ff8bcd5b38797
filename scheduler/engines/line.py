"""Lines: what a lane and its worker say to each other, one message at a time over a socket.

A thread that calls the kernel may wait for Python's lock when it returns: five milliseconds where
another thread computes. So a message takes one call to send and one to receive, and the worker
works while its lane waits for the lock.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from math import modf
from struct import Struct

from verifier_ladder.errors import EngineError
from verifier_ladder.scheduler.engines.progress import Inheritable
from verifier_ladder.scheduler.engines.wire import LARGEST

_SIZE = Struct("!Q")
_TIME = Struct("@ll")
_PIECE = 1 << 18


class Line:
    """The lane's end: it asks, and waits for the answer no longer than it wants to."""

    def __init__(self) -> None:
        """Open the line."""
        self._socket, far = socket.socketpair()
        self.far = FarEnd(far.detach())
        """The other end, for the worker; closed here once the worker has it."""
        self._piece = bytearray(_PIECE)
        self._unsent: list[memoryview] = []
        self._heard = bytearray()
        self._most = LARGEST

    def ask(self, request: bytes) -> None:
        """Begin with a request; `hear` sends it."""
        self._unsent = [memoryview(_SIZE.pack(len(request))), memoryview(request)]
        self._heard.clear()
        self._most = LARGEST + len(request)  # A canonical form is about as long as what it is of.

    def hear(self, seconds: float) -> bytes | None:
        """Wait for the answer; None if it is not there whole after these seconds, or sooner.

        Raises:
            EOFError: If the other end is closed.
            OSError: If it closes while something is sent.
            EngineError: If the answer is larger than any can be.
        """
        part, whole = modf(max(seconds, 1e-3))
        pause = _TIME.pack(int(whole), int(part * 1e6))
        try:
            if self._unsent:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, pause)
                self._note_sent(self._socket.sendmsg(self._unsent))
            if self._unsent:
                return None
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, pause)
            count = self._socket.recv_into(self._piece)
        except BlockingIOError:
            return None
        if not count:
            raise EOFError("the line is closed")
        self._heard += memoryview(self._piece)[:count]
        return self._message()

    def _note_sent(self, count: int) -> None:
        """Forget what was sent: an empty part of a request would keep all of it."""
        while self._unsent and count >= len(self._unsent[0]):
            count -= len(self._unsent.pop(0))
        if count:
            self._unsent[0] = self._unsent[0][count:]

    def _message(self) -> bytes | None:
        heard = self._heard
        if len(heard) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(heard)
        if size > self._most:
            raise EngineError(f"a worker's answer has {size} bytes; {self._most} is the most")
        end = _SIZE.size + size
        return bytes(memoryview(heard)[_SIZE.size : end]) if len(heard) >= end else None

    def close(self) -> None:
        """Close both ends; twice is allowed."""
        self._socket.close()
        self.far.close()


class FarEnd(Inheritable):
    """The worker's end: it answers."""

    def serve(self, answer: Callable[[bytes], bytes]) -> None:
        """Take over the descriptor, and answer requests until the lane closes its end."""
        descriptor, self._descriptor = self._descriptor, -1
        with socket.socket(fileno=descriptor) as far, far.makefile("rb") as requests:
            while size := requests.read(_SIZE.size):
                reply = answer(requests.read(*_SIZE.unpack(size)))
                far.sendall(_SIZE.pack(len(reply)) + reply)
