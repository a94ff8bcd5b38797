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
    """Close this pool when the program ends."""
    _OPEN.add(pool)


def arm() -> None:
    """Guard from now on; called after every start of a worker.

    With every worker, `loky` registers anew that the program's end waits for running work. What
    is registered later runs earlier, so pools are closed before it waits. Plain `atexit`
    functions run after both.
    """
    threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001


def _close_all() -> None:
    for pool in list(_OPEN):
        pool.close()
