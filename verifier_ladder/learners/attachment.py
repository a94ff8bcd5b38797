"""Attachments: a learner's side of a campaign, opened when the first completions arrive."""

from __future__ import annotations

import asyncio
import atexit
import copy
import logging
import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import parent_process
from multiprocessing.util import Finalize
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from verifier_ladder.arguments import checked_value
from verifier_ladder.budget import Budget
from verifier_ladder.candidate import UNKNOWN_SIZE, Sample
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError, LadderError
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.evaluation import Evaluation
from verifier_ladder.learners.rounds import Grouping
from verifier_ladder.learners.unknowns import UnknownLog
from verifier_ladder.registry import REGISTRY
from verifier_ladder.reward import Reward
from verifier_ladder.run import Run
from verifier_ladder.transcript import Transcript
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger

_LOG = logging.getLogger("verifier_ladder")
_PATIENCE = 3
"""Calls in a row that may fail for want of a ledger or workers before the run is told."""
_ATTEMPTS = 6
"""How many hangs must fit into a deadline, one behind the other. A hanging candidate takes two:
it is tried once more, alone."""
_STEPS = 32
"""Steps of one call that are scored at one time."""
_RANK_STRIDE = 1 << 24
"""Positions kept for each process of a distributed run."""
_ORIGIN_BITS = 28
"""Where loose places begin is drawn from so many strides; the whole stays below 2^53."""
_LAUNCHES: Counter[str] = Counter()
"""How many runs of each name this process has started."""
_RESTORED: dict[str, Attachment] = {}
"""Attachments that came to this process in a pickle, by token."""
_RESTORING = Lock()


class Attachment:
    """Scores a learner's samples in a campaign that is opened by the first call.

    **Pickling.** A copy carries the arguments and the run's name, and opens the campaign again
    where it arrives; all copies that arrive in one process are one.

    **Failures.** What verifiers do never raises. If the ledger or the workers fail, rewards are
    unknown; only the third failure in a row is raised, for then nothing is being learnt.
    """

    def __init__(
        self,
        verifier: Verifier | Ladder | str | Path,
        *,
        ledger: str | Path | Ledger | None = None,
        deadline: float | str | None = 30.0,
        campaign: Campaign | str | None = None,
        name: str | None = None,
        budget: Budget | None = None,
        horizon: int | None = None,
        run: Run | str | None = None,
        transcripts: bool | None = None,
        evaluation: bool | None = None,
        group_size: int | None = None,
        advice: str = "",
    ) -> None:
        """Check the arguments; nothing is opened yet.

        The `advice` is what makes the learner say which samples evaluate: see `Evaluation`. All
        others are `Options`.

        Raises:
            ConfigError: If they can't work together.
        """
        checked_value("a reward function", "horizon", horizon, "int | None", 1)
        self.deadline = None if deadline is None else seconds(deadline)
        if self.deadline == 0:
            raise ConfigError("deadline=0 leaves no time to verify; give seconds, or None")
        self.ladder = ladder_of(verifier, self.deadline)
        self.name = name or self.ladder.name
        self.unknowns = UnknownLog(self.name)
        self._arguments: dict[str, Any] = {
            "verifier": verifier, "ledger": ledger, "deadline": deadline, "campaign": campaign,
            "name": name, "budget": budget, "horizon": horizon, "run": run,
            "transcripts": transcripts, "evaluation": evaluation, "group_size": group_size,
            "advice": advice,
        }  # fmt: skip
        self._lock = Lock()
        self._run = run
        self._starts_run = run is None and (campaign is None or isinstance(campaign, str))
        self._campaign: Campaign | None = None
        self._failures = 0
        self.evaluation = Evaluation(self.name, of_all=evaluation, advice=advice)
        self._next: dict[tuple[bool, int], int] = {}
        self._token = uuid4().hex
        self._pickled: bytes | None = None
        self._untold: list[Transcript] = []
        self._grouping = Grouping(self._take_step, group_size=group_size)
        self._loose = secrets.randbits(_ORIGIN_BITS) * _RANK_STRIDE
        self._adopt(campaign)

    def _adopt(self, campaign: Any) -> None:
        """Take over an open campaign, whose own ledger, budget, run and transcripts then hold."""
        if campaign is None or isinstance(campaign, str):
            return
        own = ("ledger", "budget", "horizon", "run", "transcripts")
        extra = [name for name in own if self._arguments[name] is not None]
        if extra:
            raise ConfigError(
                f"an open campaign has its own {' and '.join(extra)}; leave the argument out, "
                "or give the campaign's name instead"
            )
        if campaign.ladder.digest != self.ladder.digest:
            raise ConfigError(
                f"campaign {campaign.name} was opened with ladder {campaign.ladder.name}; "
                f"give that ladder instead of {self.ladder.name}"
            )
        self.ladder = campaign.ladder
        self._campaign = campaign

    def _campaign_name(self) -> str:
        """The ladder's name; a verifier's with its version, for that makes another ladder."""
        if isinstance(self._arguments["verifier"], Ladder) or len(self.ladder.verifiers) > 1:
            return self.ladder.name
        return f"{self.ladder.name}-v{self.ladder.verifiers[0].version}"

    @property
    def campaign(self) -> Campaign:
        """The campaign; the first use opens it, and it is closed when the process ends.

        Raises:
            LadderError: If it can't be opened.
        """
        from verifier_ladder.campaign import Campaign

        with self._lock:
            if self._campaign is None:
                given = self._arguments
                self._campaign = Campaign.open(
                    given["campaign"] or self._campaign_name(),
                    ladder=self.ladder,
                    ledger=given["ledger"],
                    budget=given["budget"],
                    horizon=given["horizon"],
                    run=self._named_run(),
                    transcripts=given["transcripts"],
                )
                _close_at_exit(self._campaign)
            return self._campaign

    def _named_run(self) -> Run | str:
        """The run of this attachment and of its copies, named when either is needed first."""
        self._run = self._run or launch_name(self.name)
        return self._run

    def places(self, step: int, number: int, *, evaluation: bool = False) -> range:
        """Positions for the next samples of a step; a later call in the same step goes on.

        So several evaluations or generations in one step, a second training in one process, a
        training resumed from an earlier step, and every process of a distributed run have
        places of their own.
        """
        start = int(os.environ.get("RANK", "0")) * _RANK_STRIDE
        campaign, key = self.campaign, (evaluation, step)
        run = campaign.run.evaluations if evaluation else campaign.run
        with self._lock:
            if key not in self._next and not self._starts_run:
                taken = campaign.ledger.recorded(campaign.name, run.name, step)
                mine = [place for place in taken if start <= place < start + _RANK_STRIDE]
                self._next[key] = max(mine, default=start - 1) + 1
            first = self._next.get(key, start)
            self._next[key] = first + number
        return range(first, first + number)

    def loose_places(self, number: int) -> range:
        """Positions for samples of a learner that tells no step, and may have many processes."""
        with self._lock:
            first, self._loose = self._loose, self._loose + number
        return range(first, first + number)

    def place(self, samples: Sequence[Sample], *, group_size: int | None = None) -> list[Sample]:
        """Samples of one call with their steps, as far as it is known how many make a group.

        Args:
            samples: The samples.
            group_size: How many make a group, as the learner tells.
        """
        try:
            return self._grouping.place(samples, group_size=group_size)
        except LadderError:
            # Scoring them tells what is wrong; nobody can tell with whom they are compared.
            return [replace(sample, group_size=UNKNOWN_SIZE) for sample in samples]

    def _take_step(self, *, evaluation: bool) -> int:
        return self.campaign.take_step(evaluation=evaluation)

    def score(self, samples: Sequence[Sample], waited: float = 0.0) -> list[Reward]:
        """Score samples; one reward each, in order.

        Args:
            samples: What is scored.
            waited: Seconds of the deadline that are gone.

        Raises:
            ConfigError: If the samples can't be keyed.
            LadderError: If the campaign can't be opened, or failed three times in a row.
        """
        campaign, left = self.campaign, self._left(waited)
        try:
            self._keep(campaign)
            rewards = _score(campaign, samples, left)
        except ConfigError:
            raise
        except LadderError as error:
            return self._unknown(error, len(samples))
        self._failures = 0
        self.unknowns.look(samples, rewards)
        return rewards

    async def ascore(self, samples: Sequence[Sample], waited: float = 0.0) -> list[Reward]:
        """Score samples without holding up the event loop; see `score`."""
        return await asyncio.to_thread(self.score, samples, waited)

    @property
    def alarms(self) -> dict[str, float]:
        """Numbers for the learner's metrics: see the properties of `Campaign` of these names."""
        campaign = self._campaign
        return {
            "gaming_alarms": float(campaign.gaming_alarms) if campaign else 0.0,
            "unanswered_alarms": float(campaign.unanswered_alarms) if campaign else 0.0,
        }

    def _left(self, waited: float) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - waited)

    def tell(self, transcripts: Sequence[Transcript]) -> None:
        """Keep transcripts with the next samples that are scored, in one entry."""
        with self._lock:
            self._untold += transcripts

    def keep(self) -> None:
        """Keep now what was told, for those who score elsewhere."""
        if self._untold:
            self._keep(self.campaign)

    def _keep(self, campaign: Campaign) -> None:
        with self._lock:
            told, self._untold = self._untold, []
        try:
            campaign.keep(told)
        except LadderError:
            with self._lock:
                self._untold = told + self._untold
            raise

    def _unknown(self, error: LadderError, number: int) -> list[Reward]:
        self._failures += 1
        if self._failures >= _PATIENCE:
            raise error
        _LOG.warning("%d completions of %s have no reward: %s", number, self.name, error)
        return [Reward(None, reason=str(error), failed_at=error.boundary)] * number

    def close(self) -> None:
        """Close the campaign if this attachment opened it; the next call opens it again."""
        with self._lock:
            campaign = self._campaign
            if campaign is None or campaign is self._arguments["campaign"]:
                return
            self._campaign = None
        campaign.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Carry the arguments only; functions of a script or a notebook travel by value."""
        import cloudpickle

        if self._pickled is None:
            _portable(self._arguments)
            with self._lock:
                run = self._named_run()
                self._starts_run = False  # Its copies record the same run.
            self._pickled = cloudpickle.dumps({**self._arguments, "run": run})
        return _restore, (self._token, self._pickled)


def _score(campaign: Campaign, samples: Sequence[Sample], limit: float | None) -> list[Reward]:
    """Score samples of some steps, side by side: none waits for another one's deadline."""
    by_step: dict[int, list[int]] = {}
    for place, sample in enumerate(samples):
        by_step.setdefault(sample.step, []).append(place)
    if len(by_step) == 1:
        return campaign.score(samples, deadline=limit, more=None)
    with ThreadPoolExecutor(min(len(by_step), _STEPS), "verifier-ladder") as pool:
        calls = [
            pool.submit(campaign.score, [samples[i] for i in places], deadline=limit, more=None)
            for places in by_step.values()
        ]
    found: dict[int, Reward] = {}
    for places, call in zip(by_step.values(), calls, strict=True):
        found.update(zip(places, call.result(), strict=True))
    return [found[place] for place in range(len(samples))]


def ladder_of(verifier: Verifier | Ladder | str | Path, deadline: float | None) -> Ladder:
    """The ladder that a learner means: one given, in a TOML file, or of one verifier.

    A single verifier that sets no timeout gets a sixth of the deadline for each candidate, so
    that hangs are found out, and the candidates behind them are still judged, in time. One that
    answers about many candidates together gets all of it.

    Raises:
        ConfigError: If it is none of these.
    """
    if isinstance(verifier, Ladder):
        return verifier
    if isinstance(verifier, Path) or (isinstance(verifier, str) and verifier.endswith(".toml")):
        return Ladder.from_toml(verifier)
    if isinstance(verifier, str):
        verifier = REGISTRY.get(verifier)
    if not isinstance(verifier, Verifier):
        raise ConfigError(
            f"{verifier!r} is neither a verifier nor a ladder; wrap a plain function: "
            'vl.wrap(function, version="1", columns=[…])'
        )
    return Ladder(verifier.name, [_in_time(verifier, deadline)])


def _in_time(verifier: Verifier, deadline: float | None) -> Verifier:
    if deadline is None or verifier.timeout != Verifier.timeout:
        return verifier
    verifier = copy.copy(verifier)
    # A call for many completions has no share of the deadline for each.
    share = min(verifier.timeout, deadline / _ATTEMPTS)
    verifier.timeout = deadline if verifier.answers_together else share
    return verifier


def launch_name(name: str) -> str:
    """A new name for a run, the same in all processes of a distributed launch.

    A script that is started again is another run: its completions are other samples.
    """
    import psutil

    alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
    process = psutil.Process(os.getpid() if alone else os.getppid())
    started = datetime.fromtimestamp(process.create_time(), tz=UTC)
    _LAUNCHES[name] += 1
    again = f"-{_LAUNCHES[name]}" if _LAUNCHES[name] > 1 else ""
    return f"{name}-{started:%Y%m%d-%H%M%S}-{process.pid}{again}"


def _close_at_exit(campaign: Campaign) -> None:
    """Close when the process ends, not when collected: closing waits for threads.

    A child of `multiprocessing` ends without `atexit`, after it has waited for its threads.
    """
    if parent_process() is None:
        atexit.register(_close, campaign)
    else:
        Finalize(None, _close, args=(campaign,), exitpriority=100)


def _close(campaign: Campaign) -> None:
    """Close at the end of the process, when nobody is left to be told of a failure."""
    try:
        campaign.close()
    except LadderError as error:
        _LOG.warning("campaign %s was not closed in order: %s", campaign.name, error)


def _portable(arguments: Mapping[str, Any]) -> None:
    for name in ("ledger", "campaign"):
        if not isinstance(arguments[name], (str, Path, type(None))):
            raise ConfigError(
                f"an open {name} can't move to another process; give its path or name instead"
            )


def _restore(token: str, data: bytes) -> Attachment:
    """The same attachment for every copy that arrives in one process.

    Some learners send a copy with each call, and the campaign must not be opened anew each time.
    """
    import cloudpickle

    with _RESTORING:
        if token not in _RESTORED:
            arguments = cloudpickle.loads(data)
            _RESTORED[token] = Attachment(arguments.pop("verifier"), **arguments)
        return _RESTORED[token]
