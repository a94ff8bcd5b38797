"""Campaigns: a ladder, a budget and a ledger under one durable name."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from operator import methodcaller
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, Literal, Self, TypeVar
from uuid import uuid4

from verifier_ladder import telemetry
from verifier_ladder.arguments import checked, checked_value
from verifier_ladder.budget import Budget, Caps, parse_budget
from verifier_ladder.campaignrecord import AlarmWatch
from verifier_ladder.campaigntruth import CampaignTruth
from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError, EngineError, LedgerAwayError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.faults import PATIENCE, patiently
from verifier_ladder.ledger.records import Block
from verifier_ladder.limits import limit
from verifier_ladder.rangewatch import RangeWatch
from verifier_ladder.reward import Reward
from verifier_ladder.run import Run, evaluation_name
from verifier_ladder.scheduler.batches import batches_of
from verifier_ladder.scheduler.conductor import Conductor
from verifier_ladder.scheduler.engines.home import namespace_of
from verifier_ladder.scheduler.engines.remote import HomeLostError, RemoteConductor
from verifier_ladder.scheduler.engines.shared import join, leave
from verifier_ladder.scheduler.scorer import Batch
from verifier_ladder.scheduler.shadow import Shadow, shadow_name
from verifier_ladder.settings import engine_of, load_settings
from verifier_ladder.sourcecode import PREFIX
from verifier_ladder.transcript import Transcript, transcript_block
from verifier_ladder.unanswered import UnansweredWatch
from verifier_ladder.verifiers import Verifier

T = TypeVar("T")
_LOG = logging.getLogger("verifier_ladder")
_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
_LOSSES = 10
"""How often the home may go away during one call."""
_NAME = re.compile(r"[\w.\-:+ ]{1,100}")


class Campaign(CampaignTruth):
    """A named durable unit of work: ladder, budget and ledger.

    **Durability.** Whatever `score` returned is in the ledger. A campaign that was killed is
    resumed by opening it again.

    **Threads and processes.** One campaign may be used from many threads; eight processes of one
    machine may open the same one and share one set of workers.

    Example:
        >>> import verifier_ladder as vl
        >>> @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
        ... def length(candidate):
        ...     return float(len(candidate.content))
        >>> with vl.Campaign.open("try", ladder=vl.Ladder("lengths", [length])) as campaign:
        ...     [reward.value for reward in campaign.score(["a", "bcd"])]
        [1.0, 3.0]
    """

    def __init__(
        self,
        name: str,
        ladder: Ladder,
        ledger: Ledger,
        run: Run,
        *,
        owns_ledger: bool,
        options: Mapping[str, Any],
        keeps_transcripts: bool = True,
    ) -> None:
        """Use `Campaign.open`."""
        self.keeps_transcripts = keeps_transcripts
        self.name, self.ladder, self.ledger, self.run = name, ladder, ledger, run
        self._owns_ledger, self._options = owns_ledger, dict(options)
        self._lock = Lock()
        self._pid = os.getpid()
        self._is_closed = False
        self._shadow: Shadow | None = None
        self._alarms = AlarmWatch(ledger, name)
        self._unanswered = UnansweredWatch(name, ladder.alerts)
        self._ranges = RangeWatch(ladder)
        self._tracker = None
        self._noted = {run.name}
        self._conductor = patiently(lambda: join(name, ladder, ledger, **self._options))

    @classmethod
    @checked(name=1, horizon=1, workers=1, memory=1, run=1, ladder=1, shadow=1, engine=1)
    def open(
        cls,
        name: str,
        *,
        ladder: Ladder | str | Path,
        ledger: str | Path | Ledger | None = None,
        budget: Budget | None = None,
        horizon: int | None = None,
        run: Run | str | None = None,
        workers: int | None = None,
        memory: int | None = None,
        engine: str | None = None,
        namespace: str | None = None,
        transcripts: bool | None = None,
        on_leave: Literal["keep", "cancel"] = "keep",
        shadow: Ladder | str | Path | None = None,
        shadow_budget: Budget | None = None,
    ) -> Campaign:
        """Open a campaign, new or known; one that was under way goes on.

        Args:
            name: Its name in the ledger.
            ladder: The ladder, or a TOML file that describes it.
            ledger: A path, a URL or an open ledger; None keeps everything in memory only.
            budget: Caps per tier as cpu time, such as `{"high_fidelity": "2 h"}`, or per
                resource, such as `{"world": {"person_minutes": 30, "money": 50}}`; `total` is
                for all tiers together. None lifts a cap. Those left out stay what they are, at
                first the ladder's. A tier that spends money or asks people does so only under a
                cap, or where `{"world": "unlimited"}` says that there is none.
            horizon: How many samples are expected in all; the budget is spent evenly until then.
                Without it what was said before holds, or else what each call of `score` says of
                those that follow: by default, that none do. Learners' adapters and the server,
                who can't know, expect as many more as came so far, and at least 1024.
            run: The training or evaluation run that the samples belong to; a new one by default.
            workers: Worker processes; one per core by default.
            memory: Bytes that one worker may use.
            engine: Who runs simulations and dearer checks: `"local"`, this process, or
                `"workers"`, processes started with `vladder worker start`, or `"celery"`, the
                same with a broker that rings for them; by default as `VLADDER_ENGINE` says.
            namespace: The cache namespace: campaigns in different ones never answer for each
                other's checks. By default the one it was opened in before, or else as
                `VLADDER_NAMESPACE` says.
            transcripts: Whether `keep` keeps prompts and completions, or only the tags of tasks;
                by default as `VLADDER_TRANSCRIPTS` says.
            on_leave: Whether samples that still wait when the campaign is closed go on climbing,
                or are cancelled, as `cancel` does; also when this process dies while another
                one runs the ledger's checks.
            shadow: Another ladder that scores every batch too, in the background and without
                touching a reward; `shadow_report` compares the two.
            shadow_budget: Caps of the shadow, as in `budget`.

        Raises:
            ConfigError: If the name is known with another ladder, or a budget makes no sense.
            LedgerError: If the ledger can't be opened.
        """
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"a campaign can't be called {name!r}; use up to 100 letters, digits, blanks and "
                "._-:+"
            )
        if not isinstance(ladder, Ladder):
            ladder = Ladder.from_toml(ladder)
        caps = parse_budget(budget, ladder.tiers)
        beside = _beside(shadow, ladder, shadow_budget)
        for each in (ladder, *(beside or ())[:1]):
            each.check_sandboxes()
        telemetry.begin_as_set()
        store = open_ledger(ledger, wait=True)
        run = run if isinstance(run, Run) else Run(run or _run_name())
        campaign = cls(
            name, _placed(ladder, store, name, namespace), store, run,
            owns_ledger=store is not ledger,
            options={
                "workers": workers, "memory": memory, "engine": engine_of(engine),
                "cancelled": run.name if _is_cancelled(on_leave) else None,
            },
            keeps_transcripts=load_settings().transcripts if transcripts is None else transcripts,
        )  # fmt: skip
        campaign._begin(caps, horizon, beside, tracks=load_settings().track)
        return campaign

    def _begin(
        self, caps: Caps, horizon: int | None, beside: tuple[Ladder, Caps] | None = None,
        *, tracks: bool = False,
    ) -> None:  # fmt: skip
        """Record what was asked for, and open the shadow; if that fails, nothing stays open."""
        try:
            patiently(lambda: self._record(caps))
            if horizon is not None:
                self._call(methodcaller("expect", horizon))
            self._shadow = self._cast(*beside) if beside else None
            if tracks:
                self.track()
        except BaseException:
            self.close()
            raise

    def _record(self, caps: Caps) -> None:
        given = {(account.tier, account.resource) for account in self.ledger.accounts(self.name)}
        default = {place: cap for place, cap in self.ladder.budget.items() if place not in given}
        wanted = {**default, **caps}
        wanted |= limit(self.ledger, self.name, self.ladder, wanted)
        if wanted:
            self.ledger.set_caps(self.name, wanted)
            self._call(lambda conductor: conductor.wake())
        self.ledger.add_run(self.name, self.run.as_json())
        for verifier in self.ladder.verifiers:
            _note_source(self.ledger, verifier)

    def _cast(self, ladder: Ladder, caps: Caps) -> Shadow:
        """Open the campaign that follows this one."""
        beside = Campaign(
            shadow_name(self.name), ladder.in_namespace(self.ladder.namespace), self.ledger,
            self.run, owns_ledger=False, options=self._options,
        )  # fmt: skip
        beside._begin(caps, None)
        return Shadow(
            beside.name, self.ledger, lambda batch: beside._call(methodcaller("submit", batch)),
            beside.close,
        )  # fmt: skip

    # -- scoring -------------------------------------------------------------------------------

    def score(
        self,
        samples: Sequence[Sample | Candidate | str | bytes],
        *,
        deadline: float | str | None = None,
        step: int | None = None,
        groups: Sequence[str] | None = None,
        evaluation: bool = False,
        more: int | None = 0,
    ) -> list[Reward]:
        """Reward samples, in the order given.

        Every verdict and reward is in the ledger when this returns. Higher tiers go on in the
        background; their results arrive as revisions.

        Samples of one run and step are one update, however many there are: they are decided
        together, those of one candidate share one draw, and one transaction writes them. After a
        crash nothing of them is recorded, and the same call, with its step, makes them anew.

        Args:
            samples: Samples, candidates, or bare content.
            deadline: How long the caller can wait for higher tiers, in seconds or as text such
                as `"30 s"`. Without one, they are waited for only where no tier has answered.
            step: Training step of samples that name none; the next free one by default.
            groups: Group of each element, if they are not samples.
            evaluation: Whether all of them evaluate the policy and train nothing. They are filed
                under the run's evaluation, which has steps of its own; see `Sample.evaluation`.
            more: How many samples follow in later calls, if the campaign has no horizon: the
                budget is shared with them. By default these are all there are. None is for who
                doesn't know, as in training: as many more are expected as came so far, and at
                least 1024.

        Returns:
            One reward each. `value` is None where nothing is known: mask it, never read it as 0.

        Raises:
            ConfigError: If an element is not a candidate of the ladder's kind, or none could be
                judged for the way a verifier is set up, such as one that reads a task field that
                it does not declare.
            LedgerError: If the ledger can't be written; nothing is half-written.
        """
        left = _following(more)
        if step is not None:
            step = checked_value("Campaign.score", "step", step, "int", 0)
        if deadline is not None:
            checked_value("Campaign.score", "deadline", deadline, "float | str")
        checked_value("Campaign.score", "evaluation", evaluation, "bool")
        limit = None if deadline is None else seconds(deadline)
        batches = batches_of(
            samples, kind=self.ladder.kind, run=self.run, groups=groups,
            step=self._take_step if step is None else lambda _: step, evaluation=evaluation,
        )  # fmt: skip
        self._note_evaluations(batches)
        until = None if limit is None else monotonic() + limit
        rewards: list[Reward | None] = [None] * sum(len(places) for _, places in batches)
        for batch, places in reversed(batches):
            batch.more = left
            left = None if left is None else left + len(places)
        with self._shadow.aside() if self._shadow else nullcontext():
            for batch, places in batches:
                made = self._call(partial(_score, batch=batch, deadline=_left(until)))
                _check_possible(made)
                for place, reward in zip(places, made, strict=True):
                    rewards[place] = reward
        if self._shadow is not None:
            for batch, _ in batches:
                self._shadow.follow(batch)
        self._unanswered.look(rewards)  # type: ignore[arg-type]
        self._alarms.look()
        self._ranges.look(rewards)  # type: ignore[arg-type]
        if self._tracker is not None:
            self._tracker.note()
        return rewards  # type: ignore[return-value]

    @checked()
    def take_step(self, *, evaluation: bool = False) -> int:
        """Take the next free step of the run, to know it before its samples are scored.

        No process that shares the campaign is given it again.

        Args:
            evaluation: Whether it is a step of the run's evaluation.
        """
        return self._take_step((self.run.evaluations if evaluation else self.run).name)

    def _take_step(self, run: str) -> int:
        return self._call(lambda conductor: conductor.take_step(run))

    def _note_evaluations(self, batches: Sequence[tuple[Batch, list[int]]]) -> None:
        """Record, before its first sample, that a run is the evaluation of another."""
        for name in {batch.run for batch, _ in batches} - self._noted:
            if name == evaluation_name(name):
                facts = replace(self.run, name=name, evaluation=True).as_json()
                self._call(partial(self._add_run, facts))
            self._noted.add(name)

    async def ascore(
        self,
        samples: Sequence[Sample | Candidate | str | bytes],
        *,
        deadline: float | str | None = None,
        step: int | None = None,
        groups: Sequence[str] | None = None,
        evaluation: bool = False,
        more: int | None = 0,
    ) -> list[Reward]:
        """`score` for learners with an event loop; the loop is never blocked."""
        call = partial(
            self.score, samples, deadline=deadline, step=step, groups=groups,
            evaluation=evaluation, more=more,
        )  # fmt: skip
        return await asyncio.to_thread(call)

    @checked()
    def drain(self, timeout: float | str | None = None) -> bool:
        """Wait until every climb has stopped, is parked on its budget, or waits for the world.

        Without a horizon, nothing of the budget is kept for samples that may come later, unless
        `score` was told with `more` how many will.
        A shadow's climbs are waited for too.

        Returns:
            False if the time ran out before.
        """
        until = None if timeout is None else monotonic() + seconds(timeout)
        if self._shadow is not None and not self._shadow.drain(_left(until)):
            return False
        is_over = self._call(lambda conductor: conductor.drain(_left(until)))
        self._alarms.look(at_once=True)
        return is_over

    @checked(run=1)
    def keep(self, transcripts: Sequence[Transcript], *, run: str | None = None) -> None:
        """Keep what a learner saw and wrote, so that its samples can be trained on later.

        Learners' adapters do this by themselves. It changes no reward and no key. Of a campaign
        opened with `transcripts=False`, only the tags of tasks are kept.

        Args:
            transcripts: Prompts and tags of groups; completions, turns and tokens of samples.
            run: The run they belong to; the campaign's own by default.
        """
        if not self.keeps_transcripts:
            transcripts = [bare for t in transcripts if any((bare := t.without_words).tags)]
        own = self.run if run is None else replace(self.run, name=run, evaluation=False)
        for evaluation, home in ((False, own), (True, own.evaluations)):
            told = [one for one in transcripts if one.evaluation is evaluation]
            if told:
                block = transcript_block(self.name, home.name, told)
                self._call(partial(self._append, block))

    def _append(self, block: Block, _: object) -> None:
        self.ledger.append(block)

    def _add_run(self, facts: Mapping[str, Any], _: object) -> None:
        self.ledger.add_run(self.name, facts)

    # -- life ----------------------------------------------------------------------------------

    def _call(self, call: Callable[[Conductor | RemoteConductor], T]) -> T:
        """Make a call wherever the ledger is at home, and again when the home dies.

        A ledger whose server went away in the midst of it, or whose disk is full, is waited for:
        every call may be made twice, for samples and deliveries have ids. A call that ends one
        home after the other is not made for ever.

        Raises:
            EngineError: If the home died again and again while it was at this call.
        """
        until, pause, lost = monotonic() + PATIENCE, _PAUSE, 0
        while True:
            self._check_open()
            conductor = self._conductor
            try:
                return call(conductor)
            except HomeLostError as error:
                lost += 1
                if lost > _LOSSES:
                    raise EngineError(
                        f"the process that runs this ledger's checks went away {lost} times "
                        f"during one call ({error}); look what ends it, and make the call again"
                    ) from error
                if lost > 1:
                    sleep(min(_PAUSE * 2 ** (lost - 2), _LONGEST_PAUSE))
                with self._lock:
                    if self._conductor is conductor:
                        self._conductor = join(
                            self.name, self.ladder, self.ledger, **self._options
                        )
            except LedgerAwayError:
                if monotonic() > until:
                    raise
                sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConfigError(f"campaign {self.name!r} is closed; open it again")
        if os.getpid() != self._pid:
            raise ConfigError(
                f"campaign {self.name!r} was opened before this process was forked; "
                "open it in the process that uses it"
            )

    def close(self) -> None:
        """Leave; running checks are given back, and go on when the campaign is opened again."""
        if self._is_closed or os.getpid() != self._pid:
            return
        try:
            if self._options["cancelled"] is not None:
                self.cancel()
        finally:
            self._leave()

    def _leave(self) -> None:
        self._alarms.look(at_once=True)
        self._is_closed = True
        if self._shadow is not None:
            self._shadow.close()
        leave(self.name, self.ledger, self._conductor)
        try:  # Whoever is tired of waiting for a tracker has lost its last numbers, and no more.
            if self._tracker is not None:
                self._tracker.close()
        finally:
            if self._owns_ledger:
                self.ledger.close()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Show the name, the ladder and the ledger."""
        return f"<campaign {self.name}: {self.ladder!r} in {self.ledger.url}>"


def _is_cancelled(on_leave: str) -> bool:
    if on_leave not in {"keep", "cancel"}:
        raise ConfigError(f"on_leave={on_leave!r}: write keep or cancel")
    return on_leave == "cancel"


def _placed(ladder: Ladder, ledger: Ledger, name: str, namespace: str | None) -> Ladder:
    """The ladder in the campaign's cache namespace."""
    if namespace is None:
        known = ledger.campaigns(name)
        namespace = namespace_of(known[0]) if known else load_settings().namespace
    return ladder.in_namespace(namespace)


def _beside(
    shadow: Ladder | str | Path | None, ladder: Ladder, budget: Budget | None
) -> tuple[Ladder, Caps] | None:
    """The shadow's ladder and caps; None if there is no shadow."""
    if shadow is None:
        if budget is not None:
            raise ConfigError("shadow_budget is for a shadow; give its ladder as shadow=")
        return None
    beside = shadow if isinstance(shadow, Ladder) else Ladder.from_toml(shadow)
    if beside.kind != ladder.kind:
        raise ConfigError(
            f"the shadow is about {beside.kind}, and the campaign's ladder about {ladder.kind}"
        )
    return beside, parse_budget(budget, beside.tiers)


def _following(more: int | None) -> int | None:
    """How many samples follow, checked."""
    if more is None:
        return None
    return int(checked_value("Campaign.score", "more", more, "int", 0))


def _left(until: float | None) -> float | None:
    """Seconds until a moment of the monotonic clock."""
    return None if until is None else max(0.0, until - monotonic())


def _score(
    conductor: Conductor | RemoteConductor, batch: Any, deadline: float | None
) -> list[Reward]:
    return conductor.score(batch, deadline)


def _check_possible(rewards: Sequence[Reward]) -> None:
    """Tell the caller where a verifier can't work as it is set up, instead of masking all."""
    if rewards and all(r.value is None and r.failed_at == ConfigError.boundary for r in rewards):
        raise ConfigError(rewards[0].reason)


def _run_name() -> str:
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"run-{now}-{uuid4().hex[:6]}"


def _note_source(ledger: Ledger, verifier: Verifier) -> None:
    """Tell the log when a verifier's source changed and its version did not."""
    if verifier.version.startswith(PREFIX):
        return
    source = verifier.source
    earlier = ledger.note_verifier(verifier.name, verifier.version, source.digest)
    if earlier is not None:
        _LOG.warning(
            "the source of verifier %s (%s) changed, from digest %.12s to %.12s, and its version "
            "is still %s: old verdicts answer for the new code. Raise its version, or leave it "
            "out to have the source digested",
            verifier.name, source.place, earlier, source.digest, verifier.version,
        )  # fmt: skip
