"""Rewards: what the learner gets, and the rule that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot, isfinite
from typing import Any, Literal, NamedTuple, get_args

from verifier_ladder.arguments import check_fields, checked_value
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import plain_lines
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import (
    LARGEST_WEIGHT,
    NO_EVIDENCE,
    OUTCOME,
    PROCESS,
    TurnVerdict,
    Verdict,
    mean_of,
    span_of,
)

Estimation = Literal["auto", "unbiased", "clipped", "plugin"]
LONGEST_FEEDBACK = 4096
"""Characters of a reward's feedback; of each turn's a quarter."""


class Reward(NamedTuple):
    """A number for the learner, or None when no tier has answered.

    Example:
        >>> Reward(0.5).value
        0.5
    """

    value: float | None
    """The reward on the learner's scale; None is unknown and must be masked, never read as 0."""
    uncertainty: float | None = None
    """One standard deviation, on the same scale; None if nothing is known about it."""
    tier: Tier | None = None
    """The highest tier that has answered."""
    revision: int = 0
    """0 for the first answer; counts up as higher tiers answer."""
    components: Mapping[str, float | None] = {}
    """The score of each verifier that was asked, by name."""
    reason: str = ""
    """Why it is what it is: the reject's reason, or what is still awaited."""
    failed_at: str | None = None
    """The boundary that failed, if a tier could not answer."""
    pending: bool = False
    """Whether a higher tier is still at work, or a verifier compared it before its whole group had
    come, so that a revision may follow."""
    feedback: str = ""
    """What the verdict that decided says to the learner, to be learnt from; without control
    characters and at most `LONGEST_FEEDBACK` characters long."""
    turns: tuple[TurnVerdict, ...] = ()
    """What that verdict says of each turn: a number, and what to do better."""
    scores: Mapping[str, float] = NO_EVIDENCE
    """Its further numbers by name; of several verifiers in its tier as `verifier.name`."""

    @property
    def is_rejected(self) -> bool:
        """Whether it is a rejected candidate's, whatever it earns: only that is certain and told.

        Example:
            >>> Reward(0.0, 0.0, reason="too long").is_rejected, Reward(0.0, 0.0).is_rejected
            (True, False)
        """
        return self.uncertainty == 0.0 and bool(self.reason) and self.failed_at is None

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from verifier_ladder.notebook.cards import reward_card

        return reward_card(self)


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and isfinite(value)
    except OverflowError:
        return False


def _is_range(low: float, high: float) -> bool:
    """Whether two ends have a width that a value can be divided by."""
    return _is_number(low) and _is_number(high) and low != high and isfinite(high - low)


class Revision(NamedTuple):
    """A reward that replaces an earlier one, because a higher tier has answered."""

    cursor: int
    """Pass it to `Campaign.revisions(after=…)` to go on from here."""
    run: str
    step: int
    position: int
    reward: Reward
    previous: float | None
    """The value the learner had before."""
    group: str = ""
    """The sample's group; "" for none, then its whole step is compared."""
    learner_version: str = ""
    """Version of the policy that wrote the candidate, to weight or drop what is too old."""
    advantage: float | None = None
    """Its advantage in its group now; None where the reward is unknown, the only known one of its
    group, or not known to be compared with the whole group."""
    advantage_change: float | None = None
    """What this revision adds to the advantage it had; None where it has none. The other members
    of the group change too: `Campaign.advantages`."""
    evaluation: bool = False
    """Whether the sample evaluates the policy: no learner is to be corrected by it."""

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from verifier_ladder.notebook.cards import revision_card

        return revision_card(self)


class Advantage(NamedTuple):
    """One sample of a step with its advantage: its reward compared with its group's."""

    position: int
    group: str
    """The sample's group; "" for none, then its whole step is compared."""
    learner_version: str
    """Version of the policy that wrote the candidate."""
    reward: Reward
    """The reward as it stands now."""
    advantage: float | None
    """(reward − mean of the group) / spread of the group; None where the reward is unknown, the
    only known one of its group, or not known to be compared with the whole group."""
    change: float | None
    """What has been added since the entry that was asked about; None without one, and where there
    is no advantage. A sample that had none then was masked: its change is all of it."""


@dataclass(frozen=True, slots=True)
class RewardRule:
    """Maps the target's units to the learner's scale, and holds the value for rejects.

    With neither `low` nor `high` the value passes unchanged (negated for a target that is
    minimised). With both, `low` maps to 0 and `high` to 1; swap them to reward small values.

    Example:
        >>> RewardRule(low=0.0, high=-10.0).scale(-5.0)
        0.5
    """

    low: float | None = None
    high: float | None = None
    clip: bool = True
    """Whether a shaped value stays inside [0, 1]; only used with `low` and `high`."""
    reject: float = 0.0
    """What a rejected candidate earns, on the learner's scale."""
    partial_credit: bool = False
    """Whether a reject by the top tier's scoring verifier earns that verifier's score instead,
    where it gives one: the share of tests that passed, for example."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """What a score is made of: `outcome` is the verdict's own score, `process` the mean of its
    turns', every other name one of its named scores. It is their mean, with these weights, in the
    target's unit. A verdict that lacks one of them has no score, for what is not known is not 0.
    Without weights the outcome alone counts. They apply to the top tier, and to verifiers below
    that estimate the same quantity."""
    estimator: Estimation = "auto"
    """How far a reward moves when a random draw has brought the top tier's answer; see
    `verifier_ladder.scheduler.estimator`. Corrected rewards may leave the range."""

    def __post_init__(self) -> None:
        """Refuse a range of no width, and numbers that no value can be compared with.

        Raises:
            ConfigError: If `low`, `high` or `reject` make no sense.
        """
        ends = [end for end in (self.low, self.high) if end is not None]
        if len(ends) == 1 or (ends and not _is_range(*ends)):
            raise ConfigError(
                f"reward range low={self.low!r}, high={self.high!r}: give two different numbers, "
                "or leave both out"
            )
        if self.estimator not in get_args(Estimation):
            known = ", ".join(get_args(Estimation))
            raise ConfigError(f"reward estimator {self.estimator!r} is unknown; choose {known}")
        if not isinstance(self.partial_credit, bool):
            raise ConfigError(f"partial_credit must be true or false, not {self.partial_credit!r}")
        if not _is_number(self.reject):
            raise ConfigError(f"reward for rejects must be finite, not {self.reject!r}")
        if not isfinite(self.unscale(float(self.reject))):
            raise ConfigError(
                f"reward for rejects {self.reject!r} lies too far outside the range "
                f"low={self.low!r}, high={self.high!r}; choose one that is nearer"
            )
        check_fields(self)
        object.__setattr__(self, "weights", _weights(self.weights))

    def score_of(self, verdict: Verdict) -> float | None:
        """What a verdict amounts to, in target units; None where it lacks what is weighed.

        Example:
            >>> rule = RewardRule(weights={"outcome": 3.0, "style": 1.0})
            >>> rule.score_of(Verdict.accept(1.0, scores={"style": 0.0}))
            0.75
            >>> rule.score_of(Verdict.accept(1.0)) is None
            True
        """
        if type(verdict) is not Verdict:
            checked_value("RewardRule.score_of", "verdict", verdict, "Verdict")
        if not self.weights:
            return verdict.score
        parts = [self._part(verdict, name) for name in self.weights]
        known = [part for part in parts if part is not None]
        return mean_of(known, list(self.weights.values())) if len(known) == len(parts) else None

    def lacking(self, verdict: Verdict) -> list[str]:
        """Names of what is weighed and a verdict does not give."""
        if type(verdict) is not Verdict:
            checked_value("RewardRule.lacking", "verdict", verdict, "Verdict")
        return [name for name in self.weights if self._part(verdict, name) is None]

    @staticmethod
    def _part(verdict: Verdict, name: str) -> float | None:
        if name == OUTCOME:
            return verdict.score
        return verdict.process if name == PROCESS else verdict.scores.get(name)

    def scale(self, value: float, *, sign: float = 1.0) -> float:
        """Map one value in target units; scalar arithmetic in a fixed order, so it replays."""
        if not type(value) is type(sign) is float:  # Thousands are scaled in a call.
            value = checked_value("RewardRule.scale", "value", value, "float")
            sign = checked_value("RewardRule.scale", "sign", sign, "float")
        if self.low is None or self.high is None:
            return value if sign > 0 else -value
        share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share)) if self.clip else share

    def expect(self, mean: float, *, sign: float = 1.0) -> float:
        """The reward that is expected of a candidate, from the mean of what it may be worth.

        As `scale`, but what a reject earns is inside the range too: a belief is about accepted
        and rejected candidates alike.

        Example:
            >>> rule = RewardRule(low=0.0, high=1.0, reject=-1.0)
            >>> rule.scale(-0.8), rule.expect(-0.8)
            (0.0, -0.8)
        """
        if not type(mean) is type(sign) is float:
            mean = checked_value("RewardRule.expect", "mean", mean, "float")
            sign = checked_value("RewardRule.expect", "sign", sign, "float")
        if self.low is None or self.high is None:
            return mean if sign > 0 else -mean
        share = (mean - self.low) / (self.high - self.low)
        least, most = min(0.0, self.reject), max(1.0, self.reject)
        return min(most, max(least, share)) if self.clip else share

    def unscale(self, value: float, *, sign: float = 1.0) -> float:
        """The value in target units that earns a reward.

        Example:
            >>> RewardRule(low=-10.0, high=0.0).unscale(0.5)
            -5.0
        """
        if not type(value) is type(sign) is float:
            value = checked_value("RewardRule.unscale", "value", value, "float")
            sign = checked_value("RewardRule.unscale", "sign", sign, "float")
        if self.low is None or self.high is None:
            return value if sign > 0 else -value
        return self.low + value * (self.high - self.low)

    def spread(self, deviation: float) -> float:
        """Map one standard deviation in target units."""
        if type(deviation) is not float:
            deviation = checked_value("RewardRule.spread", "deviation", deviation, "float")
        if self.low is None or self.high is None:
            return deviation
        return abs(deviation / (self.high - self.low))

    def as_json(self) -> dict[str, Any]:
        """The rule as configuration, for the ledger."""
        told: dict[str, Any] = {"partial_credit": True} if self.partial_credit else {}
        if self.weights:
            told["weights"] = dict(self.weights)
        return {
            "low": self.low,
            "high": self.high,
            "clip": self.clip,
            "reject": self.reject,
            "estimator": self.estimator,
            **told,
        }


def _weights(given: Mapping[str, Any]) -> dict[str, float]:
    """Weights by name, those of 0 left out.

    Raises:
        ConfigError: If one is no number from 0 to `LARGEST_WEIGHT`, or all are 0.
    """
    for name, weight in given.items():
        if isinstance(weight, bool) or not _is_number(weight) or not 0 <= weight <= LARGEST_WEIGHT:
            raise ConfigError(
                f"reward weight {name}={weight!r}: give a number from 0 to {LARGEST_WEIGHT:g}"
            )
    kept = {name: float(weight) for name, weight in given.items() if weight}
    if given and not kept:
        raise ConfigError("reward weights: at least one must be above 0")
    return kept


def learnt(deciders: Sequence[tuple[str, Verdict]]) -> dict[str, Any]:
    """What a learner may learn of the verdicts that decide a reward, beside its value.

    Args:
        deciders: They, each with its verifier's name, in the ladder's order.

    Example:
        >>> said = Verdict.reject("no", feedback="close the ring", scores={"style": 1.0})
        >>> learnt([("gate", said)])["feedback"]
        'close the ring'
    """
    is_one = len(deciders) == 1
    feedback = [verdict.feedback for _, verdict in deciders if verdict.feedback]
    scores = {
        name if is_one else f"{verifier}.{name}": score
        for verifier, verdict in deciders
        for name, score in verdict.scores.items()
    }
    turns: dict[int, list[TurnVerdict]] = {}
    for turn in (turn for _, verdict in deciders for turn in verdict.turns):
        turns.setdefault(turn.turn, []).append(turn)
    return {
        "feedback": _shown("\n".join(feedback), LONGEST_FEEDBACK),
        "turns": tuple(_merged(place, said) for place, said in sorted(turns.items())),
        "scores": scores or NO_EVIDENCE,
    }


def _merged(place: int, said: Sequence[TurnVerdict]) -> TurnVerdict:
    """One turn as several verifiers see it: the mean of their scores, and what they say."""
    known = [turn.score for turn in said if turn.score is not None]
    feedback = "\n".join(turn.feedback for turn in said if turn.feedback)
    score = mean_of(known) if known else None
    return TurnVerdict(place, score, _shown(feedback, LONGEST_FEEDBACK // 4), span_of(said))


def _shown(text: str, most: int) -> str:
    """Text without control characters, cut to size."""
    clean = plain_lines(text[: 2 * most])
    return clean if len(clean) <= most else clean[: most - 1] + "…"


class Reject(NamedTuple):
    """That a verifier has rejected a candidate, as far as a reward may go by it."""

    by: str
    """Name of the verifier."""
    is_definitive: bool = False
    """Whether nobody may know better: it is bad by definition, or has no canonical form."""
    is_top: bool = False
    """Whether the verifier is one of the top tier."""


def deciding_reject(rejects: Sequence[Reject], *, is_scored: bool) -> Reject | None:
    """The reject that a reward goes by where verifiers differ; None where it goes by none.

    What is bad by definition stays bad; else the top tier has the last word; without it the first
    reject counts.

    Args:
        rejects: All rejects of one candidate, in the ladder's order.
        is_scored: Whether the top tier has scored it, and all its gates have accepted it.

    Example:
        >>> deciding_reject([Reject("cheap")], is_scored=True) is None
        True
        >>> deciding_reject([Reject("cheap"), Reject("law", True)], is_scored=True).by
        'law'
    """
    for is_last in (lambda reject: reject.is_definitive, lambda reject: reject.is_top):
        found = next(filter(is_last, rejects), None)
        if found is not None:
            return found
    return rejects[0] if rejects and not is_scored else None


CANONICAL = "canonical form"
"""Who rejects what has no canonical form, where records name a verifier."""


def definitive_of(ladder: Mapping[str, Any]) -> frozenset[str]:
    """Whose rejects nobody may overrule, by name, from what the ledger records of a ladder."""
    listed = ladder.get("verifiers", ())
    return frozenset(
        [CANONICAL, *(str(spec["name"]) for spec in listed if spec.get("definitive"))]
    )


class Scorer(NamedTuple):
    """One of the verifiers that make a tier's score."""

    name: str
    weight: float = 1.0
    is_target: bool = True
    """Whether it scores the target itself, so that the rule's weights apply."""


def scorers_of(ladder: Mapping[str, Any]) -> dict[int, tuple[Scorer, ...]]:
    """The scoring verifiers of each tier, from what the ledger records of a ladder."""
    listed = ladder.get("verifiers", ())
    top = max((Tier.parse(spec["tier"]) for spec in listed), default=Tier.FAST)
    found: dict[int, tuple[Scorer, ...]] = {}
    for spec in listed:
        tier = Tier.parse(spec["tier"])
        if spec.get("role") != "gate":
            is_target = tier is top or bool(spec.get("same_quantity"))
            scorer = Scorer(spec["name"], float(spec.get("weight", 1.0)), is_target)
            found[int(tier)] = (*found.get(int(tier), ()), scorer)
    return found


def tier_score(
    rule: RewardRule, scorers: Sequence[Scorer], verdicts: Mapping[str, Verdict]
) -> tuple[float | None, float | None]:
    """The score of a tier and its own deviation: the weighted mean of its scoring verifiers.

    There is none until each of them has scored, for what is not known is not 0. The deviation of
    a mean is √Σ(w·u)² / Σw, of errors that have nothing to do with each other; it is None where
    one of them is not known.

    Args:
        rule: Whose weights make one score of a verdict.
        scorers: The tier's scoring verifiers, in the ladder's order.
        verdicts: What was said, by verifier.

    Example:
        >>> said = {"a": Verdict.accept(1.0), "b": Verdict.accept(0.0)}
        >>> tier_score(RewardRule(), [Scorer("a", 3.0), Scorer("b")], said)
        (0.75, None)
    """
    if not scorers:
        return None, None
    scores, deviations, weights = list[float](), list[float](), [s.weight for s in scorers]
    for name, _, is_target in scorers:
        verdict = verdicts.get(name)
        if verdict is None:
            return None, None
        score = rule.score_of(verdict) if is_target else verdict.score
        if score is None:
            return None, None
        scores.append(score)
        if verdict.uncertainty is not None and not (is_target and rule.weights):
            deviations.append(verdict.uncertainty)
    if len(scores) == 1:
        return scores[0], deviations[0] if deviations else None
    if len(deviations) < len(scores):
        return mean_of(scores, weights), None
    shares = [weight / sum(weights) for weight in weights]
    return mean_of(scores, weights), hypot(*map(float.__mul__, shares, deviations))
