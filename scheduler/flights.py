"""Flights: identical work in progress in this process is shared, never started twice."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from verifier_ladder.verdict import Verdict


class Flight:
    """The checks that one caller has taken on; others wait for it to land."""

    __slots__ = ("_home", "closed", "future", "is_leased", "keys", "verdicts")

    def __init__(self, home: Flights, keys: list[bytes], *, is_leased: bool = False) -> None:
        """Take on some keys."""
        self._home = home
        self.keys = keys
        self.is_leased = is_leased
        """Whether these are checks of the work queue."""
        self.verdicts: dict[bytes, Verdict] = {}
        self.future = _uncancellable()
        """Done once it has landed: others can read its verdicts."""
        self.closed = _uncancellable()
        """Done once what it has said is in the ledger, or never will be."""

    def drop(self, keys: Sequence[bytes]) -> None:
        """Give back keys that need no work after all."""
        if keys:
            self.keys = [key for key in self.keys if key not in keys]
            self._home.give_back(self, keys)

    def land(self) -> None:
        """Wake who waits, and give back the keys for which there is no verdict."""
        if not self.future.done():
            self._home.give_back(self, [key for key in self.keys if key not in self.verdicts])
            self.future.set_result(None)

    def close(self) -> None:
        """Give all keys back: the ledger knows what was said, or nobody does."""
        self.land()
        if not self.closed.done():
            self._home.give_back(self, self.keys)
            self.closed.set_result(None)


def _uncancellable() -> Future[None]:
    """A future that a waiter who gives up can't cancel."""
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    return future


class Flights:
    """Who is at work on which check, across the threads of one process.

    A key is taken until its flight is closed: between landing and the ledger's knowing, too,
    nobody starts the same work. Whoever comes then reads the verdict from the flight.
    """

    def __init__(self) -> None:
        """Start with nothing in flight."""
        self._lock = Lock()
        self._by_key: dict[bytes, Flight] = {}

    def board(
        self, keys: Sequence[bytes], *, is_leased: bool = False
    ) -> tuple[Flight, list[Flight]]:
        """Take on what nobody is at work on; also give the flights that hold the rest."""
        with self._lock:
            taken = set() if not self._by_key else self._by_key.keys() & keys
            free = [key for key in dict.fromkeys(keys) if key not in taken]
            flight = Flight(self, free, is_leased=is_leased)
            others = {id(f): f for f in map(self._by_key.__getitem__, taken)}
            self._by_key.update(dict.fromkeys(free, flight))
            return flight, list(others.values())

    def give_back(self, flight: Flight, keys: Sequence[bytes]) -> None:
        """Forget keys that a flight is done with."""
        with self._lock:
            for key in keys:
                if self._by_key.get(key) is flight:
                    del self._by_key[key]
