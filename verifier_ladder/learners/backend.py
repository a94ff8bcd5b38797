"""Backends: what every learner's adapter stands on, whatever the learner calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from weakref import WeakKeyDictionary

from verifier_ladder.arguments import options_checked
from verifier_ladder.budget import Budget
from verifier_ladder.candidate import Sample, checked_samples
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.attachment import Attachment
from verifier_ladder.learners.gathering import Gatherer
from verifier_ladder.learners.messages import groups_of
from verifier_ladder.learners.reader import Reader, same_length
from verifier_ladder.learners.readout import Readout
from verifier_ladder.learners.scribe import Scribe
from verifier_ladder.learners.threadgathering import ThreadGatherer
from verifier_ladder.reward import Reward
from verifier_ladder.run import Run
from verifier_ladder.scheduler.uncollected import uncollected
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger

_CALLS = 4
"""Calls for single samples of one event loop at one time."""


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
    horizon: int | None
    """How many samples are expected in all, as in `Campaign.open`: the budget is spent evenly
    until then."""
    run: Run | str | None
    """Name of the training run, or a `Run` with its report card; by default each start of the
    script is another run."""
    transcripts: bool | None
    """Whether prompts and chats are kept, so that the samples can be trained on later; by default
    as `VLADDER_TRANSCRIPTS` says, which is yes."""
    evaluation: bool | None
    """Whether its samples evaluate the policy, and are kept apart from those that train it. By
    default as the learner tells, or else a column: `split` with a value such as "test", or a
    truth value in `evaluation` or `validate`."""
    group_size: int | None
    """How many samples of one prompt a learner draws that tells no step. They are compared with
    each other then, however they come; without it no advantage is told of one that comes alone.
    By default as the learner tells."""


takes_options = options_checked(*Options.__annotations__)
"""A decorator for functions that take `Options` beside their own."""


class Backend:
    """Reads what a learner hands over, and scores it in the attachment's campaign.

    **Pickling.** Travels as its attachment does.

    **One by one.** A call has its own transaction in the ledger. So single samples that `areward`
    and `reward` are asked for while a call is at work are scored in one call.
    """

    def __init__(self, attachment: Attachment) -> None:
        """Score through an attachment."""
        self.attachment = attachment
        self.name = attachment.name
        self.reader = Reader(attachment.ladder, attachment.name)
        self._scribe = Scribe(attachment.ladder)
        self._threads = ThreadGatherer(attachment.score)
        self._gatherers: WeakKeyDictionary[asyncio.AbstractEventLoop, Gatherer]
        self._gatherers = WeakKeyDictionary()

    @classmethod
    def of(
        cls,
        verifier: Verifier | Ladder | str | Path,
        *,
        advice: str = "",
        **options: Unpack[Options],
    ) -> Backend:
        """A backend for a verifier or a ladder.

        Args:
            verifier: What scores.
            advice: What makes the learner say which samples evaluate: see `Evaluation`.
            options: See `Options`.

        Raises:
            ConfigError: If the arguments can't work together.
        """
        return cls(Attachment(verifier, advice=advice, **options))

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
        aside: Container[str] = (),
        evaluation: bool | None = None,
    ) -> list[Sample]:
        """One sample for each completion, in order; prompts are kept when they are scored.

        Args:
            completions: Text, or lists of chat messages.
            columns: Lists with one value for each completion.
            groups: The group of each; by default as `groups_of` names them by their prompts.
                Without prompts either, the completions of a call are compared.
            step: The training step, if the learner tells it.
            prompts: What each answers; the column `prompt`, which names no groups, by default.
            aside: Columns of the completions, not of their tasks: they part no groups.
            evaluation: Whether they evaluate the policy, if the learner tells; else their columns
                are asked.

        Raises:
            ConfigError: As for `Reader.candidates`.
        """
        with uncollected:
            candidates = self.reader.candidates(completions, columns)
        if not candidates:
            return []
        count = len(candidates)
        if groups is None and prompts is not None:
            groups = groups_of(prompts, [one.task for one in candidates], aside=aside)
        of_group = [""] * count if groups is None else same_length("groups", groups, count)
        flags = self.attachment.evaluation.of_each(columns, count, said=evaluation)
        places = self._places(step, flags)
        with uncollected:
            made = checked_samples(
                candidates, places, of_group, step=-1 if step is None else step,
                learner_version=_version(step), evaluation=flags,
            )  # fmt: skip
        known = {**columns, "prompt": columns.get("prompt") if prompts is None else prompts}
        self._tell(made, completions, known)
        return made

    def sample(
        self,
        completion: Any,
        fields: Mapping[str, Any],
        *,
        group: str | None = None,
        step: int | None = None,
        prompt: Any = None,
        aside: Container[str] = (),
        evaluation: bool | None = None,
    ) -> Sample:
        """One sample, from a completion and the fields that its learner gives with it.

        Args:
            completion: Text, or a list of chat messages.
            fields: What its learner gives with it.
            group: Its group; by default as `groups_of` names it by the prompt, or none.
            step: The training step, if the learner tells it.
            prompt: What it answers; the field `prompt`, which names no group, by default.
                Verifiers that read `prompt` get it where no field has that name.
            aside: As for `samples`.
            evaluation: As for `samples`.
        """
        flag = self.attachment.evaluation.of(fields, said=evaluation)
        given = {name: value for name, value in fields.items() if value is not None}
        if prompt is not None:
            given.setdefault("prompt", prompt)
        candidate = self.reader.candidate(completion, given)
        if group is None:
            named = [] if prompt is None else groups_of([prompt], [candidate.task], aside=aside)
            group = "".join(named)
        (place,) = self._places(step, [flag])
        made = Sample(
            candidate, step=-1 if step is None else step, position=place, group=group,
            learner_version=_version(step), evaluation=flag,
        )  # fmt: skip
        said = given if prompt is None else {**given, "prompt": prompt}
        self._tell([made], [completion], {name: [said[name]] for name in said})
        return made

    def _places(self, step: int | None, flags: Sequence[bool]) -> Sequence[int]:
        """Positions of samples that evaluate the policy or train it, as the flags say."""
        if step is None:
            return self.attachment.loose_places(len(flags))
        kinds = set(flags)
        made = {
            kind: self.attachment.places(step, flags.count(kind), evaluation=kind)
            for kind in kinds
        }
        if len(made) == 1:
            return made[flags[0]]
        left = {kind: iter(places) for kind, places in made.items()}
        return [next(left[flag]) for flag in flags]

    def _tell(
        self, samples: Sequence[Sample], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> None:
        if transcripts := self._scribe.transcripts(samples, completions, columns):
            self.attachment.tell(transcripts)

    def rewards(self, samples: Sequence[Sample]) -> list[Reward]:
        """Score samples; see `Attachment.score`."""
        return self.attachment.score(self.attachment.place(samples)) if samples else []

    def reward(self, sample: Sample, *, group_size: int | None = None) -> Reward:
        """Score one sample, together with those that other threads ask for meanwhile.

        Args:
            sample: The sample.
            group_size: How many its group has, if its learner tells.
        """
        (placed,) = self.attachment.place([sample], group_size=group_size)
        return self._threads.ask(placed)

    async def arewards(self, samples: Sequence[Sample]) -> list[Reward]:
        """Score samples without holding up the event loop."""
        return await self.attachment.ascore(self.attachment.place(samples)) if samples else []

    async def areward(self, sample: Sample, *, group_size: int | None = None) -> Reward:
        """Score one sample, together with those that the event loop's other tasks ask for.

        Args:
            sample: The sample.
            group_size: How many its group has, if its learner tells.
        """
        (placed,) = self.attachment.place([sample], group_size=group_size)
        loop = asyncio.get_running_loop()
        gatherer = self._gatherers.get(loop)
        if gatherer is None:
            gatherer = self._gatherers[loop] = Gatherer(self.attachment.ascore, calls=_CALLS)
        return await gatherer.ask(placed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the attachment."""
        return Backend, (self.attachment,)


class Adapter:
    """**Base:** a reward function as a learner calls it, which answers from a backend."""

    def __init__(self, backend: Backend, readout: Readout) -> None:
        """Answer from a backend."""
        self.__name__ = backend.name
        self._backend, self._readout = backend, readout

    def close(self) -> None:
        """Close the campaign now instead of at the end of the process; later calls reopen it."""
        self._backend.close()

    def _metrics(self, reward: Reward) -> dict[str, float]:
        """What is told beside one sample's number, by the names of the learner's metrics."""
        told = {
            "unknown": reward.value is None, "pending": reward.pending,
            **self._backend.attachment.alarms,
        }  # fmt: skip
        return {f"{self.__name__}/{name}": float(number) for name, number in told.items()}


def _version(step: int | None) -> str:
    """The learner's version at a step."""
    return "" if step is None else f"step {step}"
