"""Standings: what is known of one candidate under one ladder."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

from verifier_ladder.candidate import Candidate
from verifier_ladder.decision import Belief
from verifier_ladder.keys import NO_TASK, check_key, digest
from verifier_ladder.ladder import Ladder, Rung
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.beliefs import BeliefModel
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier


class Standing:
    """One candidate, with the verdicts it has so far; every sample of it shares the standing.

    Not thread-safe by itself: the climb that owns it holds a lock.
    """

    __slots__ = (
        "belief", "candidate", "content_key", "keys", "problem", "raw_key", "reward", "subject",
        "verdicts",
    )  # fmt: skip

    def __init__(
        self, candidate: Candidate, raw_key: bytes, content_key: bytes, problem: Verdict | None = None
    ) -> None:
        """Start without verdicts.

        Args:
            candidate: In canonical form, with its task and turns.
            raw_key: Key of one spelling, for verifiers that read raw text.
            content_key: Key of the canonical form.
            problem: Why there is no canonical form, if there is none.
        """
        self.candidate = candidate
        self.raw_key = raw_key
        self.content_key = content_key
        self.subject = content_key
        self.problem = problem
        self.keys: tuple[bytes, ...] = ()
        self.verdicts: dict[str, Verdict] = {}
        self.belief: Belief | None = None
        self.reward: Reward | None = None

    def learn(self, verifier: str, verdict: Verdict) -> None:
        """Take a verdict; what was concluded before no longer holds."""
        self.verdicts[verifier] = verdict
        self.belief = None
        self.reward = None

    def key_of(self, verifier: Verifier) -> bytes:
        """Key of a verifier's check of this candidate."""
        task, turns = NO_TASK, NO_TASK
        if self.candidate.task and verifier.task_fields != ():
            task = digest(task_fields(self.candidate.task, verifier))
        if verifier.reads_turns and self.candidate.turns:
            turns = digest([[t.action, t.observation] for t in self.candidate.turns])
        content = self.raw_key if verifier.reads == "raw" else self.content_key
        return check_key(verifier.digest, content, task, turns)


def task_fields(task: Mapping[str, Any], verifier: Verifier) -> dict[str, Any]:
    """The part of a task that a verifier reads."""
    if verifier.task_fields is None:
        return dict(task)
    return {name: task[name] for name in verifier.task_fields if name in task}


def rejection(ladder: Ladder, standing: Standing) -> tuple[Verdict, Verifier | None] | None:
    """The verdict that stops the climb for good, and who gave it; None if there is none."""
    if standing.problem is not None:
        return (standing.problem, None) if standing.problem.outcome is Outcome.REJECT else None
    for rung in ladder.rungs:
        for verifier in rung.verifiers:
            verdict = standing.verdicts.get(verifier.name)
            if verdict is not None and verdict.outcome is Outcome.REJECT:
                return verdict, verifier
    return None


def has_answered(rung: Rung, standing: Standing) -> bool:
    """Whether the climb may go past a tier: all of it was asked, and every gate has passed.

    A primary verifier that abstains is passed by; a gate that could not judge is not.
    """
    if standing.problem is not None:
        return False
    for verifier in rung.verifiers:
        verdict = standing.verdicts.get(verifier.name)
        if verdict is None:
            return False
        if verifier.role == "gate" and verdict.outcome is not Outcome.ACCEPT:
            return False
    return True


def first_failure(ladder: Ladder, standing: Standing) -> Verdict | None:
    """The lowest failure of a boundary among its verdicts, if there is one."""
    if standing.problem is not None and standing.problem.failed_at:
        return standing.problem
    for verifier in ladder.verifiers:
        verdict = standing.verdicts.get(verifier.name)
        if verdict is not None and verdict.failed_at:
            return verdict
    return None


def scores_of(
    ladder: Ladder, standing: Standing
) -> tuple[list[float | None], list[float | None]]:
    """Score and own deviation of every tier's primary verifier, from cheap to dear."""
    scores: list[float | None] = []
    deviations: list[float | None] = []
    for rung in ladder.rungs:
        verdict = standing.verdicts.get(rung.primary.name) if rung.primary else None
        accepted = verdict is not None and verdict.outcome is not Outcome.ABSTAIN
        scores.append(verdict.score if verdict and accepted else None)
        deviations.append(verdict.uncertainty if verdict and accepted else None)
    return scores, deviations


def conclude(ladder: Ladder, model: BeliefModel, standing: Standing) -> Reward:
    """The reward that follows from a standing; kept in it until it learns something new.

    Scalar arithmetic in a fixed order: the same standing and belief give the same bits.
    """
    if standing.reward is not None:
        return standing.reward
    rejected = rejection(ladder, standing)
    belief = model.predict(*scores_of(ladder, standing))
    standing.belief = belief
    if rejected is not None:
        standing.reward = _reward_of_reject(ladder, standing, *rejected)
    else:
        standing.reward = _reward_of_belief(ladder, standing, belief)
    return standing.reward


def _reward_of_reject(
    ladder: Ladder, standing: Standing, verdict: Verdict, verifier: Verifier | None
) -> Reward:
    """A reject earns the rule's value; the top primary's own number counts if it gave one."""
    value = ladder.reward.reject
    if verifier is not None and verifier is ladder.rungs[-1].primary and verdict.score is not None:
        value = ladder.reward.scale(verdict.score, sign=ladder.target.sign)
    tier = verifier.tier if verifier is not None else ladder.tiers[0]
    return Reward(
        value, 0.0, tier, components=_components(standing), reason=verdict.reason,  # type: ignore[arg-type]
    )  # fmt: skip


def _reward_of_belief(ladder: Ladder, standing: Standing, belief: Belief) -> Reward:
    failed = first_failure(ladder, standing)
    answered = [
        rung.tier for rung in ladder.rungs
        if rung.primary is not None and _has_score(standing, rung.primary)
    ]  # fmt: skip
    value = uncertainty = None
    reason = failed.reason if failed else ""
    if answered:
        value = ladder.reward.scale(belief.mean, sign=ladder.target.sign)
        uncertainty = None if isnan(belief.deviation) else ladder.reward.spread(belief.deviation)
    elif not reason:
        reason = _why_unknown(ladder, standing)
    return Reward(
        value, uncertainty, answered[-1] if answered else None,
        components=_components(standing), reason=reason,
        failed_at=failed.failed_at if failed else None,
    )  # fmt: skip


def _has_score(standing: Standing, verifier: Verifier) -> bool:
    verdict = standing.verdicts.get(verifier.name)
    return (
        verdict is not None
        and verdict.outcome is not Outcome.ABSTAIN
        and verdict.score is not None
    )


def _why_unknown(ladder: Ladder, standing: Standing) -> str:
    for verifier in reversed(ladder.verifiers):
        verdict = standing.verdicts.get(verifier.name)
        if verdict is not None and verdict.reason:
            return verdict.reason
    return "no tier has given a score"


def _components(standing: Standing) -> Mapping[str, float | None]:
    return {name: verdict.score for name, verdict in standing.verdicts.items()}
