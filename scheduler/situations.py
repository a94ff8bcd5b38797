"""Situations: standings as the columns that a policy reads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from verifier_ladder.arrays import NDArray
from verifier_ladder.decision import Belief, Situation
from verifier_ladder.scheduler.knowledge import Knowledge

if TYPE_CHECKING:
    from verifier_ladder.scheduler.climb import Scene
    from verifier_ladder.scheduler.standing import Standing

_UNKNOWN = Belief(nan, nan)
_COLUMNS = (
    "reached", "mean", "deviation", "explained", "answered", "cost", "affordable", "weight",
)  # fmt: skip


class Situations:
    """Puts together what a policy may read."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Read from what is known of a ladder's tiers."""
        self._knowledge = knowledge
        self._ladder = knowledge.ladder
        self._all = [True] * len(self._ladder.rungs)
        self._nothing = np.zeros(len(self._ladder.rungs))

    def of(self, scene: Scene, shared: Sequence[list[int]]) -> Situation:
        """One row per candidate whose climb goes on.

        Args:
            scene: The samples.
            shared: Places of the samples of each candidate.
        """
        firsts = [scene.standings[twins[0]] for twins in shared]
        groups = [scene.group(twins[0]) for twins in shared]
        situation = self._rows(firsts, groups, scene)
        for row, twins in enumerate(shared):
            if firsts[row].comparison is not None:
                _join_beliefs(situation, row, twins, scene)
        situation.weight = _joined(scene.weights, shared)
        costs = self._knowledge.costs.predict(firsts)
        situation.cost = self._knowledge.priced(
            situation, costs, scene.new, scene.accounts, scene.more
        )
        prices = self._knowledge.prices
        situation.affordable = situation.affordable & prices.affordable(costs)
        situation.unevenness = prices.unevenness
        return situation

    def with_peers(
        self, situation: Situation, scene: Scene, shared: Sequence[list[int]]
    ) -> Situation:
        """The same with more rows below: members of the same groups whose climb is over.

        Nothing is asked of them, and others are compared with them; not with those that are
        rejected, which are no choice for anybody, whatever a reject earns.
        """
        wanted = {scene.group(twins[0]) for twins in shared}
        peers = [
            (s, group) for s, group in scene.over()
            if group in wanted and s.is_judged and not (s.reward and s.reward.is_rejected)
        ]  # fmt: skip
        if not peers:
            return situation
        known = [scene.group(twins[0]) for twins in shared]
        rows = self._rows([s for s, _ in peers], [*known, *(g for _, g in peers)], scene)
        return _stacked(situation, rows)

    def _rows(
        self, standings: Sequence[Standing], groups: Sequence[Hashable], scene: Scene
    ) -> Situation:
        asked = [s.survey.asked if s.survey is not None else self._all for s in standings]
        answered = np.array(asked, dtype=bool)
        columns = np.arange(answered.shape[1])
        beliefs = [standing.belief or _UNKNOWN for standing in standings]
        is_over = np.array([standing.end >= 0 for standing in standings])
        affordable = self._knowledge.affordable(scene.accounts)
        return Situation(
            tiers=self._ladder.tiers,
            reached=np.where(answered, columns, -1).max(axis=1),
            mean=np.array([belief.mean for belief in beliefs]),
            deviation=np.where(is_over, 0.0, [belief.deviation for belief in beliefs]),
            explained=np.array([
                self._nothing if standing.explained is None else standing.explained
                for standing in standings
            ]),
            answered=answered,
            cost=np.zeros(answered.shape),
            affordable=np.broadcast_to(affordable, answered.shape),
            weight=np.ones(len(standings)),
            group=_numbered(groups),
            sign=self._ladder.target.sign,
            spread=self._knowledge.truths.spread,
            best=self._knowledge.truths.best,
        )  # fmt: skip


def _join_beliefs(situation: Situation, row: int, members: Sequence[int], scene: Scene) -> None:
    """What is believed of a group: its mean, and deviations whose weighted squares add up.

    So what it is worth to verify a group is the sum of what that is worth for its members.
    """
    standings = [scene.standings[place] for place in members]
    beliefs = [standing.belief or _UNKNOWN for standing in standings]
    weights = np.square([scene.weights[place] if scene.weights else 1.0 for place in members])
    squares = np.square([belief.deviation for belief in beliefs])
    situation.mean[row] = np.mean([belief.mean for belief in beliefs])
    if weights.sum() > 0.0:
        situation.deviation[row] = np.sqrt(weights @ squares / weights.sum())
    explained = [s.explained for s in standings if s.explained is not None]
    if explained:
        situation.explained[row] = np.mean(explained, axis=0)


def _stacked(above: Situation, below: Situation) -> Situation:
    """Rows of two situations together; the groups of the second are numbered for both."""
    made = replace(above, group=below.group)
    for name in _COLUMNS:
        setattr(made, name, np.concatenate([getattr(above, name), getattr(below, name)]))
    return made


def _joined(weights: Sequence[float] | None, shared: Sequence[list[int]]) -> NDArray[np.float64]:
    """Weights of the samples of one candidate together: their squares add up."""
    if weights is None:
        return np.array([sqrt(len(twins)) for twins in shared])
    return np.array([sqrt(sum(weights[i] ** 2 for i in twins)) for twins in shared])


def _numbered(groups: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)
