"""Standings: what is known of one candidate under one ladder."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import isnan

from verifier_ladder.candidate import Candidate
from verifier_ladder.decision import Belief
from verifier_ladder.keys import NO_TASK, check_key, digest, raw_key
from verifier_ladder.ladder import Ladder, Rung
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.beliefs import BeliefModel
from verifier_ladder.scheduler.candidates import task_fields, turns_json
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

ENDS = (
    "it was rejected", "the top of the ladder has answered", "a gate could not judge it",
)  # fmt: skip
"""Why a climb is over."""
_KEPT = 4096


class Standing:
    """One candidate, with the verdicts it has so far; every sample of it shares the standing.

    Not thread-safe by itself: the climb that owns it holds a lock.
    """

    belief: Belief | None = None
    reward: Reward | None = None
    survey: Survey | None = None
    """What the verdicts amount to, while the climb goes on."""
    end: int = -1
    """Index into `ENDS` of why its climb is over, once concluded; -1 if it is not."""
    lapsed: bool = False
    """Whether a failure was dropped, so that its verifier must be asked again."""
    keys: tuple[bytes, ...] = ()
    """Its check keys, in the order of the ladder's verifiers."""
    used: tuple[bytes, ...] = ()
    """Check keys that its reward rests on, once concluded."""
    task_key: bytes = NO_TASK
    """Digest of the whole task."""

    def __init__(
        self,
        candidate: Candidate,
        content_key: bytes,
        given: str | bytes,
        problem: Verdict | None = None,
    ) -> None:
        """Start without verdicts.

        Args:
            candidate: In canonical form, with its task and turns.
            content_key: Key of the canonical form.
            given: One spelling, as the model wrote it, for verifiers that read raw text.
            problem: Why there is no canonical form, if there is none.
        """
        self.candidate = candidate
        self.content_key = content_key
        self.given = given
        self.problem = problem
        self.verdicts: dict[str, Verdict] = {}
        if candidate.task:
            self.task_key = digest(dict(candidate.task))

    def learn(self, verifier: str, verdict: Verdict) -> None:
        """Take a verdict; what was concluded before no longer holds."""
        self.verdicts[verifier] = verdict
        if self.reward is not None:
            self.reward = None
        if self.lapsed:
            self.lapsed = False

    @property
    def is_rejected(self) -> bool:
        """Whether any verifier has rejected it."""
        return any(verdict.outcome is Outcome.REJECT for verdict in self.verdicts.values())

    def forget_failures(self) -> None:
        """Drop abstentions of a failed boundary: an outage is not an answer."""
        for name in [name for name, verdict in self.verdicts.items() if verdict.failed_at]:
            del self.verdicts[name]
            self.reward = None
            self.lapsed = True

    def key_of(self, verifier: Verifier) -> bytes:
        """Key of a verifier's check of this candidate."""
        candidate, content = self.candidate, self.content_key
        if verifier.reads == "raw":
            content = raw_key(candidate.kind, self.given)
        if not candidate.task and not candidate.turns:
            return check_key(verifier.digest, content)
        fields = task_fields(candidate.task or {}, verifier)
        reads_turns = verifier.reads_turns and candidate.turns
        return check_key(
            verifier.digest, content, digest(fields) if fields else NO_TASK,
            digest(turns_json(candidate.turns)) if reads_turns else NO_TASK,
        )  # fmt: skip

    def seen_by(self, verifier: Verifier) -> Candidate:
        """The candidate with only what the verifier declares that it reads.

        What it doesn't declare is not in its check key: if it could read that all the same, a
        verdict would be used again where it does not hold.
        """
        candidate = self.candidate
        content = self.given if verifier.reads == "raw" else candidate.content
        if not candidate.task and not candidate.turns:
            if content is candidate.content:
                return candidate
            return Candidate(candidate.kind, content)
        task = None if candidate.task is None else task_fields(candidate.task, verifier)
        turns = candidate.turns if verifier.reads_turns else ()
        return Candidate(candidate.kind, content, task, turns)


class Survey:
    """What a standing's verdicts amount to, read in one pass over the ladder."""

    __slots__ = (
        "asked", "components", "deviations", "failed", "passed", "reject", "rejecter", "scores",
        "tier", "why",
    )  # fmt: skip

    def __init__(self, ladder: Ladder, standing: Standing) -> None:
        """Read the verdicts."""
        self.scores: list[float | None] = []
        self.deviations: list[float | None] = []
        """Score and own deviation of each tier's primary verifier, from cheap to dear."""
        self.asked: list[bool] = []
        """Whether all of a tier's verifiers have been asked."""
        self.passed: list[bool] = []
        """Whether none of a tier's gates has rejected or failed."""
        self.components: dict[str, float | None] = {}
        self.reject: Verdict | None = None
        """The first reject: it stops the climb for good."""
        self.rejecter: Verifier | None = None
        self.failed: Verdict | None = None
        """The lowest failure of a boundary."""
        self.tier: Tier | None = None
        """The highest tier with a score."""
        self.why = ""
        """What the highest verifier said in words."""
        if standing.problem is not None:
            self._refuse(standing.problem)
        top = ladder.rungs[-1]
        for rung in ladder.rungs:
            self._read(rung, standing.verdicts, is_top=rung is top)

    def _refuse(self, problem: Verdict) -> None:
        if problem.outcome is Outcome.REJECT:
            self.reject = problem
        else:
            self.failed = problem
        self.why = problem.reason

    def _read(self, rung: Rung, verdicts: Mapping[str, Verdict], *, is_top: bool) -> None:
        asked = passed = True
        score = deviation = None
        for verifier in rung.verifiers:
            verdict = verdicts.get(verifier.name)
            if verdict is None:
                asked = False
                continue
            accepted = verdict.outcome is Outcome.ACCEPT
            self.components[verifier.name] = verdict.score
            self.why = verdict.reason or self.why
            if not accepted:
                self._object(verifier, verdict)
            if verifier is not rung.primary:
                passed = passed and accepted
            elif verdict.score is not None and verdict.outcome is not Outcome.ABSTAIN:
                score, deviation, self.tier = verdict.score, verdict.uncertainty, rung.tier
        if rung.primary is None and is_top and asked and passed:
            score, self.tier = 1.0, rung.tier  # Gates alone: passing them all is the score.
        self.scores.append(score)
        self.deviations.append(deviation)
        self.asked.append(asked)
        self.passed.append(passed)

    def _object(self, verifier: Verifier, verdict: Verdict) -> None:
        if verdict.outcome is Outcome.REJECT and self.reject is None:
            self.reject, self.rejecter = verdict, verifier
        elif verdict.failed_at and self.failed is None:
            self.failed = verdict


def conclude(ladder: Ladder, model: BeliefModel, standing: Standing) -> Reward:
    """The reward that follows from a standing; kept in it until it learns something new.

    Scalar arithmetic in a fixed order: the same standing and belief give the same bits.
    """
    if standing.reward is not None:
        return standing.reward
    survey = standing.survey = Survey(ladder, standing)
    standing.belief = model.predict(survey.scores, survey.deviations)
    if survey.reject is not None:
        standing.reward = _reward_of_reject(ladder, survey, survey.reject)
    else:
        standing.reward = _reward_of_belief(ladder, survey, standing.belief)
    standing.end = _end(survey)
    if standing.end >= 0 and survey.failed is None:
        standing.survey = None  # Nobody asks again, and a hundred thousand of them weigh.
    standing.used = _used(ladder, standing)
    return standing.reward


class Conclusions:
    """Concludes many standings; where one verifier decides, equal scores are concluded once.

    Learners' rewards are often 0 and 1, so most conclusions of a batch are a dictionary look-up.
    """

    def __init__(self, ladder: Ladder, model: BeliefModel) -> None:
        """Conclude for one ladder."""
        self._ladder, self._model = ladder, model
        only = ladder.verifiers[0] if len(ladder.verifiers) == 1 else None
        self._only = None if only is None else only.name
        self._known: dict[Hashable, tuple[Belief | None, Reward]] = {}

    def all(self, standings: Sequence[Standing]) -> list[Reward]:
        """The reward of each standing, in order."""
        ladder, model = self._ladder, self._model
        if self._only is None:
            return [conclude(ladder, model, standing) for standing in standings]
        return [standing.reward or self._plain(self._only, standing) for standing in standings]

    def _plain(self, only: str, standing: Standing) -> Reward:
        verdict = standing.verdicts.get(only)
        if verdict is None or verdict.outcome is not Outcome.ACCEPT:
            return conclude(self._ladder, self._model, standing)
        # Zero and minus zero are equal, and yet not the same number.
        key = (verdict.score or str(verdict.score), verdict.uncertainty, verdict.reason)
        known = self._known.get(key)
        if known is not None:
            standing.belief, reward = known
            standing.reward, standing.end, standing.used = reward, 1, standing.keys
            return reward
        reward = conclude(self._ladder, self._model, standing)
        if len(self._known) < _KEPT:
            self._known[key] = (standing.belief, reward)
        return reward


def task_keys(standings: Sequence[Standing]) -> list[bytes] | None:
    """Digest of each sample's task; None if none has a task."""
    keys = [standing.task_key for standing in standings]
    return keys if any(key is not NO_TASK for key in keys) else None


def _used(ladder: Ladder, standing: Standing) -> tuple[bytes, ...]:
    if len(standing.verdicts) == len(standing.keys):
        return standing.keys
    return tuple([
        key for verifier, key in zip(ladder.verifiers, standing.keys, strict=False)
        if verifier.name in standing.verdicts
    ])  # fmt: skip


def _end(survey: Survey) -> int:
    """Index into `ENDS` of why the climb is over; -1 if it is not."""
    if survey.reject is not None:
        return 0
    if survey.asked[-1]:
        return 1
    if survey.failed is not None and not survey.asked[0] and not survey.components:
        return 2
    return -1 if all(survey.passed) else 2


def _reward_of_reject(ladder: Ladder, survey: Survey, verdict: Verdict) -> Reward:
    """A reject earns the rule's value; the top primary's own number counts if it gave one."""
    value, by = ladder.reward.reject, survey.rejecter
    if by is not None and by is ladder.rungs[-1].primary and verdict.score is not None:
        value = ladder.reward.scale(verdict.score, sign=ladder.target.sign)
    tier = Tier.parse(by.tier) if by is not None else ladder.tiers[0]
    return Reward(value, 0.0, tier, 0, survey.components, verdict.reason)


def _reward_of_belief(ladder: Ladder, survey: Survey, belief: Belief) -> Reward:
    failed = survey.failed
    reason = failed.reason if failed is not None else ""
    failed_at = failed.failed_at if failed is not None else None
    if survey.tier is None:
        reason = reason or survey.why or ("no tier has given a score" if survey.components else "")
        return Reward(None, None, None, 0, survey.components, reason, failed_at)
    rule = ladder.reward
    value = rule.scale(belief.mean, sign=ladder.target.sign)
    spread = None if isnan(belief.deviation) else rule.spread(belief.deviation)
    return Reward(value, spread, survey.tier, 0, survey.components, reason, failed_at)
