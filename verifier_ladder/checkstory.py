"""Check stories: what became of every attempt at a check, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CheckRow
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome

_OF_SAMPLES = ("score", "revision")
"""Kinds of entries that may be large and hold no attempt at a check of the queue."""


class Attempt(NamedTuple):
    """One attempt at a check that has said something, be it why it failed."""

    number: int
    """Counted from 1; anew when the check is tried again after its end."""
    outcome: Outcome
    failed_at: str | None
    """The boundary that failed; None if there was an answer."""
    reason: str
    recorded_at: float
    """Seconds since 1970."""
    entry: int
    """The ledger's entry that holds it."""

    def as_json(self) -> dict[str, Any]:
        """The attempt as JSON values."""
        return {**self._asdict(), "outcome": self.outcome.value}


class CheckStory(NamedTuple):
    """A check of the work queue, with what came of its attempts."""

    check: CheckRow
    attempts: tuple[Attempt, ...]
    """Oldest first. An attempt whose worker vanished has said nothing and is not among them."""

    @property
    def why(self) -> str:
        """Why it stands where it stands: the note of the queue, or else the last reason."""
        last = self.attempts[-1].reason if self.attempts else ""
        return self.check.note.removeprefix(f"{self.failed_at}: ") or last

    @property
    def failed_at(self) -> str | None:
        """The boundary that failed last; None if the last attempt answered, or none has spoken."""
        return self.attempts[-1].failed_at if self.attempts else None

    def as_json(self) -> dict[str, Any]:
        """The story as JSON values; keys are hexadecimal."""
        row = self.check
        return {
            "check_key": row.check_key.hex(), "content_key": row.content_key.hex(),
            "candidate": row.payload.get("content"), "campaign": row.campaign,
            "verifier": row.verifier, "version": row.version, "digest": row.digest.hex(),
            "tier": Tier(row.tier).label,
            "state": row.state.label, "priority": row.priority, "attempt": row.attempt,
            "failed_at": self.failed_at, "why": self.why, "owner": row.owner,
            "not_before": row.not_before, "deadline": row.deadline,
            "attempts": [attempt.as_json() for attempt in self.attempts],
        }  # fmt: skip


def story_of(ledger: Ledger, check: CheckRow) -> CheckStory:
    """Read what came of every attempt at a check.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(None) as ledger:
        ...     [story_of(ledger, check).why for check in ledger.checks()]
        []
    """
    found = []
    for number in ledger.mentions(check.content_key):
        entry = ledger.entry(number)
        if entry is None or entry.kind in _OF_SAMPLES:
            continue
        for row in ledger.read(entry).verdicts:
            if row.check_key == check.check_key:
                said = row.verdict
                found.append(Attempt(
                    row.attempt, said.outcome, said.failed_at, said.reason, entry.recorded_at,
                    number,
                ))  # fmt: skip
    return CheckStory(check, tuple(found))
