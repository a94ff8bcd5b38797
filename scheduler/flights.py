"""Flights: identical work in progress in this process is shared, never started twice."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from verifier_ladder.verdict import Verdict


class Flight:
    """The checks that one caller has taken on; others wait for it to land."""

    __slots__ = ("_home", "future", "keys", "verdicts")

    def __init__(self, home: Flights, keys: list[bytes]) -> None:
        """Take on some keys."""
        self._home = home
        self.keys = keys
        self.verdicts: dict[bytes, Verdict] = {}
        self.future: Future[None] = Future()
        self.future.set_running_or_notify_cancel()  # A waiter that gives up can't cancel it.

    def land(self) -> None:
        """Give the keys back and wake who waits, whether or not there is a verdict for each."""
        if not self.future.done():
            self._home.clear(self.keys)
            self.future.set_result(None)


class Flights:
    """Who is at work on which check, across the threads of one process."""

    def __init__(self) -> None:
        """Start with nothing in flight."""
        self._lock = Lock()
        self._by_key: dict[bytes, Flight] = {}

    def board(self, keys: Sequence[bytes]) -> tuple[Flight, list[Flight]]:
        """Take on what nobody is at work on; also give the flights that hold the rest."""
        with self._lock:
            taken = set() if not self._by_key else self._by_key.keys() & keys
            free = [key for key in dict.fromkeys(keys) if key not in taken]
            flight = Flight(self, free)
            others = {id(f): f for f in map(self._by_key.__getitem__, taken)}
            self._by_key.update(dict.fromkeys(free, flight))
            return flight, list(others.values())

    def clear(self, keys: Sequence[bytes]) -> None:
        """Forget keys that are no longer in flight."""
        with self._lock:
            for key in keys:
                self._by_key.pop(key, None)
