"""Measurements: what an instrument says where it gives no plain number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from verifier_ladder.errors import ConfigError
from verifier_ladder.text import decimal

BOUND: Final = "bound"
"""Evidence of a verdict that rests on an inequality: no mean takes it for a number."""
IN_LOGS: Final = "averaged_in_logs"
"""Evidence of a verdict whose score is averaged by its logarithm."""
FAILED: Final = "measurement_failed"
"""Evidence of a verdict of a measurement that failed."""
WELLS: Final = "wells"
"""Evidence of a verdict that was measured on a plate: what was read in each well, by its name."""
READERS: Final = "readers"
"""Evidence of a verdict that several readers came to: what each of them has said."""
BOUND_SIGNS: Final = ("<", ">", "≤", "≥")
"""What a bound begins with."""
_RELATIONS = {"<": "<", "<=": "<=", "≤": "<=", ">": ">", ">=": ">=", "≥": ">="}
_WRITTEN = re.compile(r"(<=|>=|[<>≤≥])(.*)")


@dataclass(frozen=True, slots=True)
class Bound:
    """An inequality: what is known of a result beyond the range of an instrument.

    Example:
        >>> Bound.read("< 0.1").within(Bound("<", 10.0))
        True
        >>> Bound.read("≥ 10").excludes(Bound("<", 10.0))
        True
    """

    relation: str
    """`<`, `<=`, `>` or `>=`; `≤` and `≥` become these."""
    value: float

    def __post_init__(self) -> None:
        """Refuse what is no inequality with a finite number.

        Raises:
            ConfigError: If it is none.
        """
        relation, value = _RELATIONS.get(str(self.relation)), decimal(str(self.value))
        if relation is None or value is None:
            raise ConfigError(
                f"Bound({self.relation!r:.20}, {self.value!r:.40}) is no bound; give <, <=, > or "
                ">= and a finite number"
            )
        object.__setattr__(self, "relation", relation)
        object.__setattr__(self, "value", value)

    @classmethod
    def read(cls, text: str) -> Bound:
        """Read an inequality, such as `< 0.1` or `≥ 100`.

        Raises:
            ConfigError: If it is none.
        """
        found = _WRITTEN.fullmatch(text.strip())
        value = None if found is None else decimal(found[2])
        if found is None or value is None:
            raise ConfigError(f"{text!r:.60} is no bound; write one such as < 0.1 or >= 100")
        return cls(found[1], value)

    def __str__(self) -> str:
        """As a person writes it, with all digits of the number."""
        return f"{self.relation} {repr(self.value).removesuffix('.0')}"

    @property
    def _is_upper(self) -> bool:
        return self.relation[0] == "<"

    @property
    def _holds_end(self) -> bool:
        return self.relation[1:] == "="

    def allows(self, number: float) -> bool:
        """Whether a number meets it."""
        if number == self.value:
            return self._holds_end
        return (number < self.value) is self._is_upper

    def within(self, other: Bound) -> bool:
        """Whether every number that it allows meets the other one."""
        if self._is_upper is not other._is_upper:
            return False
        if self.value == other.value:
            return other._holds_end or not self._holds_end
        return (self.value < other.value) is self._is_upper

    def excludes(self, other: Bound) -> bool:
        """Whether no number meets both."""
        if self._is_upper is other._is_upper:
            return False
        if self.value == other.value:
            return not (self._holds_end and other._holds_end)
        return (self.value < other.value) is self._is_upper

    def as_json(self) -> dict[str, Any]:
        """The inequality as JSON values."""
        return {"relation": self.relation, "value": self.value}


def bound_of(evidence: Mapping[str, Any]) -> Bound | None:
    """The inequality that a verdict with this evidence rests on; None if it rests on none.

    Example:
        >>> bound_of({BOUND: Bound("<", 0.1).as_json()}), bound_of({BOUND: 3.0})
        (Bound(relation='<', value=0.1), None)
    """
    told = evidence.get(BOUND)
    if not isinstance(told, Mapping) or told.keys() != {"relation", "value"}:
        return None
    try:
        return Bound(told["relation"], told["value"])
    except ConfigError:
        return None
