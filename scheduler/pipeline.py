"""Pipelines: many jobs that each wait for futures, driven by one thread."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import CancelledError, Future
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

Job = Generator[Future[Any], Any, None]


def _failure(done: Future[Any]) -> BaseException | None:
    return CancelledError() if done.cancelled() else done.exception()


def drive(jobs: Iterable[Job], until: float | None, *, window: int) -> bool:
    """Run jobs, each of which yields the future it waits for and is sent its result.

    A future that failed is thrown into its job, which may handle it or clean up.

    Args:
        jobs: Generators; started in order, at most `window` at a time.
        until: Monotonic time at which to give up; jobs still waiting are closed.
        window: How many jobs are under way at once.

    Returns:
        Whether all of them finished.
    """
    ready: SimpleQueue[tuple[Job, Future[Any]]] = SimpleQueue()
    waiting: dict[int, tuple[Job, Future[Any]]] = {}
    source, all_begun = iter(jobs), False

    def advance(job: Job, done: Future[Any] | None) -> None:
        try:
            error = _failure(done) if done else None
            future = job.throw(error) if error else job.send(done.result() if done else None)
        except StopIteration:
            return
        waiting[id(job)] = (job, future)
        future.add_done_callback(lambda done: ready.put((job, done)))

    try:
        while True:
            while not all_begun and len(waiting) < window:
                if (job := next(source, None)) is None:
                    all_begun = True
                else:
                    advance(job, None)
            if not waiting:
                return True
            try:
                left = None if until is None else max(until - monotonic(), 0.0)
                job, future = ready.get(timeout=left)
            except Empty:
                return False
            del waiting[id(job)]
            advance(job, future)
    finally:
        for job, future in waiting.values():
            future.cancel()
            job.close()
