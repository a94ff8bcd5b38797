"""The service: one campaign that scores for many clients, without holding up the event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.casework.reviewing import SharedReviews
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError, EngineError, LadderError
from verifier_ladder.learners.backend import Backend
from verifier_ladder.learners.gathering import Gatherer
from verifier_ladder.learners.readout import Readout
from verifier_ladder.learners.rounds import Grouping
from verifier_ladder.learners.scribe import Scribe
from verifier_ladder.reward import Reward
from verifier_ladder.run import Run
from verifier_ladder.server.admission import Admission
from verifier_ladder.server.limits import Limits
from verifier_ladder.server.shares import SharedPool

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign

T = TypeVar("T")
_Run = Callable[..., Awaitable[list[Reward]]]
"""Calls a function in a thread."""
DEADLINE = 30.0
"""Seconds that a call may wait for higher tiers, if neither it nor the server says otherwise."""
LONGEST = 3600.0
"""Seconds that a call may ask for."""
_MOST_RUNS = 10_000
"""Runs that one caller may name."""
_LONGEST_JUMP = 1_000_000
"""How far ahead of a run's newest step a call may go. A learner that counts samples instead of
updates goes less far in one call, and nine billion calls would be needed to bring the counter to
2**53, behind which clients of JSON can't read it."""
_LATEST_START = 2**31
"""The last step with which a run may begin: one that goes on in a new ledger goes on counting."""
_PLACERS, _READERS = 4, 4
"""Threads for what calls for rewards ask of the ledger beside their scores, and for all else."""
_ADVICE = "Give the rows that learners send a split ('train', 'test'), beside the label or in it"
_EVERY = 0.2
"""Seconds between two looks at the ledger, while somebody waits."""


class News:
    """Looks at the ledger for all who wait, so that a hundred streams cost as much as one.

    Example:
        >>> async def wait():
        ...     news = News(lambda: 7)
        ...     try:
        ...         return await news.after(3, 1.0)
        ...     finally:
        ...         await news.close()
        >>> asyncio.run(wait())
        7
    """

    def __init__(self, newest: Callable[[], int]) -> None:
        """Take the function that gives the id of the newest entry.

        It is called in a thread that nothing else uses, so nobody can hold it up.
        """
        self._read = newest
        self._thread = ThreadPoolExecutor(1, "vladder-news")
        self._reading: asyncio.Future[int] | None = None
        self._changed = asyncio.Event()
        self._newest = 0
        self._watch: asyncio.Task[None] | None = None
        self._waiting = 0
        self.is_over = False
        """Whether no more will come, because the server ends."""

    async def after(self, seen: int, patience: float) -> int:
        """Wait until there is an entry after this one, the time is over, or the server ends.

        Returns:
            The newest entry known; it may be one that was seen before.
        """
        if self._watch is None or self._watch.done():
            self._watch = asyncio.get_running_loop().create_task(self._look())
        self._waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    while self._newest <= seen and not self.is_over:
                        await self._changed.wait()
        finally:
            self._waiting -= 1
        return self._newest

    async def look(self) -> int:
        """Ask the ledger for its newest entry; who asks meanwhile gets the same answer.

        Raises:
            LadderError: If the ledger can't be read.
        """
        if self._reading is None or self._reading.done():
            loop = asyncio.get_running_loop()
            self._reading = loop.run_in_executor(self._thread, self._read)
        return await asyncio.shield(self._reading)

    async def _look(self) -> None:
        """Look again and again until nobody waits."""
        while not self.is_over:
            with suppress(LadderError):  # A ledger that went away may come back.
                newest = await self.look()
                if newest != self._newest:
                    self._newest = newest
                    self._tell()
            if not self._waiting:
                return
            await asyncio.sleep(_EVERY)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """Wake everybody for the last time."""
        self.is_over = True
        self._tell()

    async def close(self) -> None:
        """End, and wait until nothing is at work any more."""
        self.end()
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
        await asyncio.to_thread(self._thread.shutdown)


class Prompts:
    """Keeps what clients say beside their samples, if the campaign keeps such things."""

    def __init__(self, campaign: Campaign) -> None:
        """Keep for a campaign."""
        self._campaign = campaign
        self._scribe = Scribe(campaign.ladder)

    def keep(self, run: str, samples: Sequence[Sample], prompts: Mapping[str, Any]) -> None:
        """Keep the prompts of the samples' groups; to be called in a thread.

        Args:
            run: The samples' run.
            samples: Samples with their positions.
            prompts: By group.
        """
        contents = [sample.candidate.content for sample in samples]
        texts = [content if isinstance(content, str) else None for content in contents]
        columns = {"prompt": [prompts.get(sample.group) for sample in samples]}
        told = self._scribe.transcripts(samples, texts, columns, run)
        try:
            self._campaign.keep(told, run=run)
        except LadderError:
            self._scribe.forget(told, run)  # It is not kept; the next call says it again.
            raise


class LeavingError(EngineError):
    """The server is ending and takes no new calls; ask again in a moment."""


class RewardService:
    """Scores for the clients of one server.

    **Event loop.** Whatever touches the campaign or its ledger runs in a bounded number of
    threads. **Nothing lost.** What was accepted is scored and recorded even if its client has
    gone, and before `close` returns.
    """

    def __init__(
        self,
        campaign: Campaign,
        *,
        deadline: float | str | None = DEADLINE,
        on_abstain: float | None = None,
        clip: tuple[float, float] | None = None,
        masks: bool = False,
        group_size: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Serve an open campaign, which stays the caller's to close.

        Args:
            campaign: The campaign.
            deadline: Seconds that a call waits for higher tiers if it says nothing itself; None
                for those samples only that no tier has answered.
            on_abstain: What learners are told that can't leave a sample out.
            clip: Least and largest reward that learners are told; see `Readout`.
            masks: Whether a learner that knows masks gets one for an unknown reward, with
                `on_abstain`, instead of a failure.
            group_size: How many samples of one prompt learners send that tell no step; they
                share one then, however they come. Without it those of one call do.
            limits: How much is taken on.

        Raises:
            ConfigError: If the arguments can't work.
        """
        self.campaign, self.reviews = campaign, SharedReviews(campaign)
        self.deadline = None if deadline is None else seconds(deadline)
        self.readout = Readout(on_abstain, clip)
        self.masks = masks
        if masks and on_abstain is None:
            raise ConfigError("masks: a masked sample has a reward too; say which by on_abstain")
        self._grouping = Grouping(campaign.take_step, group_size=group_size)
        self.limits = limits or Limits()
        self.admission = Admission(self.limits.samples)
        self.learner = Backend.of(campaign.ladder, advice=_ADVICE, campaign=campaign)
        self.news = News(campaign.ledger.newest)
        self.prompts = Prompts(campaign)
        self.is_leaving = False
        self._gatherer = Gatherer(self._score_gathered, calls=self.limits.gathered)
        self._batches = SharedPool(self.limits.calls, "vladder-batch")
        self._singles = SharedPool(self.limits.gathered, "vladder-single")
        self._parsers = SharedPool(1, "vladder-parse")  # The interpreter runs one at a time.
        self._places = SharedPool(_PLACERS, "vladder-place")
        self._readers = SharedPool(_READERS, "vladder-read")
        self._runs, self._lock = {campaign.run.name}, Lock()
        self._named: Counter[str] = Counter()
        """How many of the runs each caller was the first to name."""

    async def score(
        self,
        samples: Sequence[Sample | Candidate | str],
        caller: str,
        *,
        step: int | None = None,
        groups: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> list[Reward]:
        """Score a batch for a caller, by its token's id; see `Campaign.score`.

        Raises:
            BusyError: If there is too much work already; nothing was accepted.
            LeavingError: If the server is ending.
            ConfigError: If a sample can't be scored.
            LadderError: If the ledger or the workers fail.
        """
        limit = self.deadline if deadline is None else deadline
        with self._accept(len(samples), caller):
            return await self._batches.run(
                caller, self._call, samples, step, groups, limit, monotonic()
            )

    async def reward(self, sample: Sample, caller: str) -> Reward:
        """Score one sample, together with others that are asked for meanwhile; see `score`."""
        with self._accept(1, caller):
            (placed,) = self._grouping.place([sample])
            return await self._gatherer.ask(placed)

    async def rewards(self, samples: Sequence[Sample], caller: str) -> list[Reward]:
        """Score what one call of a learner brought, which may be one sample or many."""
        if len(samples) == 1:
            return [await self.reward(samples[0], caller)]
        if not samples:
            return []
        with self._accept(len(samples), caller):
            run = partial(self._batches.run, caller)
            return await self._score_steps(run, self._grouping.place(samples), monotonic())

    def read(self, caller: str, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Call a function that reads the ledger, or answers a case, in a thread."""
        return self._readers.run(caller, function, *arguments)

    def parse(self, caller: str, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Call a function that reads a long body, in a thread, callers taking turns."""
        return self._parsers.run(caller, function, *arguments)

    def place(self, caller: str, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Call a function that prepares or ends a call for rewards, in a thread.

        Readers have other threads. `close` waits for it, if nobody else does.
        """
        return self._places.run(caller, function, *arguments)

    def note_run(self, name: str, step: int | None, caller: str) -> None:
        """Record a run that a client has named, once; to be called in a thread.

        Args:
            name: Its name.
            step: The step that was named with it, if one was.
            caller: Who names it.

        Raises:
            ConfigError: If a run can't have this name, the step is too far ahead of it, or the
                caller has named too many. Nothing is recorded then.
        """
        if step is not None:
            self._check_step(name, step)
        if name in self._runs:
            return
        run = Run(name)
        with self._lock:
            if self._named[caller] >= _MOST_RUNS:
                raise ConfigError(
                    f"you have named {_MOST_RUNS} runs since this server began; name one of them"
                )
            self.campaign.ledger.add_run(self.campaign.name, run.as_json())
            self._named[caller] += name not in self._runs
            self._runs.add(name)

    def _check_step(self, run: str, step: int) -> None:
        """Refuse a step that would leave a gap behind it which nobody can mean."""
        if step <= _LONGEST_JUMP:  # No run is behind its beginning.
            return
        free = self.campaign.ledger.next_step(self.campaign.name, run)
        most = free + _LONGEST_JUMP if free else _LATEST_START
        if step > most:
            stands = f"whose newest step is {free - 1}" if free else "which has no step yet"
            raise ConfigError(
                f"step: {step} is too far ahead of the run {run!r}, {stands}; the next one may be "
                f"up to {most}; name another run if this one was counted otherwise"
            )

    def leave(self) -> None:
        """Take no new calls, and end the streams; calls that were accepted go on."""
        self.is_leaving = True
        self.news.end()

    async def close(self) -> None:
        """Finish what was accepted."""
        self.leave()
        await self.news.close()
        await self._batches.close()
        await self._singles.close()
        await self._parsers.close()
        await self._places.close()
        await self._readers.close()

    def _accept(self, samples: int, caller: str) -> Any:
        if self.is_leaving:
            raise LeavingError
        return self.admission.hold(samples, caller)

    async def _score_gathered(self, samples: Sequence[Sample], waited: float) -> list[Reward]:
        run = partial(self._singles.run, "")  # They are of several callers.
        return await self._score_steps(run, samples, monotonic() - waited)

    async def _score_steps(
        self, run: _Run, samples: Sequence[Sample], begun: float
    ) -> list[Reward]:
        """Score samples of some steps, side by side: none waits for another one's deadline."""
        by_step: dict[int, list[int]] = {}
        for place, sample in enumerate(samples):
            by_step.setdefault(sample.step, []).append(place)
        calls = [
            run(
                self._call, [samples[place] for place in places],
                None if step < 0 else step, None, self.deadline, begun,
            )
            for step, places in by_step.items()
        ]  # fmt: skip
        made = zip(by_step.values(), await asyncio.gather(*calls), strict=True)
        found = {place: r for places, some in made for place, r in zip(places, some, strict=True)}
        return [found[place] for place in range(len(samples))]

    def _call(
        self,
        samples: Sequence[Any],
        step: int | None,
        groups: Sequence[str] | None,
        limit: float | None,
        begun: float,
    ) -> list[Reward]:
        """Score in a thread; what was waited for it is part of the deadline."""
        self.learner.attachment.keep()
        left = None if limit is None else max(0.0, begun + limit - monotonic())
        return self.campaign.score(samples, deadline=left, step=step, groups=groups, more=None)
