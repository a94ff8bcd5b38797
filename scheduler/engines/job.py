"""Jobs: one batch for a lane, what to send for it and how to read what comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from threading import Lock
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.containment import ends_program
from verifier_ladder.cost import Amounts, Cost
from verifier_ladder.environment import Grant, granted
from verifier_ladder.errors import LadderError
from verifier_ladder.function import FunctionVerifier, RewardFunctionVerifier
from verifier_ladder.hidden import without_hidden
from verifier_ladder.keys import task_digest
from verifier_ladder.scheduler.engines import wire
from verifier_ladder.scheduler.engines.blame import Answers, Case
from verifier_ladder.scheduler.engines.journal import Journal
from verifier_ladder.scheduler.engines.watch import Failure, Limit
from verifier_ladder.signature import LISTS, MESSAGES
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier, failure

T = TypeVar("T")
Form = str | bytes | Verdict
_WORTH_TIMING = 1e-3
Expected = Amounts | str
"""What a check is expected to take, or why its verifier could not tell."""
LONGEST = 200
"""Characters of that reason."""
MOST_RESERVED = 4e9
"""No more is expected of a check, nor reserved for it, so that accounts can count it."""
_THOUGHT = 0.25
"""Seconds in which a verifier should say what a check will take."""
_RAISED = ("answer", "data", "error")
"""Causes that `verifiers.failure` tells of errors which content may have brought about."""
UNCOMPARED = "uncompared"
"""Evidence of a failure that is nobody's yet, because no other candidate had passed before."""
_CALLED = {
    "verify": "verifier",
    "canonicalise": "canonicaliser",
    "expect": "expected_cost of verifier",
}
_WORDS = (MESSAGES, LISTS["completion_ids"])
"""Task fields that hold what the model wrote."""


class BatchFuture(Future[T]):
    """The future of a batch, which can be left with what it has so far."""

    def __init__(
        self,
        answered: dict[int, Any] | None = None,
        told: Callable[[Mapping[int, Any]], Mapping[int, Any]] = lambda answers: answers,
    ) -> None:
        """Start with nothing, or with answers that were there at once.

        Args:
            answered: Those.
            told: Makes of answers what others may be told of them.
        """
        super().__init__()
        self._told = told
        self.answered: dict[int, Any] = answered or {}
        """What is settled so far, by position in the batch; filled by the lane."""
        self.paid: dict[int, Any] = {}
        """Those that have been paid; whatever comes later, they stand."""
        self._paying, self._is_settled = Lock(), False
        self.on_news: Callable[[], None] = _nothing
        """Called when more may be settled, in a lane's thread."""
        self.is_abandoned = False
        """Whether nobody waits any more: the lane then kills the work and takes the next job."""
        self._begun = 0.0
        self.took: float | None = None
        """Seconds of the wall from when a worker began on it; None if none has, or has ended."""

    def set_running_or_notify_cancel(self) -> bool:
        """Begin, unless it was cancelled."""
        self._begun = monotonic()
        return super().set_running_or_notify_cancel()

    def set_result(self, result: T) -> None:
        """End."""
        if self.running():
            self.took = monotonic() - self._begun
        super().set_result(result)

    def note(self, answers: Mapping[int, Any]) -> None:
        """Take what is settled, before the batch is done; for lanes."""
        told = self._told(answers)
        with self._paying:
            self.answered.update(_as_paid(told, self.paid))

    def tell(self, answers: Mapping[int, Any]) -> None:
        """Take it, and say that there is news."""
        self.note(answers)
        self.on_news()

    def pay(self, choose: Callable[[Mapping[int, Any]], Mapping[int, Any]]) -> Mapping[int, Any]:
        """Take answers that are paid before the batch is done; none once it is being settled.

        Args:
            choose: Takes them out of all that are known.
        """
        with self._paying:
            if self._is_settled:
                return {}
            chosen = choose(dict(self.answered))
            self.paid.update(chosen)
            return chosen

    def settle(self) -> Mapping[int, Any]:
        """The answers that have been paid; no more are until there is a result. For lanes."""
        with self._paying:
            self._is_settled = True
        return self.paid

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
    """What the batch took in all: cpu-seconds, attempts that were killed included."""


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
    item: Any
    """The type of one answer on its way from the worker."""
    thing: Any
    """The verifier or canonicaliser."""
    patience: float
    """Seconds without progress that count as a hang."""
    exact: bool
    """Whether marks are sure to name the candidate that is being worked on."""
    limit: Limit | None = None
    memory: int | None = None
    """Bytes that the worker may use."""
    on_pause: Callable[[float], None] | None = None
    """Hears for how many seconds a service wants not to be asked."""

    def __init__(self, count: int, lane: int | None, priority: float) -> None:
        """Make a job of `count` candidates."""
        self.count, self.lane, self.priority = count, lane, priority
        self.future: BatchFuture[Any] = BatchFuture()
        self.wasted: dict[int, float] = {}
        """What failed attempts took, by the position that is charged with it; see `Case`."""

    def grant(self) -> Grant:
        """What it needs of this process's environment.

        Raises:
            ConfigError: If something is not set.
        """
        return granted(self.thing) if isinstance(self.thing, Verifier) else Grant()

    @abstractmethod
    def arguments(self, group: Sequence[int]) -> tuple[Any, ...]:
        """What the worker needs to work on these positions."""

    @abstractmethod
    def read(
        self, group: Sequence[int], items: list[Any], spent: list[float] | None, seconds: float
    ) -> Answers[T]:
        """Read what the worker answered for these positions."""

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
    def subject(self, position: int) -> Any:
        """What is judged at a position."""

    @abstractmethod
    def is_answer(self, item: T) -> bool:
        """Whether it shows that the verifier is well."""

    @abstractmethod
    def control(self, position: int, known: Any = None) -> Job[T] | None:
        """A job on a harmless candidate in the place of another.

        Args:
            position: The candidate whose place it takes.
            known: One that has passed; by default the one that is declared, if one is.
        """

    @property
    def alike(self) -> Hashable:
        """What tells a job of one candidate apart from others for the same verifier."""
        return None

    def is_of_content(self, failure: Failure) -> bool:
        """Whether a candidate that has passed may stand in for a control that nobody declared.

        Not where content does not bring about such errors.
        """
        said = failure.said
        return said is None or said.evidence.get("cause") != "error"

    def excuse(self, failure: Failure) -> bool:
        """Whether no candidate can be blamed for a failure."""
        # A worker with a memory limit can't have used up the machine's.
        is_short = failure.cause == "oom" and self.memory is not None
        return is_short or failure.cause in {"starved", "gpu"}

    @property
    def name(self) -> str:
        """What the job is called in messages."""
        return f"{_CALLED[self.work]} {self.thing.name}"

    def give_up(self, position: int, failure: Failure) -> T:
        """The answer for a candidate that could not be tried, through no fault of its own."""
        del position
        if (said := failure.said) is not None:  # what it took is charged as that of a failure
            return self.failed(replace(said, cost=replace(said.cost or Cost(), seconds=0.0)))
        evidence = {"cause": failure.cause, **({"log": failure.log} if failure.log else {})}
        message = failure.message
        if failure.cause != "refused":
            message = f"{self.name} {message}"
        if failure.cause == "start":
            message = f"no worker process can be started for {self.name}: it {failure.message}"
        boundary = "tool" if failure.cause == "hang" else failure.boundary
        abstains = Verdict.abstain(message, failed_at=boundary, evidence=evidence)
        return self.failed(replace(abstains, cost=Cost()))

    def convict(self, position: int, failure: Failure, sane: bool | None) -> T:  # noqa: FBT001
        """The answer for a culprit, one that brings down fresh workers.

        Args:
            position: Where it stands.
            failure: What it brought about.
            sane: Whether a control has passed; None if there was none to compare it with.
        """
        del position
        is_alone = sane is None and self.is_of_content(failure)
        alone: dict[str, Any] = {UNCOMPARED: True} if is_alone else {}
        if failure.said is not None:
            return self._convict_raised(failure, failure.said, alone, sane=bool(sane))
        evidence: dict[str, Any] = {"log": failure.log} if failure.log else {}
        how = self._out_of_memory() if failure.cause == "memory" else failure.message
        message = f"{self.name} {how} on this candidate, each time it was tried"
        if sane:
            evidence["cause"] = "resource"
            said = Verdict.reject(f"{message}; it is well on others", evidence=evidence)
        else:
            evidence |= {"cause": failure.cause, **alone}
            said = Verdict.abstain(message, failed_at="engine", evidence=evidence)
        return self.failed(_taking(said, failure.seconds))

    def _convict_raised(
        self, failure: Failure, said: Verdict, alone: Mapping[str, Any], *, sane: bool
    ) -> T:
        """The answer for a candidate that is answered with an error each time."""
        if sane:
            reason = f"{self.name} fails on this candidate: {said.reason}; it is well on others"
            cause = said.evidence.get("cause", "error")
            evidence = {**said.evidence, "cause": "numeric" if cause == "answer" else cause}
            said = replace(Verdict.reject(reason, evidence=evidence), cost=said.cost)
        elif alone:
            said = replace(said, evidence={**said.evidence, **alone})
        return self.failed(_taking(said, failure.seconds))

    def _out_of_memory(self) -> str:
        if self.memory is None:
            return "ran out of memory"
        return f"used more than {self.memory / 2**20:.0f} MiB"


class VerifyJob(Job[Verdict]):
    """A batch of candidates for one verifier."""

    work = "verify"
    item = wire.Item

    def __init__(
        self, verifier: Verifier, candidates: Sequence[Candidate], *, lane: int | None,
        priority: float, limit: Limit | None, seeds: Sequence[int] | None,
        expected: Sequence[Cost] | None = None,
    ) -> None:  # fmt: skip
        """Make a job; see `WorkerPool.verify`."""
        super().__init__(len(candidates), lane, priority)
        self.thing: Verifier = verifier
        self.limit, self._seeds, self._candidates = limit, seeds, candidates
        self._expected = expected
        self.patience = _patience(verifier, self.count)
        self.exact = is_one_by_one(verifier)
        self._each = self.exact and self.count > 1 and verifier.cost.seconds > _WORTH_TIMING
        self._told = partial(_charged, self.wasted)
        if verifier.hidden:
            self._told = partial(_masked, verifier, candidates, self.wasted)
        self.future = BatchFuture(told=self._told)

    def arguments(self, group: Sequence[int]) -> tuple[Any, ...]:
        """Columns, because a batch shares its kind and mostly has no tasks and turns."""
        chosen = [self._candidates[position] for position in group]
        kinds: Any = [candidate.kind for candidate in chosen]
        tasks: Any = [candidate.task for candidate in chosen]
        turns: Any = None
        if any(candidate.turns for candidate in chosen):
            turns = [[turn.as_json() for turn in c.turns] for c in chosen]
        columns = (
            kinds[0] if kinds.count(kinds[0]) == len(kinds) else kinds,
            [candidate.content for candidate in chosen],
            None if tasks.count(None) == len(tasks) else tasks,
            turns,
        )
        seeds = self._seeds and [self._seeds[position] for position in group]
        return columns, seeds, self._each

    def read(
        self, group: Sequence[int], items: list[Any], spent: list[float] | None, seconds: float
    ) -> Answers[Verdict]:
        """Rebuild the verdicts; what ran out of memory is under suspicion."""
        shares = seconds / len(items) if spent is None else spent
        expected = self._expected and [self._expected[position] for position in group]
        verdicts = wire.decode(items, self.thing.unit, shares, expected or self.thing.cost)
        return Answers(verdicts, seconds, suspects(enumerate(verdicts)))

    def costs(self, journal: Journal, start: int, end: int) -> list[float] | None:
        """Cpu-seconds of each candidate of a verifier that is dear enough."""
        return list(map(float, journal.costs[start:end])) if self._each else None

    def failed(self, verdict: Verdict) -> Verdict:
        """A failure is a verdict like any other."""
        return verdict

    def answer(self, case: Case[Verdict], items: list[Verdict], lane: int) -> BatchAnswer:
        """The verdicts as others may be told them."""
        told = self._told(dict(enumerate(items)))
        verdicts = _as_paid(told, self.future.settle())
        return BatchAnswer(list(verdicts.values()), lane, case.seconds)

    def subject(self, position: int) -> Candidate:
        """A candidate."""
        return self._candidates[position]

    def is_answer(self, item: Verdict) -> bool:
        """Whether the verifier has judged; one that declines may have looked at nothing."""
        is_judged = item.is_answer and item.outcome is not Outcome.ABSTAIN
        return is_judged and "cause" not in item.evidence

    def control(self, position: int, known: Any = None) -> VerifyJob | None:
        """A job on a harmless candidate, with the task of the one that failed."""
        harmless: Candidate | None = self.thing.control if known is None else known
        if harmless is None:
            return None
        stand_in = in_the_place(harmless, self._candidates[position])
        return VerifyJob(
            self.thing, [stand_in], lane=None, priority=0.0, limit=self.limit, seeds=None
        )

    def is_of_content(self, failure: Failure) -> bool:
        """See `Job`; never of a learner's reward function: its trainer reads failures as masks.

        One that declares a control says that it means none.
        """
        is_learners = isinstance(self.thing, RewardFunctionVerifier)
        return not is_learners and super().is_of_content(failure)

    @property
    def alike(self) -> Hashable:
        """Its only candidate."""
        one = self._candidates[0]
        try:
            return one.content, task_digest(one.task or {})
        except LadderError:  # no JSON; the same task is mostly the same object
            return one.content, id(one.task)

    def excuse(self, failure: Failure) -> bool:
        """Whether the machine, or a service, may have failed."""
        is_silence = failure.cause == "hang" and failure.slept
        if not self.thing.network:
            return super().excuse(failure) or (is_silence and bool(self.thing.services))
        is_error = failure.said is not None and failure.said.evidence.get("cause") == "error"
        return is_silence or is_error or super().excuse(failure)


def expected_amounts(verifier: Verifier, candidate: Candidate) -> Expected:
    """What a verifier says that a check of a candidate will take."""
    try:
        cost: Any = verifier.expected_cost(candidate)
        if not isinstance(cost, Cost):
            return f"it returned a {type(cost).__name__}, not a vl.Cost"
        cpu, gpu, money, person = (float(amount) for amount in cost.amounts)
    except BaseException as error:
        if ends_program(error):
            raise
        return failure(error).reason[:LONGEST]
    if not all(0.0 <= amount <= MOST_RESERVED for amount in (cpu, gpu, money, person)):
        return f"its amounts are not from 0 to {MOST_RESERVED:,.0f}"
    return cpu, gpu, money, person


class ExpectJob(Job[Expected]):
    """A batch of candidates of which a verifier says what their checks will take.

    Nobody is blamed for a failure: the declared cost is good enough then.
    """

    work = "expect"
    item = Expected
    exact = True

    def __init__(self, verifier: Verifier, candidates: Sequence[Candidate]) -> None:
        """Make a job; see `WorkerPool.expect`."""
        super().__init__(len(candidates), None, 1.0)
        self.thing: Verifier = verifier
        self.patience = _THOUGHT
        self._candidates = candidates

    def arguments(self, group: Sequence[int]) -> tuple[Any, ...]:
        """The candidates, taken apart."""
        chosen = [self._candidates[position] for position in group]
        return ([
            (c.kind, c.content, c.task, [turn.as_json() for turn in c.turns]) for c in chosen
        ],)  # fmt: skip

    def read(
        self, group: Sequence[int], items: list[Any], spent: list[float] | None, seconds: float
    ) -> Answers[Expected]:
        """The amounts of each."""
        del group, spent
        read = [i[:LONGEST] if isinstance(i, str) else Cost(*i).amounts for i in items]
        return Answers(read, seconds)

    def failed(self, verdict: Verdict) -> Expected:
        """Why nothing is expected."""
        return verdict.reason

    def answer(self, case: Case[Expected], items: list[Expected], lane: int) -> list[Expected]:
        """The amounts, in order."""
        del case, lane
        return items

    def subject(self, position: int) -> Candidate:
        """A candidate."""
        return self._candidates[position]

    def is_answer(self, item: Expected) -> bool:
        """It says nothing of how the verifier judges."""
        del item
        return False

    def control(self, position: int, known: Any = None) -> None:
        """None is needed."""
        del position, known

    def excuse(self, failure: Failure) -> bool:
        """Any failure."""
        del failure
        return True


class CanonicalJob(Job[Form]):
    """A batch of contents for one canonicaliser."""

    work = "canonicalise"
    item = wire.FormItem
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

    def read(
        self, group: Sequence[int], items: list[Any], spent: list[float] | None, seconds: float
    ) -> Answers[Form]:
        """Rebuild the verdicts among the forms."""
        del group, spent
        share = seconds / max(1, len(items))
        forms = [
            wire.rebuild(item, share) if isinstance(item, tuple) else wire.form_of(item)
            for item in items
        ]
        verdicts = ((n, form) for n, form in enumerate(forms) if isinstance(form, Verdict))
        return Answers(forms, seconds, suspects(verdicts))

    def failed(self, verdict: Verdict) -> Form:
        """A failure takes the place of the form; a form has no cost."""
        return replace(verdict, cost=Cost())

    def answer(self, case: Case[Form], items: list[Form], lane: int) -> CanonicalAnswer:
        """The forms, in order."""
        return CanonicalAnswer(items, lane, case.seconds)

    def subject(self, position: int) -> str | bytes:
        """A content."""
        return self._contents[position]

    def is_answer(self, item: Form) -> bool:
        """Whether there is a form."""
        return not isinstance(item, Verdict)

    def control(self, position: int, known: Any = None) -> CanonicalJob | None:
        """A job on a harmless content."""
        del position
        harmless = self.thing.control if known is None else known
        return None if harmless is None else CanonicalJob(self.thing, [harmless], 0.0)


def in_the_place(harmless: Candidate, culprit: Candidate) -> Candidate:
    """A harmless candidate with the task of another: what a task brings about is nobody's fault.

    Fields of the task that hold the other's own words are left out.
    """
    own, task = harmless.task or {}, dict(culprit.task or {})
    for name in _WORDS:
        if task.pop(name, None) is not None and name in own:
            task[name] = own[name]
        elif name == MESSAGES and MESSAGES in (culprit.task or {}):
            task[name] = [{"role": "assistant", "content": harmless.content}]
    return replace(harmless, task=task if culprit.task is not None else None)


def _charged(wasted: Mapping[int, float], verdicts: Mapping[int, Verdict]) -> dict[int, Verdict]:
    """Verdicts with what failed attempts took that are charged to their candidates."""
    charged = dict(verdicts)
    for place in wasted.keys() & charged.keys():
        charged[place] = _taking(charged[place], _seconds(charged[place]) + wasted[place])
    return charged


def _as_paid(
    verdicts: Mapping[int, Verdict], paid: Mapping[int, Verdict]
) -> Mapping[int, Verdict]:
    """Verdicts as they were paid, where they were; what that leaves is charged to the others.

    What is paid early may miss what its batch took later, or what another attempt took for it.
    """
    known = {place: paid[place] for place in verdicts.keys() & paid.keys()}
    if not known:
        return verdicts
    took = {place: _seconds(verdict) for place, verdict in verdicts.items()}
    owed = sum(took[place] - _seconds(verdict) for place, verdict in known.items())
    open_ = [place for place in verdicts if place not in known]
    whole = sum(took[place] for place in open_)
    settled = {**verdicts, **known}
    for place in open_:
        part = owed * (took[place] / whole if whole else 1.0 / len(open_))
        settled[place] = _taking(verdicts[place], took[place] + part)
    return settled


def _seconds(verdict: Verdict) -> float:
    return (verdict.cost or Cost()).seconds


def _taking(verdict: Verdict, seconds: float) -> Verdict:
    """The verdict with what it took of the processor, as far as accounts can count that."""
    counted = min(max(0.0, seconds), MOST_RESERVED)
    return replace(verdict, cost=replace(verdict.cost or Cost(), seconds=counted))


def _masked(
    verifier: Verifier, candidates: Sequence[Candidate], wasted: Mapping[int, float],
    verdicts: Mapping[int, Verdict],
) -> dict[int, Verdict]:  # fmt: skip
    """The same, without what is hidden."""
    return {
        place: without_hidden(verifier, candidates[place], verdict)
        for place, verdict in _charged(wasted, verdicts).items()
    }


def suspects(verdicts: Iterable[tuple[int, Verdict]]) -> dict[int, Failure]:
    """Verdicts that tell of a failure which may be the candidate's, by place."""
    return {
        place: Failure(
            "memory" if verdict.failed_at == "engine" else "raised", verdict.reason,
            seconds=verdict.cost.seconds if verdict.cost else 0.0,
            said=None if verdict.failed_at == "engine" else verdict,
        )
        for place, verdict in verdicts
        if verdict.failed_at == "engine"
        or (verdict.failed_at is not None and verdict.evidence.get("cause") in _RAISED)
    }  # fmt: skip


def _nothing() -> None:
    """Nobody wants to hear."""


def is_one_by_one(verifier: Verifier) -> bool:
    """Whether it surely begins on a candidate when it has answered for the one before."""
    return isinstance(verifier, FunctionVerifier) and not verifier.batch and not verifier.is_async


def _patience(verifier: Verifier, count: int) -> float:
    """Seconds without progress that count as a hang.

    A verifier that watches its own clock is given more time than it gives itself, so that its
    own, more telling message arrives.
    """
    own = getattr(verifier, "patience", None)
    return float(own(count)) if callable(own) else verifier.timeout
