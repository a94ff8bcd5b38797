"""Held: settings of the whole process that are changed for a while, by several threads at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Lock


class Held(ABC):
    """**Abstract:** changes a setting when the first stretch begins, back when the last ends.

    Threads overlap: one that puts back what it found would find what another has changed.
    """

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._lock = Lock()
        self._inside = 0

    @abstractmethod
    def _begin(self) -> None:
        """Change the setting."""

    @abstractmethod
    def _end(self) -> None:
        """Change it back."""

    def __enter__(self) -> None:
        """Begin a stretch."""
        with self._lock:
            if self._inside == 0:
                self._begin()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        """End a stretch."""
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._end()
