"""Selections: what a training set is to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier


@dataclass(frozen=True, slots=True)
class Selection:
    """Which samples are taken, and how sure their rewards must be.

    Example:
        >>> Selection(best=2).sure
        1.0
    """

    pass_at: float | None = None
    """Reward at which a sample passes; by default 0.5 where rewards lie on a scale from 0 to 1."""
    best: int | None = None
    """Take at most this many of each task, the best first."""
    sure: float = 1.0
    """By how many standard deviations a reward must pass, and a chosen one exceed a rejected."""
    margin: float = 0.0
    """By how much a chosen reward must exceed a rejected one, at least."""
    pairs: int = 8
    """Most pairs of one task."""
    tier: Tier | str | None = None
    """Only samples that this tier or a higher one has judged."""
    teachers: Sequence[str] = ()
    """Names of the models that are to teach, for distillation."""
    without_terms: Sequence[str] = ()
    """Names of terms: samples whose verdicts come under one of them are left out.

    Where the run's verdicts come under terms, each must be one of these. Of a run without terms
    nothing is left out, and `TrainingSet.terms` is empty.
    """

    def __post_init__(self) -> None:
        """Refuse what selects nothing.

        Raises:
            ConfigError: If a number makes no sense, or the tier is unknown.
        """
        for name in ("sure", "margin"):
            value = getattr(self, name)
            if not isfinite(value) or value < 0:
                raise ConfigError(f"{name}={value!r}: give a number that is not negative")
        for name in ("best", "pairs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name}={value!r}: give a number of at least 1")
        if self.tier is not None:
            object.__setattr__(self, "tier", Tier.parse(self.tier))

    def as_json(self) -> dict[str, Any]:
        """The selection as JSON values."""
        tier = None if self.tier is None else Tier.parse(self.tier).label
        return {
            "pass_at": self.pass_at, "best": self.best, "sure": self.sure, "margin": self.margin,
            "pairs": self.pairs, "tier": tier, "teachers": list(self.teachers),
            **({"without_terms": list(self.without_terms)} if self.without_terms else {}),
        }  # fmt: skip
