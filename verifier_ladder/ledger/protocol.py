"""Rules of the work queue that both stores share: attempts, back-off, costs, what is recorded."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from verifier_ladder.cost import LARGEST, Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.records import (
    Block,
    CheckRow,
    CheckState,
    Completion,
    Request,
    VerdictRow,
)
from verifier_ladder.resource import Resource
from verifier_ladder.verdict import Verdict

K = TypeVar("K", bound=Hashable)
ATTEMPTS = 5
"""At how many attempts a check whose lease runs out is dead."""
PARKED = "budget"
"""Note of a check that waits for its budget."""
UNWANTED = "unwanted"
"""Note of a check at work that nobody waits for any more: without an answer it ends."""
MICRO = 1_000_000
Amounts = tuple[int, int, int, int]
"""Whole millionths of each `Resource`, in its order, so that sums are exact."""
NOTHING: Amounts = (0, 0, 0, 0)
_LONGEST_NOTE = 500
LONGEST_BACKOFF = 300.0
"""Seconds that a check waits at most for its next attempt."""


def micro(amount: float, resource: Resource = Resource.CPU_SECONDS) -> int:
    """An amount in whole millionths, so that sums are exact.

    Raises:
        LedgerError: If it is negative, not a number, or too large (285 years of seconds).

    Example:
        >>> micro(0.25)
        250000
    """
    if not 0 <= amount < LARGEST:
        raise LedgerError(f"{amount!r} is not an amount of {resource.unit}; give 0 or more")
    return round(amount * MICRO)


def moved(seconds: float) -> int:
    """Seconds that are reserved, or given up, in whole millionths.

    Raises:
        LedgerError: If they are no number, or too many.

    Example:
        >>> moved(-0.25)
        -250000
    """
    return micro(seconds) if seconds >= 0 else -micro(-seconds)


def together(changes: Iterable[tuple[K, int]]) -> dict[K, int]:
    """How much each changes by, all its changes together.

    Example:
        >>> together([("a", 5), ("b", 1), ("a", -3)])
        {'a': 2, 'b': 1}
    """
    sums: dict[K, int] = {}
    for name, amount in changes:
        sums[name] = sums.get(name, 0) + amount
    return sums


def micros(cost: Cost) -> Amounts:
    """What a cost takes of each resource, in whole millionths.

    Example:
        >>> micros(Cost(seconds=2.0, money=0.5))
        (2000000, 0, 500000, 0)
    """
    cpu, gpu, money, person = [amount * MICRO for amount in cost.amounts]
    return round(cpu), round(gpu), round(money), round(person)


def backoff(attempt: int) -> float:
    """Seconds to wait after a lost lease: two at first, at most five minutes.

    Example:
        >>> backoff(3)
        8.0
    """
    return min(LONGEST_BACKOFF, 2.0 ** min(attempt, 20))


def spent(verdict: Verdict | None, reserved: Amounts, elapsed: float) -> Amounts:
    """What an attempt is charged, in millionths: never more than it had reserved.

    Args:
        verdict: Its measured cost counts, if it has one.
        reserved: The attempt's reservation, in millionths.
        elapsed: Seconds since the claim. Where nothing was measured they are the cpu time, and
            of the other resources everything counts as spent that was reserved.
    """
    measured = None if verdict is None else verdict.cost
    if measured is None:
        return (min(reserved[0], _capped(max(0.0, elapsed))), *reserved[1:])
    cpu, gpu, money, person = map(min, reserved, map(_capped, measured.amounts))
    return cpu, gpu, money, person


def _capped(amount: float) -> int:
    return round(min(amount, 1e9) * MICRO)


def note_of(verdict: Verdict) -> str:
    """What the queue keeps of a failure."""
    text = f"{verdict.failed_at}: {verdict.reason}"
    return text.encode("utf-8", "replace").decode()[:_LONGEST_NOTE]


def verdict_row(check: CheckRow, verdict: Verdict, content_key: bytes | None = None) -> VerdictRow:
    """The record of a verdict on a check of the queue."""
    return VerdictRow(
        check.check_key, content_key or check.content_key, check.verifier, check.version,
        check.tier, verdict, max(1, check.attempt),
    )  # fmt: skip


def state_after(state: CheckState, note: str) -> CheckState:
    """Where a check stands that leaves its worker without an answer.

    Args:
        state: Where one stands that somebody waits for.
        note: Its note while it was at work.
    """
    is_over = note == UNWANTED and state is CheckState.QUEUED
    return CheckState.CANCELLED if is_over else state


def asked_by(check: CheckRow, waiting: Sequence[Request]) -> CheckRow:
    """A check with the run that asks for it: the first sample's of the campaign that pays."""
    if check.run:
        return check
    runs = (request.run for request in waiting if request.campaign == check.campaign)
    return check._replace(run=next(runs, ""))


class Ended(NamedTuple):
    """A claimed check that has ended, with what its row of the queue knew."""

    completion: Completion
    asked_at: float
    claimed_at: float
    charged: Amounts
    """What the attempt was charged."""


def blocks_of(ended: Sequence[Ended], now: float) -> list[Block]:
    """One entry for each campaign that pays."""
    by_campaign: dict[str, list[Ended]] = {}
    for one in ended:
        by_campaign.setdefault(one.completion.claim.check.campaign, []).append(one)
    return [
        Block("check", campaign, verdicts=[_row(one) for one in its], facts=_facts(its, now))
        for campaign, its in by_campaign.items()
    ]


def _row(ended: Ended) -> VerdictRow:
    claim, verdict, content_key = ended.completion
    return verdict_row(claim.check, verdict, content_key)


def _facts(ended: Sequence[Ended], now: float) -> dict[str, Any]:
    """What the verdicts of an entry don't tell: how long each took, and what it was charged.

    `worked` is the time since its claim, `waited` that since it was asked for, in seconds; None
    where a clock has jumped. `charged` are cpu-seconds; it is left out where all were charged
    what was measured.
    """
    facts: dict[str, Any] = {
        "worked": [since(one.claimed_at, now) for one in ended],
        "waited": [since(one.asked_at, now) for one in ended],
    }
    charged = [one.charged[0] for one in ended]
    if charged != [_measured(one.completion.verdict) for one in ended]:
        facts["charged"] = [amount / MICRO for amount in charged]
    return facts


def _measured(verdict: Verdict) -> int | None:
    return None if verdict.cost is None else _capped(verdict.cost.seconds)


def since(begun: float, now: float) -> float | None:
    """Seconds since a moment; None if it is not known, or lies in the future.

    Example:
        >>> since(100.0, 102.5), since(0.0, 102.5), since(200.0, 102.5)
        (2.5, None, None)
    """
    return round(now - begun, 4) if 0.0 < begun <= now else None


def refuse_failures(verdicts: Sequence[Verdict]) -> None:
    """Raise if a verdict is an outage, where an answer is asked for."""
    for verdict in verdicts:
        if not verdict.is_answer:
            raise LedgerError(
                f"a failure is no answer ({verdict.failed_at}: {verdict.reason}); "
                "record it with `fail`, which tries again or gives up"
            )


def refuse_answers(verdicts: Sequence[Verdict]) -> None:
    """Raise if a verdict is an answer, where a failure is told."""
    for verdict in verdicts:
        if verdict.is_answer:
            raise LedgerError(
                "only an abstention with `failed_at` is a failure; give answers to `complete`"
            )


def no_such_check(check_key: bytes) -> str:
    """The message for an answer that belongs to no check."""
    return (
        f"no check {check_key.hex()} was ever asked for; compare the key with `vladder check ls`"
    )
