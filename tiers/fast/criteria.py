"""Criteria: windows of named quantities, and what keeping or leaving them amounts to.

| Field of a window | Meaning |
|---|---|
| `least`, `most` | its bounds, which belong to it; one may be left out |
| `margin` | how far beyond a bound a criterion still counts in part; not at all by default |

A verifier has criteria as a setting, and a task may name more of them in its field `criteria`. A
task's window stands for the verifier's own one of the same quantity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict, mean_of

SHARE = "criteria"
"""What `score` says for the mean share of the criteria."""


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


class _Task(BaseModel):
    criteria: dict[str, Window] = {}


class Criteria:
    """The quantities that a verifier knows, and the criteria that it has of its own.

    Example:
        >>> size = Quantity("the size", more="write more", less="write less")
        >>> criteria = Criteria({"size": size}, {"size": {"most": 3}})
        >>> print(criteria.verdict(criteria.of(None), {"size": 5.0}).feedback)
        Bring the size to at most 3: write less.
    """

    def __init__(
        self, quantities: Mapping[str, Quantity], windows: Mapping[str, Any], score: str = SHARE
    ) -> None:
        """Read the criteria.

        Args:
            quantities: What criteria can be about, by name.
            windows: Bounds by name, as `Window` has them.
            score: The quantity whose value is the score, or `criteria`.

        Raises:
            ConfigError: If a quantity is unknown, or a window makes no sense.
        """
        known = [SHARE, *quantities]
        if score not in known:
            raise ConfigError(f"score={printable(score)!r}: write {', '.join(known)}")
        try:
            self.windows = _Task(criteria=dict(windows)).criteria
        except (ValidationError, TypeError, ValueError) as error:
            raise ConfigError(f"criteria={printable(windows, 200)}: {_first(error)}") from None
        self.quantities, self.score = quantities, score
        if unknown := self._unknown(self.windows):
            raise ConfigError(unknown)

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same criteria, as JSON."""
        windows = {n: w.model_dump(exclude_none=True) for n, w in self.windows.items()}
        return {"criteria": windows, "score": self.score}

    @property
    def unit(self) -> str:
        """The unit of the score."""
        return "" if self.score == SHARE else self.quantities[self.score].unit

    def of(self, task: Mapping[str, Any] | None) -> dict[str, Window]:
        """The criteria for a task.

        Raises:
            TaskError: If those of the task make no sense, or there are none and no score.
        """
        named = read_task(_Task, task).criteria
        if unknown := self._unknown(named):
            raise TaskError(f"the task's {unknown}")
        windows = {**self.windows, **named}
        if not windows and self.score == SHARE:
            raise TaskError(
                "neither the task nor the settings name criteria, and no score is chosen"
            )
        return windows

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

    def _unknown(self, windows: Iterable[str]) -> str:
        """What is wrong with names; "" if nothing."""
        strange = [name for name in windows if name not in self.quantities]
        if not strange:
            return ""
        known = ", ".join(self.quantities)
        return f"criteria name {printable(strange[0], 60)!r}, which is none of {known}"

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


def _first(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
