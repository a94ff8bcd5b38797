"""Occupancy: threads at work in one place, which whoever rebuilds it waits for."""

from __future__ import annotations

from threading import Condition, local


class Occupancy:
    """Counts the threads inside.

    Not a lock: whoever waits for it to be empty has to keep others from entering meanwhile.

    Example:
        >>> occupancy = Occupancy()
        >>> with occupancy:
        ...     occupancy.has_me
        True
        >>> occupancy.wait_empty()
    """

    def __init__(self) -> None:
        """Nobody is inside."""
        self._changed = Condition()
        self._inside = 0
        self._mine = local()

    @property
    def has_me(self) -> bool:
        """Whether this thread is inside."""
        return getattr(self._mine, "is_inside", False)

    @property
    def is_empty(self) -> bool:
        """Whether nobody is inside."""
        return self._inside == 0

    def wait_empty(self) -> None:
        """Wait until nobody was inside for a moment; not to be called from inside."""
        with self._changed:
            self._changed.wait_for(lambda: self._inside == 0)

    def __enter__(self) -> None:
        """Come in."""
        with self._changed:
            self._inside += 1
        self._mine.is_inside = True

    def __exit__(self, *_: object) -> None:
        """Leave."""
        self._mine.is_inside = False
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()
