"""The worker pool: killable processes in which verifiers and canonicalisers run."""

from __future__ import annotations

import heapq
import itertools
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic
from typing import Any, Self
from weakref import WeakSet

import cloudpickle

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.engines.control import Passed
from verifier_ladder.scheduler.engines.job import (
    BatchAnswer,
    BatchFuture,
    CanonicalAnswer,
    CanonicalJob,
    Expected,
    ExpectJob,
    Job,
    VerifyJob,
)
from verifier_ladder.scheduler.engines.lane import Lane, PoolClosed
from verifier_ladder.scheduler.engines.watch import Limit
from verifier_ladder.verifiers import Verifier

__all__ = ["BatchAnswer", "CanonicalAnswer", "Limit", "PoolClosed", "WorkerPool"]

_LOADING = 300.0
_LONG = 0.02
"""Seconds after which a busy lane's waiting jobs may be stolen."""
_Heap = list[tuple[float, int, Job[Any]]]


_OPEN: WeakSet[WorkerPool] = WeakSet()


_KEPT = 256


class Shipments:
    """The code of verifiers and canonicalisers, pickled once and named by a token.

    Classes and functions travel by reference where a worker can import them, and by value
    otherwise: those of `__main__` and of notebooks always, those of a module that only this
    process can import after a worker has said so.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = Lock()
        self._numbers = itertools.count()
        # The object is kept, so that its id can't be given to another one.
        self._known: OrderedDict[int, tuple[int, Any]] = OrderedDict()
        self._code: dict[int, bytes] = {}
        self._by_value: dict[int, set[str]] = {}

    def token(self, thing: Any) -> int:
        """The number that stands for this object in every worker."""
        with self._lock:
            if id(thing) not in self._known:
                self._known[id(thing)] = (next(self._numbers), thing)
                if len(self._known) > _KEPT:
                    _, (old, _) = self._known.popitem(last=False)
                    self._code.pop(old, None)
                    self._by_value.pop(old, None)
            self._known.move_to_end(id(thing))
            return self._known[id(thing)][0]

    def code(self, thing: Any) -> bytes:
        """The object as bytes.

        Raises:
            ConfigError: If it can't be pickled.
        """
        token = self.token(thing)
        with self._lock:
            if token not in self._code:
                self._code[token] = _dump(thing, self._by_value.get(token, set()))
            return self._code[token]

    def send_by_value(self, thing: Any, missing: str, sent: bytes | None) -> bool:
        """Pickle the code of a module by value from now on; False if `sent` was that already.

        Args:
            thing: What a worker could not read.
            missing: Name of the module that it could not import, if it knows.
            sent: What it was sent; another worker may have said the same meanwhile.
        """
        wanted = {missing, *_homes(thing)} if missing else _homes(thing)
        token = self.token(thing)
        with self._lock:
            modules = self._by_value.setdefault(token, set())
            new = {name for name in wanted if name in sys.modules} - modules
            modules |= new
            if new:
                self._code.pop(token, None)
            return self._code.get(token) != sent


_REGISTER = threading.Lock()
"""Held while modules are registered for one object: the register is one for the process."""


def _homes(thing: Any) -> set[str]:
    """Modules of the object's class and of the function it wraps."""
    parts = (type(thing), getattr(thing, "function", None))
    names = {getattr(part, "__module__", None) or "" for part in parts}
    return {name for name in names if name and not name.startswith("verifier_ladder.")}


def _dump(thing: Any, by_value: set[str]) -> bytes:
    with _REGISTER:
        # A user may have registered some already, who means it for good.
        names = by_value - cloudpickle.list_registry_pickle_by_value()
        registered = [sys.modules[name] for name in sorted(names)]
        for module in registered:
            cloudpickle.register_pickle_by_value(module)
        try:
            return _pickled(thing)
        finally:
            for module in registered:
                cloudpickle.unregister_pickle_by_value(module)


def _pickled(thing: Any) -> bytes:
    try:
        return bytes(cloudpickle.dumps(thing))
    except Exception as error:
        raise ConfigError(
            f"{thing!r} can't be sent to a worker process: {error}; open files, locks and "
            "connections in setup() instead of keeping them in the verifier or in a closure, "
            'or declare isolation="inline" if it can be trusted'
        ) from error


def _close_at_end(pool: WorkerPool) -> None:
    """Close this pool when the program ends.

    What is registered later runs earlier, so pools are closed before other libraries wait for
    their threads, which may wait for a pool. Plain `atexit` functions run after both.
    """
    _OPEN.add(pool)
    threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001


def _close_all() -> None:
    for pool in list(_OPEN):
        pool.close()


class WorkerPool:
    """Killable worker processes, one lane each, that verify and canonicalise batches.

    **Isolation.** Whatever a verifier does, only its own candidate is without an answer: a crash,
    a hang, an exit, too much memory or output. The culprit is found, tried again alone in a fresh
    worker, and its batch-mates get their verdicts.

    **Futures** never raise for anything a verifier does. They raise `PoolClosed` when the pool
    is closed first, and `CancelledError` when the caller cancels a batch that has not begun.
    Their callbacks run in a lane's thread and hold it up, so they should be short.

    **Clocks** start when a worker starts on a candidate, never while a batch waits, and stand
    still while the machine gives it no core.

    **Life.** Workers are spawned, never forked, and start with the first batch. They end when the
    pool is closed, when the program ends, and when it is killed. A pool can't be used in a
    process forked from the one that made it.

    Threads of the same process may share a pool.

    Example:
        >>> from verifier_ladder import Candidate, verifier
        >>> @verifier(kind="text", version="1")
        ... def length(candidate):
        ...     return float(len(candidate.content))
        >>> with WorkerPool(1) as pool:
        ...     answer = pool.verify(length, [Candidate("text", "abc")]).result()
        >>> answer.verdicts[0].score
        3.0
    """

    def __init__(
        self, size: int, *, memory: int | None = None, nice: int = 0, name: str = "fast",
        loading: float = _LOADING,
    ) -> None:  # fmt: skip
        """Open the pool.

        Args:
            size: How many workers; each is given one thread.
            memory: Bytes that a verifier may use in a worker, beyond the interpreter and other
                verifiers; None for no limit.
            nice: Added to the workers' niceness, so that they leave the learner its cores.
            name: What its threads are called.
            loading: Seconds of its own that a worker may take to start, import and set up a
                verifier.

        Raises:
            ConfigError: If a number makes no sense.
        """
        if size < 1:
            raise ConfigError(f"WorkerPool({size!r}): a pool needs at least one worker")
        if memory is not None and memory < 1:
            raise ConfigError(f"WorkerPool(memory={memory!r}): give bytes, or None for no limit")
        self.name, self.memory, self.nice, self.loading = name, memory, nice, loading
        self.shipments = Shipments()
        self.passed = Passed()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._serial = itertools.count()
        self._shared: _Heap = []
        self._hinted: list[_Heap] = [[] for _ in range(size)]
        self._closed = False
        self._lanes = [Lane(self, number) for number in range(size)]
        for lane in self._lanes:
            lane.thread.start()
        _close_at_end(self)

    @property
    def size(self) -> int:
        """How many workers it has."""
        return len(self._lanes)

    def pids(self) -> list[int]:
        """Process ids of the workers that run now."""
        return [pid for lane in self._lanes if (pid := lane.pid) is not None]

    def verify(
        self,
        verifier: Verifier,
        candidates: Sequence[Candidate],
        *,
        lane: int | None = None,
        priority: float = 0.0,
        limit: Limit | None = None,
        seeds: Sequence[int] | None = None,
        on_pause: Callable[[float], None] | None = None,
        expected: Sequence[Cost] | None = None,
    ) -> BatchFuture[BatchAnswer]:
        """Have one verifier judge a batch.

        Args:
            verifier: Travels to each worker once.
            candidates: One batch; split large ones for speed.
            lane: The lane to prefer, because its worker remembers the candidates. Another takes
                the batch when that one is busy for long.
            priority: Larger goes first.
            limit: What the budget has reserved; the batch is killed there unless extended.
            seeds: One per candidate: `random` and, if loaded, `numpy.random` are seeded with it
                before each candidate that is read.
            on_pause: Called in a lane's thread with the seconds for which a service that the
                verifier asks wants not to be asked.
            expected: What each candidate takes of what can't be measured, where its verdict does
                not say; by default what the verifier declares.
        """
        if seeds is not None and len(seeds) != len(candidates):
            raise ConfigError(f"{len(seeds)} seeds for {len(candidates)} candidates")
        job = VerifyJob(
            verifier, candidates, lane=lane, priority=priority, limit=limit, seeds=seeds,
            expected=expected,
        )  # fmt: skip
        job.on_pause = on_pause
        return self._put(job)

    def has_passed(self, verifier: Verifier) -> bool:
        """Whether a candidate is known with which one that fails can be compared."""
        return self.passed.get(self.shipments.token(verifier)) is not None

    def canonicalise(
        self,
        canonicaliser: Canonicaliser,
        contents: Sequence[str | bytes],
        *,
        priority: float = 0.0,
    ) -> BatchFuture[CanonicalAnswer]:
        """Bring a batch of contents to canonical form."""
        return self._put(CanonicalJob(canonicaliser, contents, priority))

    def expect(
        self, verifier: Verifier, candidates: Sequence[Candidate]
    ) -> BatchFuture[list[Expected]]:
        """Ask a verifier what checks of candidates will take; why, where it can't tell.

        It is asked as it was made, without its `setup`.
        """
        return self._put(ExpectJob(verifier, candidates))

    def _put(self, job: Job[Any]) -> BatchFuture[Any]:
        if os.getpid() != self._pid:
            raise PoolClosed("this pool belongs to the process that forked this one; open another")
        limits = [m for m in (self.memory, getattr(job.thing, "memory", None)) if m is not None]
        job.memory = min(limits, default=None)
        entry = (-job.priority, next(self._serial), job)
        with self._lock:
            if self._closed:
                job.future.set_exception(PoolClosed())
                return job.future
            hinted = job.lane is not None and 0 <= job.lane < len(self._lanes)
            heapq.heappush(self._hinted[job.lane] if hinted else self._shared, entry)  # type: ignore[index]
            self._wake.notify_all()
        return job.future

    def next_job(self, lane: Lane) -> Job[Any] | None:
        """Wait for the lane's next job; None when the pool closes. For lanes."""
        with self._lock:
            while True:
                own = self._hinted[lane.number]
                heap = min((h for h in (own, self._shared) if h), key=lambda h: h[0], default=None)
                heap, pause = (heap, None) if heap else self._to_steal(lane)
                if heap:
                    return heapq.heappop(heap)[2]
                if self._closed:
                    return None
                self._wake.wait(pause)

    def _to_steal(self, thief: Lane) -> tuple[_Heap | None, float | None]:
        """Jobs that wait for a lane busy for long, or how soon there may be some."""
        now, pause = monotonic(), None
        for lane, heap in zip(self._lanes, self._hinted, strict=True):
            if heap and lane is not thief:
                since = lane.busy_since
                busy = 0.0 if since is None else now - since
                if busy >= _LONG:
                    return heap, None
                pause = min(pause or _LONG, max(_LONG - busy, 1e-3))
        return None, pause

    def close(self, *, kill: bool = True) -> None:
        """End the workers; closing twice is allowed.

        Args:
            kill: Whether to kill what runs; otherwise all that was asked for is finished first.
        """
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._closed = True
            waiting = [entry[2] for heap in (self._shared, *self._hinted) for entry in heap]
            if kill:
                for heap in (self._shared, *self._hinted):
                    heap.clear()
            self._wake.notify_all()
        for job in waiting if kill else ():
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(PoolClosed())
        for lane in self._lanes if kill else ():
            lane.stop()
        for lane in self._lanes:
            lane.join()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
