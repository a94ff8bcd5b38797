"""Backends: what every learner's adapter stands on, whatever the learner calls it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack
from weakref import WeakKeyDictionary

from verifier_ladder.budget import Budget
from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.attachment import Attachment
from verifier_ladder.learners.reader import Reader
from verifier_ladder.learners.scribe import Scribe
from verifier_ladder.reward import Reward
from verifier_ladder.run import Run
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger

_CALLS = 4
"""Calls for single samples at one time: one whose verifier hangs must not hold up the others."""


class Options(TypedDict, total=False):
    """What every adapter takes beside the verifier, each with the default named here."""

    ledger: str | Path | Ledger | None
    """Where verdicts are kept: a path or an address. Without one, in memory until the end."""
    deadline: float | str | None
    """Seconds one call may take, 30 by default; it must come before the learner's own limit.
    None waits for the fast tier however long it takes."""
    campaign: Campaign | str | None
    """Name in the ledger, by default the ladder's, or the verifier's with its version; or an open
    campaign."""
    name: str | None
    """What the learner's logs call it; the verifier's name by default."""
    budget: Budget | None
    """Caps per tier, as in `Campaign.open`."""
    run: Run | str | None
    """Name of the training run, or a `Run` with its report card; by default each start of the
    script is another run."""
    transcripts: bool | None
    """Whether prompts and chats are kept, so that the samples can be trained on later; by default
    as `VLADDER_TRANSCRIPTS` says, which is yes."""


class Backend:
    """Reads what a learner hands over, and scores it in the attachment's campaign.

    **Pickling.** Travels as its attachment does.

    **One by one.** A call has its own transaction in the ledger. So samples that `areward` is
    asked for in the same turn of an event loop are scored in one call, and so are those that
    `reward` is asked for by other threads while its calls are busy.
    """

    def __init__(self, attachment: Attachment) -> None:
        """Score through an attachment."""
        self.attachment = attachment
        self.name = attachment.name
        self.reader = Reader(attachment.ladder, attachment.name)
        self._scribe = Scribe(attachment.ladder)
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Waiting]]
        self._waiting = WeakKeyDictionary()
        self._calls: set[asyncio.Task[None]] = set()
        self._asked: deque[_Asked] = deque()
        self._threads: ThreadPoolExecutor | None = None
        self._lock = Lock()

    @classmethod
    def of(cls, verifier: Verifier | Ladder | str | Path, **options: Unpack[Options]) -> Backend:
        """A backend for a verifier or a ladder.

        Raises:
            ConfigError: If the arguments can't work together.
        """
        return cls(Attachment(verifier, **options))

    @property
    def campaign(self) -> Campaign:
        """The campaign it scores in; opened by the first use."""
        return self.attachment.campaign

    def close(self) -> None:
        """Close the campaign now instead of at the end of the process; later calls reopen it."""
        self.attachment.close()

    def samples(
        self,
        completions: Sequence[Any],
        columns: Mapping[str, Any],
        *,
        groups: Sequence[str] | None = None,
        step: int | None = None,
        prompts: Sequence[Any] | None = None,
    ) -> list[Sample]:
        """One sample for each completion, in order; prompts are kept when they are scored.

        Args:
            completions: Text, or lists of chat messages.
            columns: Lists with one value for each completion.
            groups: The group of each; without them the completions of a call are compared.
            step: The training step, if the learner tells it.
            prompts: What each answers; the column `prompt` by default.

        Raises:
            ConfigError: As for `Reader.candidates`.
        """
        candidates = self.reader.candidates(completions, columns)
        if not candidates:
            return []
        of_group = groups if groups is not None else [""] * len(candidates)
        if step is None:
            places: Iterable[int] = self.attachment.loose_places(len(candidates))
        else:
            places = self.attachment.places(step, len(candidates))
        rows = zip(candidates, of_group, places, strict=True)
        made = [_sample(candidate, group, step, place) for candidate, group, place in rows]
        known = {**columns, "prompt": columns.get("prompt") if prompts is None else prompts}
        if transcripts := self._scribe.transcripts(made, completions, known):
            self.attachment.tell(transcripts)
        return made

    def sample(
        self,
        completion: Any,
        fields: Mapping[str, Any],
        *,
        group: str = "",
        step: int | None = None,
        prompt: Any = None,
    ) -> Sample:
        """One sample, from a completion and the fields that its learner gives with it."""
        columns = {name: [value] for name, value in fields.items() if value is not None}
        prompts = None if prompt is None else [prompt]
        return self.samples([completion], columns, groups=[group], step=step, prompts=prompts)[0]

    def rewards(self, samples: Sequence[Sample]) -> list[Reward]:
        """Score samples; see `Attachment.score`."""
        return self.attachment.score(samples) if samples else []

    def reward(self, sample: Sample) -> Reward:
        """Score one sample, together with those that other threads ask for meanwhile."""
        asked = _Asked(sample, Future(), monotonic())
        self._asked.append(asked)
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_CALLS, "verifier-ladder")
            self._threads.submit(self._answer_asked)
        return asked.answer.result()

    def _answer_asked(self) -> None:
        """Score all that was asked until now; nothing is left if another call has taken it."""
        taken: list[_Asked] = []
        while self._asked:
            with suppress(IndexError):  # The other call was faster.
                taken.append(self._asked.popleft())
        if not taken:
            return
        waited = monotonic() - taken[0].since
        try:
            rewards = self.attachment.score([one.sample for one in taken], waited=waited)
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            for one in taken:
                one.answer.set_exception(error)
            return
        for one, reward in zip(taken, rewards, strict=True):
            one.answer.set_result(reward)

    async def arewards(self, samples: Sequence[Sample]) -> list[Reward]:
        """Score samples without holding up the event loop."""
        return await self.attachment.ascore(samples) if samples else []

    async def areward(self, sample: Sample) -> Reward:
        """Score one sample, together with the others that are asked for at the same moment."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, [])
        if not waiting:
            # After whatever else is ready to run now: all of it may ask, too.
            loop.call_soon(self._start, loop)
        answer: asyncio.Future[Reward] = loop.create_future()
        waiting.append(_Waiting(sample, answer))
        return await answer

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        call = loop.create_task(self._answer(self._waiting.pop(loop)))
        self._calls.add(call)  # The loop itself holds tasks only weakly.
        call.add_done_callback(self._calls.discard)

    async def _answer(self, waiting: list[_Waiting]) -> None:
        try:
            rewards = await self.arewards([one.sample for one in waiting])
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            for one in waiting:
                if not one.answer.done():
                    one.answer.set_exception(error)
            return
        for one, reward in zip(waiting, rewards, strict=True):
            if not one.answer.done():  # Its caller may have gone.
                one.answer.set_result(reward)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the attachment."""
        return Backend, (self.attachment,)


def _sample(candidate: Candidate, group: str, step: int | None, place: int) -> Sample:
    if step is None:
        return Sample(candidate, position=place, group=group)
    return Sample(
        candidate, step=step, position=place, group=group, learner_version=f"step {step}"
    )


class _Asked(NamedTuple):
    """A sample whose reward a thread waits for."""

    sample: Sample
    answer: Future[Reward]
    since: float


class _Waiting(NamedTuple):
    """A sample whose reward somebody awaits."""

    sample: Sample
    answer: asyncio.Future[Reward]
