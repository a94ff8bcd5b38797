"""The climb: the one state machine that takes standings to decisions and rewards.

Both engines use it. It reads no clock, holds no lock and writes nothing: what it returns is
recorded by its caller, and can be computed again from what was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from verifier_ladder.decision import Action, Belief, Decisions, Situation
from verifier_ladder.ladder import Ladder, Rung
from verifier_ladder.ledger.records import DecisionColumns
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.beliefs import BeliefModel
from verifier_ladder.scheduler.draws import uniform
from verifier_ladder.scheduler.standing import ENDS, Conclusions, Standing, Survey

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNKNOWN = Belief(nan, nan)


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
        self._conclusions = Conclusions(ladder, model)
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
        """
        rewards = self._conclusions.all(standings)
        result = Step([], rewards, [])
        still = [i for i, standing in enumerate(standings) if standing.end < 0]
        if len(still) < len(standings):
            result.decisions.append(self._stops(standings))
        if still:
            situation = self._situation(
                [standings[i] for i in still], affordable,
                [weights[i] for i in still] if weights else None,
                [groups[i] for i in still] if groups else None,
            )  # fmt: skip
            if self.ladder.policy.draws:
                chosen = [positions[i] for i in still]
                # One draw for the whole climb: an audited sample goes on to the top, where a
                # coin at every tier would let next to none arrive.
                situation.draw = uniform(self.seed, run, step, chosen, stage=0)
            self._apply(self.ladder.policy.decide(situation), situation, still, result)
        return result

    def _stops(self, standings: Sequence[Standing]) -> DecisionColumns:
        chosen = [i for i, standing in enumerate(standings) if standing.end >= 0]
        size = len(chosen)
        beliefs = [standings[i].belief or _UNKNOWN for i in chosen]
        return DecisionColumns(
            policy=self._policy, sample=chosen, action=[int(Action.STOP)] * size,
            tier=[-1] * size, reason=[standings[i].end for i in chosen], reasons=ENDS,
            mean=[belief.mean for belief in beliefs],
            deviation=[belief.deviation for belief in beliefs],
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
        surveys = [s.survey or Survey(ladder, s) for s in standings]
        beliefs = [s.belief or _UNKNOWN for s in standings]
        asked = np.array([survey.asked for survey in surveys])
        columns = np.arange(len(ladder.rungs))
        numbers: dict[str, int] = {}
        group = [numbers.setdefault(g, len(numbers)) for g in groups or [""] * size]
        return Situation(
            tiers=ladder.tiers, reached=np.where(asked, columns, -1).max(axis=1),
            mean=np.array([belief.mean for belief in beliefs]),
            deviation=np.array([belief.deviation for belief in beliefs]),
            rejected=np.zeros(size, dtype=bool), answered=asked,
            cost=np.array([[_cost(r, s) for r in ladder.rungs] for s in standings]),
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
        scores = Survey(self.ladder, standing).scores
        if scores[-1] is not None:
            self.model.learn(scores, scores[-1])


def _cost(rung: Rung, standing: Standing) -> float:
    return sum(v.expected_cost(standing.candidate).seconds for v in rung.verifiers)
