"""Decisions: what the scheduler does next with a sample, and everything that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Indices = NDArray[np.int64]


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
    """Worth climbing, but not now: the budget is spent or the tier is paused."""

    @property
    def label(self) -> str:
        """The action as spelled in tables and pages."""
        return self.name.lower()


@dataclass(slots=True)
class Situation:
    """All that a policy may read: one row per sample, one column per tier of the ladder.

    A policy decides whole batches at once, so that a decision costs less than a microsecond.
    """

    tiers: tuple[Tier, ...]
    """The ladder's tiers; the columns of the arrays below that have two dimensions."""
    reached: Indices
    """Column of the highest tier that has answered, -1 for none. Shape (n,)."""
    mean: Floats
    """Predictive mean of the target, in target units. Shape (n,)."""
    deviation: Floats
    """Predictive standard deviation of the target. Shape (n,)."""
    rejected: Flags
    """Whether a gate or a deterministic tier has rejected the candidate. Shape (n,)."""
    answered: Flags
    """Whether the tier has answered or failed for good. Shape (n, tiers)."""
    cost: Floats
    """Expected cpu-seconds of each tier. Shape (n, tiers)."""
    affordable: Flags
    """Whether the tier's budget still pays for it. Shape (n, tiers)."""
    weight: Floats
    """How strongly the learner reacts to this reward. Shape (n,)."""
    group: Indices
    """Number of the sample's group. Shape (n,)."""
    sign: float = 1.0
    """1 if more of the target is better, -1 if less is."""
    draw: Floats | None = None
    """One uniform random number per sample, for policies whose `draws` is true. Shape (n,)."""

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
    """Why, as sentences; may hold `{mean}`, `{deviation}`, `{cost}`, `{tier}`, `{limit}`."""
    propensity: Floats
    """Probability that this decision was taken. Shape (n,)."""
    benefit: Floats
    """Benefit per cost that ranks the queue; larger goes first. Shape (n,)."""
    draw: Floats | None = None
    """The uniform random draw that decided, where one did. Shape (n,)."""
    limit: Floats | None = None
    """The threshold or price the sample was compared with. Shape (n,)."""


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
    draw: float | None
    benefit: float | None
    policy: str
    """Name and version of the policy."""


@runtime_checkable
class EscalationPolicy(Protocol):
    """**Protocol:** decides how far each sample climbs.

    A policy is a pure function of the situation and its own settings, so every decision can be
    replayed from the ledger.
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
    def draws(self) -> bool:
        """Whether it decides at random and so wants `Situation.draw`."""
        ...

    def decide(self, situation: Situation) -> Decisions:
        """Decide for every sample of the batch."""
        ...

    def as_json(self) -> Mapping[str, Any]:
        """Name, version and settings, for the ledger."""
        ...
