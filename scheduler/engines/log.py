"""Logs: the last words a worker printed, kept small whatever it prints."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading

from verifier_ladder.scheduler.engines.progress import Inheritable

_KEPT = 2048
_MORE = "… "
_PIPE = 1 << 20


class Log:
    """Reads what a worker prints and keeps the last two kilobytes.

    It reads in the lane's process, because a verifier that fills the pipe from C holds the GIL of
    its own. It ends when the last process holding the writer has ended.
    """

    def __init__(self, name: str) -> None:
        """Open the pipe and start reading."""
        self._reader, writer = os.pipe()
        with contextlib.suppress(AttributeError, OSError):  # Linux; the default holds 64 kB
            fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, _PIPE)
        self.writer = Inheritable(writer)
        """What becomes a worker's standard output and error."""
        self._tail = b""
        self._is_cut = False
        self._thread = threading.Thread(target=self._read, name=f"{name}-log", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._reader, _PIPE):
                self._is_cut = self._is_cut or len(self._tail) + len(chunk) > _KEPT
                self._tail = (self._tail + chunk[-_KEPT:])[-_KEPT:]
        finally:
            os.close(self._reader)

    def join(self, seconds: float) -> None:
        """Wait for the end, after the worker has died; a stray child of it may delay that."""
        self._thread.join(seconds)

    def tail(self) -> str:
        """The last words; … stands where there were more."""
        text = self._tail.decode("utf-8", "replace").strip()
        return f"{_MORE}{text[-_KEPT + len(_MORE) :]}" if self._is_cut else text
