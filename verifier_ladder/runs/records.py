"""Run records: the samples of a run with what is known of each at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.reward import CANONICAL, Reward, RewardRule
from verifier_ladder.runs.moment import Moment
from verifier_ladder.tags import Tags, capabilities_of
from verifier_ladder.target import sign_of
from verifier_ladder.tier import Tier
from verifier_ladder.transcript import Transcripts
from verifier_ladder.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from verifier_ladder.scheduler.audits import Audit
    from verifier_ladder.scheduler.draws import Spoken
    from verifier_ladder.scheduler.drift import Alarm

_DIGITS = 12
"""Decimal digits of a truth that is found again from a corrected reward."""


class Said(NamedTuple):
    """A verdict with who gave it."""

    verifier: str
    """Name of the verifier; "" where another campaign has recorded it."""
    tier: int
    """The verifier's tier, -1 where it is not known."""
    verdict: Verdict


@dataclass(slots=True)
class SampleRecord:
    """One sample as it stands at the moment that was asked for."""

    step: int
    position: int
    content: bytes
    """Content key of its candidate."""
    group: str
    learner_version: str
    task: bytes
    """Digest of its task; empty for none."""
    first: Reward
    """The first reward that was recorded."""
    reward: Reward
    """The reward as it stands."""
    checks: tuple[bytes, ...] = ()
    """Check keys whose verdicts the reward rests on."""
    propensity: float | None = None
    """Probability with which the top tier was to be asked: 1 where that was certain, 0 once that
    was cancelled; None where nothing was drawn."""
    factor: float = 1.0
    """Weight of the correction, where the top tier was drawn for it or asked for certain."""
    estimate: float | None = None
    """The reward by belief when the top tier was asked, by chance or for certain; None if not."""
    spoken: Spoken | None = None
    """What cancellations below the top tier made of its reward; None if there were none."""
    is_drawn: bool = False
    """Whether chance chose it for the top tier."""
    is_certain: bool = False
    """Whether the top tier was asked for certain, because that was worth its cost."""
    is_rejected: bool = False
    """Whether what is known of its candidate by now is a reject that nobody has overruled."""
    truth: float | None = None
    """What is known of a candidate that the top tier was asked about, on the learner's scale: the
    top tier's score if that counts, or what a reject below it earns; else None."""

    belief: float | None = None
    """What is believed by now of its candidate, on the learner's scale; None where the top tier
    has judged it, and where nothing was learnt since its reward."""
    spread: float | None = None
    """One standard deviation of `belief`; None if nothing is known about it."""

    @property
    def weight(self) -> float | None:
        """For how many samples the top tier's answer about this one speaks; None if none was due.

        It is 1/p where a draw with probability p fell on it, and 1 where the answer was certain.
        """
        if self.is_drawn and self.propensity:
            return 1.0 / self.propensity
        return 1.0 if self.propensity == 1.0 else None

    @property
    def believed(self) -> float | None:
        """The reward before the top tier was asked; None if nothing was known."""
        return self._unspoken(self.estimate) if self.is_drawn else self.first.value

    @property
    def worth(self) -> float | None:
        """The best that is known of the sample, on the learner's scale; None if nothing is.

        What is known for certain where the top tier was asked, else what is believed by now. It
        is not the reward where a draw fell on the sample: that is corrected by more than its
        error, because it speaks for the samples that were not drawn.
        """
        if self.belief is not None:
            return self.belief
        value = self.reward.value
        if self.truth is not None and value is not None:
            return self.truth
        return self._unspoken(uncorrected(value, self.estimate, self.factor))

    def _unspoken(self, value: float | None) -> float | None:
        """A reward as it would be if its sample spoke for itself alone."""
        spoken = self.spoken
        return value if spoken is None else uncorrected(value, *spoken)

    @property
    def uncertainty(self) -> float | None:
        """One standard deviation of `worth`; None if nothing is known about it."""
        return self.reward.uncertainty if self.belief is None else self.spread


def uncorrected(
    value: float | None, estimate: float | None, factor: float, apart: float = 0.0
) -> float | None:
    """The truth that a corrected reward was made of.

    Args:
        value: The reward.
        estimate: What it was by belief when the top tier was asked, by chance or for certain.
        factor: Weight of the correction; 0 and 1 leave the number as it is.
        apart: What was added to it besides.

    Example:
        >>> uncorrected(1.5, 0.5, 4.0)
        0.75
    """
    if value is None or estimate is None or factor == 0.0 or (factor, apart) == (1.0, 0.0):
        return value
    return float(f"{estimate + (value - apart - estimate) / factor:.{_DIGITS}g}")


@dataclass(slots=True)
class RunRecord:
    """A run at one moment: its samples, their candidates, verdicts, transcripts and audits."""

    campaign: CampaignRow
    name: str
    facts: Mapping[str, Any]
    """What was told of the run when it was begun."""
    moment: Moment
    samples: list[SampleRecord] = field(default_factory=list)
    """In the order in which they were recorded."""
    contents: dict[bytes, str | bytes] = field(default_factory=dict)
    """Canonical form of each candidate, by content key."""
    said: dict[bytes, Said] = field(default_factory=dict)
    """Verdicts by check key."""
    problems: dict[bytes, Verdict] = field(default_factory=dict)
    """Why a candidate has no canonical form, by content key."""
    transcripts: Transcripts = field(default_factory=lambda: Transcripts(""))
    alarms: list[Alarm] = field(default_factory=list)
    audits: list[Audit] = field(default_factory=list)
    tasks: dict[tuple[str, bytes], str] = field(default_factory=dict, repr=False)
    """Name of each task, by group and digest, as far as they were asked for."""
    _tags: dict[str, Tags] = field(default_factory=dict, repr=False)

    @property
    def rule(self) -> RewardRule:
        """The ladder's reward rule."""
        return RewardRule(**self.campaign.ladder["reward"])

    @property
    def sign(self) -> float:
        """-1 where the target is minimised, else 1."""
        return sign_of(self.campaign.ladder)

    def verdicts(self, sample: SampleRecord) -> list[Said]:
        """What was said of a sample's candidate, a problem with its form first."""
        problem = self.problems.get(sample.content)
        found = [Said(CANONICAL, -1, problem)] if problem is not None else []
        return found + [self.said[key] for key in sample.checks if key in self.said]

    @property
    def top(self) -> Tier:
        """The ladder's highest tier."""
        return max(Tier.parse(v["tier"]) for v in self.campaign.ladder["verifiers"])

    def has_truth(self, sample: SampleRecord) -> bool:
        """Whether the ladder's top tier has judged the sample's candidate."""
        top = self.top
        if sample.reward.tier is top:
            return True
        said = self.verdicts(sample)
        return any(s.tier == top and s.verdict.outcome is not Outcome.ABSTAIN for s in said)

    def doubt(self, sample: SampleRecord) -> str:
        """The verifier that a sample's worth rests on, if an alarm says that it was being gamed.

        Empty for what the top tier has judged, and for samples from before the first suspect.
        """
        tier = sample.reward.tier
        if tier is None or not self.alarms or self.has_truth(sample):
            return ""
        deepest = {
            str(v["name"]) for v in self.campaign.ladder["verifiers"]
            if Tier.parse(v["tier"]) is tier and v.get("role") != "gate"
        }  # fmt: skip
        since = (
            (alarm.stratum, alarm.first.step if alarm.first.run == self.name else 0)
            for alarm in self.alarms if alarm.casts_doubt
        )  # fmt: skip
        return next((name for name, step in since if name in deepest and sample.step >= step), "")

    def tags(self, sample: SampleRecord) -> Tags:
        """What a sample is about: as its task says, else the run's labels, else its verifiers."""
        if sample.group not in self._tags:
            asked = (self.transcripts.tags(sample.group), self._labels(), self.ladder_tags)
            self._tags[sample.group] = Tags(
                next((tags.capabilities for tags in asked if tags.capabilities), ()),
                next((tags.domain for tags in asked if tags.domain), ""),
            )
        return self._tags[sample.group]

    def _labels(self) -> Tags:
        labels = self.facts.get("labels") or {}
        return Tags(capabilities_of(labels.get("capability")), str(labels.get("domain", "")))

    @property
    def ladder_tags(self) -> Tags:
        """What the ladder's verifiers declare together."""
        listed = self.campaign.ladder["verifiers"]
        capabilities = [c for v in listed for c in v.get("capabilities", ())]
        domains = dict.fromkeys(v["domain"] for v in listed if v.get("domain"))
        return Tags(capabilities_of(capabilities), ", ".join(domains))

    def usual_threshold(self) -> float | None:
        """The reward that counts as a pass when nobody said: 0.5 on a scale from 0 to 1.

        That is a rule with a range, or rewards that never leave 0 to 1; None on any other scale.
        """
        fits = all(
            0.0 <= worth <= 1.0 for sample in self.samples if (worth := sample.worth) is not None
        )
        return 0.5 if fits or self.rule.low is not None else None
