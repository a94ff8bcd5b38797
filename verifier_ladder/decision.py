"""Decisions: what the scheduler does next with a sample, and everything that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple, Protocol, runtime_checkable

from verifier_ladder.arrays import Flags, Floats, Indices
from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier

_KINDS = {
    "action": "iu", "to": "iu", "reason": "iu", "verify": "iuf", "benefit": "iuf", "limit": "iuf",
}  # fmt: skip
"""Columns of decisions, and the kinds of numbers that they may hold."""


class Belief(NamedTuple):
    """Predictive mean and spread of the target, given the verdicts so far; target units."""

    mean: float
    deviation: float


class Action(IntEnum):
    """What to do next with a sample."""

    STOP = 0
    """The climb ends here."""
    ESCALATE = 1
    """Ask the next tier."""
    DEFER = 2
    """Worth climbing, but not now: the budget is spent or reserved, or the tier is paused."""

    @property
    def label(self) -> str:
        """The action as spelled in tables and pages."""
        return self.name.lower()


@dataclass(slots=True)
class Situation:
    """All that a policy may read: one row per sample, one column per tier of the ladder.

    A policy decides whole batches at once, so that a decision costs less than a microsecond.
    Samples that were rejected, or whose top tier has answered, are not among them: their climb
    is over. Samples of one candidate in one call are one row, with their weights joined.
    """

    tiers: tuple[Tier, ...]
    """The ladder's tiers; the columns of the arrays below that have two dimensions."""
    reached: Indices
    """Column of the highest tier that has answered, -1 for none. Shape (n,)."""
    mean: Floats
    """Predictive mean of the target, in target units; NaN if nothing is known. Shape (n,)."""
    deviation: Floats
    """Predictive standard deviation of the target; NaN if nothing is known. Shape (n,)."""
    explained: Floats
    """Share of the variance that asking the tier is expected to explain, in [0, 1]; 1 for the
    top tier, 0 where it has answered. Shape (n, tiers)."""
    answered: Flags
    """Whether the tier has answered or failed for good. Shape (n, tiers)."""
    cost: Floats
    """Expected cost of each tier times the price of its resources, so without unit: 1 is what
    full knowledge of one wholly uncertain sample is worth; 0 is free. Shape (n, tiers)."""
    affordable: Flags
    """Whether the tier's budget still pays for it. Shape (n, tiers)."""
    weight: Floats
    """How strongly the learner reacts to this reward: the norm of the score function, 1 where it
    is unknown. Shape (n,)."""
    group: Indices
    """Number of the sample's group, from 0. Shape (n,)."""
    sign: float = 1.0
    """1 if more of the target is better, -1 if less is."""
    spread: float = float("nan")
    """Standard deviation of the target over candidates, as known so far; NaN if unknown."""
    unevenness: float = 0.0
    """Variance of the logarithm of the top tier's cost over samples decided lately: 0 where all
    cost alike, above 1 where costs differ by orders of magnitude."""
    best: float = float("nan")
    """Target value that an improvement must pass: the worst of the best few known; NaN if none."""

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.mean)


@dataclass(slots=True)
class Decisions:
    """One decision per sample, as columns."""

    action: Indices
    """`Action` codes. Shape (n,)."""
    to: Indices
    """Column of the tier to ask, -1 for none. Shape (n,)."""
    reason: Indices
    """Index into `reasons`. Shape (n,)."""
    reasons: tuple[str, ...]
    """Why, as sentences; may hold `{mean}`, `{deviation}`, `{benefit}`, `{tier}`, `{limit}`."""
    verify: Floats
    """Where the climb stops here: with what probability the top tier is asked all the same.
    The climb draws, records the probability, and corrects the reward by it. Shape (n,)."""
    benefit: Floats
    """Benefit per cost that ranks the queue; larger goes first. Shape (n,)."""
    limit: Floats | None = None
    """The threshold or price the sample was compared with. Shape (n,)."""

    def rows(self, count: int) -> Decisions:
        """The first so many decisions."""
        return Decisions(
            self.action[:count], self.to[:count], self.reason[:count], self.reasons,
            self.verify[:count], self.benefit[:count],
            None if self.limit is None else self.limit[:count],
        )  # fmt: skip


class Decision(NamedTuple):
    """One decision as the ledger tells it."""

    run: str
    step: int
    position: int
    action: Action
    tier: Tier | None
    """The tier that was asked for, if any."""
    reason: str
    mean: float | None
    deviation: float | None
    propensity: float
    """Probability that the top tier was asked."""
    draw: float | None
    """The uniform random number that decided, where one did."""
    benefit: float | None
    policy: str
    """Name and version of the policy."""


@runtime_checkable
@runtime_checkable
class EscalationPolicy(Protocol):
    """**Protocol:** decides how far each sample climbs.

    A policy is a pure function of the situation and its own settings, so every decision can be
    replayed from the ledger. It never draws: it says with what probability the top tier should
    verify a sample that stops, and the climb draws, never below the ladder's audit share.
    """

    @property
    def name(self) -> str:
        """Its name in the ledger."""
        ...

    @property
    def version(self) -> str:
        """Raise it when decisions may change."""
        ...

    @property
    def is_sequential(self) -> bool:
        """Whether it compares candidates: what it defers is then decided anew with new facts."""
        ...

    def decide(self, situation: Situation) -> Decisions:
        """Decide for every sample of the batch."""
        ...

    def as_json(self) -> Mapping[str, Any]:
        """Name, version and settings, for the ledger."""
        ...


def decided(policy: EscalationPolicy, situation: Situation) -> Decisions:
    """What a policy decides about every sample.

    Raises:
        ConfigError: If it gives something else than one decision for each sample, or one that
            can't be carried out or told.
    """
    decisions: object = policy.decide(situation)
    if not isinstance(decisions, Decisions):
        raise ConfigError(
            f"policy {policy.name} decided with a {type(decisions).__name__}; return vl.Decisions"
        )
    wrong = misshapen(decisions, len(situation)) or impossible(decisions, situation)
    if wrong:
        raise ConfigError(f"policy {policy.name}: {wrong}")
    return decisions


def misshapen(decisions: Decisions, size: int) -> str | None:
    """What is wrong with the columns of decisions; None if nothing is."""
    for name, kinds in _KINDS.items():
        column = getattr(decisions, name)
        if name == "limit" and column is None:
            continue
        if getattr(column, "shape", None) != (size,):
            return (
                f"{name} of its decisions must be an array of shape ({size},), one for each "
                f"sample, not {getattr(column, 'shape', None)}"
            )
        if column.dtype.kind not in kinds:
            return f"{name} of its decisions can't hold {column.dtype}"
    return _untold(tuple(decisions.reasons))


def impossible(decisions: Decisions, situation: Situation) -> str | None:
    """Which decision can't be carried out; None if all can."""
    wrong: str | None = None
    asks, verify, benefit = decisions.action != Action.STOP, decisions.verify, decisions.benefit
    rows, to = asks.nonzero()[0], decisions.to[asks]
    if not _are_within(decisions.action, len(Action)):
        wrong = "an action is none of vl.Action"
    elif not _are_within(decisions.reason, len(decisions.reasons)):
        wrong = f"a reason is none of its {len(decisions.reasons)} reasons, which count from 0"
    elif not _are_within(to, len(situation.tiers)):
        wrong = f"a tier that is asked is none of the {len(situation.tiers)}, which count from 0"
    elif (to <= situation.reached[rows]).any() or situation.answered[rows, to].any():
        wrong = "it asks a tier that has answered, or one below it; see situation.reached"
    elif not ((verify >= 0.0) & (verify <= 1.0)).all():
        wrong = "verify is a probability: give numbers from 0 to 1"
    elif not (abs(benefit) < inf).all():
        wrong = "a benefit that is not finite can't be ranked"
    return wrong


def _are_within(codes: Indices, count: int) -> bool:
    return bool(((codes >= 0) & (codes < count)).all())


@lru_cache(maxsize=64)
def _untold(reasons: tuple[str, ...]) -> str | None:
    """What is wrong with sentences; None if all can be told."""
    numbers = dict.fromkeys(("mean", "deviation", "benefit", "limit"), 1.0)
    for reason in reasons:
        try:
            reason.format_map({**numbers, "tier": "world"})
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            return (
                f"the reason {reason!r} can't be told ({type(error).__name__}: {error}); it may "
                "hold {mean}, {deviation}, {benefit}, {tier} and {limit}"
            )
    return None
