"""Jobs: one batch for a lane, what to send for it and how to read what comes back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines import wire
from verifier_ladder.scheduler.engines.blame import Answers, Case
from verifier_ladder.scheduler.engines.journal import Journal
from verifier_ladder.scheduler.engines.watch import Failure, Limit
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

T = TypeVar("T")
Form = str | bytes | Verdict
_WORTH_TIMING = 1e-3


class BatchFuture(Future[T]):
    """The future of a batch, which can be left with what it has so far."""

    def __init__(self, answered: dict[int, Any] | None = None) -> None:
        """Start with nothing, or with answers that were there at once."""
        super().__init__()
        self.answered: dict[int, Any] = answered or {}
        """What is settled so far, by position in the batch; filled by the lane."""
        self.on_news: Callable[[], None] = _nothing
        """Called when more may be settled, in a lane's thread."""
        self.is_abandoned = False
        """Whether nobody waits any more: the lane then kills the work and takes the next job."""

    def tell(self, answers: Mapping[int, Any]) -> None:
        """Hear what a worker has said, before the batch is done; for lanes."""
        self.answered.update(answers)
        self.on_news()

    def abandon(self) -> dict[int, Any]:
        """Stop waiting; gives what was settled until now."""
        self.is_abandoned = True
        self.cancel()
        return dict(self.answered)


class BatchAnswer(NamedTuple):
    """The verdicts of a batch."""

    verdicts: list[Verdict]
    """One per candidate, in order; every one with its cost."""
    lane: int
    """The lane that judged it."""
    seconds: float
    """What the batch took in all: cpu-seconds, and the run time of attempts that were killed."""


class CanonicalAnswer(NamedTuple):
    """The canonical forms of a batch."""

    forms: list[Form]
    """One per content, in order; a verdict where there is none: reject, or abstain."""
    lane: int
    """The lane that did it, whose worker remembers what it parsed."""
    seconds: float
    """What the batch took in all."""


class Job(ABC, Generic[T]):
    """One batch of work for a worker."""

    work: str
    thing: Any
    """The verifier or canonicaliser."""
    patience: float
    """Seconds without progress that count as a hang."""
    exact: bool
    """Whether marks are sure to name the candidate that is being worked on."""
    limit: Limit | None = None
    memory: int | None = None
    """Bytes that the worker may use."""

    def __init__(self, count: int, lane: int | None, priority: float) -> None:
        """Make a job of `count` candidates."""
        self.count, self.lane, self.priority = count, lane, priority
        self.future: BatchFuture[Any] = BatchFuture()

    @abstractmethod
    def arguments(self, group: Sequence[int]) -> tuple[Any, ...]:
        """What the worker needs to work on these positions."""

    @abstractmethod
    def read(self, items: list[Any], spent: list[float] | None, seconds: float) -> Answers[T]:
        """Read what the worker answered."""

    def costs(self, journal: Journal, start: int, end: int) -> list[float] | None:
        """What these places took, where it is measured one by one."""
        del journal, start, end
        return None

    @abstractmethod
    def failed(self, verdict: Verdict) -> T:
        """The answer that a failure amounts to."""

    @abstractmethod
    def answer(self, case: Case[T], items: list[T], lane: int) -> Any:
        """The result of the whole batch."""

    @abstractmethod
    def control(self) -> Job[T] | None:
        """A job on a candidate that is certainly harmless, if one is declared."""

    @property
    def name(self) -> str:
        """What the job is called in messages."""
        return f"{'verifier' if self.work == 'verify' else 'canonicaliser'} {self.thing.name}"

    def give_up(self, position: int, failure: Failure) -> T:
        """The answer for a candidate that could not be tried, through no fault of its own."""
        del position
        evidence = {"cause": failure.cause, **({"log": failure.log} if failure.log else {})}
        message = failure.message
        if failure.cause != "refused":
            message = f"{self.name} {message}"
        if failure.cause == "start":
            message = f"no worker process can be started for {self.name}: it {failure.message}"
        said = Verdict.abstain(message, failed_at=failure.boundary, evidence=evidence)
        return self.failed(replace(said, cost=Cost()))

    def convict(self, position: int, failure: Failure, sane: bool) -> T:  # noqa: FBT001
        """The answer for a culprit, one that brings down fresh workers; `sane`: not a control."""
        del position
        evidence: dict[str, Any] = {"log": failure.log} if failure.log else {}
        how = self._out_of_memory() if failure.cause == "memory" else failure.message
        message = f"{self.name} {how} on this candidate, each time it was tried"
        if sane:
            evidence["cause"] = "resource"
            said = Verdict.reject(f"{message}; it is well on others", evidence=evidence)
        else:
            evidence["cause"] = failure.cause
            said = Verdict.abstain(message, failed_at="engine", evidence=evidence)
        return self.failed(replace(said, cost=Cost(failure.seconds)))

    def _out_of_memory(self) -> str:
        if self.memory is None:
            return "ran out of memory"
        return f"used more than {self.memory / 2**20:.0f} MiB"


class VerifyJob(Job[Verdict]):
    """A batch of candidates for one verifier."""

    work = "verify"

    def __init__(
        self, verifier: Verifier, candidates: Sequence[Candidate], *, lane: int | None,
        priority: float, limit: Limit | None, seeds: Sequence[int] | None,
    ) -> None:  # fmt: skip
        """Make a job; see `WorkerPool.verify`."""
        super().__init__(len(candidates), lane, priority)
        self.thing: Verifier = verifier
        self.limit, self._seeds, self._candidates = limit, seeds, candidates
        self.patience = _patience(verifier, self.count)
        self.exact = _one_by_one(verifier)
        self._each = self.exact and self.count > 1 and verifier.cost.seconds > _WORTH_TIMING

    def arguments(self, group: Sequence[int]) -> tuple[Any, ...]:
        """Columns, because a batch shares its kind and mostly has no tasks and turns."""
        chosen = [self._candidates[position] for position in group]
        kinds: Any = [candidate.kind for candidate in chosen]
        tasks: Any = [candidate.task for candidate in chosen]
        turns: Any = None
        if any(candidate.turns for candidate in chosen):
            turns = [[(t.action, t.observation, t.metadata) for t in c.turns] for c in chosen]
        columns = (
            kinds[0] if kinds.count(kinds[0]) == len(kinds) else kinds,
            [candidate.content for candidate in chosen],
            None if tasks.count(None) == len(tasks) else tasks,
            turns,
        )
        seeds = self._seeds and [self._seeds[position] for position in group]
        return columns, seeds, self._each

    def read(
        self, items: list[Any], spent: list[float] | None, seconds: float
    ) -> Answers[Verdict]:
        """Rebuild the verdicts; what ran out of memory is under suspicion."""
        shares = seconds / len(items) if spent is None else spent
        verdicts = wire.decode(items, self.thing.unit, shares, self.thing.cost)
        suspects = {
            place: verdict.reason
            for place, verdict in enumerate(verdicts)
            if verdict.failed_at == "engine"
        }
        return Answers(verdicts, seconds, suspects)

    def costs(self, journal: Journal, start: int, end: int) -> list[float] | None:
        """Cpu-seconds of each candidate of a verifier that is dear enough."""
        return list(map(float, journal.costs[start:end])) if self._each else None

    def failed(self, verdict: Verdict) -> Verdict:
        """A failure is a verdict like any other."""
        return verdict

    def answer(self, case: Case[Verdict], items: list[Verdict], lane: int) -> BatchAnswer:
        """Add what failed attempts cost to the candidates that are charged with them."""
        for position, seconds in case.wasted.items():
            cost = items[position].cost or Cost()
            more = replace(cost, seconds=cost.seconds + seconds)
            items[position] = replace(items[position], cost=more)
        return BatchAnswer(items, lane, case.seconds)

    def control(self) -> VerifyJob | None:
        """A job on the verifier's control candidate."""
        if self.thing.control is None:
            return None
        return VerifyJob(
            self.thing, [self.thing.control], lane=None, priority=0.0, limit=None, seeds=None
        )


class CanonicalJob(Job[Form]):
    """A batch of contents for one canonicaliser."""

    work = "canonicalise"
    exact = True

    def __init__(
        self, canonicaliser: Canonicaliser, contents: Sequence[str | bytes], priority: float
    ) -> None:
        """Make a job; see `WorkerPool.canonicalise`."""
        super().__init__(len(contents), None, priority)
        self.thing: Canonicaliser = canonicaliser
        self.patience = canonicaliser.timeout
        self._contents = contents

    def arguments(self, group: Sequence[int]) -> tuple[Any, ...]:
        """The contents themselves."""
        return ([self._contents[position] for position in group],)

    def read(self, items: list[Any], spent: list[float] | None, seconds: float) -> Answers[Form]:
        """Rebuild the verdicts among the forms."""
        del spent
        forms: list[Form] = []
        suspects: dict[int, str] = {}
        for place, item in enumerate(items):
            if not isinstance(item, tuple):
                forms.append(item)
                continue
            verdict = wire.rebuild(item, seconds / len(items))
            forms.append(verdict)
            if verdict.failed_at == "engine":
                suspects[place] = verdict.reason
        return Answers(forms, seconds, suspects)

    def failed(self, verdict: Verdict) -> Form:
        """A failure takes the place of the form; a form has no cost."""
        return replace(verdict, cost=Cost())

    def answer(self, case: Case[Form], items: list[Form], lane: int) -> CanonicalAnswer:
        """The forms, in order."""
        return CanonicalAnswer(items, lane, case.seconds)

    def control(self) -> CanonicalJob | None:
        """A job on the canonicaliser's control content."""
        if self.thing.control is None:
            return None
        return CanonicalJob(self.thing, [self.thing.control], 0.0)


def _nothing() -> None:
    """Nobody wants to hear."""


def _one_by_one(verifier: Verifier) -> bool:
    return isinstance(verifier, FunctionVerifier) and not verifier.batch and not verifier.is_async


def _patience(verifier: Verifier, count: int) -> float:
    """Seconds without progress that count as a hang.

    A verifier that watches its own clock is given more time than it gives itself, so that its
    own, more telling message arrives.
    """
    own = getattr(verifier, "patience", None)
    if callable(own):
        return float(own(count))
    if isinstance(verifier, FunctionVerifier) and verifier.is_async:
        rounds = 1 if verifier.batch else math.ceil(count / max(1, verifier.concurrency))
        return verifier.timeout * rounds + 1.0
    return verifier.timeout
