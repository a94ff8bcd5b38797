"""Audits: what the top tier said of samples that a draw chose, and what follows for others."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any, NamedTuple

from verifier_ladder.candidate import SampleId
from verifier_ladder.scheduler.draws import Draw, Stratum
from verifier_ladder.scheduler.drift import Alarm, Drift
from verifier_ladder.scheduler.gates import GateAudit
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

    def take(self, audit: Audit) -> Alarm | None:
        """Learn from one audit; an alarm if a verifier has drifted."""
        name = audit.draw.stratum.verifier
        if audit.draw.stratum.is_rejected:
            self.gates.setdefault(name, GateAudit()).add(is_good=audit.is_good)
            return None
        if audit.surprise is None:
            return None
        estimate, truth = (
            nan if value is None else value for value in (audit.draw.estimate, audit.truth)
        )
        return self.drift.add(
            name, audit.surprise, sample=audit.sample, estimate=estimate, truth=truth,
            group=audit.group,
        )  # fmt: skip

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
        return {"drift": self.drift.snapshot(), "gates": gates}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self.drift.restore(snapshot["drift"])
        self.gates = {
            name: GateAudit.restore(counts) for name, counts in snapshot["gates"].items()
        }
