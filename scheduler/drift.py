"""Drift: notices when the truth leaves the belief, and says which verifier is being gamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import isnan, sqrt
from typing import Any, NamedTuple

from verifier_ladder.candidate import SampleId, sample_place
from verifier_ladder.scheduler.intraclass import Intraclass

WINSOR = 2.5
"""Residuals count for no more than this: one outlier is no drift, and three in a row are."""
_LARGEST = 1e9
"""What an infinite residual is kept as: JSON has no infinity."""
_WORSE, _OVERRATED = 0.5, 5.5
_BETTER, _UNDERRATED = 0.35, 10.0
_WIDER, _UNSURE = 0.5, 13.0
"""Slack and limit of each sum."""
_PRIOR = 20.0
"""How many Gaussian audits stand for the spread of z and z² before there are real ones."""
_RECENT = 0.98
"""How much of the mean estimate is left after one more audit."""
RELEARNING = 50
"""Audits after an alarm in which the belief learns the truth anew; the charts rest meanwhile."""
_ALARMED_FORGETTING = 0.97
_WINNERS = 5


class Direction(StrEnum):
    """How the truth left the belief."""

    OVERRATED = "overrated"
    """Candidates are worse than believed: the verifier that the belief rests on is being gamed,
    or no longer measures what it did."""
    UNDERRATED = "underrated"
    """Candidates are better than believed."""
    UNSURE = "unsure"
    """Candidates differ from the belief by more than its uncertainty, to both sides."""


_SAID = {
    Direction.OVERRATED: "are worse than believed",
    Direction.UNDERRATED: "are better than believed",
    Direction.UNSURE: "differ from the belief by more than its uncertainty",
}


class Audited(NamedTuple):
    """One drawn sample, after the top tier has answered."""

    sample: SampleId
    z: float
    """(y − μ) / s, turned so that positive is better than believed."""
    estimate: float
    """What was believed of it, μ."""
    truth: float
    """What the top tier said, y."""
    group: str = ""
    """Names the group of its step; "" for none."""


class Alarm(NamedTuple):
    """The truth has left the belief."""

    stratum: str
    """The verifier whose candidates were misjudged."""
    direction: Direction
    audits: int
    """Audits since the change."""
    first: SampleId
    """The first suspect: rewards from here to `last` should be revised."""
    last: SampleId
    winners: tuple[Audited, ...]
    """Suspicious winners, the most suspicious first: believed to be better than most, and found
    to be worse than believed. Only for `OVERRATED`."""
    error: float | None = None
    """By how much beliefs without a deviation were off in the mean, on the learner's scale; None
    where a chart has watched them."""

    @property
    def casts_doubt(self) -> bool:
        """Whether what rests on the verifier alone is in doubt.

        An error that all have in common is learnt from the very audits that found it.
        """
        return self.is_gamed and self.error is None

    @property
    def is_gamed(self) -> bool:
        """Whether the learner gains by what has changed."""
        return self.direction is Direction.OVERRATED

    def as_json(self) -> dict[str, Any]:
        """The alarm as the ledger keeps it."""
        return {
            **self._asdict(), "direction": self.direction.value,
            "winners": [winner._asdict() for winner in self.winners],
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Alarm:
        """Read it back."""
        winners = tuple(
            Audited(**{**winner, "sample": SampleId(*winner["sample"])})
            for winner in stored["winners"]
        )
        first, last = (SampleId(*stored[name]) for name in ("first", "last"))
        return cls(
            stored["stratum"], Direction(stored["direction"]), stored["audits"], first, last,
            winners, stored.get("error"),
        )  # fmt: skip

    @property
    def headline(self) -> str:
        """What has happened, without the numbers."""
        if self.error is not None:
            return f"{self.stratum} misjudges: audits find that candidates {_SAID[self.direction]}"
        if self.is_gamed:
            return f"{self.stratum} is being gamed or has changed: audits find worse than it says"
        return f"{self.stratum} has changed: audits disagree with what it says ({self.direction})"

    @property
    def text(self) -> str:
        """The alarm as a sentence for people."""
        since = sample_place(self.first.run, self.first.step)
        if self.error is not None:
            return (
                f"{self.headline}, by {abs(self.error):.3g} in the mean of {self.audits}, since "
                f"{since}. No chart could watch it: nothing was known of the beliefs' deviation "
                "when these were drawn"
            )
        return (
            f"{self.headline}. Candidates {_SAID[self.direction]}, for the last {self.audits} "
            f"audits; suspect since {since}"
        )


@dataclass(slots=True)
class Chart:
    """One cumulative sum, and where it last left zero."""

    level: float = 0.0
    audits: int = 0
    """Audits since it left zero."""
    first: SampleId | None = None
    """The first of these: the maximum-likelihood estimate of where the change was."""
    scale: float = 1.0
    """What it divides z by; measured before it left zero, so that no change hides itself."""

    def add(self, step: float, sample: SampleId) -> None:
        """Take one more step; at zero or below, start anew."""
        level = self.level + step
        if level <= 0.0:
            self.level, self.audits, self.first = 0.0, 0, None
            return
        self.first = self.first or sample
        self.level, self.audits = level, self.audits + 1


@dataclass(slots=True)
class Stratum:
    """The charts of one verifier."""

    overrated: Chart = field(default_factory=Chart)
    underrated: Chart = field(default_factory=Chart)
    unsure: Chart = field(default_factory=Chart)
    audits: float = _PRIOR
    power: float = _PRIOR
    """Sum of z²: 1 for each Gaussian audit."""
    squares: float = 2.0 * _PRIOR
    """Sum of (z² − 1)²: 2 for each Gaussian audit."""
    estimate: float = 0.0
    weight: float = 0.0
    """Sums for the recent mean of the estimates."""
    suspects: list[Audited] = field(default_factory=list)
    """The worst disappointments since `overrated` left zero."""
    since: int = RELEARNING
    """Audits since the last alarm, up to `RELEARNING`."""
    shared: Intraclass = field(default_factory=Intraclass)

    @property
    def usual(self) -> float:
        """How large z usually is, and at least 1.

        A belief that is too sure of itself, as one that has seen little, would cry wolf.
        """
        return sqrt(max(1.0, self.power / self.audits))

    @property
    def is_relearning(self) -> bool:
        """Whether an alarm was not long ago."""
        return self.since < RELEARNING

    def add(self, audited: Audited) -> Chart | None:
        """Take one more audit; the chart that has passed its limit, if one has."""
        if self.is_relearning:
            self.since += 1
            return None
        z = max(-WINSOR, min(WINSOR, audited.z))
        new = self.shared.add(audited.group, z)
        surprise = new * new - 1.0
        side = new if audited.group else audited.z
        for chart, sign, slack in ((self.overrated, -1, _WORSE), (self.underrated, 1, _BETTER)):
            if chart.first is None:
                chart.scale = self.usual
            step = max(-WINSOR, min(WINSOR, sign * side / chart.scale))
            chart.add(step - slack, audited.sample)
        spread = sqrt(self.squares / self.audits)
        self.unsure.add(surprise / spread - _WIDER, audited.sample)
        self.audits += 1.0
        self.power += z * z
        self.squares += surprise * surprise
        self._suspect(audited)
        limits = (
            (self.overrated, _OVERRATED), (self.underrated, _UNDERRATED), (self.unsure, _UNSURE),
        )  # fmt: skip
        found = next((chart for chart, limit in limits if chart.level > limit), None)
        return self._side() if found is self.unsure else found

    def _side(self) -> Chart:
        """The chart of the side to which the surprises were, if they were to one side."""
        sides = ((self.overrated, _OVERRATED), (self.underrated, _UNDERRATED))
        likely = (chart for chart, limit in sides if chart.level > limit / 2.0)
        return max(likely, key=lambda chart: chart.level, default=self.unsure)

    def _suspect(self, audited: Audited) -> None:
        if self.overrated.first is None:
            self.suspects.clear()
        if isnan(audited.estimate) or isnan(audited.truth):
            return
        usual = self.estimate / self.weight if self.weight else audited.estimate
        self.estimate = _RECENT * self.estimate + audited.estimate
        self.weight = _RECENT * self.weight + 1.0
        if audited.z < 0.0 and audited.estimate >= usual and self.overrated.first is not None:
            self.suspects = sorted([*self.suspects, audited], key=lambda a: a.z)[:_WINNERS]

    def direction(self, chart: Chart) -> Direction:
        """What it means that this chart has passed its limit."""
        if chart is self.overrated:
            return Direction.OVERRATED
        return Direction.UNDERRATED if chart is self.underrated else Direction.UNSURE

    def restart(self) -> None:
        """Begin anew after an alarm; what is known of the usual spread stays."""
        self.overrated, self.underrated, self.unsure = Chart(), Chart(), Chart()
        self.suspects, self.since = [], 0


class Drift:
    """Two-sided cumulative sums of z = (y − μ)/s over drawn samples, and one of z².

    They are kept apart for each stratum: the verifier of the deepest tier that had answered when
    the sample was drawn. Only drawn samples may be added, because what was selected for its value
    differs from the belief by selection.

    After an alarm the charts of its stratum rest for 50 audits, while the audit floor is doubled
    and the belief forgets its past: one drift would be told over and over otherwise.

    With Gaussian z there are 0.6 false alarms in 1000 audits, and a shift by one standard
    deviation to the worse is found after 10 audits in the median, by two after 4. The side that a
    learner can gain from is watched more closely than the other. The page "What audits watch"
    has the whole table.

    Source: Page, *Continuous inspection schemes*, Biometrika 41 (1954).

    Example:
        >>> drift = Drift()
        >>> alarms = [drift.add("guess", -2.0, sample=SampleId("run", 0, i)) for i in range(4)]
        >>> alarms[:3], alarms[3].direction.value, alarms[3].first.position
        ([None, None, None], 'overrated', 0)
        >>> drift.audit_multiplier("guess"), drift.forgetting("guess")
        (2.0, 0.97)
    """

    def __init__(self) -> None:
        """Start without audits."""
        self._strata: dict[str, Stratum] = {}

    def add(
        self,
        stratum: str,
        z: float,
        *,
        sample: SampleId,
        estimate: float = float("nan"),
        truth: float = float("nan"),
        group: str = "",
    ) -> Alarm | None:
        """Take one more audit.

        Args:
            stratum: Name of the deepest verifier that had answered when the sample was drawn.
            z: (y − μ)/s, turned so that positive is better than believed. NaN, where the belief
                had no spread, says nothing. It is cut at ±2.5, so that one outlier is no alarm.
            sample: Run, step and position.
            estimate: μ on the learner's scale, to tell suspicious winners.
            truth: y on the learner's scale.
            group: The group within its step, whose samples may share an error; "" for none.

        Returns:
            An alarm, if the truth has left the belief; the stratum begins anew then.
        """
        if isnan(z):
            return None
        z = max(-_LARGEST, min(_LARGEST, z))
        state = self._strata.setdefault(stratum, Stratum())
        name = group and f"{sample.run} {sample.step} {group}"
        chart = state.add(Audited(sample, z, estimate, truth, name))
        if chart is None or chart.first is None:
            return None
        direction = state.direction(chart)
        winners = tuple(state.suspects) if direction is Direction.OVERRATED else ()
        state.restart()
        return Alarm(stratum, direction, chart.audits, chart.first, sample, winners)

    def audit_multiplier(self, stratum: str) -> float:
        """What the audit floor is multiplied with: 2 for the 50 audits after an alarm, else 1."""
        return 2.0 if self._is_alarmed(stratum) else 1.0

    def forgetting(self, stratum: str, usual: float = 0.999) -> float:
        """How much of its past the belief should keep with one more label of this stratum."""
        return min(usual, _ALARMED_FORGETTING) if self._is_alarmed(stratum) else usual

    @property
    def is_alarmed(self) -> bool:
        """Whether any stratum is still watched more closely."""
        return any(state.is_relearning for state in self._strata.values())

    def _is_alarmed(self, stratum: str) -> bool:
        state = self._strata.get(stratum)
        return state is not None and state.is_relearning

    def snapshot(self) -> dict[str, Any]:
        """All charts, as JSON."""
        return {
            name: {**asdict(state), "suspects": [tuple(suspect) for suspect in state.suspects]}
            for name, state in self._strata.items()
        }

    def restore(self, snapshot: Mapping[str, Mapping[str, Any]]) -> None:
        """Go back to a snapshot."""
        self._strata = {name: _stratum(state) for name, state in snapshot.items()}


def _stratum(state: Mapping[str, Any]) -> Stratum:
    charts = {name: _chart(state[name]) for name in ("overrated", "underrated", "unsure")}
    suspects = [Audited(SampleId(*row[0]), *row[1:]) for row in state["suspects"]]
    shared = Intraclass.restore(state["shared"]) if "shared" in state else Intraclass()
    return Stratum(**{**state, **charts, "suspects": suspects, "shared": shared})


def _chart(state: Mapping[str, Any]) -> Chart:
    first = state["first"]
    return Chart(**{**state, "first": None if first is None else SampleId(*first)})
