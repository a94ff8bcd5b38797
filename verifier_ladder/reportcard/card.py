"""The card: frozen records of what a report card tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from verifier_ladder.rollouts.passk import Estimate
from verifier_ladder.runs import Moment

NOT_REPORTED = "not reported"
DECLARED = ("environment", "tool_budget", "scaffold", "evaluator", "failure_recovery")
"""What whoever began the run tells of it: see `Run`."""


@dataclass(frozen=True, slots=True)
class VerifierEntry:
    """One verifier that judged the run."""

    name: str
    version: str
    tier: str
    role: str
    settings: Mapping[str, Any]
    tools: Mapping[str, str]
    capabilities: tuple[str, ...]
    domain: str
    digest: str
    """Of all that affects its results, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """How some of the samples did. Intervals cover 95 %."""

    label: str
    samples: int
    tasks: int
    known: int
    told: Estimate | None
    """Mean of the first rewards, which the learner was told."""
    reward: Estimate | None
    """Mean of the rewards as they stand: corrected for the draws, so right in the mean."""
    passes: Estimate | None
    """Share of the known that pass, by the best that is known of each; None if nobody said at
    which reward."""


@dataclass(frozen=True, slots=True)
class GateEntry:
    """What audits found of one verifier's rejects."""

    verifier: str
    audited: int
    good: int
    """Rejects that the top tier found good."""
    upper: float
    """With 95 % confidence, at most this share of its rejects is good."""


@dataclass(frozen=True, slots=True)
class AccuracyEntry:
    """How often one verifier's accepts and rejects are right, by random draws for the top tier.

    Each drawn candidate is weighted by 1/p, so the shares are those of all that had a chance to
    be drawn. Intervals cover 95 %.
    """

    verifier: str
    audited: int
    """Drawn candidates that both it and the top tier have accepted or rejected."""
    sensitivity: Estimate | None
    """Of the candidates that are good, the share that it accepts; None if none was drawn."""
    specificity: Estimate | None
    """Of those that are bad, the share that it rejects; None if none was drawn."""
    declined: Estimate | None
    """Of all, the share of which it has no opinion."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What random draws for the top tier found."""

    is_possible: bool
    """Whether any tier stands above the lowest; with one tier there is nothing to audit by."""
    due: int
    """Samples that a draw fell on."""
    answered: int
    """Of these, how many the top tier has judged."""
    propensity: tuple[float, float] | None
    """Smallest and largest probability with which a sample was drawn; None if nothing was."""
    covered: float | None
    """Of the samples that nobody rejected, the share that the top tier judged, or had a chance to
    judge; None if there is none."""
    error: Estimate | None
    """Mean of what was believed less what was true, weighted by 1/p; above 0 is overrated."""
    within: Estimate | None
    """Share of truths inside the belief's 90 % interval."""
    hacks: Estimate | None
    """Of the samples that were believed to pass, the share that the top tier finds not to."""
    gates: tuple[GateEntry, ...] = ()
    accuracies: tuple[AccuracyEntry, ...] = ()
    """Of each verifier below the top tier that judged what was drawn."""
    alarms: tuple[str, ...] = ()
    """Verifiers that have drifted or are gamed, as sentences."""


@dataclass(frozen=True, slots=True)
class CostEntry:
    """What one tier has cost the whole campaign."""

    tier: str
    resource: str
    spent: float
    failed: float
    """Of it, on attempts without an answer."""
    cap: float | None
    wall: float | None = None
    """Seconds of wall time during which the tier was at work; None where that is not known."""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """What verifiers have counted of the tools that a run's samples called."""

    samples: int
    """Samples whose calls were counted."""
    calls: int
    largest: int
    """Calls of the sample that made most."""
    budgets: tuple[int, int] | None
    """Smallest and largest number of calls that a task allowed; None if none set a limit."""
    over: int
    """Samples that made more calls than their task allowed."""
    failed: int
    """Calls that failed."""
    recovered: int
    """Of these, how many were followed by a call of the same tool that succeeded."""
    unanswered: int
    """Calls after which nothing was observed: nobody knows whether they failed."""


@dataclass(frozen=True, slots=True)
class ReportCard:
    """A run at a glance: what it rests on, how it did, and what audits found.

    Whatever nobody said is "not reported", and what is not known is None, never 0.
    """

    run: str
    campaign: str
    project: str
    user: str
    labels: Mapping[str, str]
    begun_at: float | None
    """Seconds since 1970; None if the run was not recorded by itself."""
    moment: Moment
    """The checkpoint of the ledger that all of it was read at."""
    declared: Mapping[str, str]
    """Environment, tool budget, scaffold, evaluator, failure recovery."""
    ladder: str
    target: str
    reward_rule: Mapping[str, Any]
    audit: float | None
    """The audit share that the ladder names."""
    verifiers: tuple[VerifierEntry, ...]
    samples: int
    candidates: int
    tasks: int
    steps: int
    pending: int
    revised: int
    """Samples whose reward was revised."""
    unknown: Mapping[str, int]
    """Samples without a reward, by the boundary that failed."""
    pass_at: float | None
    is_assumed: bool
    """Whether the reward that passes was assumed."""
    whole: Cohort
    phases: tuple[Cohort, ...]
    """The first and the last tenth of the steps."""
    audits: AuditEntry
    capabilities: tuple[Cohort, ...]
    domains: tuple[Cohort, ...]
    costs: tuple[CostEntry, ...]
    tools: ToolEntry | None = None
    """None where no verifier has counted calls."""

    @property
    def missing(self) -> list[str]:
        """What nobody reported of the run."""
        return [name for name, value in self.declared.items() if value == NOT_REPORTED]

    def as_json(self) -> dict[str, Any]:
        """The card as JSON values."""
        made: dict[str, Any] = _plain(self)
        return {**made, "missing": self.missing}


def _plain(value: Any) -> Any:
    if isinstance(value, (Estimate, Moment)):
        return value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
