"""Criteria: windows of named quantities, and what keeping or leaving them amounts to.

| Field of a window | Meaning |
|---|---|
| `least`, `most` | its bounds, which belong to it; one may be left out |
| `margin` | how far beyond a bound a criterion still counts in part; not at all by default |

A verifier has criteria as a setting, and a task may name more of them in one of its fields,
`criteria` unless the verifier is told another. A task's window stands for the verifier's own one
of the same quantity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Verdict, mean_of

SHARE = "criteria"
"""What `score` says for the mean share of the criteria."""
FIELD = "criteria"
"""The task's field, where no other is chosen."""
_TAKEN = ("target",)
"""Fields of the task that mean something else to a verifier with criteria."""


class Window(BaseModel):
    """Bounds of one quantity.

    Example:
        >>> window = Window(least=1.0, most=3.0, margin=0.5)
        >>> [window.share(value) for value in (2.0, 3.25, 4.0)]
        [1.0, 0.5, 0.0]
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    least: FiniteFloat | None = None
    most: FiniteFloat | None = None
    margin: Annotated[FiniteFloat, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _holds_something(self) -> Window:
        if self.least is None and self.most is None:
            raise ValueError("give least, most or both")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError(f"nothing lies between {self.least:g} and {self.most:g}")
        return self

    def beyond(self, value: float) -> float:
        """How far a value lies outside; 0 inside."""
        below = 0.0 if self.least is None else self.least - value
        above = 0.0 if self.most is None else value - self.most
        return max(below, above, 0.0)

    def share(self, value: float) -> float:
        """1 inside, 0 a margin and more outside, and evenly less in between."""
        beyond = self.beyond(value)
        if not beyond:
            return 1.0
        return 0.0 if self.margin is None else max(0.0, 1.0 - beyond / self.margin)

    def __str__(self) -> str:
        """The bounds in words."""
        if self.least is None:
            return f"at most {self.most:g}"
        if self.most is None:
            return f"at least {self.least:g}"
        return f"{self.least:g} to {self.most:g}"


class Quantity(NamedTuple):
    """What a criterion can be about."""

    title: str
    """Its name in a sentence."""
    more: str
    """What to do for a larger value."""
    less: str
    """What to do for a smaller one."""
    unit: str = ""
    seconds: float = 2e-5
    """What it takes."""


class _Named(BaseModel):
    windows: dict[str, Window]


class Criteria:
    """The quantities that a verifier knows, and the criteria that it has of its own.

    Example:
        >>> size = Quantity("the size", more="write more", less="write less")
        >>> criteria = Criteria({"size": size}, {"size": {"most": 3}})
        >>> print(criteria.verdict(criteria.of(None), {"size": 5.0}).feedback)
        Bring the size to at most 3: write less.
    """

    def __init__(
        self, quantities: Mapping[str, Quantity], windows: Mapping[str, Any], score: str = SHARE,
        field: str = FIELD,
    ) -> None:  # fmt: skip
        """Read the criteria.

        Args:
            quantities: What criteria can be about, by name.
            windows: Bounds by name, as `Window` has them.
            score: The quantity whose value is the score, or `criteria`.
            field: The task's field that names more of them.

        Raises:
            ConfigError: If a quantity is unknown, or a window or the field makes no sense.
        """
        known = [SHARE, *quantities]
        if score not in known:
            raise ConfigError(f"score={printable(score)!r}: write {', '.join(known)}")
        named: Any = field
        if not isinstance(named, str) or not named.isidentifier() or named in _TAKEN:
            raise ConfigError(f"field={printable(field)!r}: name the task's field with criteria")
        self.quantities, self.score, self.field = quantities, score, field
        try:
            self.windows = self._read(windows)
        except ValueError as error:
            raise ConfigError(f"criteria={printable(windows, 200)}: {error}") from None

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same criteria, as JSON."""
        windows = {n: w.model_dump(exclude_none=True) for n, w in self.windows.items()}
        return {"criteria": windows, "score": self.score, "field": self.field}

    @property
    def unit(self) -> str:
        """The unit of the score."""
        return "share" if self.score == SHARE else self.quantities[self.score].unit

    def of(self, task: Mapping[str, Any] | None) -> dict[str, Window]:
        """The criteria for a task.

        Raises:
            TaskError: If those of the task make no sense, or there are none and no score.
        """
        try:
            windows = {**self.windows, **self._read((task or {}).get(self.field, {}))}
        except ValueError as error:
            raise TaskError(f"the task's {self.field} make no sense: {error}") from None
        if not windows and self.score == SHARE:
            raise TaskError(f"the task has no {self.field}, and the verifier has no criteria")
        return windows

    @property
    def features(self) -> tuple[str, ...]:
        """What verdicts offer to predict by, beside their score: values of the own criteria."""
        return tuple(name for name in self.windows if name != self.score)

    def wanted(self, windows: Iterable[str]) -> list[str]:
        """Names of what has to be measured: the criteria, and the score."""
        names = [*windows] if self.score == SHARE else [*windows, self.score]
        return list(dict.fromkeys(names))

    def seconds(self, windows: Iterable[str]) -> float:
        """What measuring that takes."""
        return sum(self.quantities[name].seconds for name in self.wanted(windows))

    def verdict(
        self, windows: Mapping[str, Window], values: Mapping[str, float],
        notes: Mapping[str, str] | None = None, *, uncertainty: float | None = None,
        evidence: Mapping[str, Any] | None = None,
    ) -> Verdict:  # fmt: skip
        """Accept what keeps all criteria; reject the rest, and name those that it breaks.

        Args:
            windows: The criteria, from `of`.
            values: What was measured, by name.
            notes: What to tell beside a value, by name.
            uncertainty: Of a score that is a quantity's value.
            evidence: Further facts.
        """
        shares = {name: window.share(values[name]) for name, window in windows.items()}
        broken = [name for name, window in windows.items() if window.beyond(values[name])]
        told = {**values, **(evidence or {})}
        is_share = self.score == SHARE
        if not broken:
            return Verdict.accept(
                1.0 if is_share else values[self.score], unit=self.unit, scores=shares,
                uncertainty=None if is_share else uncertainty, evidence=told,
            )  # fmt: skip
        reasons = (self._reason(n, windows[n], values[n], (notes or {}).get(n)) for n in broken)
        advice = (self._advice(name, windows[name], values[name]) for name in broken)
        return Verdict.reject(
            "; ".join(reasons), score=mean_of([*shares.values()]) if is_share else None,
            unit=self.unit, feedback=" ".join(advice), scores=shares, evidence=told,
        )  # fmt: skip

    def _read(self, given: Any) -> dict[str, Window]:
        """Windows by name.

        Raises:
            ValueError: If a quantity is unknown, or a window makes no sense.
        """
        try:
            windows = _Named(windows=given).windows
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"][1:]))
            raise ValueError(": ".join(filter(None, [place, first["msg"]]))) from None
        if strange := [name for name in windows if name not in self.quantities]:
            known = ", ".join(self.quantities)
            raise ValueError(f"{printable(strange[0], 60)!r} is none of {known}")
        return windows

    def _reason(self, name: str, window: Window, value: float, note: str | None) -> str:
        quantity = self.quantities[name]
        unit = f" {quantity.unit}" if quantity.unit else ""
        beside = f" ({note})" if note else ""
        return f"{quantity.title} is {value:g}{unit}{beside}; the criterion is {window}{unit}"

    def _advice(self, name: str, window: Window, value: float) -> str:
        quantity = self.quantities[name]
        unit = f" {quantity.unit}" if quantity.unit else ""
        is_low = window.least is not None and value < window.least
        how = quantity.more if is_low else quantity.less
        return f"Bring {quantity.title} to {window}{unit}: {how}."
