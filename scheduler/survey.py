"""Surveys: what the verdicts of one candidate amount to under a ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifier_ladder.group import is_passed_over
from verifier_ladder.ladder import Ladder, Rung
from verifier_ladder.reward import Reject, RewardRule, Scorer, deciding_reject, tier_score
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

ENDS = (
    "it was rejected", "the top of the ladder has answered", "a gate could not judge it",
)  # fmt: skip
"""Why a climb is over."""
REJECTED, ANSWERED, UNJUDGED = range(3)
"""Places in `ENDS`."""


class Survey:
    """What a standing's verdicts amount to, read in one pass over the ladder."""

    __slots__ = (
        "asked", "components", "dearest", "deciders", "deviations", "failed", "features",
        "is_passed_over", "passed", "reject", "rejecter", "rejects", "scores", "tier",
        "top_reject", "why",
    )  # fmt: skip

    def __init__(self, ladder: Ladder, standing: Standing) -> None:
        """Read the verdicts."""
        self.scores: list[float | None] = []
        self.deviations: list[float | None] = []
        """Score and own deviation of each tier, from cheap to dear."""
        self.asked: list[bool] = []
        """Whether all of a tier's verifiers have been asked."""
        self.passed: list[bool] = []
        """Whether none of a tier's gates has rejected or failed."""
        self.components: dict[str, float | None] = {}
        self.features: dict[str, object] = {}
        """What verifiers offer as evidence under the names they declare as features."""
        self.rejects: list[tuple[Verdict, Verifier | None]] = []
        """All rejects, with who gave them; None for what has no canonical form."""
        self.reject: Verdict | None = None
        """The reject that counts, which stops the climb; None once the top tier overrules it."""
        self.rejecter: Verifier | None = None
        self.top_reject = False
        """Whether the top tier has rejected it."""
        self.is_passed_over = False
        """Whether a verifier of the top tier has judged its group, and gives no score for it."""
        self.failed: Verdict | None = None
        """The lowest failure of a boundary."""
        self.tier: Tier | None = None
        """The highest tier with a score."""
        self.dearest = ""
        """Name of the verifier below the top that has scored it last."""
        self.why = ""
        """What the highest verifier said in words."""
        self.deciders: list[tuple[str, Verdict]] = []
        """What the verifiers said whose tier's score counts most, by name."""
        if standing.problem is not None:
            self._refuse(standing.problem)
        top = ladder.rungs[-1]
        for rung, scorers in zip(ladder.rungs, ladder.scorers, strict=True):
            self._read(rung, standing.verdicts, is_top=rung is top)
            self._score(rung, ladder.reward, scorers, standing.verdicts, is_top=rung is top)
        if self.rejects:
            self._settle(top)

    def _refuse(self, problem: Verdict) -> None:
        if problem.outcome is Outcome.REJECT:
            self.rejects.append((problem, None))
        else:
            self.failed = problem
        self.why = problem.reason

    def _read(self, rung: Rung, verdicts: Mapping[str, Verdict], *, is_top: bool) -> None:
        asked = passed = True
        for verifier in rung.verifiers:
            verdict = verdicts.get(verifier.name)
            if verdict is None:
                asked = False
                continue
            accepted = verdict.outcome is Outcome.ACCEPT
            self.components[verifier.name] = verdict.score
            self.why = verdict.reason or self.why
            if verifier.features:
                self._note_features(verifier, verdict)
            if not accepted:
                self._object(verifier, verdict, is_top=is_top)
            if verifier.role == "gate":
                passed = passed and accepted
        self.asked.append(asked)
        self.passed.append(passed)

    def _score(
        self,
        rung: Rung,
        rule: RewardRule,
        scorers: Sequence[Scorer],
        verdicts: Mapping[str, Verdict],
        *,
        is_top: bool,
    ) -> None:
        score, deviation = tier_score(rule, scorers, verdicts)
        speaking: Sequence[Verifier] = rung.primaries
        if not scorers and is_top and self.asked[-1] and self.passed[-1]:
            score, speaking = 1.0, rung.gates  # Gates alone: passing them all is the score.
        if score is not None:
            self.tier = rung.tier
            self.dearest = self.dearest if is_top else rung.primaries[-1].name
            self.deciders = [(v.name, verdicts[v.name]) for v in speaking]
        elif is_top and self.asked[-1]:
            self.is_passed_over = not self.top_reject and any(
                is_passed_over(verdicts[v.name]) for v in rung.verifiers if v.scope == "group"
            )
            if rule.weights:
                self._tell_lack(rule, rung, verdicts)
        self.scores.append(score)
        self.deviations.append(deviation)

    def _tell_lack(self, rule: RewardRule, rung: Rung, verdicts: Mapping[str, Verdict]) -> None:
        """Say why the top tier has no score although all of its verifiers have answered."""
        for verifier in rung.primaries:
            verdict = verdicts[verifier.name]
            missing = rule.lacking(verdict)
            if missing and verdict.outcome is not Outcome.ABSTAIN:
                self.why = (
                    f"{verifier.name} gives no {', '.join(missing)}, which the reward rule weighs"
                )
                return

    def _object(self, verifier: Verifier, verdict: Verdict, *, is_top: bool) -> None:
        if verdict.outcome is Outcome.REJECT:
            self.rejects.append((verdict, verifier))
            self.top_reject = self.top_reject or is_top
        elif verdict.failed_at and self.failed is None:
            self.failed = verdict

    def _settle(self, top: Rung) -> None:
        """Find the reject that counts."""
        told = [
            Reject("", is_definitive=True) if by is None
            else Reject(by.name, by.definitive, by in top.verifiers)
            for _, by in self.rejects
        ]  # fmt: skip
        found = deciding_reject(told, is_scored=self._is_scored)
        if found is not None:
            self.reject, self.rejecter = self.rejects[told.index(found)]

    def _note_features(self, verifier: Verifier, verdict: Verdict) -> None:
        for name in verifier.features:
            self.features[f"{verifier.name}.{name}"] = verdict.evidence.get(name)

    @property
    def _is_scored(self) -> bool:
        """Whether the top tier has scored the candidate and rejects nothing about it."""
        has_passed = self.asked[-1] and self.passed[-1] and not self.top_reject
        return has_passed and self.scores[-1] is not None

    @property
    def is_truth(self) -> bool:
        """Whether the top tier's score counts, so that nothing is left to believe."""
        return self.reject is None and self._is_scored

    @property
    def is_judged(self) -> bool:
        """Whether the top tier has scored or rejected the candidate."""
        return self.is_truth or self.top_reject

    @property
    def is_known(self) -> bool:
        """Whether its reward needs no belief.

        The top tier has judged it, or all of its group but it, or none could overrule a reject.
        """
        is_over = self.is_judged or self.is_passed_over
        return is_over or (self.end == REJECTED and self.is_settled)

    @property
    def is_due(self) -> bool:
        """Whether the top tier, if it is asked on, may still score or reject the candidate.

        What one of its own gates could not judge, it says nothing of.
        """
        return self.passed[-1] and not (self.asked[-1] or self.is_final)

    @property
    def is_settled(self) -> bool:
        """Whether nothing can change what is known, and nothing has failed."""
        return self.is_final and self.failed is None

    @property
    def end(self) -> int:
        """Place in `ENDS` of why the climb is over; -1 if it is not."""
        if self.is_truth:
            return ANSWERED
        if self.reject is not None:
            return REJECTED
        if self.asked[-1]:
            return ANSWERED
        if self.failed is not None and not self.asked[0] and not self.components:
            return UNJUDGED
        return -1 if all(self.passed) else UNJUDGED

    @property
    def is_final(self) -> bool:
        """Whether not even an audit can change what is known."""
        if self.end == REJECTED:
            by = self.rejecter
            return by is None or by.definitive or self.top_reject
        return self.end == ANSWERED
