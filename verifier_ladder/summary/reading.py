"""Reading a summary out of a ledger."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial

from verifier_ladder.analysis.totals import CampaignTotals, campaign_totals, drift_alarms
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.protocol import PARKED
from verifier_ladder.ledger.records import CampaignRow, CheckState
from verifier_ladder.ledger.samples import SUPERSEDING
from verifier_ladder.resource import Resource
from verifier_ladder.status import recorded_campaign
from verifier_ladder.summary.comparison import Gap, agreements, gaps
from verifier_ladder.summary.reasons import text_of
from verifier_ladder.summary.records import (
    CandidateSummary,
    OpenCase,
    RewardSummary,
    Score,
    Summary,
    Suspicion,
    TierSummary,
)
from verifier_ladder.summary.subject import Stand, Subject
from verifier_ladder.summary.tally import Tally
from verifier_ladder.summary.tiers import TierCounts, tier_summaries
from verifier_ladder.tier import Tier

MOST_CASES = 200


def summarise(ledger: Ledger, campaign: str, *, best: int = 10) -> Summary:
    """Summarise a campaign from its ledger alone, while it runs or years after.

    The campaign's entries are read one after the other; what is kept are a few hundred bytes
    per distinct candidate. All numbers are exact except those called estimates.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        best: How many of the best candidates to list.

    Raises:
        ConfigError: If the ledger has no campaign of this name.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> _ = ledger.open_campaign("try", {"verifiers": []}, b"0" * 32)
        >>> summarise(ledger, "try").samples
        0
    """
    tally = _read(ledger, recorded_campaign(ledger, campaign))
    return _Writer(ledger, tally, campaign_totals(ledger, campaign)).summary(best)


def walls(ledger: Ledger, campaign: str) -> dict[int, float | None]:
    """Seconds of wall time during which each tier of a campaign was at work, as far as recorded.

    Raises:
        ConfigError: If the ledger has no campaign of this name.
    """
    from verifier_ladder.ledger.encoding import decode

    tally = Tally(recorded_campaign(ledger, campaign).ladder)
    for entry in ledger.entries(campaign=campaign):
        tally.time(entry, decode(entry.body))
    return {tier: times.wall for tier, times in tally.times.items()}


def _read(ledger: Ledger, row: CampaignRow) -> Tally:
    from verifier_ladder.ledger.encoding import decode, holds, reading

    tally = Tally(row.ladder)
    tally.alarms = drift_alarms(ledger, row.name)
    for entry in ledger.entries(campaign=row.name):
        if entry.kind == "alarm":
            continue
        with reading(entry.id, "what it tells"):
            tally.add(entry, decode(entry.body))
    if tally.unknown_checks or tally.unknown_contents:
        for entry in ledger.entries():
            is_missing = bool(tally.unknown_checks or tally.unknown_contents)
            is_elsewhere = entry.campaign != row.name or entry.kind == "import"
            if not (is_elsewhere and (is_missing or entry.kind in SUPERSEDING)):
                continue
            if holds(entry.body, "verdicts", "candidates"):
                tally.borrow(decode(entry.body))
    tally.believe()
    return tally


class _Writer:
    """Turns a finished tally into a summary."""

    def __init__(self, ledger: Ledger, tally: Tally, told: CampaignTotals) -> None:
        self.ledger, self.row, self.tally, self.told = ledger, told.row, tally, told
        self.subjects = list(tally.subjects.values())
        rewards, curve = told.counts.rewards, tally.curve
        self.mean = curve.mean if rewards.unsummed else rewards.mean
        if rewards.unrewarded is None:  # Early entries don't tell what they replaced.
            rewards = rewards._replace(known=curve.known, waiting=curve.waiting, unsummed=0)
        self.rewards = rewards
        self._texts: dict[bytes, str] = {}

    def summary(self, best: int) -> Summary:
        tally, told = self.tally, self.told
        self._look_up(tally.rejects.keys())
        self._look_up(tally.abstentions.keys())
        self._look_up(tally.failures.keys())
        comparable = self.subjects if tally.are_comparable else []
        return Summary(
            campaign=self.row.name, ledger=self.ledger.url, ladder=self.row.ladder,
            created_at=self.row.created_at, updated_at=told.updated_at,
            entries=told.counts.extent.entries, samples=self.rewards.samples,
            candidates=len(self.subjects), respellings=tally.respellings,
            target=self.row.ladder.get("target") or {}, tiers=self._tiers(),
            rewards=RewardSummary(
                self.rewards.samples, self.rewards.samples - self.rewards.known, self.mean,
                tally.curve.best, self.rewards.revised,
            ),
            winner=self._winner(), best=self._best(best),
            rejects=tally.rejects.reasons(self._texts),
            abstentions=tally.abstentions.reasons(self._texts),
            failures=tally.failures.failures(self._texts),
            agreement=agreements(comparable, tally.tiers, tally.units),
            suspicious=tuple(map(self._suspicion, gaps(
                comparable, tally.tiers, tally.units, tally.sign)[:best])),
            alarms=told.alarms_with(self.rewards),
            # By the accounts, for lost attempts stand in no entry.
            curve=tally.curve.points(told.spent, self.mean),
            cases=open_cases(self.ledger, self.row.name), runs=told.runs,
            budgets=told.status.budgets, surrogate=tally.surrogate,
        )  # fmt: skip

    # -- tiers ----------------------------------------------------------------------------

    def _tiers(self) -> tuple[TierSummary, ...]:
        lines = tier_summaries(
            self.row.ladder, self.told.status, list(map(self._counts, self.tally.tiers)),
            sum(subject.said(0) is Stand.FAILED for subject in self.subjects),
        )  # fmt: skip
        return tuple(
            replace(line, wall=its.wall, latency=its.latency)
            if (its := self.tally.times.get(line.tier)) else line
            for line in lines
        )  # fmt: skip

    def _counts(self, tier: Tier) -> TierCounts:
        """What the candidates come to on a tier."""
        places, stands = self.tally.verifiers(tier), Counter[Stand]()
        answers = own = 0
        for subject in self.subjects:
            stand = subject.stand(places)
            if stand is None:
                continue
            stands[stand] += 1
            if stand is not Stand.FAILED:
                answers += subject.samples
                own += subject.own >> tier & 1
        declined = self.tally.declined.get(tier, [])
        costs = [sum(cost.amounts[place] for cost in declined) for place in Resource]
        return TierCounts(stands, answers, own, self.told.checks(tier), len(declined), costs)

    # -- candidates -----------------------------------------------------------------------

    def _winner(self) -> CandidateSummary | None:
        """The best by what the top tier says; of equals the newest, as in the lists of pages."""
        tally = self.tally
        said = [
            (tally.sign * scored[0], place, subject) for place, subject in enumerate(self.subjects)
            if subject.known is not None and (scored := subject.score(tally.top)) is not None
        ]  # fmt: skip
        return self._candidate(max(said)[-1]) if said else None

    def _best(self, count: int) -> tuple[CandidateSummary, ...]:
        fair = (s for s in self.subjects if s.known is not None)
        chosen = heapq.nsmallest(count, fair, key=partial(_rank, self.tally))
        self._look_up(s.content for s in chosen)
        return tuple(map(self._candidate, chosen))

    def _candidate(self, subject: Subject) -> CandidateSummary:
        tally = self.tally
        self._look_up([subject.content])
        known, spread = subject.best_known(tally.top) or (None, None)
        return CandidateSummary(
            key=subject.content.hex(), kind=str(self.row.ladder.get("kind", "")),
            content=self._texts.get(subject.content, ""), samples=subject.samples,
            known=known, known_uncertainty=spread,
            worth=None if known is None else tally.worth(known), doubt=tally.doubt(subject),
            reward=subject.reward, uncertainty=subject.uncertainty,
            mean=subject.mean, deviation=subject.deviation,
            scores={
                Tier(t): Score(value, spread, tally.units.get(t, ""), tally.primaries.get(t, ""))
                for t, value, spread in sorted(subject.scores, key=lambda score: score[0])
            },
            reached=Tier(subject.reached) if subject.reached >= 0 else None,
            pending=subject.pending, parked=subject.content in self._parked,
        )  # fmt: skip

    @cached_property
    def _parked(self) -> set[bytes]:
        """Content keys of candidates with a check that the budget does not pay for."""
        queued = self.ledger.checks(states=[CheckState.QUEUED], campaign=self.row.name)
        return {row.content_key for row in queued if row.note == PARKED}

    def _suspicion(self, gap: Gap) -> Suspicion:
        return Suspicion(self._candidate(gap.subject), gap.low, gap.high, gap.text)

    def _look_up(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            if key not in self._texts and (text := text_of(self.ledger, key)):
                self._texts[key] = text


def open_cases(ledger: Ledger, campaign: str) -> tuple[OpenCase, ...]:
    """What a campaign asked the world and has no answer to yet; at most `MOST_CASES`."""
    rows = ledger.checks(states=[CheckState.WAITING], campaign=campaign, limit=MOST_CASES)
    return tuple(
        OpenCase(
            row.check_key.hex(), str(row.payload.get("content", "")), row.verifier, row.deadline
        )
        for row in rows
    )


def _rank(tally: Tally, subject: Subject) -> tuple[bool, float, int, bytes]:
    """The best known first, and what rests on a verifier that is being gamed last.

    Of equals the one that climbed further comes first, then the smaller key.
    """
    known = subject.known or 0.0
    return (bool(tally.doubt(subject)), -known, -(subject.deepest or 0), subject.content)
