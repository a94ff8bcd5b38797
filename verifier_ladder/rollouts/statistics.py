"""Statistics of a scored file: mean, pass@k, what is unknown and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verifier_ladder.reward import Reward
from verifier_ladder.rollouts.passk import Estimate, mean_reward, pass_rates
from verifier_ladder.tier import Tier

DEFAULT_THRESHOLD = 0.5
DECLINED = "declined"
"""Key of the rewards that are unknown because every verifier considered and declined."""


class TierCost(NamedTuple):
    """What one tier has cost the campaign so far."""

    tier: Tier
    checks: int
    seconds: float
    """Cpu-seconds of checks that answered."""
    failed: float
    """Cpu-seconds of attempts that gave no answer."""
    more: Mapping[str, float] = {}
    """What was spent of other resources, by their unit."""
    wall: float | None = None
    """Seconds of wall time during which any of its checks was at work; None if not recorded."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The numbers of a scored file. An unknown reward is in none of the means."""

    rows: int
    """Rows that were scored."""
    groups: int
    known: int
    pending: int
    """Rewards that a higher tier may still revise."""
    mean: Estimate | None
    threshold: float | None
    """A sample passes at this reward or above; None if nothing sensible can be assumed."""
    is_assumed: bool
    """Whether the threshold was assumed rather than given."""
    passes: Mapping[int, Estimate]
    believed: int = 0
    """Rows that pass or fail by what a lower tier's answer is believed to mean, and wait for a
    higher one's or others were drawn for it. Pass@k has no interval then: it may be off by what
    that tier errs."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """How many rewards are unknown, by the boundary that failed."""
    costs: Sequence[TierCost] = ()

    def as_json(self) -> dict[str, Any]:
        """The statistics as JSON values."""
        return {
            "rows": self.rows, "groups": self.groups, "known": self.known,
            "pending": self.pending, "unknown": dict(self.unknown),
            "mean": self.mean._asdict() if self.mean else None,
            "pass_at": self.threshold, "pass_at_assumed": self.is_assumed,
            "pass": {str(k): estimate._asdict() for k, estimate in self.passes.items()},
            "believed": self.believed,
            "costs": [{**cost._asdict(), "tier": cost.tier.label} for cost in self.costs],
        }  # fmt: skip


def statistics_of(
    rewards: Sequence[Reward],
    groups: Sequence[str],
    *,
    pass_at: float | None = None,
    costs: Sequence[TierCost] = (),
    worths: Sequence[float | None] | None = None,
) -> Statistics:
    """Compute the statistics of rewards.

    Args:
        rewards: One per sample.
        groups: The group of each.
        pass_at: The reward at which a sample passes. By default 0.5 if all known rewards lie
            between 0 and 1; on any other scale nothing is assumed and there is no pass@k.
        costs: What each tier cost.
        worths: The best that is known of each sample, by which it passes or fails. A reward that
            was corrected for a random draw is right in the mean, and says of no sample whether it
            passes. The rewards' own values if left out: then nothing was drawn.

    Example:
        >>> statistics_of([Reward(1.0), Reward(None)], ["a", "a"]).known
        1
    """
    values: dict[str, list[float]] = {group: [] for group in groups}
    unknown: Counter[str] = Counter()
    for reward, group in zip(rewards, groups, strict=True):
        if reward.value is None:
            unknown[reward.failed_at or DECLINED] += 1
        else:
            values[group].append(reward.value)
    if worths is None:
        worths = [reward.value for reward in rewards]
    threshold = pass_at if pass_at is not None else assumed_threshold(worths)
    passed: dict[str, list[bool]] = {group: [] for group in values}
    for reward, worth, group in zip(rewards, worths, groups, strict=True):
        passes = has_passed(reward, worth, threshold)
        if passes is not None:
            passed[group].append(passes)
    rates, unchecked = pass_rates(passed), believed(rewards, worths)
    if unchecked:
        rates = {k: estimate.without_interval() for k, estimate in rates.items()}
    return Statistics(
        rows=len(rewards), groups=len(values), known=len(rewards) - unknown.total(),
        pending=sum(reward.pending for reward in rewards), mean=mean_reward(values),
        threshold=threshold, is_assumed=pass_at is None, passes=rates,
        believed=unchecked, unknown=dict(unknown.most_common()), costs=tuple(costs),
    )  # fmt: skip


def assumed_threshold(worths: Sequence[float | None]) -> float | None:
    """The reward that counts as a pass when nobody said: 0.5 on a scale from 0 to 1."""
    known = [worth for worth in worths if worth is not None]
    fits = bool(known) and min(known) >= 0.0 and max(known) <= 1.0
    return DEFAULT_THRESHOLD if fits else None


def has_passed(reward: Reward, worth: float | None, threshold: float | None) -> bool | None:
    """Whether a row passes; None if nothing is known. A reject never does, whatever it earns."""
    if worth is None or threshold is None:
        return None
    return worth >= threshold and not reward.is_rejected


def believed(rewards: Sequence[Reward], worths: Sequence[float | None]) -> int:
    """How many go by a lower tier's answer though a higher one is due, for them or for others.

    Those wait for it, or others were drawn for it. A reject is final, and its uncertainty is 0.
    Where none was drawn and none waits every reward is what is known of its sample.
    """
    told = [
        (reward, worth)
        for reward, worth in zip(rewards, worths, strict=True)
        if reward.tier is not None
    ]
    is_drawn = any(reward.value != worth for reward, worth in told)
    deepest = max((reward.tier or Tier.FAST for reward, _ in told), default=Tier.FAST)
    return sum(
        reward.uncertainty != 0.0 and (reward.pending or (is_drawn and reward.tier != deepest))
        for reward, _ in told
    )
