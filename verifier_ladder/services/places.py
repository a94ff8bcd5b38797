"""Places: where the services of a user on a machine keep their locks, sockets and logs.

A lock that a process holds is freed by the kernel when it dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from verifier_ladder.forks import not_in_child
from verifier_ladder.private import open_shared, own_folder


class Place:
    """The files of one service, by its digest; they are this user's alone."""

    def __init__(self, digest: bytes) -> None:
        """Find them; nothing is made yet but their folder.

        Raises:
            ConfigError: If somebody else could write there.
        """
        self.folder = own_folder("services")
        self.key = digest.hex()[:32]

    def path(self, kind: str) -> Path:
        """One of its files."""
        return self.folder / f"{self.key}.{kind}"

    def lock(self, kind: str, *, shared: bool = False, wait: bool = False) -> IO[str] | None:
        """Lock one of its files until it is closed; None if others hold it."""
        return lock(self.path(kind), shared=shared, wait=wait)

    def connect(self) -> socket.socket:
        """Connect to the process of the service.

        Raises:
            OSError: If there is none.
        """
        connection = socket.socket(socket.AF_UNIX)
        try:
            with self._short("socket") as name:
                connection.connect(name)
        except BaseException:
            connection.close()
            raise
        return not_in_child(connection)

    def listen(self) -> socket.socket:
        """Begin to listen, in the place of a process that has died; the lock `life` is held."""
        self.path("socket").unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            with self._short("socket") as name:
                listener.bind(name)
        finally:
            os.umask(before)
        listener.listen(512)
        return not_in_child(listener)

    @contextmanager
    def _short(self, kind: str) -> Iterator[str]:
        """A name of a file that is short enough for a socket, however deep the folder lies."""
        opened = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{opened}/{self.path(kind).name}"
        finally:
            os.close(opened)


def lock(path: Path, *, shared: bool = False, wait: bool = False) -> IO[str] | None:
    """Lock a file until it is closed; None if others hold it, and this is not to wait for them."""
    file = not_in_child(open_shared(path))
    how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file


def is_locked(path: Path) -> bool:
    """Whether some process holds a lock of a file; for callers that nobody is in the way of."""
    file = lock(path)
    if file is None:
        return True
    file.close()
    return False
