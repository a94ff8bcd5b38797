"""Conclusions: from the verdicts of candidates to beliefs and rewards."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isfinite, isnan, nan

import numpy as np

from verifier_ladder.arrays import NDArray
from verifier_ladder.decision import Belief
from verifier_ladder.ladder import Ladder
from verifier_ladder.reward import CANONICAL, Reward, RewardRule, learnt
from verifier_ladder.scheduler.beliefs import BeliefModel, Seen
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import ANSWERED, Survey
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

_KEPT = 4096
NOT_ASKED = "no tier has been asked"
"""Why nothing is known of a sample that the budget paid for on no tier, or not yet."""
Conclusion = tuple[Belief | None, Reward | None]


class Conclusions:
    """Concludes many standings at once: one prediction for all that are new.

    A conclusion holds until the candidate gets another verdict or the beliefs learn something.
    Scalar arithmetic in a fixed order: the same verdicts and belief give the same bits. Where one
    verifier decides, equal scores are concluded once: learners' rewards are often 0 and 1, so
    most conclusions of a batch are a dictionary look-up.
    """

    def __init__(self, ladder: Ladder, model: BeliefModel) -> None:
        """Conclude for one ladder."""
        self._ladder, self._model = ladder, model
        only = ladder.verifiers[0] if len(ladder.verifiers) == 1 else None
        self._only = None if only is None else only.name
        self._known: dict[Hashable, Conclusion] = {}
        self.features = tuple(f"{v.name}.{name}" for v in ladder.verifiers for name in v.features)

    def all(self, standings: Sequence[Standing]) -> list[Reward]:
        """The reward of each standing, in order."""
        if self._only is not None:
            return self._all_plain(self._only, standings)
        version = self._model.version
        stale = {
            id(standing): standing for standing in standings
            if standing.reward is None
            or (standing.concluded != version and standing.end != ANSWERED)
        }  # fmt: skip
        if stale:
            self._conclude(list(stale.values()))
        return [standing.reward for standing in standings]  # type: ignore[misc]

    def _all_plain(self, only: str, standings: Sequence[Standing]) -> list[Reward]:
        """Conclude where one verifier decides: what is equal shares a belief and a reward."""
        open_ = [standing for standing in standings if standing.reward is None]
        said = [standing.verdicts.get(only) for standing in open_]
        # Verdicts that are alike are mostly one object, so what they amount to is found by that.
        one_of = dict(zip(map(id, said), zip(said, open_, strict=True), strict=True))
        keys = {
            number: _alike(verdict) for number, (verdict, _) in one_of.items()
            if verdict is not None and verdict.outcome is Outcome.ACCEPT
            and not (verdict.feedback or verdict.turns or verdict.scores)
        }  # fmt: skip
        first = {
            key: one_of[number][1] for number, key in keys.items() if key not in self._known
        }  # fmt: skip
        others = [
            standing for verdict, standing in zip(said, open_, strict=True)
            if id(verdict) not in keys
        ] if len(keys) < len(one_of) else []  # fmt: skip
        if first or others:
            self._conclude([*first.values(), *others])
        known = self._known
        if first:
            known |= {key: (one.belief, one.reward) for key, one in first.items()}
        conclusions = {number: known[key] for number, key in keys.items()}
        if len(known) > _KEPT:
            self._known = {}
        for standing, verdict in zip(open_, said, strict=True):
            conclusion = conclusions.get(id(verdict))
            if conclusion is not None:
                standing.belief, standing.reward = conclusion
                standing.used = standing.keys
                standing.end, standing.is_judged, standing.is_known = ANSWERED, True, True
        return [standing.reward for standing in standings]  # type: ignore[misc]

    def _conclude(self, standings: Sequence[Standing]) -> None:
        surveys = [Survey(self._ladder, standing) for standing in standings]
        beliefs = self._model.predict(self.seen(surveys))
        rows = zip(
            standings, surveys, beliefs.mean.tolist(), beliefs.deviation.tolist(),
            beliefs.explained, strict=True,
        )  # fmt: skip
        for standing, survey, mean, deviation, explained in rows:
            standing.belief = Belief(mean, deviation)
            standing.reward = reward_of(self._ladder, survey, standing.belief)
            standing.end, standing.is_judged = survey.end, survey.is_judged
            standing.is_known = survey.is_known
            standing.concluded = self._model.version
            standing.used = _used(self._ladder, standing)
            # Nobody asks again once all is known, and a hundred thousand of them weigh.
            standing.survey = None if survey.is_settled else survey
            standing.explained = None if survey.is_settled else explained

    def seen(self, surveys: Sequence[Survey]) -> Seen:
        """The columns that beliefs are predicted from; NaN where nothing is known."""
        return Seen(
            _columns([survey.scores for survey in surveys]),
            _columns([survey.deviations for survey in surveys]),
            np.array(
                [[number(s.features.get(name)) for name in self.features] for s in surveys],
                dtype=float,
            ).reshape(len(surveys), len(self.features)),
        )


def _alike(verdict: Verdict) -> Hashable:
    """What verdicts have in common that amount to the same."""
    # Zero and minus zero are equal, and yet not the same number.
    return (verdict.score or str(verdict.score), verdict.uncertainty, verdict.reason)


def _columns(
    rows: Sequence[Sequence[float | None]],
) -> NDArray[np.float64]:
    return np.array(rows, dtype=float)


def number(value: object) -> float:
    """A feature as a number; NaN for what is none."""
    if not isinstance(value, (int, float)):
        return nan
    return float(value) if isfinite(value) else nan


def _used(ladder: Ladder, standing: Standing) -> tuple[bytes, ...]:
    if len(standing.verdicts) == len(standing.keys):
        return standing.keys
    return tuple([
        key for (verifier, _), key in zip(ladder.askings, standing.keys, strict=False)
        if verifier.name in standing.verdicts
    ])  # fmt: skip


def reward_of(ladder: Ladder, survey: Survey, belief: Belief) -> Reward:
    """The reward that follows from a survey and a belief."""
    truth = survey.scores[-1]
    if survey.is_truth and truth is not None:
        return _reward_of_belief(ladder, survey, Belief(truth, belief.deviation))
    if survey.reject is None:
        return _reward_of_belief(ladder, survey, belief)
    return _reward_of_reject(ladder, survey, survey.reject, survey.rejecter)


def _reward_of_reject(
    ladder: Ladder, survey: Survey, verdict: Verdict, by: Verifier | None
) -> Reward:
    """A reject earns the rule's value, or the top tier's score if that is partial credit."""
    rule, credit = ladder.reward, partial_credit(ladder, survey)
    value = rule.reject if credit is None else rule.scale(credit, sign=ladder.target.sign)
    tier = Tier.parse(by.tier) if by is not None else ladder.tiers[0]
    name = CANONICAL if by is None else by.name
    # By this and no uncertainty `Reward.is_rejected` tells it.
    reason = verdict.reason or f"{name} has rejected it"
    reward = Reward(value, 0.0, tier, 0, survey.components, reason)
    return _with_words(reward, [(name, verdict)])


def partial_credit(ladder: Ladder, survey: Survey) -> float | None:
    """The top tier's score, in target units, where a reject earns that; None where it does not."""
    is_theirs = survey.rejecter in ladder.rungs[-1].primaries
    return survey.scores[-1] if ladder.reward.partial_credit and is_theirs else None


def worth_of(ladder: Ladder, survey: Survey) -> float | None:
    """What the top tier's judgement is worth, in target units; None if it gave none.

    Beliefs foretell rewards, so a reject is worth what it earns: without a score it would teach
    nothing, and of a verifier that only rejects what is wrong all would be believed.
    """
    rule = ladder.reward
    if not (survey.is_truth or survey.top_reject):
        return None
    score = survey.scores[-1] if survey.is_truth else partial_credit(ladder, survey)
    if score is None:
        return rule.unscale(float(rule.reject), sign=ladder.target.sign)
    return _within(rule, score)


def _within(rule: RewardRule, score: float) -> float:
    """A score, or the end of the range that it is beyond, if what a reject earns is beyond it too.

    `RewardRule.expect` cuts beliefs at the other ends. There it lets them through to what a reject
    earns, so that scores as they are would count as rejects, or more.
    """
    if rule.low is None or rule.high is None or not rule.clip:
        return score
    share = (score - rule.low) / (rule.high - rule.low)
    if share < 0.0 and rule.reject < 0.0:
        return float(rule.low)
    return float(rule.high) if share > 1.0 and rule.reject > 1.0 else score


def _with_words(reward: Reward, deciders: Sequence[tuple[str, Verdict]]) -> Reward:
    """A reward with what its learner may learn of the verdicts that decide it."""
    if not any(v.feedback or v.turns or v.scores for _, v in deciders):
        return reward
    return reward._replace(**learnt(deciders))


def _reward_of_belief(ladder: Ladder, survey: Survey, belief: Belief) -> Reward:
    failed = None if survey.is_truth else survey.failed
    reason = failed.reason if failed is not None else ""
    failed_at = failed.failed_at if failed is not None else None
    if survey.tier is None or survey.is_passed_over:
        unknown = "no tier has given a score" if survey.components else NOT_ASKED
        reason = reason or survey.why or unknown
        return Reward(None, None, None, 0, survey.components, reason, failed_at)
    rule = ladder.reward
    to_reward = rule.scale if survey.is_truth else rule.expect
    value = to_reward(belief.mean, sign=ladder.target.sign)
    spread = None if isnan(belief.deviation) else rule.spread(belief.deviation)
    reward = Reward(value, spread, survey.tier, 0, survey.components, reason, failed_at)
    return _with_words(reward, survey.deciders)
