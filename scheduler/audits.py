"""Audits: what the top tier said of samples that a draw chose, and what follows for others."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any, NamedTuple

from verifier_ladder.candidate import SampleId
from verifier_ladder.scheduler.draws import Draw, Stratum
from verifier_ladder.scheduler.drift import Alarm, Direction, Drift
from verifier_ladder.scheduler.gates import GateAudit
from verifier_ladder.scheduler.offsets import Offset
from verifier_ladder.scheduler.survey import Survey


class Audit(NamedTuple):
    """One drawn sample whose top tier has answered."""

    sample: SampleId
    draw: Draw
    surprise: float | None
    """(y − μ)/s, turned so that positive is better than believed; None without a belief."""
    truth: float | None
    """The reward by what the top tier said."""
    is_good: bool
    """Whether the top tier accepted the candidate."""
    group: str = ""
    """The group within its step; "" for none."""

    def as_json(self) -> dict[str, Any]:
        """The audit as the ledger keeps it."""
        return {
            "sample": list(self.sample), "draw": [*self.draw[:-1], list(self.draw.stratum)],
            "surprise": self.surprise, "truth": self.truth, "is_good": self.is_good,
            "group": self.group,
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Audit:
        """Read it back."""
        return cls(
            SampleId(*stored["sample"]), Draw.from_json(stored["draw"]), stored["surprise"],
            stored["truth"], bool(stored["is_good"]), stored.get("group", ""),
        )  # fmt: skip


def stratum_of(survey: Survey) -> Stratum:
    """The stratum of a candidate."""
    if survey.rejecter is not None:
        return Stratum(survey.rejecter.name, is_rejected=True)
    return Stratum(survey.dearest, is_rejected=False)


class Audits:
    """Watches the verifiers below the top: whether they drift, and whether their rejects are bad.

    A proven gate is audited no more; a verifier that drifts is audited twice as often.
    """

    def __init__(self) -> None:
        """Start without audits."""
        self.drift = Drift()
        self.gates: dict[str, GateAudit] = {}
        self._offsets: dict[str, Offset] = {}

    def take(self, audit: Audit, *, is_over: bool = False) -> Alarm | None:
        """Learn from one audit; an alarm if a verifier has drifted.

        Args:
            audit: The audit.
            is_over: Whether no samples are expected that beliefs could learn for. Otherwise a
                first error in the mean is what beliefs begin with, and no alarm.
        """
        name = audit.draw.stratum.verifier
        if audit.draw.stratum.is_rejected:
            self.gates.setdefault(name, GateAudit()).add(is_good=audit.is_good)
            return None
        if audit.surprise is None:
            return self._unscaled(audit) if is_over else None
        estimate, truth = (
            nan if value is None else value for value in (audit.draw.estimate, audit.truth)
        )
        return self.drift.add(
            name, audit.surprise, sample=audit.sample, estimate=estimate, truth=truth,
            group=audit.group,
        )  # fmt: skip

    def _unscaled(self, audit: Audit) -> Alarm | None:
        """Learn from an audit of a belief without a deviation."""
        draw, truth, name = audit.draw, audit.truth, audit.draw.stratum.verifier
        offset = self._offsets.setdefault(name, Offset())
        if offset.is_told or draw.estimate is None or truth is None or not draw.propensity:
            return None
        offset.add(audit.sample, draw.estimate, truth, 1.0 / draw.propensity)
        if offset.first is None or not offset.is_far:
            return None
        offset.is_told = True
        side = Direction.OVERRATED if offset.mean > 0.0 else Direction.UNDERRATED
        first, count = offset.first, offset.audits
        return Alarm(name, side, count, first, audit.sample, (), offset.mean)

    @property
    def is_even(self) -> bool:
        """Whether every sample is audited alike, because nothing was noticed yet."""
        return not self.gates and not self.drift.is_alarmed

    def multiplier(self, stratum: Stratum) -> float:
        """What the audit floor of a stratum is multiplied with."""
        if not stratum.is_rejected:
            return self.drift.audit_multiplier(stratum.verifier)
        gate = self.gates.get(stratum.verifier)
        return 0.0 if gate is not None and gate.is_proven() else 1.0

    def snapshot(self) -> dict[str, Any]:
        """All that was noticed, as JSON."""
        gates = {name: gate.snapshot() for name, gate in self.gates.items()}
        offsets = {name: offset.as_json() for name, offset in self._offsets.items()}
        return {"drift": self.drift.snapshot(), "gates": gates, "offsets": offsets}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self.drift.restore(snapshot["drift"])
        self.gates = {
            name: GateAudit.restore(counts) for name, counts in snapshot["gates"].items()
        }
        self._offsets = {
            name: Offset.from_json(stored) for name, stored in snapshot.get("offsets", {}).items()
        }
