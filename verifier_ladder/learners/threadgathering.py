"""Gathering among threads: samples that many threads ask for one by one are scored together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from time import monotonic
from typing import NamedTuple

from verifier_ladder.candidate import Sample
from verifier_ladder.reward import Reward

Score = Callable[[Sequence[Sample], float], list[Reward]]
"""Scores samples of which the first has waited for so many seconds."""
_CALLS = 4
_PATIENCE = 0.05
"""Seconds for which a sample waits for the end of a call that is at work, as behind a verifier
that hangs, before another one begins."""


class _Asked(NamedTuple):
    """A sample whose reward a thread waits for."""

    sample: Sample
    answer: Future[Reward]
    since: float


class ThreadGatherer:
    """What `Gatherer` is to an event loop: a call costs a transaction, so calls are shared.

    A sample that comes while nothing is at work is scored at once; while a call is at work it
    waits for others until that ends.

    Example:
        >>> gatherer = ThreadGatherer(lambda samples, waited: [Reward(1.0)] * len(samples))
        >>> gatherer.ask("a").value
        1.0
    """

    def __init__(self, score: Score) -> None:
        """Score through a function."""
        self._score = score
        self._asked: list[_Asked] = []
        self._working = 0
        self._threads: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def ask(self, sample: Sample) -> Reward:
        """The reward of one sample.

        Raises:
            LadderError: Whatever the call for its batch raised.
        """
        asked = _Asked(sample, Future(), monotonic())
        with self._lock:
            self._asked.append(asked)
            if not self._working:
                self._begin()
        try:
            return asked.answer.result(_PATIENCE)
        except TimeoutError:
            with self._lock:
                if not asked.answer.running():
                    self._begin()
        return asked.answer.result()

    def _begin(self) -> None:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_CALLS, "verifier-ladder")
        self._threads.submit(self._work)
        self._working += 1

    def _work(self) -> None:
        """Score all that is asked, until nothing is."""
        while taken := self._take():
            try:
                rewards = self._score([one.sample for one in taken], monotonic() - taken[0].since)
            except Exception as error:  # noqa: BLE001 - raised where it is awaited
                for one in taken:
                    one.answer.set_exception(error)
            else:
                for one, reward in zip(taken, rewards, strict=True):
                    one.answer.set_result(reward)

    def _take(self) -> list[_Asked]:
        with self._lock:
            taken, self._asked = self._asked, []
            for one in taken:
                one.answer.set_running_or_notify_cancel()
            if not taken:
                self._working -= 1
        return taken
