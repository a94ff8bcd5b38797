"""Reading a summary out of a ledger."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from verifier_ladder.alerts.rules import rules_as_set
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.protocol import PARKED
from verifier_ladder.ledger.records import CampaignRow, CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.status import CampaignStatus, TierStatus, campaign_status
from verifier_ladder.summary.comparison import Gap, agreements, gaps
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
from verifier_ladder.tier import Tier
from verifier_ladder.unanswered import unanswered_alarm

MOST_CASES = 200


def declared(ladder: Mapping[str, Any], tier: Tier) -> list[float]:
    """What one candidate was declared to take on a tier, by the ladder as it is recorded."""
    whole = [0.0] * len(Resource)
    for verifier in ladder.get("verifiers", ()):
        if verifier["tier"] == tier.label:
            checks = verifier.get("replicates", 1)
            for place, name in enumerate(Cost.__dataclass_fields__):
                whole[place] += checks * verifier.get("cost", {}).get(name, 0.0)
    return whole


def if_all_climbed(
    tier: Tier,
    candidates: int,
    *,
    settled: Sequence[float],
    judged: float,
    expected: Sequence[float],
) -> dict[Resource, float | None]:
    """What a tier would have taken, resource by resource.

    Args:
        tier: The tier.
        candidates: How many candidates would have climbed.
        settled: What its answers took, and what is set aside for those at work. Those that only
            declined to judge are left out: they are cheap, and say nothing of what judging takes.
        judged: How many candidates those are; one of two checks is half a candidate.
        expected: What one is declared to take, for a tier that has judged none.

    Returns:
        None for the cpu time of a tier that has measured none and declares none.
    """
    made: dict[Resource, float | None] = {}
    for resource in Resource:
        # No answer takes no cpu time at all: nothing recorded is not known.
        is_measured = judged and (resource is not Resource.CPU_SECONDS or settled[resource] > 0.0)
        mean = settled[resource] / judged if is_measured else expected[resource]
        is_known = mean > 0.0 or resource is not Resource.CPU_SECONDS or tier is Tier.WORLD
        made[resource] = candidates * mean if is_known else None
    return made


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
    row = _find(ledger, campaign)
    tally = _read(ledger, row)
    return _Writer(ledger, row, tally, campaign_status(ledger, campaign)).summary(best)


def _find(ledger: Ledger, campaign: str) -> CampaignRow:
    rows = ledger.campaigns()
    for row in rows:
        if row.name == campaign:
            return row
    known = ", ".join(row.name for row in rows) or "none yet"
    raise ConfigError(f"the ledger has no campaign {campaign!r}; it has: {known}")


def walls(ledger: Ledger, campaign: str) -> dict[int, float | None]:
    """Seconds of wall time during which each tier of a campaign was at work, as far as recorded.

    Raises:
        ConfigError: If the ledger has no campaign of this name.
    """
    from verifier_ladder.ledger.encoding import decode

    tally = Tally(_find(ledger, campaign).ladder)
    for entry in ledger.entries(campaign=campaign):
        tally.time(entry, decode(entry.body))
    return {tier: times.wall for tier, times in tally.times.items()}


def _read(ledger: Ledger, row: CampaignRow) -> Tally:
    from verifier_ladder.ledger.encoding import decode

    tally = Tally(row.ladder)
    for entry in ledger.entries(campaign=row.name):
        tally.add(entry, decode(entry.body))
    if tally.unknown_checks or tally.unknown_contents:
        for entry in ledger.entries():
            if not (tally.unknown_checks or tally.unknown_contents):
                break
            if entry.campaign != row.name or entry.kind == "import":
                tally.borrow(decode(entry.body))
    tally.believe()
    return tally


class _Writer:
    """Turns a finished tally into a summary."""

    def __init__(
        self, ledger: Ledger, row: CampaignRow, tally: Tally, status: CampaignStatus
    ) -> None:
        self.ledger, self.row, self.tally = ledger, row, tally
        self.status = {one.tier: one for one in status.tiers}
        self.budgets = status.budgets
        self.subjects = list(tally.subjects.values())
        self.target: Mapping[str, Any] = row.ladder.get("target") or {}
        self._texts: dict[bytes, str] = {}

    def summary(self, best: int) -> Summary:
        tally = self.tally
        self._look_up(tally.rejects.keys())
        self._look_up(tally.abstentions.keys())
        self._look_up(tally.failures.keys())
        return Summary(
            campaign=self.row.name, ledger=self.ledger.url, ladder=self.row.ladder,
            created_at=self.row.created_at, updated_at=tally.updated_at or self.row.created_at,
            entries=tally.entries, samples=tally.samples, candidates=len(self.subjects),
            respellings=tally.respellings, target=self.target,
            tiers=tuple(self._tier(tier) for tier in tally.tiers),
            rewards=self._rewards(), best=self._best(best),
            rejects=tally.rejects.reasons(self._texts),
            abstentions=tally.abstentions.reasons(self._texts),
            failures=tally.failures.failures(self._texts),
            agreement=agreements(self.subjects, tally.tiers, tally.units),
            suspicious=tuple(map(self._suspicion, gaps(
                self.subjects, tally.tiers, tally.units, tally.sign)[:best])),
            alarms=self._alarms(),
            curve=tally.curve.points(self._spent()),
            cases=open_cases(self.ledger, self.row.name), runs=self._runs(),
            budgets=self.budgets, surrogate=tally.surrogate,
        )  # fmt: skip

    def _alarms(self) -> tuple[str, ...]:
        """Of the audits, and after them that of samples without a reward."""
        waiting = self.tally.curve.waiting
        total = self.tally.samples - waiting
        unknown = total - self.tally.curve.known
        unanswered = unanswered_alarm(unknown, total, rules_as_set())
        found = tuple(alarm.text for alarm in self.tally.alarms)
        return found if unanswered is None else (*found, unanswered)

    def _spent(self) -> float | None:
        """Cpu-seconds by the accounts, for lost attempts stand in no entry."""
        if not self.status:
            return None
        return sum(one.settled + one.failed for one in self.status.values())

    # -- tiers ----------------------------------------------------------------------------

    def _checks(self, tier: Tier) -> int:
        """How many checks a tier has answered; one of a group is recorded as its members'."""
        if self.tally.are_comparable:
            return self.tally.checks.get(tier, 0)
        accounts = self.ledger.accounts(self.row.name)
        used = [account for account in accounts if account.resource is Resource.CPU_SECONDS]
        return sum(account.checks for account in used if account.tier == tier)

    def _tier(self, tier: Tier) -> TierSummary:
        tally, status = self.tally, self.status.get(tier)
        places = tally.verifiers(tier)
        stands: dict[Stand, int] = dict.fromkeys(Stand, 0)
        answers = own = 0
        for subject in self.subjects:
            stand = subject.stand(places)
            if stand is None:
                continue
            stands[stand] += 1
            if stand is not Stand.FAILED:
                answers += subject.samples
                own += subject.own >> tier & 1
        # A failed attempt may be queued again: above the fast tier only dead checks have failed.
        is_queued = status is not None and tier is not Tier.FAST
        failed = stands[Stand.FAILED]
        if status is not None and is_queued:
            failed = status.dead + (self._formless() if tier is tally.tiers[0] else 0)
        open_ = _open(status) if status is not None else {}
        told = stands[Stand.ACCEPTED] + stands[Stand.REJECTED] + stands[Stand.ABSTAINED]
        # By the accounts: what runs in this process is measured a batch at a time.
        spent = status.settled if status is not None else tally.seconds.get(tier, 0.0)
        mean = spent / own if own and spent else None
        times = tally.times.get(tier)
        return TierSummary(
            tier=tier, verifiers=self._verifiers(tier), asked=told + failed + sum(open_.values()),
            reused=answers - own, accepted=stands[Stand.ACCEPTED],
            rejected=stands[Stand.REJECTED], abstained=stands[Stand.ABSTAINED], failed=failed,
            checks=self._checks(tier), settled=spent,
            reserved=status.reserved if status else 0.0,
            failed_seconds=status.failed if status else 0.0, cap=status.cap if status else None,
            paused=status is not None and status.paused,
            wall=times.wall if times else None, latency=times.latency if times else None,
            resources={
                account.resource: account.spent for account in self.budgets
                if account.tier == tier and account.spent
            },
            mean_seconds=mean, everything=self._everything(tier, spent, own, status), **open_,
        )  # fmt: skip

    def _everything(
        self, tier: Tier, seconds: float, answered: int, status: TierStatus | None
    ) -> dict[Resource, float | None]:
        """What the tier would have taken of every acceptable candidate.

        Args:
            tier: The tier.
            seconds: Cpu-seconds of its answers.
            answered: How many candidates it has answered.
            status: Its queue. What is at work counts with what is set aside for it: a tier that
                answers the cheap candidates first, as from a table, has others still open.
        """
        reserved = status.reserved if status is not None else 0.0
        settled = [seconds + reserved, *(0.0 for _ in Resource)][: len(Resource)]
        for account in self.budgets:
            if account.tier == tier:
                settled[account.resource] = account.settled + account.reserved
        declined = self.tally.declined.get(tier, [])
        without = [sum(cost.amounts[place] for cost in declined) for place in Resource]
        at_work = 0.0
        if status is not None:
            at_work = (status.running + status.waiting) / max(1, len(self._verifiers(tier)))
        return if_all_climbed(
            tier, self._acceptable(), judged=max(0, answered + at_work - len(declined)),
            settled=[max(0.0, a - b) for a, b in zip(settled, without, strict=True)],
            expected=declared(self.row.ladder, tier),
        )  # fmt: skip

    def _formless(self) -> int:
        """Candidates whose canonical form could not be found, through no fault of theirs."""
        return sum(subject.said(0) is Stand.FAILED for subject in self.subjects)

    def _acceptable(self) -> int:
        """Distinct candidates that no verifier of the lowest tier has rejected or failed on."""
        if not self.tally.tiers:
            return 0
        places = self.tally.verifiers(self.tally.tiers[0])
        stands = (subject.stand(places) for subject in self.subjects)
        return sum(stand in (Stand.ACCEPTED, Stand.ABSTAINED) for stand in stands)

    def _verifiers(self, tier: Tier) -> tuple[str, ...]:
        listed = self.row.ladder.get("verifiers", ())
        return tuple(f"{v['name']} {v['version']}" for v in listed if v["tier"] == tier.label)

    # -- candidates -----------------------------------------------------------------------

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
            if key not in self._texts:
                for _, _, content in self.ledger.find_contents(key.hex(), 1):
                    self._texts[key] = (
                        content if isinstance(content, str) else content.decode("utf-8", "replace")
                    )

    # -- the rest -------------------------------------------------------------------------

    def _rewards(self) -> RewardSummary:
        tally, curve = self.tally, self.tally.curve
        return RewardSummary(
            count=tally.samples, unknown=tally.samples - curve.known, mean=curve.mean,
            best=curve.best, revised=tally.revised,
        )  # fmt: skip

    def _runs(self) -> tuple[Any, ...]:
        return tuple(self.tally.runs.values())


def open_cases(ledger: Ledger, campaign: str) -> tuple[OpenCase, ...]:
    """What a campaign asked the world and has no answer to yet; at most `MOST_CASES`."""
    rows = ledger.checks(states=[CheckState.WAITING], campaign=campaign, limit=MOST_CASES)
    return tuple(
        OpenCase(
            row.check_key.hex(), str(row.payload.get("content", "")), row.verifier, row.deadline
        )
        for row in rows
    )


def _open(status: TierStatus) -> dict[str, int]:
    return {
        "queued": status.queued, "running": status.running, "waiting": status.waiting,
        "parked": status.parked, "expired": status.expired,
    }  # fmt: skip


def _rank(tally: Tally, subject: Subject) -> tuple[bool, float, int, bytes]:
    """The best known first, and what rests on a verifier that is being gamed last.

    Of equals the one that climbed further comes first, then the smaller key.
    """
    known = subject.known or 0.0
    return (bool(tally.doubt(subject)), -known, -(subject.deepest or 0), subject.content)
