"""Async verifiers: many candidates at once wait for services, and one client is kept for all."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from math import ceil
from typing import Any, TypeVar

from verifier_ladder.arguments import checked_value
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.group import seen_members, told_together
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier, failure

Answer = Verdict | float | bool | None
_T = TypeVar("_T")
_MARGIN = 1.0


class AsyncVerifier(Verifier):
    """Base of a verifier that waits for a service; subclass it to keep a client.

    **Guarantees to the author.** All calls of one process run in one event loop that lives as
    long as the process, so a client that is made once can be kept. Up to `concurrency`
    candidates are asked about at once. A call that raises, or takes longer than `timeout`
    seconds, costs only its own candidate. Answers are given in order, each once those before it
    are there, and what was given is kept whatever becomes of the others.

    To ask another verifier inside `verify_one`, await that one's own `verify_one`, or call it as
    the function that it was made of; any other is asked in a thread, with
    `await asyncio.to_thread(other.judge, [candidate])`.

    Example:
        >>> class Polite(AsyncVerifier):
        ...     name, version, tier, kind = "polite", "1", "simulation", "text"
        ...     async def verify_one(self, candidate):
        ...         await asyncio.sleep(0)  # stands for a request
        ...         return "please" in candidate.content
        >>> Polite().judge([Candidate("text", "please")])[0].outcome.value
        'accept'
    """

    network = True
    concurrency: int = 32
    """How many candidates are asked about at once by one worker."""

    def __init__(self, **settings: Any) -> None:
        """Keep the settings that affect results; see `Verifier`."""
        checked_value(f"verifier {self.name}", "concurrency", self.concurrency, "int", 1)
        super().__init__(**settings)
        if self.scope == "group" and type(self).verify_group is AsyncVerifier.verify_group:
            raise ConfigError(
                f'verifier {self.name} has scope="group": give it an async verify_group(members) '
                "that returns one answer for each member"
            )

    async def verify_one(self, candidate: Candidate) -> Answer:
        """Judge one candidate."""
        del candidate
        raise TypeError(f"{type(self).__name__} has no verify_one method")

    @property
    def answers_together(self) -> bool:
        """Whether `verify` answers about a list at once: here each answers for itself."""
        return False

    async def verify_group(self, members: Sequence[Candidate]) -> Sequence[Answer]:
        """Judge all members of a group together, in order, where `scope` is "group"."""
        del members
        raise TypeError(f"{type(self).__name__} has no verify_group method")

    def stream_groups(self, groups: Sequence[Candidate]) -> Iterator[object]:
        """Judge groups, `concurrency` of them at a time."""
        return answers(self._ask_group, groups, self.timeout, self.concurrency)

    async def _all(self, members: Sequence[Candidate]) -> Sequence[Answer]:
        return await self.verify_group(members)

    async def _ask_group(self, group: Candidate) -> Verdict:
        members = seen_members(self, group)
        count = len(members)  # The list is the verifier's to change.
        return told_together(self, await self.verify_group(members), count)

    def patience(self, count: int) -> float:
        """Seconds that the engine waits without progress: each call watches its own time."""
        return patience(count, self.timeout, self.concurrency)

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Answer]:
        """Ask about all of them, and give the answers in order as they come."""
        if self.scope == "group":
            return iter(wait_for(self._all(candidates)))
        return answers(self.verify_one, candidates, self.timeout, self.concurrency)


def answers(
    ask: Callable[[Candidate], Awaitable[Answer]],
    candidates: Sequence[Candidate],
    timeout: float,
    concurrency: int,
) -> Iterator[Answer]:
    """Ask about many candidates at once, and give the answers in order as they come.

    Args:
        ask: Asks about one candidate.
        candidates: Whom to ask about.
        timeout: Seconds that each may take.
        concurrency: How many are asked about at once.
    """
    gate = asyncio.Semaphore(concurrency)
    begun = [start(_one(ask, candidate, timeout, gate)) for candidate in candidates]
    try:
        for answer in begun:
            yield answer.result()
    finally:  # Whoever stops listening wants no more of them.
        for answer in begun:
            answer.cancel()


async def _one(
    ask: Callable[[Candidate], Awaitable[Answer]],
    candidate: Candidate,
    seconds: float,
    gate: asyncio.Semaphore,
) -> Answer:
    async with gate:
        try:
            return await asyncio.wait_for(ask(candidate), seconds)
        except TimeoutError:
            return Verdict.abstain(f"no answer in {seconds:g} s", failed_at="tool")
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it raises, it is this candidate's
            return failure(error)


def patience(count: int, timeout: float, concurrency: int) -> float:
    """Seconds that so many calls may take, where each is ended by its own time limit.

    Example:
        >>> patience(33, 10.0, 32)
        21.0
    """
    return timeout * max(1, ceil(count / concurrency)) + _MARGIN


# -- the process's event loop ---------------------------------------------------------------------

_LOCK = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop by process: a forked child has none of its parent's threads."""


def start(coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
    """Run a coroutine in the event loop of this process, which a thread of its own serves.

    Raises:
        ConfigError: If it is called inside that loop, which could never answer.
    """
    loop = _loop()
    if _running() is loop:
        coroutine.close()
        raise ConfigError(
            "an async verifier can't be asked with judge inside another one, which would wait for "
            "itself; await its verify_one, or the function that it was made of, or give judge a "
            "thread: await asyncio.to_thread(other.judge, [candidate])"
        )
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def wait_for(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in the event loop of this process, and wait for what it returns.

    An event loop that runs already, as in a notebook, is no obstacle.
    """
    answer = start(coroutine)
    try:
        return answer.result()
    finally:
        answer.cancel()


def _running() -> asyncio.AbstractEventLoop | None:
    """The event loop that this thread is in."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _loop() -> asyncio.AbstractEventLoop:
    with _LOCK:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = asyncio.new_event_loop()
            threading.Thread(
                target=_serve, args=(loop,), daemon=True, name="verifier_ladder async"
            ).start()
            _loops[os.getpid()] = loop  # Only one that is served is anybody's.
        return loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while True:
        with suppress(SystemExit, KeyboardInterrupt):  # Its caller is told; others go on.
            loop.run_forever()
