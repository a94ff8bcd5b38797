"""Queueing: what a sample asks for next, as rows of the work queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import HELD, CheckRow, CheckState, Request
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.candidates import candidate_json
from verifier_ladder.scheduler.climb import Escalation
from verifier_ladder.scheduler.conclusions import NOT_ASKED
from verifier_ladder.scheduler.engines.reservation import to_reserve, told_of
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verifiers import Verifier

Enqueue = list[tuple[CheckRow, Sequence[Request]]]


def awaited(reward: Reward) -> Reward:
    """The reward of a sample that climbs on."""
    if reward.reason == NOT_ASKED:
        return reward._replace(pending=True, reason="no tier has answered yet")
    return reward._replace(pending=True)


def join(
    asked: dict[bytes, tuple[CheckRow, list[Request]]], check: CheckRow, request: Request
) -> None:
    """Add a request to the check it is for; the highest priority wins."""
    had = asked.get(check.check_key)
    if had is None:
        asked[check.check_key] = (check, [request])
        return
    first, waiting = had
    waiting.append(request)
    best = check if check.priority > first.priority else first
    until = max(check.wanted_until, first.wanted_until)
    asked[check.check_key] = (best._replace(wanted_until=until), waiting)


def hurried(enqueue: Enqueue, until: float) -> Enqueue:
    """The same checks, for which a learner waits until then, in seconds since 1970.

    What its samples ask for next is hurried too.
    """
    return [
        (
            check._replace(wanted_until=until),
            [r._replace(state={**r.state, "until": until}) for r in waiting],
        )
        for check, waiting in enqueue
    ]


def carried_on(check: CheckRow, request: Request) -> CheckRow:
    """The check that a sample asks for next, as urgent and in the trace of its first call."""
    state = request.state
    check = check._replace(wanted_until=float(state.get("until", 0.0)))
    if "trace" in state:
        return check._replace(payload={**check.payload, "trace": state["trace"]})
    return check


def next_verifier(ladder: Ladder, standing: Standing, column: int) -> Verifier:
    """The first verifier of a tier that has not been asked; gates come before the primary."""
    rung = ladder.rungs[column]
    for verifier in rung.verifiers:
        if verifier.name not in standing.verdicts:
            return verifier
    return rung.verifiers[-1]


def checks_of(
    campaign: str,
    knowledge: Knowledge,
    standings: Sequence[Standing],
    escalations: Sequence[Escalation],
    *,
    is_held: bool,
) -> list[CheckRow]:
    """The checks that take standings one step further on a tier, one for each escalation.

    What they are expected to take is spoken for from now on, unless they are held.

    Args:
        campaign: Who pays.
        knowledge: What checks are expected to take.
        standings: The candidates of the batch.
        escalations: Which of them go where.
        is_held: Whether their policy compares them with others before they are run.
    """
    going = [standings[escalation.place] for escalation in escalations]
    verifiers = [
        next_verifier(knowledge.ladder, standing, escalation.column)
        for standing, escalation in zip(going, escalations, strict=True)
    ]
    numbers = [_next_number(v, standing) for v, standing in zip(verifiers, going, strict=True)]
    expected = knowledge.costs.expected(verifiers, going)
    checks = [
        CheckRow(
            check_key=_key(knowledge.ladder, verifier, number, standing),
            content_key=_content_key(standing), campaign=campaign, verifier=verifier.name,
            version=verifier.version, tier=int(verifier.tier), state=CheckState.QUEUED,
            priority=escalation.benefit, reserve=to_reserve(verifier, cost),
            payload=_payload(verifier, number, standing, knowledge.ladder.canonicaliser),
            not_before=HELD if is_held else 0.0,
            digest=verifier.digest,
        )
        for standing, escalation, verifier, number, cost in zip(
            going, escalations, verifiers, numbers, expected, strict=True
        )
    ]  # fmt: skip
    if not is_held:
        knowledge.asked(checks, expected)
    for check, standing, escalation in zip(checks, going, escalations, strict=True):
        if escalation.lot is not None:
            knowledge.promise(check.check_key, standing, escalation.lot)
    return checks


def _key(ladder: Ladder, verifier: Verifier, number: int, standing: Standing) -> bytes:
    """Key of the check: of its whole group, where a member is compared."""
    if standing.comparison is not None:
        return standing.comparison.key
    return standing.keys[ladder.askings.index((verifier, number))]


def _content_key(standing: Standing) -> bytes:
    group = standing.comparison
    return standing.content_key if group is None else group.content_key


def _next_number(verifier: Verifier, standing: Standing) -> int:
    """Number of the first of a verifier's replicates that has not ended."""
    return next(iter(standing.missing(verifier)), 0) if verifier.replicates > 1 else 0


def _payload(
    verifier: Verifier, number: int, standing: Standing, canonicaliser: Canonicaliser
) -> dict[str, Any]:
    """The candidate as the verifier reads it, what else the key is made of, what is expected."""
    group = standing.comparison
    payload = candidate_json(standing.seen_by(verifier) if group is None else group.candidate)
    if verifier.replicates > 1:
        payload["replicate"] = number
    if verifier.namespace:
        payload["namespace"] = verifier.namespace
    if verifier.reads == "raw":
        payload["canonicaliser"] = canonicaliser.digest.hex()
    return {**payload, **told_of(verifier, standing.expected.get(verifier.name))}
