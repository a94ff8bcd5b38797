"""Limits that verifiers declare: how many workers of a machine, and when checks may begin.

The queue's checks take their tokens as they are claimed. What a learner waits for is in no queue:
it waits at a `Gate`.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from threading import Condition, Thread
from typing import IO

from verifier_ladder.containment import ContainedLog
from verifier_ladder.errors import LedgerError
from verifier_ladder.forks import not_in_child
from verifier_ladder.ledger import Ledger
from verifier_ladder.private import open_shared, own_folder
from verifier_ladder.services.gpumemory import Room, problem, rooms_for
from verifier_ladder.verifiers import Verifier

_LOG = ContainedLog("verifier_ladder")
LOOK = 0.25
"""Seconds until the next look, where another process of the machine has to make room."""
_LEAST = 0.001


class Seat:
    """What a worker needs of its machine to be at work for a verifier.

    One of the places that the verifier's `max_processes` allows, and room for its services on a
    GPU. Locked files hold both; the kernel gives them back when the process dies.
    """

    def __init__(self, file: IO[str] | None = None, rooms: Sequence[Room] = ()) -> None:
        """Hold a locked file; None where the verifier has no limit."""
        self._file, self._rooms = file, rooms

    def release(self) -> None:
        """Let another worker have it; a second call does nothing."""
        for room in self._rooms:
            room.release()
        file, self._file = self._file, None
        if file is not None:
            fcntl.flock(file, fcntl.LOCK_UN)  # A child of native code may hold it too.
            file.close()


def needs_seat(verifier: Verifier) -> bool:
    """Whether a verifier's workers need one."""
    takes_memory = any(service.gpu_memory for service in verifier.services.values())
    return verifier.max_processes is not None or takes_memory


def is_limited(verifier: Verifier) -> bool:
    """Whether its checks may have to wait before they begin."""
    return verifier.rate is not None or needs_seat(verifier)


def take_seat(verifier: Verifier) -> Seat | None:
    """A seat for one more worker of this machine; None if there is none just now.

    Raises:
        ConfigError: If the folder of the locks could be written by somebody else.
        OSError: If a lock can't be made.
    """
    services = verifier.services.values()
    # Where services can never run, the check is claimed and refused, not kept waiting.
    rooms = [] if problem(services) else rooms_for(services)
    if rooms is None:
        return None
    seat = Seat(rooms=rooms)
    if verifier.max_processes is None:
        return seat
    file = _place_of(verifier, verifier.max_processes)
    if file is None:
        seat.release()
        return None
    return Seat(file, rooms)


def _place_of(verifier: Verifier, most: int) -> IO[str] | None:
    """A locked file for one of so many workers; None if all are taken."""
    folder = own_folder("seats")
    for number in range(most):
        file = not_in_child(open_shared(folder / f"{verifier.digest.hex()[:32]}-{number}"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        except BaseException:
            file.close()
            raise
        else:
            return file
    return None


class Seats:
    """The seats of one process, by verifier."""

    def __init__(self) -> None:
        """Hold none."""
        self._held: dict[bytes, list[Seat]] = {}

    def hold(self, verifier: Verifier, count: int) -> bool:
        """Have so many of a verifier; whether that could be."""
        if not needs_seat(verifier):
            return True
        mine = self._held.setdefault(verifier.digest, [])
        while len(mine) < count and (seat := take_seat(verifier)) is not None:
            mine.append(seat)
        return len(mine) >= count

    def keep(self, counts: Mapping[bytes, int]) -> None:
        """Give back what is more than these, by the digests of verifiers."""
        for digest, mine in list(self._held.items()):
            while len(mine) > counts.get(digest, 0):
                mine.pop().release()
            if not mine:
                del self._held[digest]


class Entry:
    """Leave to have some candidates judged; `leave` when they are."""

    def __init__(self, count: int, seat: Seat, left: Callable[[], None]) -> None:
        """Let so many begin; `left` hears when they are done."""
        self.count = count
        self._seat, self._left = seat, left

    def leave(self) -> None:
        """Make room for others."""
        self._seat.release()
        self._left()


class Gate:
    """Lets checks begin that a learner waits for, as their verifiers' limits allow.

    **Threads.** One, which begins when somebody has to wait and ends when nobody does.

    Example:
        >>> from verifier_ladder import Candidate, verifier
        >>> from verifier_ladder.ledger import open_ledger
        >>> @verifier(kind="text", version="1", rate="2/s")
        ... def slow(candidate): ...
        >>> with open_ledger(None) as ledger:
        ...     Gate(ledger).enter(slow, 64).result().count
        1
    """

    def __init__(self, ledger: Ledger) -> None:
        """Take tokens from this ledger's rates."""
        self._ledger = ledger
        self._changed = Condition()
        self._has_changed = False
        """Whether somebody has come or left since the thread has begun its last look."""
        self._waiting: list[tuple[Verifier, int, Future[Entry]]] = []
        self._thread: Thread | None = None

    def enter(self, verifier: Verifier, wanted: int) -> Future[Entry]:
        """Ask for leave to have up to so many candidates judged; cancel it to go away."""
        future: Future[Entry] = Future()
        with self._changed:
            self._waiting.append((verifier, wanted, future))
            if self._thread is None:
                self._thread = Thread(target=self._run, name="vl-gate", daemon=True)
                self._thread.start()
        self._change()
        return future

    def _change(self) -> None:
        with self._changed:
            self._has_changed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._has_changed = False
                self._waiting = [one for one in self._waiting if not one[2].done()]
                waiting = tuple(self._waiting)
                if not waiting:
                    self._thread = None
                    return
            pause = min(self._tried(*one) for one in waiting)
            with self._changed:
                self._changed.wait_for(lambda: self._has_changed, pause)

    def _tried(self, verifier: Verifier, wanted: int, future: Future[Entry]) -> float:
        """Let somebody in if that can be; seconds until it may be, 0 if nobody waits there."""
        try:
            entry, pause = self._entry(verifier, wanted)
        except BaseException as error:  # noqa: BLE001 - it belongs to who waits
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
            return 0.0
        if entry is None:
            return pause
        if future.set_running_or_notify_cancel():
            future.set_result(entry)
        else:
            entry.leave()
        return 0.0

    def _entry(self, verifier: Verifier, wanted: int) -> tuple[Entry | None, float]:
        seat = take_seat(verifier)
        if seat is None:
            return None, LOOK
        count, pause = wanted, 0.0
        try:
            if (rate := verifier.shared_rate) is not None:
                now = self._ledger.clock()
                count, due = self._ledger.take_tokens(rate, wanted, now=now)
                pause = max(_LEAST, due - now)
        except BaseException:
            seat.release()
            raise
        if count:
            return Entry(count, seat, self._change), 0.0
        seat.release()
        return None, pause


def put_off(ledger: Ledger, verifier: Verifier) -> Callable[[float], None] | None:
    """What is to be told of the pauses that a verifier's service asks for; None without a rate."""
    rate = verifier.shared_rate
    if rate is None:
        return None

    def tell(seconds: float) -> None:
        try:
            ledger.put_off(rate, seconds, now=ledger.clock())
        except LedgerError as error:  # It may be away for a moment; the service will say it again.
            _LOG.warning("the rate %s was not put off: %s", rate.name, error)

    return tell
