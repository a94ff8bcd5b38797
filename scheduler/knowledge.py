"""Knowledge: all that a campaign has learnt about its ladder's tiers, and what follows from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from hashlib import sha256
from math import isnan, nan
from typing import Any

import numpy as np

from verifier_ladder.arrays import NDArray
from verifier_ladder.budget import TOTAL
from verifier_ladder.candidate import SampleId
from verifier_ladder.cost import Cost
from verifier_ladder.decision import Belief, Situation
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Account, CheckRow, Request
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.audits import Audit, Audits, stratum_of
from verifier_ladder.scheduler.beliefs import BeliefModel
from verifier_ladder.scheduler.conclusions import Conclusions, reward_of, worth_of
from verifier_ladder.scheduler.costs import CostModel
from verifier_ladder.scheduler.draws import Draw, Lot
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.scheduler.engines.reservation import LEAST, MARGIN
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.lessons import Lessons, teach
from verifier_ladder.scheduler.policies import ValueOfInformation
from verifier_ladder.scheduler.prices import Prices
from verifier_ladder.scheduler.punctuality import Punctuality, speaks_for, weighed_draw
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.scheduler.truths import Truths
from verifier_ladder.tier import Tier


class Knowledge:
    """Beliefs, costs, prices and the estimator of one campaign."""

    def __init__(self, ladder: Ladder, model: BeliefModel, horizon: int | None = None) -> None:
        """Start with what the ladder declares.

        Args:
            ladder: The ladder.
            model: Its belief model.
            horizon: How many samples the campaign expects in all, if that is known.
        """
        self.ladder, self.model = ladder, model
        self.costs = CostModel(ladder)
        self.prices = Prices(ladder.policy, ladder.tiers, audit=_audit(ladder), horizon=horizon)
        self.truths = Truths(ladder.target.sign, ladder.prior)
        self.audits = Audits()
        # What compares groups corrects nothing: no lower tier foretells it.
        mode = "plugin" if ladder.compares_above else ladder.reward.estimator
        self._estimator = Estimator(mode)
        self.punctuality = Punctuality()
        self._conclusions = Conclusions(ladder, model)
        self._hears_tiers = bool(getattr(model, "hears_tiers", False))

    def rewards(self, standings: Sequence[Standing]) -> list[Reward]:
        """The reward of each standing, in order."""
        return self._conclusions.all(standings)

    def affordable(self, accounts: Sequence[Account]) -> NDArray[np.bool_]:
        """Whether each tier's accounts, and those of all tiers, have left of what it takes."""
        tiers, takes = np.array(self.ladder.tiers), self.costs.takes
        closed = np.zeros(len(tiers), dtype=bool)
        for account in accounts:
            if account.cap is not None and account.spent + account.kept >= account.cap:
                ours = (tiers == account.tier) | (account.tier == TOTAL)
                closed |= ours & takes[:, account.resource]
        return ~closed

    def priced(
        self,
        situation: Situation,
        costs: NDArray[np.float64],
        new: int,
        accounts: Sequence[Account],
        more: int | None = None,
    ) -> NDArray[np.float64]:
        """What asking each tier would cost, priced. Shape (n, tiers).

        Args:
            situation: The candidates as a policy will see them.
            costs: What asking each tier takes. Shape (n, tiers, resources).
            new: How many samples the learner has just submitted.
            accounts: The campaign's accounts as they stand.
            more: How many samples follow in later calls; None where nobody knows.
        """
        return self.prices.observe(situation, costs, new, accounts, more)

    def named_prices(self) -> dict[str, float]:
        """The price of each account that has a cap, by tier (or `total`) and resource."""
        return {
            f"{'total' if tier == TOTAL else Tier(tier).label}.{Resource(resource).label}": price
            for (tier, resource), price in self.prices.prices.items()
        }

    def asked(self, checks: Sequence[CheckRow], expected: Sequence[Cost]) -> None:
        """Take note of checks that are asked for: what they are expected to take is spoken for."""
        tiers = list(map(int, self.ladder.tiers))
        for check, cost in zip(checks, expected, strict=True):
            self.prices.commit(check.check_key, tiers.index(check.tier), cost.amounts)

    def promise(self, check_key: bytes, standing: Standing, lot: Lot) -> None:
        """Keep what the top tier takes of a candidate whose draw was made ahead, if it fell on it.

        Args:
            check_key: The check of a cheaper tier that it waits for.
            standing: The candidate.
            lot: The draw.
        """
        taken = self.costs.predict([standing])[0, -1] * lot.is_hit
        self.prices.promise(check_key, taken.tolist())

    def settle(self, requests: Sequence[Request]) -> None:
        """Hear that nobody waits for what these requests were for."""
        for request in requests:
            self.prices.settle(request.check_key)

    def pays_all(self, standings: Sequence[Standing]) -> bool:
        """Whether the budget can pay for asking every tier about every candidate."""
        return self.prices.pays_all(self.costs.predict(standings))

    def audit_floors(self, standings: Sequence[Standing]) -> NDArray[np.float64]:
        """The least probability with which the top tier is asked. Shape (n,)."""
        floors = np.full(len(standings), self.prices.floor)
        if not self.audits.is_even:
            surveys = [standing.survey for standing in standings]
            floors *= [self.audits.multiplier(stratum_of(s)) if s else 1.0 for s in surveys]
        capped: NDArray[np.float64] = np.minimum(floors, 1.0)
        return capped

    def spoken(self, asked: Mapping[int, Sequence[Standing]]) -> NDArray[np.float64]:
        """What asking candidates takes, by the tier's column. Shape (tiers, resources)."""
        made = np.zeros((len(self.ladder.tiers), len(Resource)))
        for column, standings in asked.items():
            made[column] += self.costs.predict(standings)[:, column].sum(axis=0)
        return made

    def shares(
        self, standings: Sequence[Standing], spoken: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How much of what the budget has left asking the top tier takes. Shape (n,).

        Args:
            standings: The candidates.
            spoken: What was asked for since the accounts were looked at.
        """
        costs = self.costs.predict(standings)[:, -1]
        waits = all(verifier.waits for verifier in self.ladder.rungs[-1].verifiers)
        least = np.zeros(len(Resource))
        if waits:
            return self.prices.shares(costs, spoken, 0.0, least)
        least[Resource.CPU_SECONDS] = LEAST[self.ladder.tiers[-1]]
        return self.prices.shares(costs, spoken, MARGIN - 1.0, least)

    def factors(self, chance: NDArray[np.float64], samples: int) -> list[float]:
        """Weight of the top tier's correction.

        Args:
            chance: Probability with which each sample is drawn. Shape (n,).
            samples: How many samples the call has.
        """
        return self._estimator.factors(chance, samples).tolist()  # type: ignore[no-any-return]

    def weighed_draw(self, draw: Draw, share: float, samples: int, least: float) -> Draw:
        """A draw as it counts while only a share of the draws is answered, or left."""
        return weighed_draw(draw, share, self._estimator, samples, least)

    def speaks_for(self, share: float, samples: int) -> float:
        """For how many samples one speaks where only a share of those that wait is left."""
        return speaks_for(share, self._estimator, samples)

    def ease(self) -> bool:
        """Halve the prices, so that more is worth its cost; False if they are nothing already."""
        return self.prices.ease()

    def is_lesson(self, standing: Standing, fresh: Collection[str]) -> bool:
        """Whether beliefs learn from what some verifiers have just said of a candidate.

        They learn once from the top tier: when it has scored the candidate, or one of its gates or
        scoring verifiers has rejected it. Some models learn from the tiers below as well, until
        the top tier has answered.

        Args:
            standing: The candidate, with all verdicts that it has.
            fresh: Names of those verifiers.
        """
        if not self.is_judged(standing):
            return self._hears_tiers and self._is_below(standing, fresh)
        before = copy(standing)
        before.verdicts = {n: v for n, v in standing.verdicts.items() if n not in fresh}
        return not self.is_judged(before)

    def is_judged(self, standing: Standing) -> bool:
        """Whether the top tier has scored a candidate, or rejected it."""
        return Survey(self.ladder, standing).is_judged

    def judgement_key(self, standing: Standing) -> bytes:
        """Key of what the top tier says of a candidate: one for all of which it says the same.

        One check may be about several of them, where a verifier reads less than its neighbours.
        """
        top = self.ladder.rungs[-1].verifiers
        keys = [
            key for (verifier, _), key in zip(self.ladder.askings, standing.keys, strict=True)
            if verifier in top
        ]  # fmt: skip
        return keys[0] if len(keys) == 1 else sha256(b"".join(keys)).digest()

    def is_begun(self, standing: Standing) -> bool:
        """Whether a verifier of the top tier has spoken of a candidate."""
        top = {verifier.name for verifier in self.ladder.rungs[-1].verifiers}
        return not top.isdisjoint(standing.verdicts)

    def is_open(self, standing: Standing) -> bool:
        """Whether the top tier may still come to a judgement of a candidate."""
        return Survey(self.ladder, standing).is_due

    def _is_below(self, standing: Standing, fresh: Collection[str]) -> bool:
        """Whether tiers below the top have scored a candidate that the top has not answered on."""
        below = {verifier.name for rung in self.ladder.rungs[:-1] for verifier in rung.primaries}
        return not below.isdisjoint(fresh) and not self._is_answered(standing)

    def _is_answered(self, standing: Standing) -> bool:
        top = self.ladder.rungs[-1].verifiers
        return all(verifier.name in standing.verdicts for verifier in top)

    def lessons(
        self,
        standings: Sequence[Standing],
        drawn: Sequence[tuple[SampleId, Draw, str] | None],
    ) -> Lessons:
        """What answers teach; those of tiers below the top have no target.

        Args:
            standings: Candidates of which a tier has said something.
            drawn: The sample for which each was drawn, the draw, and the sample's group.
        """
        surveys = [Survey(self.ladder, standing) for standing in standings]
        truths = np.array([worth_of(self.ladder, each) for each in surveys], dtype=float)
        audits = [
            self._audit(survey, *one) if one and survey.is_judged else None
            for survey, one in zip(surveys, drawn, strict=True)
        ]
        rejected = np.array([survey.top_reject for survey in surveys], dtype=bool)
        keys = list(map(self.judgement_key, standings))
        return Lessons(keys, self._conclusions.seen(surveys), truths, rejected, audits)

    def _audit(self, survey: Survey, sample: SampleId, draw: Draw, group: str) -> Audit:
        truth = reward_of(self.ladder, survey, Belief(nan, nan)).value
        surprise = self._surprise(survey, draw)
        return Audit(sample, draw, surprise, truth, survey.is_truth, group)

    def _surprise(self, survey: Survey, draw: Draw) -> float | None:
        truth = worth_of(self.ladder, survey)
        if truth is None or draw.mean is None or not draw.deviation:
            return None
        return self.ladder.target.sign * (truth - draw.mean) / draw.deviation

    def learn(self, lessons: Lessons, *, is_over: bool = False) -> list[Alarm]:
        """Take answers of the top tier; gives alarms of verifiers that have drifted.

        Args:
            lessons: What is learnt.
            is_over: Whether no samples were expected that it is for.
        """
        told = zip(lessons.target.tolist(), lessons.rejected.tolist(), strict=True)
        for value, is_rejected in told:
            if not isnan(value):
                self.truths.add(value, is_found=not is_rejected)
        return teach(lessons, self.ladder, self.model, self.audits, is_over=is_over)

    def snapshot(self) -> dict[str, Any]:
        """All that was learnt, as JSON."""
        return {
            "belief": self.model.snapshot(), "truths": self.truths.snapshot(),
            "audits": self.audits.snapshot(), "costs": self.costs.snapshot(),
            "prices": self.prices.snapshot(),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self.model.restore(snapshot["belief"])
        self.truths.restore(snapshot["truths"])
        self.audits.restore(snapshot["audits"])
        self.costs.restore(snapshot["costs"])
        self.prices.restore(snapshot["prices"])


def _audit(ladder: Ladder) -> float | None:
    """The share of audits; None for as many as their part of the budget pays for."""
    if ladder.audit is None and not isinstance(ladder.policy, ValueOfInformation):
        return 0.0
    return ladder.audit
