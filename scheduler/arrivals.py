"""Arrivals: what one call brought in that the ledger does not hold yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from verifier_ladder.ledger.records import CandidateRow, VerdictRow


@dataclass(slots=True)
class Arrivals:
    """New records of one call, collected while its chunks are under way."""

    candidates: list[CandidateRow] = field(default_factory=list)
    verdicts: list[VerdictRow] = field(default_factory=list)
    seconds: dict[int, tuple[float, int]] = field(default_factory=dict)
    """Cpu-seconds and number of checks per tier."""

    def spend(self, tier: int, seconds: float, checks: int) -> None:
        """Add what some checks took."""
        had = self.seconds.get(tier, (0.0, 0))
        self.seconds[tier] = (had[0] + seconds, had[1] + checks)
