"""Forks: what a forked child must not hold.

A lock, and the other end of a connection, live until the last process that has them open ends.
A trainer forks data loaders without a thought; they would hold its ledger long after it died.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Protocol, TypeVar
from weakref import WeakSet


class _Open(Protocol):
    def fileno(self) -> int: ...


T = TypeVar("T", bound=_Open)
_HELD: WeakSet[_Open] = WeakSet()


def not_in_child(held: T) -> T:
    """Have every forked child let go of an open file, socket or connection.

    Example:
        >>> with not_in_child(open(os.devnull)) as file:
        ...     file.read()
        ''
    """
    _HELD.add(held)
    return held


def _let_go() -> None:
    # Nothing is closed by its own method: that could say good-bye in the parent's name.
    with suppress(OSError):
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for held in list(_HELD):
            with suppress(OSError, ValueError):  # It is closed already.
                os.dup2(null, held.fileno(), inheritable=False)
        os.close(null)


os.register_at_fork(after_in_child=_let_go)
