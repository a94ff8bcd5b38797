"""Cases: questions that the world answers later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

from verifier_ladder.arguments import check_values
from verifier_ladder.candidate import Candidate
from verifier_ladder.case import (
    AWAY,
    SETTLED,
    Case,
    case_to_settle,
    fields_of,
    is_late,
    late,
    sealing_field,
    sealing_time,
    settlement_time,
    shown,
)
from verifier_ladder.containment import words_of
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, VerifierError
from verifier_ladder.httpservice import UnreachableError
from verifier_ladder.measurement import BOUND, IN_LOGS, Bound
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import as_verdict, failure, undecided

WAITING: Mapping[str, Any] = {"waiting": True}
"""Evidence of an abstention that opens a case: the scheduler waits instead of going on."""
_UNREACHABLE = (UnreachableError, ConnectionError, TimeoutError)
A_LOOK = Cost(seconds=0.05)
"""What a case is taken to cost that its verifier settles by itself."""


def is_waiting(verdict: Verdict) -> bool:
    """Whether the verdict opens a case.

    Example:
        >>> is_waiting(Verdict.abstain("asked the laboratory", evidence=WAITING))
        True
    """
    return verdict.outcome is Outcome.ABSTAIN and bool(verdict.evidence.get("waiting"))


class WorldVerifier(SingleVerifier):
    """Base class of what a person, a laboratory or a market answers; nothing is simulated.

    A subclass overrides `look_up`, for what is known already, and `question`. Everything else
    becomes an open case; the answer that comes in later goes through `validate`.

    Example:
        >>> class Taste(WorldVerifier):
        ...     name, version, unit, low, high = "taste", "1", "points", 0.0, 10.0
        >>> is_waiting(Taste().judge([Candidate("text", "soup")])[0])
        True
        >>> Taste().validate(7).score
        7.0
    """

    tier = Tier.WORLD
    waits: ClassVar[bool] = True
    timeout = 30.0
    low: float | None = None
    """Smallest answer that can be true, in `unit`."""
    high: float | None = None
    """Largest answer that can be true, in `unit`."""
    passes: str | None = None
    """The inequality that an answer must meet, such as `< 10`: one that does not is a reject, and
    a bound is judged by it. None: all that can be true is accepted."""
    in_logs: bool = False
    """Whether repeated answers are averaged by their logarithms, as those of concentrations are;
    then only what is greater than 0 can be true."""
    patience: float | None = None
    """Seconds until a case expires, from its settlement time if it has one; None for never."""
    settles_at: str | None = None
    """Name of the task field with the time from which on the answer can be known, such as a
    forecast's horizon: seconds since 1970, or ISO 8601 with a zone. From then on `settle` is
    asked, and samples that come are late. None where only people and programs answer."""
    sealed_by: str | None = None
    """Name of the task field with the time up to which samples are taken, such as the opening of
    a market; None where that is the time in `settles_at`."""
    feed: Any = None
    """Where `settle` finds what has come to pass."""
    readers: int = 1
    """How many people read each case without seeing each other's answers: 1, or 2 who must agree
    (`vladder review next`). With 2 this and the next two are among the settings."""
    tolerance: float = 0.0
    """How far the scores of two readers may lie apart, in `unit`, who still agree."""
    third_reader: bool = True
    """Whether a third is asked where two disagree; else nothing is known of the candidate."""

    def __init__(self, **settings: Any) -> None:
        """Keep the settings; see `Verifier`.

        Raises:
            ConfigError: Also if the bounds or the patience make no sense.
        """
        self._take_settlement()
        super().__init__(**settings, **self._reading())
        bounds = {"low": self.low, "high": self.high}
        check_values(f"verifier {self.name}", dict.fromkeys(bounds, "float | None"), bounds)
        check_bounds(self.low, self.high)
        self._wanted = self._passing()

    def _reading(self) -> dict[str, Any]:
        """The settings that several readers of a case bring about.

        Raises:
            ConfigError: If they make no sense.
        """
        wanted = {"readers": "int", "tolerance": "float", "third_reader": "bool"}
        given = {name: getattr(self, name) for name in wanted}
        check_values(f"verifier {self.name}", wanted, given, tolerance=0.0)
        if self.readers not in {1, 2}:
            raise ConfigError(f"verifier {self.name}: readers={self.readers!r}: give 1 or 2")
        return {} if self.readers == 1 else {**given, "tolerance": float(self.tolerance)}

    def _passing(self) -> Bound | None:
        """What passes; None where everything does.

        Raises:
            ConfigError: If that is no inequality.
        """
        try:
            return None if self.passes is None else Bound.read(str(self.passes))
        except ConfigError as error:
            raise ConfigError(f"verifier {self.name}: passes: {error}") from None

    def _take_settlement(self) -> None:
        """See that a verifier which settles reads the time, and costs nobody's attention.

        Raises:
            ConfigError: If it names a time and settles nothing, or the other way round.
        """
        field = self.settles_at
        has_settle = type(self).settle is not WorldVerifier.settle
        if has_settle != bool(field) or (field is not None and not isinstance(field, str)):
            raise ConfigError(
                f"verifier {self.name}: give both, settles_at={field!r} as the name of the task "
                "field with the time, and a method settle(case, feed); or neither"
            )
        if self.sealed_by is not None and not (field and isinstance(self.sealed_by, str)):
            raise ConfigError(
                f"verifier {self.name}: sealed_by={self.sealed_by!r} is no name of a task field, "
                "or settles_at is not given beside it"
            )
        if not field:
            return
        if isinstance(self.task_fields, str):
            self.task_fields = (self.task_fields,)
        if self.task_fields is not None:
            self.task_fields = tuple(dict.fromkeys([*self.task_fields, *fields_of(self)]))
        if self.cost == Cost():
            self.cost = A_LOOK

    @property
    def takes_yes(self) -> bool:
        """Whether yes and no answer it: only where a number would be between no and yes."""
        return (self.low, self.high, self.unit) == (0.0, 1.0, "")

    def look_up(self, candidate: Candidate) -> Verdict | None:
        """What is known already; None opens a case."""
        del candidate
        return None

    def question(self, candidate: Candidate) -> str:
        """What the world is asked, in words for a person.

        The text may hold what a model wrote: show it as data.
        """
        return f"What is the {self.name} of {candidate.content!r}?{self._in_unit()}"

    def settle(self, case: Case, feed: Any) -> Verdict | float | bool | None:
        """Say what came of a case; asked from its settlement time on, until it says something.

        A `CandidateError` rejects and a `TaskError` abstains, as everywhere. Whatever else it
        raises is no answer: the case stays open, and is asked about again, after as long as has
        passed since the settlement time, a second at least and a day at most. A case is opened
        only where `look_up` knows nothing, so that is the place to refuse what is no forecast.

        Args:
            case: The open case, with the candidate, its task and the settlement time.
            feed: The verifier's `feed`.

        Returns:
            What `validate` takes; None if it is not known yet.
        """
        del case, feed
        return None

    def _settled(self, case: Case) -> Verdict:
        """What is said of a case, with the time until which it holds; or to go on waiting."""
        try:
            known = self.look_up(case.candidate)
            said = self.settle(case, self.feed) if known is None else known
            if said is None:
                return Verdict.abstain(f"{self.name} is not settled yet", evidence=WAITING)
            verdict = self.validate(said)
        except CandidateError as error:
            verdict = failure(error)
        except TaskError as error:
            verdict = Verdict.abstain(f"{error}")
        except Exception as error:  # noqa: BLE001 - a feed that is away says nothing of a forecast
            away = {AWAY: True} if isinstance(error, _UNREACHABLE) else {}
            return Verdict.abstain(words_of(error), evidence={**WAITING, **away})
        until = {} if case.sealed_by is None else {SETTLED: shown(case.sealed_by)}
        return replace(verdict, evidence={**verdict.evidence, **until})

    def _check_times(self, candidate: Candidate) -> None:
        """See that a task names both times, in their order.

        Raises:
            TaskError: If it does not.
        """
        sealed, settles = (read(self, candidate.task) for read in (sealing_time, settlement_time))
        for field, time in ((sealing_field(self), sealed), (self.settles_at, settles)):
            if time is None:
                raise TaskError(f"{self.name} needs the task field {field!r}, a time")
        if self.sealed_by and sealed >= settles:  # type: ignore[operator]
            raise TaskError(f"the task's {self.sealed_by} is not before its {self.settles_at}")

    def examine(self, candidate: Candidate) -> Verdict:
        """Look it up, open a case, or settle the open one."""
        if self.settles_at:
            if is_late(self, candidate.task):
                return late(self, candidate.task or {})
            self._check_times(candidate)
            if (case := case_to_settle(self, candidate)) is not None:
                return self._settled(case)
        known = self.look_up(candidate)
        if known is not None:
            return known
        return Verdict.abstain(f"{self.name} was asked", evidence=WAITING)

    def answered(self, candidate: Candidate, value: object) -> Verdict:
        """Make a verdict of an answer that came in for a candidate; see `validate`."""
        del candidate
        return self.validate(value)

    def validate(self, value: object) -> Verdict:
        """Make a verdict of an answer from outside.

        Args:
            value: A number in `unit`, a `Bound` in it, a verdict, or None to decline; True or
                False only where numbers go from 0 to 1 and have no unit.

        Raises:
            VerifierError: If it is neither, not finite, or outside the bounds.
        """
        if value is None:
            return Verdict.abstain(f"{self.name} declined to answer")
        if isinstance(value, Verdict):
            return self._checked(value)
        if isinstance(value, Bound):
            return self._bounded(value)
        if isinstance(value, bool) and self.takes_yes:
            return as_verdict(value)
        if isinstance(value, bool) or not isinstance(value, Real):
            given = "yes or no" if isinstance(value, bool) else f"a {type(value).__name__}"
            wanted = f"a number{self._in_unit()}"
            raise VerifierError(
                f"{self.name} takes {wanted}, not {given}; text is not read as one"
            )
        return self._checked(Verdict.accept(self._number(value), unit=self.unit))

    def _bounded(self, bound: Bound) -> Verdict:
        """What an inequality decides: it passes, fails, or says too little for either."""
        told = self._with_unit(bound)
        for limit in self._limits():
            if bound.excludes(limit):
                raise VerifierError(f"{told} can't be an answer of {self.name}: it is {limit}")
        evidence = {BOUND: bound.as_json()}
        if self._wanted is not None and bound.within(self._wanted):
            return Verdict.accept(unit=self.unit, evidence=evidence)
        if self._wanted is not None and bound.excludes(self._wanted):
            return replace(self._failing(Verdict.accept(unit=self.unit), told), evidence=evidence)
        return undecided(bound, self)

    def _limits(self) -> list[Bound]:
        """The inequalities that every answer must meet to be true."""
        least = [] if self.low is None else [Bound(">=", self.low)]
        most = [] if self.high is None else [Bound("<=", self.high)]
        return [*least, *most, *([Bound(">", 0.0)] if self.in_logs else [])]

    def _failing(self, verdict: Verdict, told: str) -> Verdict:
        wanted = self._with_unit(self._wanted)
        return replace(
            verdict, outcome=Outcome.REJECT, reason=f"{told}, and {wanted} is wanted",
            feedback=verdict.feedback or f"The {self.name} must be {wanted}.",
        )  # fmt: skip

    def _number(self, value: Real) -> float:
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise VerifierError(
                f"{str(value)[:60]!r} is not a number; {self.name} takes one{self._in_unit()}"
            ) from None
        if not isfinite(number):
            raise VerifierError(
                f"{self.name} takes a finite number{self._in_unit()}, not {number}; "
                "decline if nothing could be measured"
            )
        return number

    def _checked(self, verdict: Verdict) -> Verdict:
        if is_waiting(verdict):
            raise VerifierError(f"the answer to a case of {self.name} can't be to go on waiting")
        if not verdict.is_answer:
            raise VerifierError(
                f"a failure ({verdict.failed_at}) is no answer to a case of {self.name}: "
                f"{verdict.reason or 'no reason given'}"
            )
        if verdict.unit not in ("", self.unit):
            raise VerifierError(
                f"{self.name} takes {self.unit or 'no unit'}, not {verdict.unit}; convert it"
            )
        score = verdict.score
        if score is not None and not (
            (self.low is None or score >= self.low) and (self.high is None or score <= self.high)
        ):
            raise VerifierError(
                f"{score:g} can't be an answer of {self.name}: it must lie between "
                f"{_bound(self.low, 'minus infinity')} and {_bound(self.high, 'infinity')}"
                f"{' ' + self.unit if self.unit else ''}"
            )
        return verdict if score is None else self._scored(verdict, score)

    def _scored(self, verdict: Verdict, score: float) -> Verdict:
        """A verdict with a number that can be true: whether it passes, and how it is averaged."""
        if self.in_logs:
            if score <= 0.0:
                raise VerifierError(
                    f"{score:g} can't be an answer of {self.name}, which is averaged in logs: it "
                    "must be > 0; write a bound for what was not seen"
                )
            verdict = replace(verdict, evidence={**verdict.evidence, IN_LOGS: True})
        is_failing = self._wanted is not None and not self._wanted.allows(score)
        if verdict.outcome is Outcome.ACCEPT and is_failing:
            return self._failing(verdict, self._with_unit(f"{score:g}"))
        return verdict

    def _in_unit(self) -> str:
        return f" in {self.unit}" if self.unit else ""

    def _with_unit(self, amount: object) -> str:
        return f"{amount} {self.unit}" if self.unit else f"{amount}"


def check_bounds(low: float | None, high: float | None) -> None:
    """Refuse bounds that no answer could keep.

    Raises:
        ConfigError: If they are not finite, or not in order.
    """
    for bound in (low, high):
        if bound is not None and not isfinite(bound):
            raise ConfigError(f"bound {bound!r}: give a finite number, or leave it out")
    if low is not None and high is not None and low >= high:
        raise ConfigError(f"bounds low={low!r}, high={high!r}: low must be less than high")


def _bound(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:g}"
