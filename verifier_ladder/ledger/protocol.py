"""Rules of the work queue that both stores share: attempts, back-off, costs, what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.records import Block, CheckRow, Completion, VerdictRow
from verifier_ladder.verdict import Verdict

ATTEMPTS = 5
"""At how many attempts a check whose lease runs out is dead."""
PARKED = "budget"
"""Note of a check that waits for its budget."""
MICRO = 1_000_000
_LARGEST = 2**53
_LONGEST_NOTE = 500
_LONGEST_BACKOFF = 300.0


def micro(seconds: float) -> int:
    """An amount in whole microseconds, so that sums are exact.

    Raises:
        LedgerError: If it is negative, not a number, or more than 285 years.

    Example:
        >>> micro(0.25)
        250000
    """
    if not (isfinite(seconds) and 0 <= seconds * MICRO < _LARGEST):
        raise LedgerError(f"{seconds!r} is not an amount of cpu-seconds; give 0 or more")
    return round(seconds * MICRO)


def backoff(attempt: int) -> float:
    """Seconds to wait after a lost lease: two at first, at most five minutes.

    Example:
        >>> backoff(3)
        8.0
    """
    return min(_LONGEST_BACKOFF, 2.0 ** min(attempt, 20))


def spent(verdict: Verdict | None, reserved: int, elapsed: float) -> int:
    """What an attempt is charged, in microseconds: never more than it had reserved.

    Args:
        verdict: Its measured cost counts, if it has one.
        reserved: The attempt's reservation, in microseconds.
        elapsed: Seconds since the claim; counts when nothing was measured.
    """
    measured = None if verdict is None else verdict.cost
    seconds = max(0.0, elapsed) if measured is None else measured.seconds
    return min(reserved, round(min(seconds, 1e9) * MICRO))


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


def blocks_of(completions: Sequence[Completion]) -> list[Block]:
    """One entry for each campaign that pays."""
    blocks: dict[str, list[VerdictRow]] = {}
    for claim, verdict, content_key in completions:
        row = verdict_row(claim.check, verdict, content_key)
        blocks.setdefault(claim.check.campaign, []).append(row)
    return [Block("check", campaign, verdicts=rows) for campaign, rows in blocks.items()]


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
