"""Retries: which failures are worth another attempt, and when."""

from __future__ import annotations

from verifier_ladder.scheduler.engines.job import UNCOMPARED
from verifier_ladder.verdict import Verdict

ATTEMPTS = {"engine": 3, "sandbox": 3, "tool": 2, "lease": 3}
"""How many attempts a failure at each boundary gets. A verifier that raised would only raise
again, and a budget that ran out stays so: one attempt."""
_UNCOMPARED = 3
"""Attempts at what failed before any other candidate had passed: one may have by then."""
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 300.0


def retry_at(verdict: Verdict, attempt: int, now: float) -> float | None:
    """When to try a failed check again; None if it is dead.

    The pause doubles with each attempt.

    Args:
        verdict: The failure.
        attempt: How many attempts have been made, this one included.
        now: Seconds since 1970.

    Example:
        >>> retry_at(Verdict.abstain("killed", failed_at="engine"), attempt=1, now=100.0)
        101.0
    """
    least = _UNCOMPARED if UNCOMPARED in verdict.evidence else 1
    if attempt >= max(least, ATTEMPTS.get(verdict.failed_at or "", 1)):
        return None
    pause: float = min(_FIRST_PAUSE * 2.0 ** (attempt - 1), _LONGEST_PAUSE)
    return now + pause
