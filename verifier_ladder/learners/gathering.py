"""Gathering in an event loop: samples that are asked for one by one are scored together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import NamedTuple

from verifier_ladder.candidate import Sample
from verifier_ladder.errors import ConfigError
from verifier_ladder.reward import Reward

Score = Callable[[Sequence[Sample], float], Awaitable[list[Reward]]]
"""Scores samples of which the first has waited for so many seconds."""
_SHORT, _SHORTEST, _LONGEST = 0.05, 0.002, 1.0
"""Seconds: a call that is short enough to wait for its end, and for how long the first of a batch
may wait at least and at most while calls are at work."""
_MOST = 4096
_MEMORY = 0.7


class _Asked(NamedTuple):
    """A sample whose reward somebody awaits."""

    sample: Sample
    answer: asyncio.Future[Reward]
    since: float


class Gatherer:
    """Makes batches of single samples.

    A call costs a transaction however few samples it has. So a sample that comes while nothing is
    at work is scored at once, with those of the same moment. While calls are at work it waits for
    others until one of them ends. But where that takes longer than usual, as behind a verifier
    that hangs, it waits only as long as keeps a call in reserve: a second at most.

    Example:
        >>> async def score(samples, waited):
        ...     return [Reward(float(len(samples)))] * len(samples)
        >>> async def ask_twice():
        ...     gatherer = Gatherer(score, calls=2)
        ...     return await asyncio.gather(gatherer.ask("a"), gatherer.ask("b"))
        >>> [reward.value for reward in asyncio.run(ask_twice())]
        [2.0, 2.0]
    """

    def __init__(self, score: Score, *, calls: int) -> None:
        """Score through a function, with at most so many calls at one time."""
        self._score, self._most = score, calls
        self._asked: list[_Asked] = []
        self._timer: asyncio.Handle | None = None
        self._begun: dict[asyncio.Task[None], float] = {}
        self._took = 0.0

    async def ask(self, sample: Sample) -> Reward:
        """The reward of one sample.

        It is scored even if the caller goes away.

        Raises:
            LadderError: Whatever the call for its batch raised.
        """
        loop = asyncio.get_running_loop()
        asked = _Asked(sample, loop.create_future(), monotonic())
        self._asked.append(asked)
        if len(self._asked) >= _MOST:
            self._begin()
        elif self._timer is None:
            self._arm(loop)
        return await asked.answer

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._begun:
            # After whatever else is ready to run now: all of it may ask, too.
            self._timer = loop.call_soon(self._begin)
        elif len(self._begun) < self._most:
            self._timer = loop.call_later(self._window(), self._begin)
        # Else the next call that ends begins this one.

    def _window(self) -> float:
        """Seconds to wait for others, so that calls end as fast as they begin."""
        oldest = monotonic() - min(self._begun.values())
        pace = max(self._took, oldest) / self._most
        return min(_LONGEST, max(_SHORTEST, pace, 2 * min(self._took, _SHORT)))

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._asked or len(self._begun) >= self._most:
            return
        loop = asyncio.get_running_loop()
        taken, self._asked = self._asked[:_MOST], self._asked[_MOST:]
        call = loop.create_task(self._answer(taken))
        self._begun[call] = monotonic()
        call.add_done_callback(self._end)
        if self._asked:
            self._arm(loop)

    def _end(self, call: asyncio.Task[None]) -> None:
        took = monotonic() - self._begun.pop(call)
        self._took = _MEMORY * self._took + (1 - _MEMORY) * took
        if not self._asked:
            return
        if not self._ends_one_soon():
            self._begin()
        elif self._timer is None:
            self._arm(asyncio.get_running_loop())

    def _ends_one_soon(self) -> bool:
        """Whether a call is at work that began so late that it is worth waiting for its end.

        Calls beside each other share one interpreter, so many small ones are slower than one.
        """
        return bool(self._begun) and monotonic() - max(self._begun.values()) < self._window()

    async def _answer(self, taken: Sequence[_Asked]) -> None:
        samples = [one.sample for one in taken]
        try:
            rewards = await self._score(samples, monotonic() - taken[0].since)
        except ConfigError as error:
            # One sample that can't be scored must not cost the others their rewards.
            if len(taken) == 1:
                _fail(taken, error)
            else:
                await self._answer(taken[: len(taken) // 2])
                await self._answer(taken[len(taken) // 2 :])
            return
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            _fail(taken, error)
            return
        for one, reward in zip(taken, rewards, strict=True):
            if not one.answer.done():  # Its caller may have gone.
                one.answer.set_result(reward)


def _fail(taken: Sequence[_Asked], error: Exception) -> None:
    for one in taken:
        if not one.answer.done():
            one.answer.set_exception(error)
