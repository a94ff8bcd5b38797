"""Arrivals: what one call brought in that the ledger does not hold yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.records import CandidateRow, Charged, VerdictRow
from verifier_ladder.ledger.table import Table
from verifier_ladder.memory import PIECE, share
from verifier_ladder.scheduler.flights import Flight
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier


@dataclass(slots=True)
class Arrivals:
    """New records of one call, collected while its chunks are under way."""

    candidates: Table[CandidateRow] = field(default_factory=lambda: Table(CandidateRow))
    verdicts: Table[VerdictRow] = field(default_factory=lambda: Table(VerdictRow))
    charges: dict[Charged, tuple[Cost, int]] = field(default_factory=dict)
    """Cost and number of checks, by whom they were paid to."""
    flights: list[Flight] = field(default_factory=list)
    """What this call has taken on, until it ends."""
    awaited: list[Flight] = field(default_factory=list)
    """What it wanted and another call had taken on."""
    took: list[tuple[str, int, float, float]] = field(default_factory=list)
    """How long answers took: verifier, number of checks, begin and end on a monotonic clock."""

    uncompared: list[tuple[Any, Flight, list[bytes]]] = field(default_factory=list)
    """Checks that failed before another candidate had passed, to be asked again (`Asking`)."""
    write: Callable[[Sequence[CandidateRow]], object] | None = None
    """Writes long candidates before the rest of the call: all at once would be too much."""
    bytes_: int = 0
    """Bytes of all candidates of the call."""
    last_written: int = 0
    """What `bytes_` was when candidates were written last."""

    def __enter__(self) -> Self:
        """Begin a call."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the call: what came is recorded, or never will be."""
        for flight in self.flights:
            flight.close()

    def facts(self) -> dict[str, Any]:
        """What the call's verdicts don't tell: how long the learner waited for them.

        `took` holds the verifier, how many checks it was asked together, and when that began and
        ended, in seconds since the first of them began.
        """
        if not self.took:
            return {}
        first = min(begun for _, _, begun, _ in self.took)
        return {
            "took": [
                [name, count, round(begun - first, 4), round(ended - first, 4)]
                for name, count, begun, ended in self.took
            ]
        }

    def came(self, bytes_: int) -> None:
        """Hear that candidates of so many bytes were taken in."""
        self.bytes_ += bytes_
        is_much = self.bytes_ - self.last_written > share(PIECE)
        if is_much and self.candidates and self.write is not None:
            candidates, self.candidates = self.candidates, Table(CandidateRow)
            self.last_written = self.bytes_
            self.write(candidates)

    def spend(self, charged: Charged, cost: Cost, checks: int) -> None:
        """Add what some checks took."""
        had = self.charges.get(charged, (Cost(), 0))
        self.charges[charged] = (had[0] + cost, had[1] + checks)


def cost_of(verifier: Verifier, verdicts: Sequence[Verdict], seconds: float = 0.0) -> Cost:
    """What checks took together.

    Args:
        verifier: Who judged; what it declares counts where a verdict names no cost.
        verdicts: What it said.
        seconds: Cpu-seconds measured for all of them, of which those that name no cost get
            their share.
    """
    told = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    silent = len(verdicts) - len(told)
    dear = [cost for cost in told if cost.gpu_seconds or cost.money or cost.person_minutes]
    cpu = sum([cost.seconds for cost in told]) + (
        seconds * silent / len(verdicts) if silent else 0
    )
    rest = [replace(cost, seconds=0.0) for cost in dear]
    return sum(rest, replace(verifier.cost.times(silent), seconds=cpu))
