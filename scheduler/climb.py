"""The climb: the one state machine that takes standings to decisions and rewards.

Both engines use it. It reads no clock, holds no lock and writes nothing: what it returns is
recorded by its caller, and can be computed again from what was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import DecisionColumns
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.beliefs import BeliefModel
from verifier_ladder.scheduler.draws import uniform
from verifier_ladder.scheduler.standing import (
    Standing,
    conclude,
    has_answered,
    rejection,
    scores_of,
)
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SETTLED = ("it was rejected", "the top of the ladder has answered", "a gate could not judge it")


@dataclass(slots=True)
class Step:
    """What the climb says about a batch of samples of one run and step."""

    decisions: list[DecisionColumns]
    rewards: list[Reward]
    """One per sample."""
    escalate: list[tuple[int, int, float]]
    """Samples to ask a tier for: index, column of the tier, benefit."""


class Climb:
    """Decides, for one ladder, what happens next with samples whose standings are given."""

    def __init__(self, ladder: Ladder, model: BeliefModel, seed: bytes) -> None:
        """Bind the ladder, its belief model and the campaign's secret seed."""
        self.ladder = ladder
        self.model = model
        self.seed = seed
        self._policy = f"{ladder.policy.name} {ladder.policy.version}"

    def step(
        self,
        standings: Sequence[Standing],
        *,
        run: str,
        step: int,
        positions: Sequence[int],
        affordable: NDArray[np.bool_],
        weights: Sequence[float] | None = None,
        groups: Sequence[str] | None = None,
        stage: int = 0,
    ) -> Step:
        """Decide for a batch.

        Args:
            standings: One per sample; may repeat.
            run: Run of the samples.
            step: Step of the samples.
            positions: Place of each sample in the step.
            affordable: Whether each tier's budget still pays for one more check. Shape (tiers,).
            weights: How strongly the learner reacts to each sample; 1 if left out.
            groups: Group of each sample.
            stage: Which decision of these samples' climb it is.
        """
        rewards = [conclude(self.ladder, self.model, standing) for standing in standings]
        settled = self._settled(standings)
        result = Step([], rewards, [])
        still = [i for i, reason in enumerate(settled) if reason < 0]
        if len(still) < len(standings):
            result.decisions.append(self._stops(standings, settled))
        if still:
            situation = self._situation(
                [standings[i] for i in still], affordable,
                [weights[i] for i in still] if weights else None,
                [groups[i] for i in still] if groups else None,
            )  # fmt: skip
            if self.ladder.policy.draws:
                chosen = [positions[i] for i in still]
                situation.draw = uniform(self.seed, run, step, chosen, stage)
            self._apply(self.ladder.policy.decide(situation), situation, still, result)
        return result

    def _settled(self, standings: Sequence[Standing]) -> list[int]:
        """Index into `_SETTLED` of each sample that has nowhere to go, else -1."""
        known: dict[int, int] = {}
        out = []
        for standing in standings:
            reason = known.get(id(standing))
            if reason is None:
                reason = known[id(standing)] = self._settlement(standing)
            out.append(reason)
        return out

    def _settlement(self, standing: Standing) -> int:
        if rejection(self.ladder, standing) is not None:
            return 0
        if standing.problem is not None:
            return 2
        top = self.ladder.rungs[-1]
        if all(verifier.name in standing.verdicts for verifier in top.verifiers):
            return 1
        for rung in self.ladder.rungs:
            if all(g.name in standing.verdicts for g in rung.gates) and not all(
                standing.verdicts[g.name].outcome == "accept" for g in rung.gates
            ):
                return 2
        return -1

    def _stops(self, standings: Sequence[Standing], settled: list[int]) -> DecisionColumns:
        chosen = [i for i, reason in enumerate(settled) if reason >= 0]
        size = len(chosen)
        beliefs = [standings[i].belief for i in chosen]
        return DecisionColumns(
            policy=self._policy, sample=chosen, action=[int(Action.STOP)] * size,
            tier=[-1] * size, reason=[settled[i] for i in chosen], reasons=_SETTLED,
            mean=[b.mean if b else float("nan") for b in beliefs],
            deviation=[b.deviation if b else float("nan") for b in beliefs],
            propensity=[1.0] * size, draw=None, benefit=[0.0] * size,
        )  # fmt: skip

    def _situation(
        self,
        standings: Sequence[Standing],
        affordable: NDArray[np.bool_],
        weights: Sequence[float] | None,
        groups: Sequence[str] | None,
    ) -> Situation:
        ladder, size = self.ladder, len(standings)
        answered = np.array([[has_answered(r, s) for r in ladder.rungs] for s in standings])
        asked = np.array(
            [[all(v.name in s.verdicts for v in r.verifiers) for r in ladder.rungs]
             for s in standings]
        )  # fmt: skip
        columns = np.arange(len(ladder.rungs))
        reached = np.where(asked, columns, -1).max(axis=1)
        numbers: dict[str, int] = {}
        group = [numbers.setdefault(g, len(numbers)) for g in groups or [""] * size]
        return Situation(
            tiers=ladder.tiers, reached=reached,
            mean=np.array([s.belief.mean if s.belief else np.nan for s in standings]),
            deviation=np.array([s.belief.deviation if s.belief else np.nan for s in standings]),
            rejected=np.zeros(size, dtype=bool), answered=answered | asked,
            cost=np.array([[_cost(ladder, r.tier, s) for r in ladder.rungs] for s in standings]),
            affordable=np.broadcast_to(affordable, (size, len(columns))),
            weight=np.array(weights) if weights else np.ones(size),
            group=np.array(group, dtype=np.int64), sign=ladder.target.sign,
        )  # fmt: skip

    def _apply(
        self, decisions: Decisions, situation: Situation, still: list[int], result: Step
    ) -> None:
        tiers = [int(tier) for tier in situation.tiers]
        to = decisions.to.tolist()
        action = decisions.action.tolist()
        benefit = decisions.benefit.tolist()
        result.decisions.append(
            DecisionColumns(
                policy=self._policy, sample=still, action=action,
                tier=[tiers[c] if c >= 0 else -1 for c in to],
                reason=decisions.reason.tolist(), reasons=decisions.reasons,
                mean=situation.mean.tolist(), deviation=situation.deviation.tolist(),
                propensity=decisions.propensity.tolist(),
                draw=None if decisions.draw is None else decisions.draw.tolist(),
                benefit=benefit,
                limit=None if decisions.limit is None else decisions.limit.tolist(),
            )
        )  # fmt: skip
        for row, index in enumerate(still):
            if action[row] == Action.ESCALATE or action[row] == Action.DEFER:
                result.escalate.append((index, to[row], benefit[row]))

    def learn(self, standing: Standing) -> None:
        """Teach the belief model a candidate whose top tier has answered."""
        scores, _ = scores_of(self.ladder, standing)
        if scores[-1] is not None:
            self.model.learn(scores, scores[-1])


def _cost(ladder: Ladder, tier: Tier, standing: Standing) -> float:
    rung = next(r for r in ladder.rungs if r.tier == tier)
    return sum(v.expected_cost(standing.candidate).seconds for v in rung.verifiers)
