"""What a summary holds: frozen records, in the words of the glossary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Self

from verifier_ladder.analysis.totals import RunSummary
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.summary.times import Latency
from verifier_ladder.tier import Tier

_MORE = 1.05
"""Where everything is estimated at less than this times what was spent, it is the same."""


@dataclass(frozen=True, slots=True)
class Score:
    """What one tier's primary verifier said about one candidate."""

    value: float
    uncertainty: float | None
    """One standard deviation, as the verifier sees it."""
    unit: str
    verifier: str


@dataclass(frozen=True, slots=True)
class TierSummary:
    """One tier: how many candidates stand where, and what it cost.

    `asked` is the sum of `accepted`, `rejected`, `abstained`, `failed` and `open`.
    """

    tier: Tier
    verifiers: tuple[str, ...]
    """Name and version of each of its verifiers, in the order they are asked."""
    asked: int = 0
    reused: int = 0
    """Answers given without a new check: duplicates, and candidates already in the ledger."""
    accepted: int = 0
    rejected: int = 0
    abstained: int = 0
    """Considered abstentions: the verifier declined."""
    failed: int = 0
    """No answer, through no fault of the candidate; never counted as a reject."""
    queued: int = 0
    running: int = 0
    waiting: int = 0
    """Open cases in the world."""
    parked: int = 0
    """Worth asking, but the budget does not pay for it."""
    expired: int = 0
    checks: int = 0
    """Checks this campaign paid for that gave an answer."""
    settled: float = 0.0
    """Cpu-seconds charged for checks that answered."""
    reserved: float = 0.0
    failed_seconds: float = 0.0
    """Cpu-seconds charged for attempts that gave no answer."""
    cap: float | None = None
    wall: float | None = None
    """Seconds of wall time during which any of its checks was at work; None if not recorded."""
    latency: Latency | None = None
    """How long its answers took, from the question to the record; None if not recorded."""
    resources: Mapping[Resource, float] = field(default_factory=dict)
    """What was spent of other resources than cpu time, failed attempts included."""
    paused: bool = False
    """Whether its checks wait until somebody resumes it."""
    mean_seconds: float | None = None
    """Cpu-seconds charged per candidate that was answered; None if none was."""
    everything: Mapping[Resource, float | None] = field(default_factory=dict)
    """Estimate: what it would have taken to judge every acceptable candidate; None if unknown."""

    @property
    def open(self) -> int:
        """Candidates that were asked for and have not ended."""
        return self.queued + self.running + self.waiting + self.parked + self.expired

    @property
    def answered(self) -> int:
        """Candidates with a considered answer."""
        return self.accepted + self.rejected + self.abstained

    @property
    def spent(self) -> float:
        """Cpu-seconds spent, failed attempts included."""
        return self.settled + self.failed_seconds


@dataclass(frozen=True, slots=True)
class CandidateSummary:
    """One candidate: what is known of it, what every tier said, and what it earns."""

    key: str
    """Its content key, in hexadecimal."""
    kind: str
    content: str
    """Its canonical form; model-made text, to be escaped wherever it is shown."""
    samples: int
    known: float | None
    """What is known of its target, in target units: what the top tier said, or else what is
    believed by now. Candidates are listed in this order."""
    known_uncertainty: float | None
    worth: float | None
    """The same on the learner's scale."""
    doubt: str
    """The verifier that all of this rests on, if audits have found it to be gamed; else empty."""
    reward: float | None
    """The training reward: what the learner was told last. After a draw it is corrected for the
    samples that were not drawn, so that it is right in the mean and no ranking."""
    uncertainty: float | None
    mean: float | None
    """Predicted target: as it is believed by now, or was before the top tier answered; target
    units."""
    deviation: float | None
    scores: Mapping[Tier, Score]
    reached: Tier | None
    pending: bool = False
    parked: bool = False
    """Whether a check of it waits for want of budget."""

    @property
    def measured(self) -> Score | None:
        """What the world said."""
        return self.scores.get(Tier.WORLD)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why candidates were rejected, or why a verifier declined to judge them."""

    text: str
    count: int
    verifier: str
    tier: Tier
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """What kept a verifier from answering; it costs money and never a reward."""

    boundary: str
    """Which boundary failed: engine, tool, verifier, budget, …"""
    text: str
    attempts: int
    verifier: str
    tier: Tier
    seconds: float
    """Cpu-seconds those attempts took."""
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well a cheaper tier foretells a dearer one, over the candidates both have scored."""

    low: Tier
    high: Tier
    low_unit: str
    high_unit: str
    count: int
    correlation: float | None
    """Spearman's rank correlation; None for fewer than eight candidates, or where one side says
    always the same."""
    error: float | None
    """Mean absolute difference; None if the units differ."""
    bias: float | None
    """Mean of low minus high; None if the units differ."""
    points: tuple[tuple[float, float], ...]
    """(low, high) of at most 2000 candidates."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A candidate that a cheap tier likes much better than a dear one does."""

    candidate: CandidateSummary
    low: Tier
    high: Tier
    text: str


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Where things stood when so much had been spent."""

    seconds: float
    best: float | None
    """The best that was known of any candidate, on the learner's scale."""
    mean: float | None
    uncertainty: float | None
    """Mean uncertainty of the rewards that have one."""


@dataclass(frozen=True, slots=True)
class OpenCase:
    """A question the world has not answered yet."""

    key: str
    """Its check key, in hexadecimal."""
    content: str
    verifier: str
    deadline: float | None
    """Seconds since 1970; None if it may stay open."""


@dataclass(frozen=True, slots=True)
class RewardSummary:
    """The rewards as they stand, latest revision of each sample."""

    count: int = 0
    unknown: int | None = 0
    """Rewards that are None: no tier has answered. None where that is not known."""
    mean: float | None = None
    best: float | None = None
    """The best that is known of any candidate, on the learner's scale; no corrected reward."""
    revised: int = 0
    """How many revisions were sent."""


@dataclass(frozen=True, slots=True)
class SurrogateVersion:
    """A version of the campaign's surrogate, as it was reviewed last."""

    name: str
    labels: int
    """For how many labels it was trained."""
    speaks: bool
    """Whether it does; else it is in shadow."""
    pairs: float
    """On how many labels it was reviewed, as so many alike draws would count."""
    gain: float | None
    """Share of the labels' variance by which its squared error is below what it is without the
    surrogate; None where too few labels tell."""
    error: float | None
    """Standard error of that."""


@dataclass(frozen=True, slots=True)
class SurrogateSummary:
    """The campaign's surrogate, as it was looked at last."""

    labels: int
    """How many labels there were."""
    versions: tuple[SurrogateVersion, ...]
    """The one that speaks and the one in shadow, as far as there are."""

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Read it from an entry of kind `surrogate`."""
        named = ((facts["speaks"], True), (facts["shadow"], False))
        reviews = facts["reviews"]
        return cls(facts["labels"], tuple(
            SurrogateVersion(
                ref["name"], ref["labels"], speaks, *reviews.get(ref["name"], (0.0, None, None))
            )
            for ref, speaks in named if ref is not None
        ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Summary:
    """A campaign at a glance; everything in it was read from the ledger."""

    campaign: str
    ledger: str
    """Where the ledger lies."""
    ladder: Mapping[str, Any]
    """The ladder as the ledger records it."""
    created_at: float
    updated_at: float
    """When the newest entry was recorded; seconds since 1970."""
    entries: int
    """Entries of this campaign."""
    samples: int
    candidates: int
    """Distinct candidates."""
    respellings: int
    """Candidates' further spellings: other text, same thing."""
    tiers: tuple[TierSummary, ...]
    rewards: RewardSummary
    winner: CandidateSummary | None = None
    """The best by what the top tier says, that no reject stands against; None if there is none."""
    best: tuple[CandidateSummary, ...] = ()
    rejects: tuple[Reason, ...] = ()
    abstentions: tuple[Reason, ...] = ()
    failures: tuple[Failure, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    suspicious: tuple[Suspicion, ...] = ()
    alarms: tuple[str, ...] = ()
    """Verifiers that audits have found to be gamed or to have changed, and too large a share of
    samples without a reward, as sentences."""
    curve: tuple[CurvePoint, ...] = ()
    cases: tuple[OpenCase, ...] = ()
    runs: tuple[RunSummary, ...] = ()
    target: Mapping[str, Any] = field(default_factory=dict)
    budgets: tuple[Account, ...] = ()
    """The accounts of other resources than cpu time, and of all tiers together."""
    surrogate: SurrogateSummary | None = None
    """The tier that the campaign trains itself; None if there is none, or no look at it yet."""

    @property
    def duplicates(self) -> int:
        """Samples whose candidate had appeared before."""
        return self.samples - self.candidates

    @property
    def spent(self) -> float:
        """Cpu-seconds spent on all tiers."""
        return sum(tier.spent for tier in self.tiers)

    @property
    def checks(self) -> int:
        """Checks this campaign paid for that gave an answer, on all tiers."""
        return sum(tier.checks for tier in self.tiers)

    @property
    def resources(self) -> dict[Resource, float]:
        """Spent of other resources than cpu time, on all tiers together."""
        sums: dict[Resource, float] = {}
        for tier in self.tiers:
            for resource, amount in tier.resources.items():
                sums[resource] = sums.get(resource, 0.0) + amount
        return sums

    @property
    def everything(self) -> dict[Resource, float]:
        """Estimate: what it would have taken if every acceptable candidate had climbed every tier.

        On each tier the mean that a judged candidate took, or else what its verifiers declare,
        times the number of distinct candidates that no gate has rejected. A resource is left out
        where a tier's part is not known, and where no more would have been spent than was.
        """
        spent = {**self.resources, Resource.CPU_SECONDS: self.spent}
        found = {}
        for resource in Resource:
            parts = [tier.everything.get(resource) for tier in self.tiers]
            known = sum(part for part in parts if part is not None)
            if None not in parts and known > _MORE * spent.get(resource, 0.0):
                found[resource] = known
        return found

    def as_json(self) -> dict[str, Any]:
        """The summary as JSON values; tiers by label, keys in hexadecimal."""
        made: dict[str, Any] = plain(self)
        return {
            **made, "duplicates": self.duplicates, "spent": self.spent, "checks": self.checks,
            "everything": plain(self.everything), "resources": plain(self.resources),
        }  # fmt: skip


def plain(value: Any) -> Any:
    """Records as JSON values; tiers and resources by label."""
    if isinstance(value, (Tier, Resource)):
        return value.label
    if isinstance(value, (Account, Latency)):
        value = value.as_json() if isinstance(value, Account) else value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):  # A lone surrogate can't be written as UTF-8.
        return value.encode("utf-8", "replace").decode()
    return value
