"""The guard: closes pools when the program ends, before the interpreter waits for threads."""

from __future__ import annotations

import threading
from typing import Protocol
from weakref import WeakSet


class Closable(Protocol):
    """**Protocol:** what can be closed."""

    def close(self) -> None:
        """End it."""
        ...


_OPEN: WeakSet[Closable] = WeakSet()
_LOCK = threading.Lock()
_ARMED = threading.Event()


def watch(pool: Closable) -> None:
    """Close this pool when the program ends."""
    _OPEN.add(pool)


def arm() -> None:
    """Begin to guard; called when a worker has been started.

    `loky` waits for running work when the program ends, and registers that with its first
    worker. What is registered later runs earlier, so pools are closed before it waits. Plain
    `atexit` functions run after both.
    """
    with _LOCK:
        if not _ARMED.is_set():
            _ARMED.set()
            threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001


def _close_all() -> None:
    for pool in list(_OPEN):
        pool.close()
