"""Targets: the quantity a ladder is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from verifier_ladder.arguments import checked_value
from verifier_ladder.errors import ConfigError

Direction = Literal["maximise", "minimise"]
Scale = Literal["real", "binary", "ordinal"]


@dataclass(frozen=True, slots=True)
class Target:
    """Name, unit and direction of the quantity that the highest tier measures.

    Example:
        >>> Target("hydration free energy", unit="kcal/mol", direction="minimise").sign
        -1.0
    """

    name: str = "score"
    unit: str = ""
    direction: Direction = "maximise"
    scale: Scale = "real"

    def __post_init__(self) -> None:
        """Refuse words that mean nothing."""
        checked_value("vl.Target(...)", "name", self.name, "str", 1)
        checked_value("vl.Target(...)", "unit", self.unit, "str")
        if self.direction not in ("maximise", "minimise"):
            raise ConfigError(
                f"target direction {self.direction!r}: write 'maximise' or 'minimise'"
            )
        if self.scale not in ("real", "binary", "ordinal"):
            raise ConfigError(f"target scale {self.scale!r}: write 'real', 'binary' or 'ordinal'")

    @property
    def sign(self) -> float:
        """1 if more is better, -1 if less is."""
        return 1.0 if self.direction == "maximise" else -1.0

    def as_json(self) -> dict[str, Any]:
        """The target as configuration, for the ledger."""
        return {
            "name": self.name, "unit": self.unit,
            "direction": self.direction, "scale": self.scale,
        }  # fmt: skip


def sign_of(ladder: Mapping[str, Any]) -> float:
    """`Target.sign` of a ladder as the ledger records it.

    Example:
        >>> sign_of({"target": {"direction": "minimise"}}), sign_of({})
        (-1.0, 1.0)
    """
    return -1.0 if (ladder.get("target") or {}).get("direction") == "minimise" else 1.0
