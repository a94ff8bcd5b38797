"""Inline work: trusted verifiers that run in this process, without a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import process_time
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser, canonical_form
from verifier_ladder.containment import ends_program
from verifier_ladder.cost import Cost
from verifier_ladder.environment import granted
from verifier_ladder.errors import (
    AnswerError,
    CandidateError,
    ConfigError,
    SandboxError,
    ServiceError,
)
from verifier_ladder.hidden import without_hidden
from verifier_ladder.ledger.protocol import micro
from verifier_ladder.ledger.records import Claim
from verifier_ladder.masking import NO_MASK
from verifier_ladder.scheduler.engines import wire
from verifier_ladder.scheduler.engines.blame import Answers, Case
from verifier_ladder.scheduler.engines.control import Controls, is_small
from verifier_ladder.scheduler.engines.job import (
    BatchAnswer,
    BatchFuture,
    CanonicalJob,
    Form,
    Job,
    VerifyJob,
    suspects,
)
from verifier_ladder.scheduler.engines.reservation import Reservation
from verifier_ladder.scheduler.engines.watch import Failure
from verifier_ladder.services.gpumemory import problem
from verifier_ladder.task import seen_by
from verifier_ladder.verdict import NO_EVIDENCE, Verdict
from verifier_ladder.verifiers import Verifier, failure

T = TypeVar("T")
NO_LANE = -1
_PASSED: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""A candidate that each verifier has judged well, a content for each canonicaliser."""


def judge_inline(
    verifier: Verifier, candidates: Sequence[Candidate]
) -> tuple[list[Verdict], float]:
    """Run a trusted verifier in this process; verdicts and the cpu-seconds they took together.

    A batch that raises is judged one by one, so the error costs only its own candidate.
    """
    started = process_time()
    try:
        mask = NO_MASK.and_also(granted(verifier).secrets)
    except ConfigError as error:
        return [failure(error)] * len(candidates), 0.0
    verdicts = _judged(verifier, candidates)
    if suspects(enumerate(verdicts)) or verifier not in _PASSED:
        job = VerifyJob(verifier, candidates, lane=None, priority=0.0, limit=None, seeds=None)
        said = _settled(job, verdicts, lambda some: _judged(verifier, some))
        # What was blamed takes the time of its share, as any other verdict does.
        pairs = zip(verdicts, said, strict=True)
        verdicts = [new if new is old else replace(new, cost=None) for old, new in pairs]
    if verifier.hidden:
        verdicts = list(map(partial(without_hidden, verifier), candidates, verdicts))
    return mask(verdicts), process_time() - started


def has_passed_inline(verifier: Verifier) -> bool:
    """Whether a candidate is known with which one that fails can be compared."""
    return verifier in _PASSED


def _note(job: Job[Any], said: Sequence[Any]) -> None:
    """Remember one that has passed."""
    for place, item in enumerate(said):
        if job.is_answer(item) and is_small(job.subject(place)):
            _PASSED[job.thing] = job.subject(place)
            return


def _judged(verifier: Verifier, candidates: Sequence[Candidate]) -> list[Verdict]:
    try:
        if not verifier.__dict__.get("_is_set_up"):
            verifier.setup()
            verifier.__dict__["_is_set_up"] = True
    except BaseException as error:
        if ends_program(error):
            raise
        return [failure(error)] * len(candidates)
    try:
        said = verifier.judge(seen_by(verifier.name, verifier.task_fields, candidates))
        return said if all(map(_is_bare, said)) else list(map(_plain, said))
    except BaseException as error:
        if ends_program(error):
            raise
        if len(candidates) == 1:
            return [failure(error)]
        return [_judged(verifier, [one])[0] for one in candidates]


def _is_bare(verdict: Verdict) -> bool:
    """Whether it was made here of a number or a truth value, as most are, and is plain already."""
    return type(verdict) is Verdict and verdict.evidence is NO_EVIDENCE


def _plain(verdict: Verdict) -> Verdict:
    try:
        return wire.plain(verdict)
    except AnswerError as error:
        return failure(error)


def _settled(job: Job[T], first: list[T], judge: Callable[[Sequence[Any]], list[T]]) -> list[T]:
    """Blame for errors, as in a worker: who fails alone, while another passes, is rejected."""
    _note(job, first)
    if not _failing(first):
        return first
    answers = [first]

    def attempt(group: Sequence[int], fresh: bool) -> Answers[T]:  # noqa: FBT001
        del fresh
        said = answers.pop() if answers else judge([job.subject(place) for place in group])
        return Answers(said, 0.0, _failing(said))

    def judged(control: Job[T], fresh: bool) -> Answers[T]:  # noqa: FBT001
        del fresh
        return Answers(judge([control.subject(0)]), 0.0)

    control = Controls(job, lambda: _PASSED.get(job.thing), judged)
    case = Case(
        job.count, attempt, job.convict, give_up=job.give_up, excuse=job.excuse, control=control
    )
    return case.settle()


def _failing(said: Sequence[Any]) -> dict[int, Failure]:
    return suspects((n, item) for n, item in enumerate(said) if isinstance(item, Verdict))


def canonical_inline(by: Canonicaliser, contents: Sequence[str | bytes]) -> list[Form]:
    """What a trusted canonicaliser makes of contents; a verdict where it makes nothing."""
    forms = _formed(by, contents)
    if not any(isinstance(form, Verdict) for form in forms) and by in _PASSED:
        return forms
    return _settled(CanonicalJob(by, contents, 0.0), forms, lambda some: _formed(by, some))


def _formed(by: Canonicaliser, contents: Sequence[str | bytes]) -> list[Form]:
    return [_form(by, content) for content in contents]


def _form(by: Canonicaliser, content: str | bytes) -> Form:
    try:
        return canonical_form(by, content)
    except CandidateError as error:
        return Verdict.reject(str(error))
    except BaseException as error:
        if ends_program(error):
            raise
        return failure(error)


def answered_inline(
    verifier: Verifier, candidates: Sequence[Candidate],
    claims: Sequence[tuple[Claim, Reservation]], expected: Sequence[Cost],
) -> BatchFuture[BatchAnswer]:  # fmt: skip
    """What a trusted verifier says, at once.

    A verdict that names no cost gets its share of the time, and of all else what is expected. One
    that names more than was reserved is lost if the budget does not pay for it.

    Args:
        verifier: The verifier.
        candidates: What it is asked about.
        claims: Their checks, and what was reserved for each.
        expected: What each of them takes of what can't be measured.
    """
    verdicts, seconds = judge_inline(verifier, candidates)
    share = seconds / max(1, len(candidates))
    costed = [
        _paid(
            verifier,
            v if v.cost is not None else replace(v, cost=replace(cost, seconds=share)),
            *claim,
        )
        for v, claim, cost in zip(verdicts, claims, expected, strict=True)
    ]
    future: BatchFuture[BatchAnswer] = BatchFuture(dict(enumerate(costed)))
    future.set_result(BatchAnswer(costed, NO_LANE, seconds))
    return future


def refused_here(
    verifier: Verifier, candidates: Sequence[Candidate]
) -> BatchFuture[BatchAnswer] | None:
    """The abstention of a verifier for which this machine lacks something; else None."""
    if verifier.sandbox is not None and (why := verifier.sandbox.problem()):
        why, boundary = f"runs untrusted code, and {why}", SandboxError.boundary
    elif why := problem(verifier.services.values()):
        why, boundary = f"can't be asked here: {why}", ServiceError.boundary
    else:
        return None
    refusal = Verdict.abstain(
        f"verifier {verifier.name} {why}", failed_at=boundary, evidence={"cause": "host"},
        cost=Cost(),
    )  # fmt: skip
    future: BatchFuture[BatchAnswer] = BatchFuture(dict.fromkeys(range(len(candidates)), refusal))
    future.set_result(BatchAnswer([refusal] * len(candidates), NO_LANE, 0.0))
    return future


def _paid(verifier: Verifier, verdict: Verdict, claim: Claim, reservation: Reservation) -> Verdict:
    cost = verdict.cost or Cost()
    reserved = reservation.settle([(claim, cost.seconds)])
    if micro(cost.seconds) <= micro(reserved):
        return verdict
    refused = Verdict.abstain(
        f"verifier {verifier.name} took {cost.seconds:.3g} cpu-seconds, {reserved:.3g} could be "
        "reserved, and its budget has no more",
        failed_at="budget",
    )
    return replace(refused, cost=replace(cost, seconds=reserved))
