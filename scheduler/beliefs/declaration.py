"""Declarations: what tiers say of themselves before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan

from verifier_ladder.ladder import Rung
from verifier_ladder.verdict import mean_of


@dataclass(frozen=True, slots=True)
class Declaration:
    """What one tier declares of its score.

    Example:
        >>> Declaration("xtb", is_same=True, deviation=1.5).name
        'xtb'
    """

    name: str = ""
    """Name of its primary verifier; what is learnt is filed under it."""
    digest: str = ""
    """Version, settings and tools of the verifier, as hexadecimal digits."""
    is_same: bool = False
    """Whether its score estimates the target itself, in the target's unit."""
    deviation: float = nan
    """Deviation of its score from the target; NaN if not declared."""
    is_other: bool = False
    """Whether its score has another unit than the target: its number is then no first answer."""

    @classmethod
    def of(cls, rung: Rung, unit: str) -> Declaration:
        """What a rung's scoring verifiers declare; a declared deviation is in target units.

        Several estimate the target itself if all of them do. The deviation of their mean is at
        most the mean of theirs, which is what holds: they may err alike.

        Args:
            rung: The tier.
            unit: The target's unit. A verifier without a unit says nothing about its quantity.
        """
        if not rung.primaries:
            return cls()
        declared = [nan if v.deviation is None else float(v.deviation) for v in rung.primaries]
        deviation = mean_of(declared, [float(v.weight) for v in rung.primaries])
        is_same = isfinite(deviation) or all(v.same_quantity for v in rung.primaries)
        return cls(
            "+".join(v.name for v in rung.primaries),
            "+".join(str(v.as_json()["digest"]) for v in rung.primaries),
            is_same, deviation,
            is_other=not is_same and any(v.unit and v.unit != unit for v in rung.primaries),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared of the tiers of one pattern, the cheapest first."""

    tiers: tuple[Declaration, ...] = ()
    prior: tuple[float, float] = (nan, nan)
    """Mean and deviation of the target before anything is known; NaN if not declared."""

    @property
    def speaker(self) -> int:
        """Column of the tier whose number is the first answer; -1 if that is the prior.

        It is the dearest, whatever the others declare: what they say is part of why it was asked.
        A number in another unit than the target's is none, unless there is nothing else.
        """
        answers = [column for column, tier in enumerate(self.tiers) if not tier.is_other]
        if answers:
            return answers[-1]
        return -1 if isfinite(self.prior[0]) else len(self.tiers) - 1

    @property
    def base(self) -> int:
        """The speaker's column, if it estimates the target itself; else -1."""
        return len(self.tiers) - 1 if self.tiers and self.tiers[-1].is_same else -1

    @property
    def is_foreign(self) -> bool:
        """Whether there are tiers, and the dearest doesn't estimate the target itself."""
        return self.base < 0 < len(self.tiers)

    @property
    def deviation(self) -> float:
        """Deviation of the speaker's score from the target; NaN if not declared."""
        return self.tiers[self.speaker].deviation if self.speaker >= 0 else nan

    @property
    def spread(self) -> float:
        """The deviation that holds until one is learnt; NaN if none is declared."""
        return self.deviation if isfinite(self.deviation) else self.prior[1]
