"""Rewards: what the learner gets, and the rule that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args

from verifier_ladder.arguments import check_fields, checked_value
from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier

Estimation = Literal["auto", "unbiased", "clipped", "plugin"]


class Reward(NamedTuple):
    """A number for the learner, or None when no tier has answered.

    Example:
        >>> Reward(0.5).value
        0.5
    """

    value: float | None
    """The reward on the learner's scale; None is unknown and must be masked, never read as 0."""
    uncertainty: float | None = None
    """One standard deviation, on the same scale; None if nothing is known about it."""
    tier: Tier | None = None
    """The highest tier that has answered."""
    revision: int = 0
    """0 for the first answer; counts up as higher tiers answer."""
    components: Mapping[str, float | None] = {}
    """The score of each verifier that was asked, by name."""
    reason: str = ""
    """Why it is what it is: the reject's reason, or what is still awaited."""
    failed_at: str | None = None
    """The boundary that failed, if a tier could not answer."""
    pending: bool = False
    """Whether a higher tier is still at work, so that a revision may follow."""


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and isfinite(value)
    except OverflowError:
        return False


def _is_range(low: float, high: float) -> bool:
    """Whether two ends have a width that a value can be divided by."""
    return _is_number(low) and _is_number(high) and low != high and isfinite(high - low)


class Revision(NamedTuple):
    """A reward that replaces an earlier one, because a higher tier has answered."""

    cursor: int
    """Pass it to `Campaign.revisions(after=…)` to go on from here."""
    run: str
    step: int
    position: int
    reward: Reward
    previous: float | None
    """The value the learner had before."""
    group: str = ""
    """The sample's group; "" for none, then its whole step is compared."""
    learner_version: str = ""
    """Version of the policy that wrote the candidate, to weight or drop what is too old."""
    advantage: float | None = None
    """Its advantage in its group now; None where the reward is unknown, the only known one of its
    group, or not known to be compared with the whole group."""
    advantage_change: float | None = None
    """What this revision adds to the advantage it had; None where it has none. The other members
    of the group change too: `Campaign.advantages`."""
    evaluation: bool = False
    """Whether the sample evaluates the policy: no learner is to be corrected by it."""


class Advantage(NamedTuple):
    """One sample of a step with its advantage: its reward compared with its group's."""

    position: int
    group: str
    """The sample's group; "" for none, then its whole step is compared."""
    learner_version: str
    """Version of the policy that wrote the candidate."""
    reward: Reward
    """The reward as it stands now."""
    advantage: float | None
    """(reward − mean of the group) / spread of the group; None where the reward is unknown, the
    only known one of its group, or not known to be compared with the whole group."""
    change: float | None
    """What has been added since the entry that was asked about; None without one, and where there
    is no advantage. A sample that had none then was masked: its change is all of it."""


@dataclass(frozen=True, slots=True)
class RewardRule:
    """Maps the target's units to the learner's scale, and holds the value for rejects.

    With neither `low` nor `high` the value passes unchanged (negated for a target that is
    minimised). With both, `low` maps to 0 and `high` to 1; swap them to reward small values.

    Example:
        >>> RewardRule(low=0.0, high=-10.0).scale(-5.0)
        0.5
    """

    low: float | None = None
    high: float | None = None
    clip: bool = True
    """Whether a shaped value stays inside [0, 1]; only used with `low` and `high`."""
    reject: float = 0.0
    """What a rejected candidate earns, on the learner's scale."""
    partial_credit: bool = False
    """Whether a reject by the top tier's scoring verifier earns that verifier's score instead,
    where it gives one: the share of tests that passed, for example."""
    estimator: Estimation = "auto"
    """How far a reward moves when a random draw has brought the top tier's answer; see
    `verifier_ladder.scheduler.estimator`. Corrected rewards may leave the range."""

    def __post_init__(self) -> None:
        """Refuse a range of no width, and numbers that no value can be compared with.

        Raises:
            ConfigError: If `low`, `high` or `reject` make no sense.
        """
        ends = [end for end in (self.low, self.high) if end is not None]
        if len(ends) == 1 or (ends and not _is_range(*ends)):
            raise ConfigError(
                f"reward range low={self.low!r}, high={self.high!r}: give two different numbers, "
                "or leave both out"
            )
        if self.estimator not in get_args(Estimation):
            known = ", ".join(get_args(Estimation))
            raise ConfigError(f"reward estimator {self.estimator!r} is unknown; choose {known}")
        if not isinstance(self.partial_credit, bool):
            raise ConfigError(f"partial_credit must be true or false, not {self.partial_credit!r}")
        if not _is_number(self.reject):
            raise ConfigError(f"reward for rejects must be finite, not {self.reject!r}")
        check_fields(self)

    def scale(self, value: float, *, sign: float = 1.0) -> float:
        """Map one value in target units; scalar arithmetic in a fixed order, so it replays."""
        if not type(value) is type(sign) is float:  # Thousands are scaled in a call.
            value = checked_value("RewardRule.scale", "value", value, "float")
            sign = checked_value("RewardRule.scale", "sign", sign, "float")
        if self.low is None or self.high is None:
            return value if sign > 0 else -value
        share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share)) if self.clip else share

    def spread(self, deviation: float) -> float:
        """Map one standard deviation in target units."""
        if type(deviation) is not float:
            deviation = checked_value("RewardRule.spread", "deviation", deviation, "float")
        if self.low is None or self.high is None:
            return deviation
        return abs(deviation / (self.high - self.low))

    def as_json(self) -> dict[str, Any]:
        """The rule as configuration, for the ledger."""
        told = {"partial_credit": True} if self.partial_credit else {}
        return {
            "low": self.low,
            "high": self.high,
            "clip": self.clip,
            "reject": self.reject,
            "estimator": self.estimator,
            **told,
        }
