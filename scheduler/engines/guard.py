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


def watch(pool: Closable) -> None:
    """Close this pool when the program ends.

    What is registered later runs earlier, so pools are closed before other libraries wait for
    their threads, which may wait for a pool. Plain `atexit` functions run after both.
    """
    _OPEN.add(pool)
    threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001


def _close_all() -> None:
    for pool in list(_OPEN):
        pool.close()
