"""Verdicts: what one check says about one candidate."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from math import fsum, inf, isfinite
from operator import mul
from pathlib import Path
from typing import Any, Final, NoReturn

from verifier_ladder.arguments import check_fields
from verifier_ladder.artifact import Artifact, artifacts_of
from verifier_ladder.cost import Cost
from verifier_ladder.errors import AnswerError, ConfigError

MOST_SCORES: Final = 256
"""Named scores of one verdict."""
LARGEST_WEIGHT: Final = 1e6
"""Of a part of a mean."""
OUTCOME: Final = "outcome"
PROCESS: Final = "process"
"""What `RewardRule.weights` calls a verdict's own score, and the mean of its turns'."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}")


class Outcome(StrEnum):
    """The three things a verifier can say."""

    ACCEPT = "accept"
    """The candidate passes; `score` says how good it is."""
    REJECT = "reject"
    """The candidate is bad."""
    ABSTAIN = "abstain"
    """Nothing is known: the verifier could not, or would not, judge. Never a zero."""


def _number(value: Any) -> float:
    """The value as a plain finite float.

    Raises:
        AnswerError: If it is none.
    """
    if type(value) is not float:
        kind = type(value).__name__
        try:
            value = None if isinstance(value, (str, bytes)) else float(value)
        except OverflowError:
            value = inf
        except (TypeError, ValueError, RuntimeError):
            value = None
        if value is None:
            raise AnswerError(f"a verdict's numbers must be numbers, not {kind}")
    if not isfinite(value):
        raise AnswerError(
            f"a verdict's numbers must be finite, not {value!r}; "
            "abstain when there is no number to give"
        )
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """What a verifier says about one turn of a trajectory, or one step of a text.

    Example:
        >>> TurnVerdict(1, 0.5, span=(10, 24)).as_json()
        {'turn': 1, 'score': 0.5, 'feedback': '', 'span': [10, 24]}
    """

    turn: int
    """Index of the turn inside the candidate, from 0; of the step where it has no turns."""
    score: float | None = None
    feedback: str = ""
    span: tuple[int, int] | None = None
    """The first character of the step in the candidate's content, and the one after its last; None
    where it is a turn."""

    def __post_init__(self) -> None:
        """Refuse a number that can't be compared, and a span that is none."""
        span: Any = self.span
        if span is not None:
            is_pair = isinstance(span, (tuple, list)) and list(map(type, span)) == [int, int]
            if not is_pair or not 0 <= span[0] <= span[1]:
                raise AnswerError(
                    f"a step's span={span!r:.80}: give its first character and the one after its "
                    "last, such as (0, 12)"
                )
            object.__setattr__(self, "span", tuple(span))
        try:
            check_fields(self, turn=0)
        except ConfigError as error:
            raise AnswerError(str(error)) from None
        if self.score is not None:
            object.__setattr__(self, "score", _number(self.score))

    def as_json(self) -> dict[str, Any]:
        """What is said, as JSON values; the span only where there is one."""
        told = {"turn": self.turn, "score": self.score, "feedback": self.feedback}
        return told if self.span is None else {**told, "span": list(self.span)}


def span_of(said: Sequence[TurnVerdict]) -> tuple[int, int] | None:
    """Where a step stands by all that is said of it; None where several places are meant."""
    spans = {turn.span for turn in said}
    return spans.pop() if len(spans) == 1 else None


def _outcome_of(value: Any) -> Outcome:
    try:
        return Outcome(value)
    except ValueError:
        known = ", ".join(Outcome)
        raise AnswerError(f"a verdict's outcome is one of {known}, not {value!r}") from None


def _named(scores: Any) -> dict[str, float]:
    """Scores by name, as plain numbers.

    Raises:
        AnswerError: If there are too many, a name is no identifier, or a number is not finite.
    """
    if not isinstance(scores, Mapping):
        raise AnswerError(
            f"a verdict's scores must be numbers by name, not {type(scores).__name__}"
        )
    if len(scores) > MOST_SCORES:
        raise AnswerError(
            f"a verdict has {len(scores)} named scores, and may have {MOST_SCORES}; say in the "
            "evidence what is no number to learn from"
        )
    for name in scores:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in {OUTCOME, PROCESS}:
            raise AnswerError(
                f"{name!r:.80} can't name a score: up to 64 letters, digits and _.- that begin "
                f"with a letter, and not {OUTCOME} or {PROCESS}, which the reward rule knows"
            )
    return {str(name): _number(score) for name, score in scores.items()}


def score_name(text: str, taken: Collection[str] = ()) -> str:
    """A name from elsewhere as one that a verdict takes for a score, and that is not taken yet.

    Example:
        >>> score_name("exact match"), score_name("outcome"), score_name("2x", ["score_2x"])
        ('exact_match', 'score_outcome', 'score_2x_2')
    """
    name = re.sub(r"[^A-Za-z0-9_.\-]", "_", text)[:48]
    if not _NAME.fullmatch(name) or name in {OUTCOME, PROCESS}:
        name = f"score_{name}"
    free = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(one for one in free if one not in taken)


class _NoEvidence(dict[str, Any]):
    """Evidence that stays empty, so that verdicts can share it; one object in every process."""

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("a verdict can't be changed; make another one with the evidence")

    __setitem__ = setdefault = update = __ior__ = _refuse

    def __reduce__(self) -> str:
        return "NO_EVIDENCE"


NO_EVIDENCE = _NoEvidence()


def mean_of(numbers: Sequence[float], weights: Sequence[float] = ()) -> float:
    """The mean of numbers, rounded once, so that it is the same on every machine.

    Args:
        numbers: Finite numbers; at least one.
        weights: How much each counts, from 0 to 1e6 and not all 0; alike by default.

    Example:
        >>> mean_of([1.0, 0.0], [3.0, 1.0])
        0.75
    """
    if len(numbers) == 1:
        return numbers[0]
    weights = weights or [1.0] * len(numbers)
    total = fsum(weights)
    try:
        found = fsum(map(mul, weights, numbers)) / total
    except OverflowError:
        found = inf
    # The sum may be too large where the mean is not.
    if isfinite(found):
        return found
    return fsum(weight / total * n for weight, n in zip(weights, numbers, strict=True))


def _given(values: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {} if values is None else values


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says. It is not a reward: the ladder's reward rule makes that.

    Build one with `accept`, `reject` or `abstain`, which leave no contradictory states.

    Example:
        >>> Verdict.accept(-4.7, uncertainty=0.6, unit="kcal/mol").score
        -4.7
        >>> Verdict.abstain("SCF did not converge", failed_at="tool").score is None
        True
    """

    outcome: Outcome
    score: float | None = None
    """The measured or estimated quantity, in `unit`; None when there is none."""
    uncertainty: float | None = None
    """One standard deviation of `score`, in `unit`, as the verifier sees it."""
    unit: str = ""
    reason: str = ""
    """Why it was rejected, or why the verifier abstains, in words for a person."""
    feedback: str = ""
    """Directive text a student model can learn from."""
    failed_at: str | None = None
    """Which boundary failed (`LadderError.boundary`); None for a considered verdict."""
    turns: tuple[TurnVerdict, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """Small JSON facts that support the verdict."""
    cost: Cost | None = None
    """What the check took. The engine measures cpu time; what else the verifier states here is
    charged instead of what it declares."""
    scores: Mapping[str, float] = field(default_factory=lambda: NO_EVIDENCE)
    """Further numbers by name: the criteria of a rubric, the share of each kind of test. Learners
    get them with the reward, and the reward rule may weigh them."""
    artifacts: Mapping[str, Artifact | bytes | Path] = field(default_factory=lambda: NO_EVIDENCE)
    """Files that support it, by name: bytes, or a `pathlib.Path` to a file of the worker's own,
    which become `Artifact`. The ledger's entry signs their digests; no learner gets them."""

    def __post_init__(self) -> None:
        """Bring outcome and numbers to their plain types; refuse what contradicts itself.

        Raises:
            AnswerError: If the outcome is unknown, a number is not finite, the uncertainty is
                negative, an abstention has a score, or a field holds what it should not.
        """
        if type(self.outcome) is not Outcome:
            object.__setattr__(self, "outcome", _outcome_of(self.outcome))
        if self.score is not None:
            object.__setattr__(self, "score", _number(self.score))
            if self.outcome is Outcome.ABSTAIN:
                raise AnswerError("an abstention has no score; accept or reject with it")
        if self.uncertainty is not None:
            object.__setattr__(self, "uncertainty", _number(self.uncertainty))
            if self.uncertainty < 0:
                raise AnswerError(f"an uncertainty can't be negative: {self.uncertainty!r}")
        if self._is_plain():
            return
        try:
            check_fields(self)
        except ConfigError as error:
            raise AnswerError(str(error)) from None
        object.__setattr__(self, "turns", tuple(self.turns))
        object.__setattr__(self, "scores", _named(self.scores) or NO_EVIDENCE)
        object.__setattr__(self, "artifacts", artifacts_of(self.artifacts) or NO_EVIDENCE)
        if self.scores and self.outcome is Outcome.ABSTAIN:
            raise AnswerError("an abstention has no scores; accept or reject with them")

    def _is_plain(self) -> bool:
        """Whether its other fields are what nearly all verdicts hold: there are millions."""
        return (
            type(self.unit) is type(self.reason) is type(self.feedback) is str
            and (self.failed_at is None or type(self.failed_at) is str)
            and (self.cost is None or type(self.cost) is Cost)
            and type(self.turns) is tuple and not self.turns
            and (self.evidence is NO_EVIDENCE or type(self.evidence) is dict)
            and self.scores is NO_EVIDENCE and self.artifacts is NO_EVIDENCE
            and all(type(name) is str for name in self.evidence)
        )  # fmt: skip

    @classmethod
    def accept(
        cls,
        score: float | None = None,
        *,
        uncertainty: float | None = None,
        unit: str = "",
        feedback: str = "",
        evidence: Mapping[str, Any] | None = None,
        turns: tuple[TurnVerdict, ...] = (),
        scores: Mapping[str, float] | None = None,
        artifacts: Mapping[str, Artifact | bytes | Path] | None = None,
        cost: Cost | None = None,
    ) -> Verdict:
        """Say that the candidate passes, and how good it is; `cost` is what the check took."""
        return cls(
            Outcome.ACCEPT, score, uncertainty, unit,
            feedback=feedback, turns=turns, evidence=_given(evidence), cost=cost,
            scores=NO_EVIDENCE if scores is None else scores,
            artifacts=NO_EVIDENCE if artifacts is None else artifacts,
        )  # fmt: skip

    @classmethod
    def reject(
        cls,
        reason: str,
        *,
        score: float | None = None,
        unit: str = "",
        feedback: str = "",
        evidence: Mapping[str, Any] | None = None,
        turns: tuple[TurnVerdict, ...] = (),
        scores: Mapping[str, float] | None = None,
        artifacts: Mapping[str, Artifact | bytes | Path] | None = None,
        cost: Cost | None = None,
    ) -> Verdict:
        """Say that the candidate is bad, and why; `cost` is what the check took."""
        return cls(
            Outcome.REJECT, score, None, unit, reason,
            feedback=feedback, turns=turns, evidence=_given(evidence), cost=cost,
            scores=NO_EVIDENCE if scores is None else scores,
            artifacts=NO_EVIDENCE if artifacts is None else artifacts,
        )  # fmt: skip

    @classmethod
    def abstain(
        cls,
        reason: str,
        *,
        failed_at: str | None = None,
        evidence: Mapping[str, Any] | None = None,
        artifacts: Mapping[str, Artifact | bytes | Path] | None = None,
        cost: Cost | None = None,
    ) -> Verdict:
        """Say that nothing is known.

        Args:
            reason: Why, in words for a person.
            failed_at: The boundary that failed. None means that the verifier itself considered
                the candidate and declines; only then the verdict is kept as an answer.
            evidence: Small JSON facts, such as the last lines of a log.
            artifacts: Files, such as the whole log.
            cost: What the check took.
        """
        return cls(
            Outcome.ABSTAIN,
            reason=reason,
            failed_at=failed_at,
            evidence=_given(evidence),
            cost=cost,
            artifacts=NO_EVIDENCE if artifacts is None else artifacts,
        )

    @property
    def files(self) -> Mapping[str, Artifact]:
        """Its artifacts."""
        return self.artifacts  # type: ignore[return-value]

    @property
    def process(self) -> float | None:
        """The mean of the scores that its turns have; None where none has one."""
        known = [turn.score for turn in self.turns if turn.score is not None]
        return mean_of(known) if known else None

    @property
    def is_answer(self) -> bool:
        """Whether the verdict may be cached: an outage never is, it starts a new attempt."""
        return self.failed_at is None

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from verifier_ladder.notebook.cards import verdict_card

        return verdict_card(self)


_new = object.__new__
(
    _outcome, _score, _uncertainty, _unit, _reason, _feedback, _failed_at, _turns, _evidence,
    _cost, _scores, _artifacts,
) = (Verdict.__dict__[field.name].__set__ for field in fields(Verdict))  # fmt: skip


def plain_verdict(
    outcome: Outcome, score: float | None, uncertainty: float | None, unit: str, cost: Cost | None
) -> Verdict:
    """A verdict without words or evidence, of numbers that were checked to be finite.

    Filling the slots directly takes a quarter of the time of the frozen class's constructor,
    and a batch makes thousands.
    """
    verdict: Verdict = _new(Verdict)
    _outcome(verdict, outcome)
    _score(verdict, score)
    _uncertainty(verdict, uncertainty)
    _unit(verdict, unit)
    _reason(verdict, "")
    _feedback(verdict, "")
    _failed_at(verdict, None)
    _turns(verdict, ())
    _evidence(verdict, NO_EVIDENCE)
    _cost(verdict, cost)
    _scores(verdict, NO_EVIDENCE)
    _artifacts(verdict, NO_EVIDENCE)
    return verdict
