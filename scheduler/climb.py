"""The climb: the one state machine that takes standings to decisions and rewards.

Both engines use it. It reads no clock, holds no lock and writes nothing: what it returns is
recorded by its caller, and can be computed again from what was recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from verifier_ladder.arrays import NDArray
from verifier_ladder.candidate import SampleId
from verifier_ladder.decision import Action, Belief, Decisions, Situation, decided
from verifier_ladder.ledger.records import Account, DecisionColumns
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.audits import stratum_of
from verifier_ladder.scheduler.draws import (
    Draw,
    Lot,
    Spoken,
    Stratum,
    drawn_together,
    fitted,
    uniform,
)
from verifier_ladder.scheduler.estimator import corrected
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.outlook import climbs
from verifier_ladder.scheduler.policies import ValueOfInformation
from verifier_ladder.scheduler.samples import StepSamples
from verifier_ladder.scheduler.situations import Situations
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import ANSWERED, ENDS, REJECTED

_UNKNOWN = Belief(nan, nan)
_AUDITED = len(ENDS)
_BEGUN = "its other replicates are missing"
_ON_ITS_WAY = "the {tier} tier has not said all yet"
_GATHERED = "the {tier} tier compares the members of its group, which is not decided yet"
_STANDS = "what was decided before its group was complete stands: the others were rejected"
_ANSWERS = ("reached", "deviation", "explained", "answered")
"""What changes in a situation as tiers answer."""
_FIRST = 1e9
"""Benefit that puts what has begun before all that has not."""
_UNPAID = "the {tier} tier is worth its cost, and the budget pays for some of such samples only"
_LEFT = "no tier is worth its cost, and nobody else wants what the {tier} tier's budget has left"
_PASSED = "the budget of a cheaper tier does not pay for it"
_DRAWN = "drawn for the {tier} tier with probability {propensity:.3g}"


class Escalation(NamedTuple):
    """A sample that asks a tier."""

    place: int
    """Where the sample stands in the batch."""
    column: int
    """Column of the tier."""
    benefit: float
    draw: Draw | None = None
    """The draw that sent it to the top, if one did."""
    is_deferred: bool = False
    """Whether it has to wait until its policy or budget lets it."""
    lot: Lot | None = None
    """The draw for the top that counts once its climb stops, if one was made ahead."""


@dataclass(slots=True)
class Step:
    """What the climb says about a batch of samples."""

    decisions: list[DecisionColumns]
    rewards: list[Reward]
    """One per sample."""
    escalate: list[Escalation]
    lots: dict[int, Lot] = field(default_factory=dict)
    """Draws that were made ahead, by place, in the order in which replay needs them."""


class Peer(NamedTuple):
    """A sample whose climb is over, and with which members of its group are compared."""

    sample: SampleId
    standing: Standing
    group: str


@dataclass(slots=True)
class Scene:
    """Samples, as they come to the climb."""

    samples: Sequence[SampleId]
    standings: Sequence[Standing]
    """One per sample; may repeat."""
    accounts: Sequence[Account]
    """The campaign's accounts as they stand."""
    new: int
    """How many of the samples the learner has just submitted."""
    size: int
    """How many samples the learner's update has."""
    weights: Sequence[float] | None = None
    """How strongly the learner reacts to each sample; 1 if left out."""
    groups: Sequence[str] | None = None
    """Group of each sample."""
    draws: Sequence[Draw | None] | None = None
    """The draw that has sent each sample to the top tier before, if one did."""
    peers: Sequence[Peer] = ()
    """Samples whose climb was over before, with which these are compared."""
    begun: Sequence[int] | None = None
    """Column of the tier that has told each sample some of its replicates; -1 for none."""
    more: int | None = None
    """How many samples follow in later calls, as far as the caller knows."""
    lots: Sequence[Lot | None] | None = None
    """The draw that was made ahead for each sample, if one was."""
    spoken: Sequence[Spoken | None] | None = None
    """What cancellations made of each sample's reward, if it waited below the top tier then."""
    is_passed_over: bool = False
    """Whether their climb stops here, because what they wait for can't be paid."""

    def rewards(self, knowledge: Knowledge) -> list[Reward]:
        """The reward of each sample, before any draw corrects it."""
        rewards = knowledge.rewards(self.standings)
        if self.spoken is None:
            return rewards
        return list(map(speaking, rewards, self.spoken))

    def lot(self, place: int) -> Lot | None:
        """The draw that was made ahead for a sample."""
        return self.lots[place] if self.lots else None

    def group(self, place: int) -> Hashable:
        """The group of a sample; groups of different steps are different."""
        if self.groups is None:
            return ""
        return (*self.samples[place][:2], self.groups[place])

    def over(self) -> Iterator[tuple[Standing, Hashable]]:
        """Candidates whose climb is over, with their groups."""
        for place, standing in enumerate(self.standings):
            if standing.end >= 0:
                yield standing, self.group(place)
        for peer in self.peers:
            yield peer.standing, (*peer.sample[:2], peer.group)


class Climb:
    """Decides, for one ladder, what happens next with samples whose standings are given.

    Samples of one candidate in one call share one decision, one draw and one charge.
    """

    def __init__(self, knowledge: Knowledge, seed: bytes) -> None:
        """Bind what is known of the ladder's tiers, and the campaign's secret seed."""
        self.knowledge = knowledge
        self.ladder = knowledge.ladder
        self.seed = seed
        self._situations = Situations(knowledge)
        self._top = len(self.ladder.rungs) - 1
        self._draws_lots = isinstance(self.ladder.policy, ValueOfInformation)
        self._policy = f"{self.ladder.policy.name} {self.ladder.policy.version}"

    def step(self, scene: Scene) -> Step:
        """Decide for a batch."""
        scene, result, open_ = self._undecided(scene)
        if open_:
            self._decide(_twins(open_, scene), scene, result)
        elif scene.new:
            self.knowledge.prices.count(scene.new, scene.more)
        return result

    def postpone(self, scene: Scene) -> Step:
        """Leave samples open until their groups are decided; those that are over are closed."""
        scene, result, open_ = self._undecided(scene)
        if open_:
            result.decisions.append(self._on_the_way(open_, scene, Action.DEFER, _GATHERED))
        return result

    def stand(self, scene: Scene) -> Step:
        """Let what was decided stand: who was drawn goes on, and all other climbs are over."""
        scene, result, open_ = self._undecided(scene)
        if open_:
            result.decisions.append(self._on_the_way(open_, scene, Action.STOP, _STANDS))
        return result

    def _undecided(self, scene: Scene) -> tuple[Scene, Step, list[int]]:
        """The samples about which there is something to decide; the others are dealt with."""
        result = Step([], scene.rewards(self.knowledge), [])
        if scene.draws:
            scene = replace(scene, draws=list(map(_counted, scene.draws, scene.standings)))
        going = self._go_on(scene, result) if scene.draws else frozenset()
        open_, over = _parted(scene, going)
        if over:
            self._close(over, scene, result)
        return scene, result, open_

    def _go_on(self, scene: Scene, result: Step) -> frozenset[int]:
        """Correct the rewards of drawn samples; those still on their way go on."""
        going = set()
        result.rewards = list(result.rewards)
        for index, draw in enumerate(scene.draws or ()):
            if draw is None:
                continue
            standing, reward = scene.standings[index], result.rewards[index]
            result.rewards[index] = revised(reward, draw, is_known=standing.is_known)
            if standing.is_due:
                going.add(index)
                result.escalate.append(Escalation(index, self._top, _FIRST, draw))
        if going:
            decided_ = self._on_the_way(sorted(going), scene, Action.ESCALATE, _ON_ITS_WAY)
            result.decisions.append(decided_)
        return frozenset(going)

    def _on_the_way(
        self, chosen: Sequence[int], scene: Scene, action: Action, why: str
    ) -> DecisionColumns:
        """Record what is believed of samples about which nothing is decided now."""
        beliefs = [scene.standings[index].belief or _UNKNOWN for index in chosen]
        count = len(chosen)
        return DecisionColumns(
            policy=self._policy,
            sample=chosen,
            action=[int(action)] * count,
            tier=[-1 if action is Action.STOP else int(self.ladder.tiers[-1])] * count,
            reason=[0] * count,
            reasons=(why,),
            mean=[belief.mean for belief in beliefs],
            deviation=[belief.deviation for belief in beliefs],
            propensity=[nan] * count,
            benefit=[0.0] * count,
            draw=None,
        )

    # -- climbs that are over ----------------------------------------------------------------

    def _close(self, chosen: Sequence[int], scene: Scene, result: Step) -> None:
        """Record why climbs are over; rejects of a gate are audited now and then."""
        audited = self._audit(chosen, scene, result)
        if audited:
            chosen = [*audited, *(index for index in chosen if index not in audited)]
        standings = [scene.standings[index] for index in chosen]
        beliefs = [standing.belief or _UNKNOWN for standing in standings]
        reasons = [standing.end for standing in standings]
        propensity = [1.0 if end == ANSWERED else 0.0 for end in reasons]
        columns = DecisionColumns(
            policy=self._policy,
            sample=chosen,
            action=[int(Action.STOP)] * len(chosen),
            tier=[-1] * len(chosen),
            reason=reasons,
            reasons=(*ENDS, _DRAWN),
            mean=[belief.mean for belief in beliefs],
            deviation=[belief.deviation for belief in beliefs],
            propensity=propensity,
            benefit=[0.0] * len(chosen),
            draw=None,
        )
        if audited or scene.draws:
            draws = [audited.get(index) or _earlier(scene, index) for index in chosen]
            columns = self._drawn(columns, draws, audited.keys())
        result.decisions.append(columns)

    def _drawn(
        self, columns: DecisionColumns, draws: Sequence[Draw | None], audited: Collection[int]
    ) -> DecisionColumns:
        """The decisions with the draws that were made, now or before."""
        hits = [
            index in audited and draw is not None and draw.is_hit
            for index, draw in zip(columns.sample, draws, strict=True)
        ]
        escalate, top = int(Action.ESCALATE), int(self.ladder.tiers[-1])
        return replace(
            columns,
            action=[escalate if h else a for h, a in zip(hits, columns.action, strict=True)],
            tier=[top if h else t for h, t in zip(hits, columns.tier, strict=True)],
            reason=[_AUDITED if h else end for h, end in zip(hits, columns.reason, strict=True)],
            propensity=[
                draw.propensity if draw else certain
                for draw, certain in zip(draws, columns.propensity, strict=True)
            ],
            draw=_numbers(draws),
            factor=_factors(draws),
        )

    def _audit(self, over: Sequence[int], scene: Scene, result: Step) -> dict[int, Draw]:
        """Draw rejected candidates for the top tier, which may know better.

        Not where it compares groups: whoever was rejected before is not among them.
        """
        if self.ladder.compares_above:
            return {}
        standings = scene.standings
        rejected = [
            index for index in over
            if standings[index].end == REJECTED and standings[index].is_due
        ]  # fmt: skip
        shared = _twins(rejected, scene)
        kept, fresh = _parted_by_lot(shared, scene)
        drawn = self._draw_kept(kept, self._floors(kept, scene), scene, result)
        drawn |= self._audit_fresh(fresh, scene, result)
        return drawn

    def _audit_fresh(
        self, shared: Sequence[list[int]], scene: Scene, result: Step
    ) -> dict[int, Draw]:
        if not shared or not self.knowledge.affordable(scene.accounts)[-1]:
            return {}
        chance = self._floors(shared, scene)
        if not chance.any():
            return {}
        self.knowledge.prices.balance(scene.accounts)
        drawn = self._draw(shared, chance, scene, result)
        return {
            index: draw
            for row, draw in drawn.items()
            if isinstance(draw, Draw)
            for index in shared[row]
        }

    # -- climbs that go on -------------------------------------------------------------------

    def _decide(self, open_: Sequence[list[int]], scene: Scene, result: Step) -> None:
        """Ask the policy; what it stops may be drawn for the top tier."""
        situation = self._situations.of(scene, open_)
        decisions = self._asked(situation, scene, open_)
        if scene.begun is not None:
            _complete(decisions, scene.begun, open_)
        lots = {row: lot for row, twins in enumerate(open_) if (lot := scene.lot(twins[0]))}
        draws = self._drawn_before(lots, decisions, open_, scene, result)
        is_top = (decisions.action == Action.ESCALATE) & (decisions.to == self._top)
        is_top[list(lots)] = False  # These were asked.
        self._ask(
            (row for row in np.flatnonzero(~is_top).tolist() if row not in draws),
            decisions, open_, result,
        )  # fmt: skip
        ahead = self._ahead(decisions, situation, open_, scene)
        self._spare(np.flatnonzero(is_top), decisions, open_, scene, result, ahead=ahead)
        draws |= self._ask(np.flatnonzero(is_top), decisions, open_, result)
        draws |= self._verify(decisions, situation, open_, scene, result, ahead=ahead)
        result.escalate = [_with_lot(e, scene, result) for e in result.escalate]
        for row, draw in draws.items():
            if isinstance(draw, Draw) and draw.is_hit and not draw.is_certain:
                decisions.action[row], decisions.to[row] = Action.ESCALATE, self._top
                decisions.reason[row] = len(decisions.reasons)
        result.decisions.append(self._written(decisions, situation, open_, draws, scene))

    def _ask(
        self, rows: Iterable[int], decisions: Decisions, open_: Sequence[list[int]], result: Step
    ) -> dict[int, Draw | Lot]:
        """Ask on for samples whose climb does not stop; gives the draws of those at the top."""
        action, to = decisions.action.tolist(), decisions.to.tolist()
        benefit = decisions.benefit.tolist()
        draws: dict[int, Draw | Lot] = {}
        for row in rows:
            if action[row] == Action.STOP:
                continue
            draw, later = None, action[row] == Action.DEFER
            # What is compared and bought one by one is chosen, not drawn.
            if to[row] == self._top and not (later or self.ladder.policy.is_sequential):
                draws[row] = draw = Draw.certain(result.rewards[open_[row][0]].value)
            result.escalate += [
                Escalation(i, to[row], benefit[row], _own(draw, i, result), is_deferred=later)
                for i in open_[row]
            ]
        return draws

    def _drawn_before(
        self,
        lots: Mapping[int, Lot],
        decisions: Decisions,
        open_: Sequence[list[int]],
        scene: Scene,
        result: Step,
    ) -> dict[int, Draw | Lot]:
        """Who goes to the top tier of the rows with a draw that was made ahead; gives the draws.

        Where the middle tier has answered, the draw counts as far as the policy would draw by now;
        and what is worth its cost by now is asked for certain, if the budget pays for that beside
        all other draws. If not, and where the middle tier was not paid, the draw counts. Where
        these are the last that can spend, what nobody wants any more buys the best of the others.
        """
        rows = np.array(list(lots), dtype=np.int64)
        if scene.is_passed_over:
            self._stop(rows, decisions, _PASSED)
        paid = self._payable(rows, decisions, open_, scene, result)
        self._send(paid, decisions)
        is_over = decisions.action[rows] == Action.STOP
        others = np.setdiff1d(rows[~is_over & (decisions.to[rows] == self._top)], paid)
        self._stop(others, decisions, _UNPAID)
        draws = self._ask(paid.tolist(), decisions, open_, result)
        stops = np.concatenate([rows[is_over], others])
        return draws | self._count(stops, decisions, open_, scene, result)

    def _send(self, rows: NDArray[np.int64], decisions: Decisions) -> None:
        """Have those of some rows ask the top tier that would stop otherwise."""
        stopped = rows[decisions.action[rows] == Action.STOP]
        decisions.action[stopped], decisions.reason[stopped] = (
            Action.ESCALATE, len(decisions.reasons)
        )  # fmt: skip
        decisions.reasons = (*decisions.reasons, _LEFT)

    def _stop(self, rows: NDArray[np.int64], decisions: Decisions, reason: str) -> None:
        """End the climb of rows, and have the draws that were made ahead count."""
        decisions.action[rows], decisions.verify[rows] = Action.STOP, 1.0
        decisions.reason[rows] = len(decisions.reasons)
        decisions.reasons = (*decisions.reasons, reason)

    def _payable(
        self,
        rows: NDArray[np.int64],
        decisions: Decisions,
        open_: Sequence[list[int]],
        scene: Scene,
        result: Step,
    ) -> NDArray[np.int64]:
        """Rows that the budget pays at the top tier beside all draws, the best ones first.

        Beside their own too: else those on which a draw fell would rather be asked for certain.
        What was kept for a row's own draw is there for those that come after it. And beside those
        of rows that ask another middle tier: nobody else keeps them now.
        """
        best = self._wanted(rows, decisions, scene)
        if not len(best):
            return best
        fell = self._fallen(rows, decisions, open_, scene)
        drawn = [scene.standings[open_[row][0]] for row in fell]
        spoken = self._spoken(scene, result) + self.knowledge.spoken({self._top: drawn})
        share = self.knowledge.shares([scene.standings[open_[row][0]] for row in best], spoken)
        share = np.minimum(share, 2.0)  # More than all, and still a number.
        kept = share * np.isin(best, fell)
        is_paid = np.cumsum(share) - np.cumsum(kept) + kept <= 1.0
        paid: NDArray[np.int64] = best[np.logical_and.accumulate(is_paid)]
        return paid

    def _wanted(
        self, rows: NDArray[np.int64], decisions: Decisions, scene: Scene
    ) -> NDArray[np.int64]:
        """Rows that are to be asked for certain as far as the budget pays, the best ones first.

        The last that can spend leave nothing for others: there, all of which the top tier tells
        anything, after those for which that is worth its cost.
        """
        stops = decisions.action == Action.STOP
        wanted = ~stops
        if not scene.is_passed_over and self._is_last(decisions):
            wanted |= decisions.benefit > 0.0
        chosen = rows[(wanted & (decisions.to == self._top))[rows]]
        best: NDArray[np.int64] = chosen[np.lexsort((-decisions.benefit[chosen], stops[chosen]))]
        return best

    def _is_last(self, decisions: Decisions) -> bool:
        """Whether no others can spend: none follows, and none waits below the top tier."""
        goes_on = (decisions.action != Action.STOP) & (decisions.to < self._top)
        return self.knowledge.prices.is_all_known and not goes_on.any()

    def _fallen(
        self,
        rows: NDArray[np.int64],
        decisions: Decisions,
        open_: Sequence[list[int]],
        scene: Scene,
    ) -> list[int]:
        """Rows on which the draw that was made ahead falls, as far as it would count by now."""
        most = self._most(rows, decisions, open_, scene)
        lots = [scene.lot(open_[row][0]) for row in rows]
        return [
            row for row, lot, chance in zip(rows.tolist(), lots, most.tolist(), strict=True)
            if lot and lot._replace(propensity=min(lot.propensity, chance)).is_hit
        ]  # fmt: skip

    def _most(
        self,
        rows: NDArray[np.int64],
        decisions: Decisions,
        open_: Sequence[list[int]],
        scene: Scene,
    ) -> NDArray[np.float64]:
        """The largest chance that a draw which was made ahead leaves each row by now."""
        floors = self._floors([open_[row] for row in rows], scene)
        stops = decisions.action[rows] == Action.STOP
        most: NDArray[np.float64] = np.where(
            stops, np.maximum(decisions.verify[rows], floors), 1.0
        )
        return most

    def _count(
        self,
        rows: NDArray[np.int64],
        decisions: Decisions,
        open_: Sequence[list[int]],
        scene: Scene,
        result: Step,
    ) -> dict[int, Draw | Lot]:
        """The draws that were made ahead of rows whose climb stops; now they count."""
        kept = [open_[row] for row in rows]
        drawn = self._draw_kept(kept, self._most(rows, decisions, open_, scene), scene, result)
        return {row: drawn[open_[row][0]] for row in rows.tolist()}

    def _draw_kept(
        self,
        shared: Sequence[list[int]],
        most: NDArray[np.float64],
        scene: Scene,
        result: Step,
    ) -> dict[int, Draw]:
        """Draws that were made ahead, by place.

        Args:
            shared: Places of the samples of each candidate.
            most: The largest chance that each may have: less than was planned is right too.
            scene: The samples.
            result: Gets those that the draw falls on.
        """
        made = [lot for twins in shared if (lot := scene.lot(twins[0]))]
        chance = np.minimum([lot.propensity for lot in made], most)
        factors = self.knowledge.factors(chance, scene.size)
        lots = map(Lot, chance.tolist(), [lot.number for lot in made])
        draws: dict[int, Draw] = {}
        for twins, lot, factor in zip(shared, lots, factors, strict=True):
            draws |= dict.fromkeys(twins, self._told(twins, lot, factor, scene, result))
        return draws

    def _ahead(
        self,
        decisions: Decisions,
        situation: Situation,
        open_: Sequence[list[int]],
        scene: Scene,
    ) -> dict[int, float]:
        """Chances to be drawn for the top tier of rows that ask a cheaper one first.

        Where the budget can't pay for every row, the cheaper tier may never answer some, and
        draws that are made as it answers may leave the last nothing. So all are drawn now.
        """
        goes_on = (decisions.action != Action.STOP) & (decisions.to < self._top)
        goes_on[[row for row, twins in enumerate(open_) if scene.lot(twins[0])]] = False
        if not (goes_on.any() and self._draws_lots and self.knowledge.prices.has_caps):
            return {}
        standings = [scene.standings[twins[0]] for twins in open_]
        if self.knowledge.pays_all(standings):
            return {}
        alike = replace(situation, affordable=np.ones_like(situation.affordable))
        for name in _ANSWERS:
            setattr(alike, name, getattr(situation, name).copy())
        asked, drawn = climbs(self.ladder.policy, alike, self.knowledge.prices.floor)
        chance = asked[:, -1] + drawn
        return {row: float(chance[row]) for row in np.flatnonzero(goes_on).tolist()}

    def _spare(
        self,
        rows: NDArray[np.int64],
        decisions: Decisions,
        open_: Sequence[list[int]],
        scene: Scene,
        result: Step,
        *,
        ahead: Mapping[int, float],
    ) -> None:
        """Draw lots where the budget can't pay for all that is worth the top tier's cost.

        A policy that draws would else have the queue choose: its rewards could not be corrected.
        """
        rows = rows[decisions.benefit[rows] < _FIRST]  # What has begun is not broken off.
        if not (len(rows) and self._draws_lots and self.knowledge.prices.has_caps):
            return
        stops = _stops(decisions, open_, scene)
        all_ = [scene.standings[open_[row][0]] for row in (*rows, *stops, *ahead)]
        share = self.knowledge.shares(all_, self._spoken(scene, result))
        chance = np.array([*np.ones(len(rows)), *decisions.verify[stops], *ahead.values()])
        if share[chance > 0.0] @ chance[chance > 0.0] > 1.0:
            decisions.action[rows], decisions.verify[rows] = Action.STOP, 1.0
            decisions.reason[rows] = len(decisions.reasons)
            decisions.reasons = (*decisions.reasons, _UNPAID)

    def _asked(self, situation: Situation, scene: Scene, open_: Sequence[list[int]]) -> Decisions:
        """The policy's decisions; it sees whom the samples are compared with as well."""
        together = self._situations.with_peers(situation, scene, open_)
        decisions = decided(self.ladder.policy, together)
        return decisions if together is situation else decisions.rows(len(situation))

    def _verify(
        self,
        decisions: Decisions,
        situation: Situation,
        open_: Sequence[list[int]],
        scene: Scene,
        result: Step,
        *,
        ahead: Mapping[int, float],
    ) -> dict[int, Draw | Lot]:
        """Draw those whose climb stops for the top tier, by row, and some ahead of that."""
        stops = _stops(decisions, open_, scene)
        rows = [*stops, *ahead]
        shared = [open_[row] for row in rows]
        wished = np.array([*decisions.verify[stops], *ahead.values()])
        chance = np.maximum(wished, self._floors(shared, scene))
        chance = np.where(situation.affordable[rows, -1], chance, 0.0)
        if not chance.any():
            return {}
        drawn = self._draw(shared, chance, scene, result, ahead=len(ahead))
        return {rows[number]: draw for number, draw in drawn.items()}

    def _floors(self, shared: Sequence[list[int]], scene: Scene) -> NDArray[np.float64]:
        """The least probability with which each candidate is drawn."""
        return self.knowledge.audit_floors([scene.standings[twins[0]] for twins in shared])

    def _draw(
        self,
        shared: Sequence[list[int]],
        chance: NDArray[np.float64],
        scene: Scene,
        result: Step,
        ahead: int = 0,
    ) -> dict[int, Draw | Lot]:
        """One draw for the samples of each candidate; those it falls on ask the top tier.

        Gives them in the order in which they are to be recorded: replay needs it. The last ones,
        as many as are said, are drawn ahead.
        """
        firsts = [twins[0] for twins in shared]
        is_ahead = np.arange(len(firsts)) >= len(firsts) - ahead
        chance, numbers, order = self._numbers(firsts, chance, is_ahead, scene, result)
        factors = self.knowledge.factors(chance, scene.size)
        draws: dict[int, Draw | Lot] = {}
        for row in order.tolist():
            lot = Lot(float(chance[row]), float(numbers[row]))
            if not is_ahead[row]:
                draws[row] = self._told(shared[row], lot, factors[row], scene, result)
            elif lot.propensity > 0.0:
                draws[row] = lot
                result.lots |= dict.fromkeys(shared[row], lot)
        return draws

    def _told(self, twins: list[int], lot: Lot, factor: float, scene: Scene, result: Step) -> Draw:
        """The draw of a candidate; if it falls on it, its samples ask the top tier."""
        first = twins[0]
        judged = _judged(scene.standings[first])
        draw = Draw(lot.propensity, lot.number, result.rewards[first].value, factor, *judged)
        if draw.is_hit:
            result.escalate += [
                Escalation(i, self._top, lot.propensity, _own(draw, i, result)) for i in twins
            ]
        return draw

    def _numbers(
        self,
        firsts: Sequence[int],
        chance: NDArray[np.float64],
        is_ahead: NDArray[np.bool_],
        scene: Scene,
        result: Step,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Chances that can be paid, the numbers that decide, and the order of the draws.

        Where all could be paid each is drawn by itself. What is held back is drawn again and
        again until it is let go, and must get the same number every time.
        """
        samples = [scene.samples[first] for first in firsts]
        standings = [scene.standings[first] for first in firsts]
        numbers, order = uniform(self.seed, samples), np.arange(len(firsts))
        if self.ladder.policy.is_sequential or not self.knowledge.prices.has_caps:
            return chance, numbers, order
        spoken = self._spoken(scene, result)
        share = self.knowledge.shares(standings, spoken)
        if share[chance > 0.0].sum() <= 1.0:
            return chance, numbers, order
        chance, ordered = fitted(chance, share), []
        for rows in _by_step(samples):
            some = [standings[row] for row in rows]
            share = self.knowledge.shares(some, spoken)
            chance[rows], numbers[rows], line = drawn_together(
                self.seed, [samples[row] for row in rows], chance[rows], share, is_ahead[rows]
            )
            ordered += rows[line].tolist()
            hits = [standings[row] for row in rows[numbers[rows] < chance[rows]]]
            spoken = spoken + self.knowledge.spoken({self._top: hits})
        return chance, numbers, np.array(ordered)

    def _spoken(self, scene: Scene, result: Step) -> NDArray[np.float64]:
        """What this step has asked for so far."""
        asked: dict[int, dict[int, Standing]] = {}
        for escalation in result.escalate:
            if not escalation.is_deferred:
                standing = scene.standings[escalation.place]
                one = id(standing.comparison or standing)
                asked.setdefault(escalation.column, {})[one] = standing
        return self.knowledge.spoken({c: list(found.values()) for c, found in asked.items()})

    def _written(
        self,
        decisions: Decisions,
        situation: Situation,
        open_: Sequence[list[int]],
        draws: Mapping[int, Draw | Lot],
        scene: Scene,
    ) -> DecisionColumns:
        """One decision per sample, as the ledger records it."""
        lines = [*draws, *(row for row in range(len(open_)) if row not in draws)]
        rows = [row for row in lines for _ in open_[row]]
        found = [draws.get(row) for row in rows]
        told = [draw if isinstance(draw, Draw) else None for draw in found]
        action, to = decisions.action[rows].tolist(), decisions.to[rows].tolist()
        samples = [index for row in lines for index in open_[row]]
        mean, deviation = situation.mean[rows].tolist(), situation.deviation[rows].tolist()
        if self.ladder.compares_above:  # What was believed of each, not of its group.
            believed = [scene.standings[index].belief or _UNKNOWN for index in samples]
            mean, deviation = map(list, zip(*believed, strict=True))
        tiers = [*map(int, self.ladder.tiers), -1]  # Column -1 is no tier.
        return DecisionColumns(
            policy=self._policy,
            sample=samples,
            action=action,
            tier=[tiers[column] for column in to],
            reason=decisions.reason[rows].tolist(),
            reasons=(*decisions.reasons, _DRAWN),
            mean=mean,
            deviation=deviation,
            propensity=[
                draw.propensity if draw else self._certain(code, column)
                for draw, code, column in zip(found, action, to, strict=True)
            ],
            benefit=decisions.benefit[rows].tolist(),
            limit=None if decisions.limit is None else decisions.limit[rows].tolist(),
            belief=self.knowledge.model.version,
            prices=self.knowledge.named_prices(),
            draw=_numbers(told),
            factor=_factors(told),
        )

    def _certain(self, action: int, column: int) -> float:
        """Probability that the top tier is asked, where nothing was drawn."""
        if action == Action.STOP:
            return 0.0
        return 1.0 if column == self._top else nan


def _own(draw: Draw | None, place: int, result: Step) -> Draw | None:
    """A draw as it counts for one of the samples that share it: members of a group differ."""
    if draw is None or (value := result.rewards[place].value) == draw.estimate:
        return draw
    return draw._replace(estimate=value)


def _stops(decisions: Decisions, open_: Sequence[list[int]], scene: Scene) -> list[int]:
    """Rows whose climb stops, and for which no draw was made ahead."""
    rows = np.flatnonzero(decisions.action == Action.STOP).tolist()
    return [row for row in rows if not scene.lot(open_[row][0])]


def _with_lot(escalation: Escalation, scene: Scene, result: Step) -> Escalation:
    """An escalation with the draw that was made ahead for its sample and still waits."""
    if escalation.draw is not None:
        return escalation
    lot = result.lots.get(escalation.place) or scene.lot(escalation.place)
    return escalation if lot is None else escalation._replace(lot=lot)


def _parted_by_lot(
    shared: Sequence[list[int]], scene: Scene
) -> tuple[list[list[int]], list[list[int]]]:
    """Candidates with a draw that was made ahead, and those without."""
    kept = [twins for twins in shared if scene.lot(twins[0])]
    return kept, [twins for twins in shared if not scene.lot(twins[0])]


def _by_step(samples: Sequence[SampleId]) -> list[NDArray[np.int64]]:
    """Rows of each run and step."""
    found: dict[Hashable, list[int]] = {}
    for row, sample in enumerate(samples):
        found.setdefault(sample[:2], []).append(row)
    return [np.array(rows) for rows in found.values()]


def _complete(decisions: Decisions, begun: Sequence[int], open_: Sequence[list[int]]) -> None:
    """Go on with replicates that have begun: one that is left out is one that is chosen."""
    for row, twins in enumerate(open_):
        column = max(begun[place] for place in twins)
        if column >= 0:
            decisions.action[row], decisions.to[row] = Action.ESCALATE, column
            decisions.reason[row], decisions.benefit[row] = len(decisions.reasons), _FIRST
    decisions.reasons = (*decisions.reasons, _BEGUN)


def _numbers(draws: Sequence[Draw | None]) -> list[float] | None:
    """The column of random numbers; None where chance had no part in anything."""
    numbers = [nan if not draw or draw.number is None else draw.number for draw in draws]
    return None if all(map(isnan, numbers)) else numbers


def _factors(draws: Sequence[Draw | None]) -> list[float] | None:
    """The column of factors; None where nothing was drawn."""
    return [draw.factor if draw else nan for draw in draws] if any(draws) else None


def _earlier(scene: Scene, index: int) -> Draw | None:
    return scene.draws[index] if scene.draws else None


def _judged(standing: Standing) -> tuple[float | None, float | None, Stratum]:
    """Mean, deviation and stratum of a candidate that is drawn."""
    mean, deviation = standing.belief or _UNKNOWN
    stratum = stratum_of(standing.survey) if standing.survey else Stratum("", is_rejected=False)
    return (
        None if isnan(mean) else mean, None if isnan(deviation) else deviation, stratum
    )  # fmt: skip


def _counted(draw: Draw | None, standing: Standing) -> Draw | None:
    """A draw as it counts by now.

    What was asked for certain speaks for itself. If the top tier has ended without an answer, the
    sample is worth what is known by now, as one about which nobody was asked. A draw of chance
    leaves the estimate, as it does for the samples that it did not fall on.
    """
    if draw is None or not draw.is_certain or standing.is_due or standing.is_known:
        return draw
    return draw._replace(propensity=1.0, factor=nan)


def revised(reward: Reward, draw: Draw, *, is_known: bool) -> Reward:
    """The reward of a sample that was drawn for the top tier.

    Args:
        reward: What follows from its candidate's verdicts and the belief by now.
        draw: The draw, as it counts by now; without a factor it does not.
        is_known: Whether that reward needs no belief; else the estimate stays. One that is known
            to have no value gets none from a draw.
    """
    if isnan(draw.factor) or (is_known and reward.value is None):
        return reward
    truth = reward.value if is_known else None
    return reward._replace(value=corrected(draw.estimate, truth, draw.factor))


def speaking(reward: Reward, spoken: Spoken | None) -> Reward:
    """The reward of a sample that speaks for others, which were cancelled below the top tier."""
    if spoken is None or reward.value is None:
        return reward
    moved = corrected(spoken.estimate, reward.value, spoken.factor)
    return reward._replace(value=None if moved is None else moved + spoken.apart)


def _parted(scene: Scene, going: frozenset[int]) -> tuple[list[int], list[int]]:
    """Samples whose climb goes on, and those whose climb is over."""
    ends = [standing.end for standing in scene.standings]
    if not going and min(ends, default=0) >= 0:
        return [], list(range(len(ends)))
    places = [place for place in range(len(ends)) if place not in going]
    return [i for i in places if ends[i] < 0], [i for i in places if ends[i] >= 0]


def _twins(chosen: Sequence[int], scene: Scene) -> list[list[int]]:
    """Samples by candidate and step; members of a group that is compared are decided together."""
    in_one_step = isinstance(scene.samples, StepSamples)
    shared: dict[Hashable, list[int]] = {}
    for index in chosen:
        standing = scene.standings[index]
        one = id(standing.comparison or standing)
        key = one if in_one_step else (one, *scene.samples[index][:2])
        shared.setdefault(key, []).append(index)
    return list(shared.values())
